package cli

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"gt/lib/text/fold"
	"gt/lib/text/plain"
	"gt/lib/text/term"
)

// Every program completes its command line in a shell:
//
//	gt-x completion bash|zsh|fish    prints the shell's setup
//	gt-x __complete WORD...          answers each <Tab>
//
// The words are those up to the cursor, without the program's name. The last one is to be
// completed and may be empty. The answer is a line for each candidate, with its meaning
// after a tab. Exit code 1 means that file names fit.
//
// Neither command is in a grammar: a hook does not pay for commands that it never calls.
const (
	completionCommand = "completion"
	completeCommand   = "__complete"
)

type Candidate struct{ Word, About string }

// Completer returns candidates for a value that begins with begin, best first. It may return
// others, and it ignores errors, because a person who presses <Tab> did not ask for them.
type Completer func(env *Env, begin string) []Candidate

// maxAbout bounds a candidate's description, in columns.
const maxAbout = 70

// answerCompletion answers a shell, and reports whether one asked.
func answerCompletion(env *Env, p Program) (code int, asked bool) {
	switch args := env.Args; {
	case len(args) == 2 && args[0] == completionCommand:
		text := completionScript(p.Name, args[1])
		if text == "" { // no such shell: these are arguments like others
			return 0, false
		}
		_, err := io.WriteString(env.Stdout, text)
		return Report(env, err), true
	case len(args) > 1 && args[0] == completeCommand:
		if g := selectGrammar(p.Grammar, args[1:]); g != nil && len(args) > 2 && !strings.HasPrefix(args[1], "-") {
			p.Grammar = g
		}
		parser, err := newParser(env, p)
		if err != nil {
			return Bug, true
		}
		fit, files := completeLast(env, p, parser.Model.Node, args[1:])
		var b strings.Builder
		for _, c := range fit {
			b.WriteString(c.Word + "\t" + term.Cut(term.OneLine(term.Clean(env.Redact(c.About))), maxAbout) + "\n")
		}
		if _, err := io.WriteString(env.Stdout, b.String()); err != nil || files {
			return AnswerNo, true
		}
		return Done, true
	}
	return 0, false
}

// typedLine is what the words before the one to be completed mean.
type typedLine struct {
	node      *kong.Node
	flag      *kong.Flag // its value comes next
	args      int        // positional arguments so far
	flagsOver bool       // after --: no more flags
	given     map[*kong.Flag]bool
}

// completeLast returns the candidates for the last word, and whether it can be a file name.
func completeLast(env *Env, p Program, app *kong.Node, words []string) (fit []Candidate, files bool) {
	words, value := joinWords(words)
	if len(words) > 1 && words[0] == helpCommand {
		words = words[1:]
	}
	begin := words[len(words)-1]
	l := &typedLine{node: app, given: map[*kong.Flag]bool{}}
	for _, word := range words[:len(words)-1] {
		l.applyWord(word)
	}
	name, text, assigned := strings.Cut(begin, "=")
	var found []Candidate
	switch {
	case l.flag != nil:
		found, files = valueCandidates(env, p, l.flag.Value, begin)
	case !l.flagsOver && assigned && strings.HasPrefix(begin, "--"):
		f := l.findFlag(name[2:], 0)
		if f == nil || f.IsBool() {
			return nil, false
		}
		found, files = valueCandidates(env, p, f.Value, text)
		if value { // bash has kept the flag and its =
			begin = text
			break
		}
		for i := range found {
			found[i].Word = name + "=" + found[i].Word
		}
	case !l.flagsOver && strings.HasPrefix(begin, "-"):
		found = l.flagCandidates()
	case len(words) == 2 && words[0] == completionCommand:
		found = []Candidate{{Word: "bash"}, {Word: "zsh"}, {Word: "fish"}}
	default:
		found, files = l.wordCandidates(env, p, app, begin)
	}
	for _, c := range found {
		// Leave out words that a shell would interpret: bash inserts them verbatim.
		if strings.HasPrefix(fold.Name(c.Word), fold.Name(begin)) && isPlainWord(c.Word) {
			fit = append(fit, c)
		}
	}
	return fit, files && len(fit) == 0
}

// isPlainWord reports whether every shell takes a word as it is. No shell gives letters of
// other scripts a meaning.
func isPlainWord(word string) bool {
	ascii := strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) {
			return -1
		}
		return r
	}, word)
	return word != "" && plain.IsLine(word) && (ascii == "" || term.Quote(ascii) == ascii)
}

// joinWords joins what bash splits: --flag=value arrives as three words. value reports that
// this was so for the last word. Then only the part after = is to be completed.
func joinWords(words []string) (whole []string, value bool) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if value = false; strings.HasPrefix(word, "--") && i+1 < len(words) && words[i+1] == "=" {
			word, value = word+"=", true
			if i++; i+1 < len(words) {
				i++
				word += words[i]
			}
		}
		whole = append(whole, word)
	}
	return whole, value
}

// applyWord takes in a word before the last one: a command, an argument, flags or a flag's value.
func (l *typedLine) applyWord(word string) {
	switch {
	case l.flag != nil:
		l.flag = nil
	case l.flagsOver || word == "-" || !strings.HasPrefix(word, "-"):
		if l.args == 0 && !l.flagsOver {
			for _, child := range l.node.Children {
				if child.Name == word || slices.Contains(child.Aliases, word) {
					l.node = child
					return
				}
			}
		}
		if l.args == 0 && len(l.node.Positional) == 0 && l.node.DefaultCmd != nil {
			l.node = l.node.DefaultCmd
		}
		l.args++
	case word == "--":
		l.flagsOver = true
	case strings.HasPrefix(word, "--"):
		name, _, assigned := strings.Cut(word[2:], "=")
		l.takeFlag(l.findFlag(name, 0), !assigned)
	default: // short flags; the last can be followed by its value
		for i, r := range word[1:] {
			f := l.findFlag("", r)
			l.takeFlag(f, 1+i+len(string(r)) == len(word))
			if f == nil || !f.IsBool() {
				return
			}
		}
	}
}

// takeFlag records a flag; bare says that its value is not in the same word.
func (l *typedLine) takeFlag(f *kong.Flag, bare bool) {
	if f == nil {
		return
	}
	l.given[f] = !f.IsCumulative() // such a flag can be given again
	if bare && !f.IsBool() && !f.IsCounter() {
		l.flag = f
	}
}

// availableFlags returns the flags that can be given here: those of the command, its parents and
// its default command.
func (l *typedLine) availableFlags() []*kong.Flag {
	var all []*kong.Flag
	for n := l.node.DefaultCmd; n != nil && l.args == 0; n = n.DefaultCmd {
		all = append(all, n.Flags...)
	}
	for n := l.node; n != nil; n = n.Parent {
		all = append(all, n.Flags...)
	}
	return all
}

// findFlag returns the flag with a long name, or a letter unless that is 0; nil if there is none.
func (l *typedLine) findFlag(name string, letter rune) *kong.Flag {
	for _, f := range l.availableFlags() {
		switch {
		case letter != 0 && f.Short == letter,
			f.Name == name, slices.Contains(f.Aliases, name), f.Negated && "no-"+f.Name == name:
			return f
		}
	}
	return nil
}

// flagCandidates returns the flags that can still be given, but no hidden ones.
func (l *typedLine) flagCandidates() []Candidate {
	var found []Candidate
	for _, f := range l.availableFlags() {
		if !f.Hidden && !l.given[f] {
			found = append(found, Candidate{"--" + f.Name, f.Help})
		}
	}
	return found
}

// wordCandidates returns the candidates that are not flags: commands and arguments, else flags.
func (l *typedLine) wordCandidates(env *Env, p Program, app *kong.Node, begin string) (found []Candidate, files bool) {
	node := l.node
	if l.args == 0 && !l.flagsOver {
		for _, child := range node.Children {
			if !child.Hidden {
				found = append(found, Candidate{child.Name, child.Help})
			}
		}
		if node == app && len(node.Children) > 0 {
			found = append(found, Candidate{completionCommand, "Print what a shell needs to complete " + p.Name + "."}, Candidate{helpCommand, "Show the usage of a command."})
		}
	}
	for len(node.Positional) == 0 && node.DefaultCmd != nil && l.args == 0 {
		node = node.DefaultCmd
	}
	if n := len(node.Positional); n > 0 {
		at := min(l.args, n-1)
		if at == l.args || node.Positional[at].IsCumulative() {
			var more []Candidate
			more, files = valueCandidates(env, p, node.Positional[at], begin)
			found = append(found, more...)
		}
	}
	if found == nil && !files && begin == "" && !l.flagsOver {
		found = l.flagCandidates()
	}
	return found, files
}

// valueCandidates returns the candidates for the value of a flag or argument: from the program's
// Completer of that name, or an enum's words. files reports that its name, type, placeholder
// or the tag path says that it can be a file or folder.
func valueCandidates(env *Env, p Program, v *kong.Value, begin string) (found []Candidate, files bool) {
	files = v.Name == "dir" || v.Name == "file" || v.Tag.Has("path")
	if c := p.Complete[v.Name]; c != nil {
		return c(env, begin), files
	}
	for _, word := range v.EnumSlice() {
		if word != "" {
			found = append(found, Candidate{word, ""})
		}
	}
	switch {
	case v.Tag.PlaceHolder == "FILE", v.Tag.PlaceHolder == "DIR",
		strings.HasSuffix(v.Tag.Type, "file"), strings.HasSuffix(v.Tag.Type, "dir"), v.Tag.Type == "path":
		files = true
	}
	return found, files
}

// completionScript returns a shell's setup, or "" for an unknown shell.
func completionScript(program, shell string) string {
	text := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[shell]
	return strings.NewReplacer("PROGRAM", program, "FUNCTION", "_"+strings.ReplaceAll(program, "-", "_")).Replace(text)
}

const bash = `# Completes PROGRAM in bash. In ~/.bashrc: eval "$(PROGRAM completion bash)"
FUNCTION() {
	local IFS=$'\n' out line
	COMPREPLY=()
	if ! out=$(PROGRAM __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null); then
		compopt -o default 2>/dev/null # the names of files
		return 0
	fi
	while read -r line; do
		[ -z "$line" ] || COMPREPLY+=("${line%%$'\t'*}")
	done <<<"$out"
}
complete -o nosort -F FUNCTION PROGRAM 2>/dev/null || complete -F FUNCTION PROGRAM
`

const zsh = `#compdef PROGRAM
# Completes PROGRAM in zsh. In ~/.zshrc, behind compinit: eval "$(PROGRAM completion zsh)"
FUNCTION() {
	local out line
	local -a fit
	if ! out=$(PROGRAM __complete "${(@Q)words[2,CURRENT]}" 2>/dev/null); then
		_files
		return
	fi
	for line in "${(@f)out}"; do
		[[ -z $line ]] || fit+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
	done
	_describe -V PROGRAM fit
}
if [ "$funcstack[1]" = FUNCTION ]; then
	FUNCTION "$@"
else
	compdef FUNCTION PROGRAM
fi
`

const fish = `# Completes PROGRAM in fish. In ~/.config/fish/completions/PROGRAM.fish, or by:
# PROGRAM completion fish | source
function FUNCTION
	set -l words (commandline -opc)
	set -e words[1]
	set -l begin (commandline -ct)
	set -l out (PROGRAM __complete $words "$begin" 2>/dev/null)
	if test $status = 0
		printf '%s\n' $out
	else
		__fish_complete_path "$begin"
	end
end
complete -c PROGRAM -f -k -a '(FUNCTION)'
`
