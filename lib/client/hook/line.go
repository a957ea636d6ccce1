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

// parseRequests returns what a shell's command line runs, so that request lines in its output
// can be believed. In a sandbox a command of gt's leaves a request, which asks the agent's hooks
// to act for it, and prints a line that proves it (lib/state/request). The result is empty if
// another program, such as one of the project, can print after a command of gt's, because its
// output could look the same.
func parseRequests(line string) (none lineRuns) {
	if len(line) > maxLine || strings.Count(line, "(")+strings.Count(line, "{") > maxOpen {
		return none
	}
	f, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return none
	}
	l := inspectNode(f)
	if l.printsAfter {
		return none
	}
	return l
}

// maxLines returns how many request lines the output can have: one for each command that leaves
// a request, or as many as are examined if only gt's commands print.
func (l lineRuns) maxLines() int {
	if l.requests > 0 && !l.printsOther {
		return maxResults
	}
	return l.requests
}

type lineRuns struct {
	requests    int  // commands that leave a request
	printsOther bool // there are programs that can print anything
	printsAfter bool // one of these can print after a command of gt's
}

// inspectNode returns what a part of a line runs, added up in the order in which the programs print.
func inspectNode(part syntax.Node) (found lineRuns) {
	syntax.Walk(part, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.Stmt:
			if n.Background || n.Coprocess || n.Disown { // it can print at any time
				n := *n
				n.Background, n.Coprocess, n.Disown = false, false, false
				inner := inspectNode(&n)
				found.requests += inner.requests
				found.printsAfter = found.printsAfter || inner.printsAfter || inner.printsOther
				return false
			}
			// A program can print what it reads; gt's own commands do not.
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && readsForeignText(n.Redirs) {
				if _, ours := runsOfCall(unquote(call.Args)); !ours {
					found.addRuns(lineRuns{printsOther: true})
				}
			}
		case *syntax.WhileClause, *syntax.ForClause, *syntax.FuncDecl: // its first commands run again after its last
			if node == part {
				return true
			}
			inner := inspectNode(node)
			found.addRuns(inner)
			found.printsAfter = found.printsAfter || inner.requests > 0 && inner.printsOther
			return false
		case *syntax.DeclClause: // such as export, which prints all variables without an argument
			if !slices.ContainsFunc(n.Args, func(a *syntax.Assign) bool { return a.Name != nil }) {
				found.addRuns(lineRuns{printsOther: true})
			}
		case *syntax.CallExpr:
			words := unquote(n.Args)
			if inner, ok := runsOfCall(words); ok {
				found.addRuns(inner)
				return false // substitutions in it run before it
			}
			if !printsOnlyOwn(n, words) {
				found.addRuns(lineRuns{printsOther: true})
			}
		}
		return true
	})
	return found
}

// addRuns adds to l what the next part of the line runs. If l has a command of gt's, the other
// programs of next print after it.
func (l *lineRuns) addRuns(next lineRuns) {
	l.printsAfter = l.printsAfter || next.printsAfter || l.requests > 0 && next.printsOther // mutant skip: TestLine
	l.requests += next.requests
	l.printsOther = l.printsOther || next.printsOther
}

// wrapperPrograms are programs that run their arguments as a command.
var wrapperPrograms = []string{"env", "exec", "command", "builtin", "time", "nohup", "nice"}

var shells = []string{"sh", "bash", "dash", "zsh", "ksh"}

// runsOfCall returns what a command runs if it is one of gt's that leaves a request, or a shell
// whose line (sh -c) has one. ok is false for any other command, which may print anything.
func runsOfCall(words []string) (l lineRuns, ok bool) {
	for len(words) > 0 && (slices.Contains(wrapperPrograms, words[0]) || strings.Contains(words[0], "=")) {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		return lineRuns{}, false
	case isRequest(words...):
		return lineRuns{requests: 1}, true
	case len(words) == 3 && slices.Contains(shells, filepath.Base(words[0])) && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c"):
		if l = parseRequests(words[2]); l.requests > 0 {
			return l, true
		}
	}
	return lineRuns{}, false
}

// isRequest reports whether a program with these arguments leaves a request (see parseRequests).
// A command that prints other people's text does not count, because that text can have a line
// like a request's. gt-mail work claim counts: it indents such a line. A program with a path is
// gt's only if it is in gt's folder.
func isRequest(words ...string) bool {
	words = append(slices.Clip(words), "", "")
	program, argument := words[0], words[1]
	if strings.Contains(program, "/") && !isGTFolder(filepath.Dir(program)) {
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

// isGTFolder reports whether a folder is that of the running program.
func isGTFolder(dir string) bool {
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

// readsForeignText reports whether a redirection gives the command text that the agent did not write
// in the line.
func readsForeignText(redirects []*syntax.Redirect) bool {
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
