package hook

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// maxLine is the longest command line, in bytes, that is parsed. maxOpen is how many
// brackets it may open: the parser recurses for each, and parses some twice.
const (
	maxLine = 64 << 10
	maxOpen = 4000
)

// requestsIn returns what a shell's command line runs, as far as it concerns requests. It
// returns nothing if another program of the line, such as one of the project, can print
// after gt's last command, because its output could look the same.
func requestsIn(line string) (none runs) {
	if len(line) > maxLine || strings.Count(line, "(")+strings.Count(line, "{") > maxOpen {
		return none
	}
	f, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return none
	}
	l := inspect(f)
	if l.behind {
		return none
	}
	return l
}

// maxLines returns how many request lines the output can have: any number if only gt's
// commands print.
func (l runs) maxLines() int {
	if l.requests > 0 && !l.others {
		return maxShown
	}
	return l.requests
}

type runs struct {
	requests int  // commands that leave a request
	others   bool // there are programs that can print anything
	behind   bool // such a program can print after a command of gt's
}

// inspect returns what a part of a line runs, added up in the order in which the programs print.
func inspect(part syntax.Node) (l runs) {
	syntax.Walk(part, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			if n.Background || n.Coprocess || n.Disown { // it can print at any time
				n := *n
				n.Background, n.Coprocess, n.Disown = false, false, false
				inner := inspect(&n)
				l.requests += inner.requests
				l.behind = l.behind || inner.behind || inner.others
				return false
			}
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && reads(n.Redirs) {
				if _, ours := ofCall(unquote(call.Args)); !ours {
					l.add(runs{others: true})
				}
			}
		case *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl: // its first commands run again after its last
			if node == part {
				return true
			}
			inner := inspect(node)
			l.add(inner)
			l.behind = l.behind || inner.requests > 0 && inner.others
			return false
		case *syntax.DeclClause: // such as export, which prints all variables without an argument
			if !slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool { return a.Name != nil }) {
				l.add(runs{others: true})
			}
		case *syntax.CallExpr:
			words := unquote(n.Args)
			if inner, ok := ofCall(words); ok {
				l.add(inner)
				return false // substitutions in it run before it
			}
			if !printsOnlyOwn(n, words) {
				l.add(runs{others: true})
			}
		}
		return true
	})
	return l
}

func (l *runs) add(next runs) {
	l.behind = l.behind || next.behind || l.requests > 0 && next.others // mutant skip: TestLine
	l.requests += next.requests
	l.others = l.others || next.others
}

// wrapperPrograms are programs that run their arguments as a command.
var wrapperPrograms = []string{"env", "exec", "command", "builtin", "time", "nohup", "nice"}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh"}

// ofCall describes a command of gt's that leaves requests, or a shell that runs a line.
func ofCall(words []string) (l runs, ok bool) {
	for len(words) > 0 && (slices.Contains(wrapperPrograms, words[0]) || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return runs{}, false
	case isRequest(words...):
		return runs{requests: 1}, true
	case len(words) == 3 && slices.Contains(shells, filepath.Base(words[0])) && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c"):
		if l = requestsIn(words[2]); l.requests > 0 {
			return l, true
		}
	}
	return runs{}, false
}

// isRequest reports whether a program with these arguments leaves requests for a hook to carry
// out, as gt's commands do in a sandbox. A command that prints other people's text could
// print such a line, so it does not count. gt-mail work claim changes lines like it. A program with a path is gt's only
// if it is in gt's folder.
func isRequest(words ...string) bool {
	words = append(slices.Clip(words), "", "")
	program, argument := words[0], words[1]
	if strings.Contains(program, "/") && !installed(filepath.Dir(program)) {
		return false
	}
	switch filepath.Base(program) {
	case "gt-handoff":
		return true
	case "gt-checkpoint":
		return argument == "write"
	case "gt-mail":
		what := words[2]
		return argument == "send" || argument == "hook" || argument == "work" && (what == "claim" || what == "done" || what == "back")
	}
	return false
}

// installed reports whether a folder is that of the running program.
func installed(dir string) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	if below, ok := strings.CutPrefix(dir, "~/"); ok {
		return strings.HasSuffix(filepath.Dir(self), "/"+below)
	}
	return filepath.IsAbs(dir) && IsSameFile(dir, filepath.Dir(self))
}

// IsSameFile reports whether two paths lead to one file or folder.
func IsSameFile(a, b string) bool {
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// printsOnlyOwn reports whether a command prints no text but what the agent itself wrote in the
// line, or what comes from its pipe. Such a command cannot print a forged request.
func printsOnlyOwn(call *syntax.CallExpr, words []string) bool {
	if len(words) == 0 {
		return true // an assignment
	}
	switch words[0] {
	case "cd", "true", "false", ":", "exit", "wait", "sleep", "test", "[":
		return true
	case "set": // without arguments it prints variables, which a project's settings can set
		return len(words) > 1
	case "echo", "printf":
		return !slices.ContainsFunc(call.Args, func(w *syntax.Word) bool { return !isLiteral(w.Parts) })
	case "tail", "head", "cat":
		for i, w := range words[1:] {
			previous := words[i]
			isCount := words[0] != "cat" && (previous == "-n" || previous == "-c") && strings.Trim(w, "+-0123456789") == ""
			if !strings.HasPrefix(w, "-") && !isCount {
				return false // a file
			}
		}
		return true
	}
	return false
}

// reads reports whether a redirection gives the command text that the agent did not write
// in the line.
func reads(redirects []*syntax.Redirect) bool {
	return slices.ContainsFunc(redirects, func(r *syntax.Redirect) bool {
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			return r.Hdoc != nil && !isLiteral(r.Hdoc.Parts)
		case syntax.RdrIn, syntax.RdrInOut, syntax.WordHdoc, syntax.DplIn:
			return true
		}
		return false
	})
}

// isLiteral reports whether a word is exactly what the agent wrote: it has no wildcards
// and no substitutions.
func isLiteral(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "*?[") {
				return false
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			for _, p := range p.Parts {
				if _, ok := p.(*syntax.Lit); !ok && !isLiteral([]syntax.WordPart{p}) {
					return false
				}
			}
		case *syntax.ParamExp: // the exit code of the last command
			if p.Param == nil || p.Param.Value != "?" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// unquote returns a command's words without quotes. Substitutions are left out.
func unquote(args []*syntax.Word) []string {
	words := make([]string, len(args))
	for i, w := range args {
		var b strings.Builder
		writePlain(&b, w.Parts)
		words[i] = b.String()
	}
	return words
}

func writePlain(b *strings.Builder, parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			writePlain(b, p.Parts)
		}
	}
}
