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
		word, ok := "", true
		for i, part := range w.Parts {
			var text string
			switch p := part.(type) {
			case *syntax.Lit:
				text = p.Value
				if i == 0 && (text == "~" || strings.HasPrefix(text, "~/")) && home != "" {
					text = home + text[1:]
				} else if strings.HasPrefix(text, "~") && i == 0 || strings.ContainsAny(text, "*?[") || strings.Contains(text, "{") && text != mark {
					ok = false
				}
				text = unescaped(text, "")
			case *syntax.SglQuoted:
				text, ok = p.Value, ok && !p.Dollar
			case *syntax.DblQuoted:
				ok = ok && !p.Dollar
				for _, inner := range p.Parts {
					lit, is := inner.(*syntax.Lit)
					if !is {
						return nil, errNotPlain
					}
					text += unescaped(lit.Value, "$`\"\\\n")
				}
			default:
				ok = false
			}
			word += text
		}
		if !ok {
			return nil, errNotPlain
		}
		words = append(words, word)
	}
	return words, nil
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
