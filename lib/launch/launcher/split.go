package launcher

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"gt/lib/text/term"
)

// mark stands in the words of a launcher for a command line that it takes as one word.
const mark = "{command}"

// Around returns the command line that starts a command with the words of a launcher: they
// stand before it, or the command is one word of theirs.
func Around(words, command []string) []string {
	all := make([]string, 0, len(words)+len(command))
	marked := false
	for _, w := range words {
		if strings.Contains(w, mark) {
			w, marked = strings.ReplaceAll(w, mark, quoted(command)), true
		}
		all = append(all, w)
	}
	if marked {
		return all
	}
	return append(all, command...)
}

// within returns the words of two launchers of which the outer starts the inner. It fails
// where a command line would be a word of a word.
func within(outer, inner []string) ([]string, bool) {
	all := slices.Clone(outer)
	at := slices.IndexFunc(all, func(w string) bool { return strings.Contains(w, mark) })
	switch {
	case at < 0:
		return append(all, inner...), true
	case len(inner) == 0:
		return all, true
	case slices.ContainsFunc(inner, func(w string) bool { return strings.Contains(w, mark) }):
		return nil, false
	}
	all[at] = strings.ReplaceAll(all[at], mark, quoted(inner)+" "+mark)
	return all, true
}

// quoted is a command line for a shell.
func quoted(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = term.Quote(w)
	}
	return strings.Join(words, " ")
}

// maxLine is the longest command line that is split, in bytes, and maxOpen how many brackets
// it may open: the parser calls itself for each.
const (
	maxLine = 64 << 10
	maxOpen = 100
)

var errNotPlain = errors.New("it needs a shell (only words and quotes are understood)")

// Split returns the words of a command line, as a shell would. Nothing is run or looked
// up: a line that has more than words, quotes and a ~ for the home folder is refused.
func Split(line, home string) ([]string, error) {
	if len(line) > maxLine || strings.Count(line, "(")+strings.Count(line, "{") > maxOpen {
		return nil, errNotPlain
	}
	f, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(line), "")
	if err != nil || len(f.Stmts) != 1 {
		return nil, errNotPlain
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(s.Redirs) > 0 || s.Negated || s.Background || s.Coprocess || s.Disown || len(s.Comments) > 0 || len(f.Last) > 0 {
		return nil, errNotPlain
	}
	var words []string
	for _, w := range call.Args {
		text, ok := wordText(w, home)
		if !ok {
			return nil, errNotPlain
		}
		words = append(words, text)
	}
	return words, nil
}

// wordText returns what a word is without its quotes. ok is false if a shell would make
// something else of it.
func wordText(w *syntax.Word, home string) (text string, ok bool) {
	for i, part := range w.Parts {
		var piece string
		switch p := part.(type) {
		case *syntax.Lit:
			piece, ok = literal(p.Value, home, i == 0)
		case *syntax.SglQuoted:
			piece, ok = p.Value, !p.Dollar
		case *syntax.DblQuoted:
			piece, ok = doubleQuoted(p)
		default:
			ok = false
		}
		if !ok {
			return "", false
		}
		text += piece
	}
	return text, true
}

// literal returns what a piece of a word is that is not quoted. first says whether it begins
// the word.
func literal(value, home string, first bool) (text string, ok bool) {
	switch {
	case first && home != "" && (value == "~" || strings.HasPrefix(value, "~/")):
		value = home + value[1:]
	case first && strings.HasPrefix(value, "~"), strings.ContainsAny(value, "*?["), strings.Contains(value, "{") && value != mark:
		return "", false
	}
	return unescaped(value, ""), true
}

func doubleQuoted(q *syntax.DblQuoted) (text string, ok bool) {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		text += unescaped(lit.Value, "$`\"\\\n")
	}
	return text, !q.Dollar
}

// unescaped takes out the backslashes before the characters special, or before all where
// none is named.
func unescaped(s, special string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (special == "" || strings.IndexByte(special, s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
