package launcher

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"gt/lib/text/term"
)

// CommandMark is the place in a launcher's words of a command line that is one word.
const CommandMark = "{command}"

// WrapCommand returns the words of a launcher with a command in their place: after them, or at
// the mark.
func WrapCommand(words, command []string) []string {
	all := make([]string, 0, len(words)+len(command))
	marked := false
	for _, w := range words {
		if strings.Contains(w, CommandMark) {
			w, marked = strings.ReplaceAll(w, CommandMark, term.QuoteWords(command)), true
		}
		all = append(all, w)
	}
	if marked {
		return all
	}
	return append(all, command...)
}

// nestLaunchers joins the words of an outer and an inner launcher. It fails if a command line
// would become a word inside a word.
func nestLaunchers(outer, inner []string) ([]string, bool) {
	all := slices.Clone(outer)
	at := slices.IndexFunc(all, func(w string) bool { return strings.Contains(w, CommandMark) })
	switch {
	case at < 0:
		return append(all, inner...), true
	case len(inner) == 0:
		return all, true
	case slices.ContainsFunc(inner, func(w string) bool { return strings.Contains(w, CommandMark) }):
		return nil, false
	}
	all[at] = strings.ReplaceAll(all[at], CommandMark, term.QuoteWords(inner)+" "+CommandMark)
	return all, true
}

// maxLine bounds the bytes that Split parses, and maxOpen the brackets: the parser recurses
// for each.
const (
	maxLine = 64 << 10
	maxOpen = 100
)

var errNotPlain = errors.New("it needs a shell (only words and quotes are understood)")

// Split splits a command line as a shell does, without running or expanding anything but a
// ~ for home. It refuses a line with more than words and quotes.
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

// wordText returns a word without its quotes. ok is false if a shell would expand it.
func wordText(w *syntax.Word, home string) (text string, ok bool) {
	for i, part := range w.Parts {
		var piece string
		switch p := part.(type) {
		case *syntax.Lit:
			piece, ok = unquoteLiteral(p.Value, home, i == 0)
		case *syntax.SglQuoted:
			piece, ok = p.Value, !p.Dollar
		case *syntax.DblQuoted:
			piece, ok = unquoteDouble(p)
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

// unquoteLiteral returns an unquoted piece of a word, with home for a ~ that begins it. first says
// that it begins the word. ok is false if a shell would expand it otherwise.
func unquoteLiteral(value, home string, first bool) (text string, ok bool) {
	switch {
	case first && home != "" && (value == "~" || strings.HasPrefix(value, "~/")):
		value = home + value[1:]
	case first && strings.HasPrefix(value, "~"), strings.ContainsAny(value, "*?["), strings.Contains(value, "{") && value != CommandMark:
		return "", false
	}
	return unescape(value, ""), true
}

// unquoteDouble returns a quoted text. ok is false if the shell would expand or translate it ($"…").
func unquoteDouble(q *syntax.DblQuoted) (text string, ok bool) {
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		text += unescape(lit.Value, "$`\"\\\n")
	}
	return text, !q.Dollar
}

// unescape removes the backslashes before the characters in special, or before all if
// special is empty.
func unescape(s, special string) string {
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
