package term

import "io"

// Style marks text for a terminal: bold, dim, or in a colour. Where there is no
// terminal, or NO_COLOR is set (no-color.org), text stays as it is. The text has
// to be clean before: what a style adds, Clean takes out.
type Style struct{ on bool }

// StyleFor is the style for what is written to w.
func StyleFor(w io.Writer, getenv func(string) string) Style {
	return Style{IsTerminal(w) && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"}
}

// Styled is the style of a person who asked for it: always, or never.
func Styled(on bool) Style { return Style{on} }

// On reports whether there is a style at all.
func (s Style) On() bool { return s.on }

func (s Style) Bold(text string) string   { return s.mark("1", text) }
func (s Style) Dim(text string) string    { return s.mark("2", text) }
func (s Style) Red(text string) string    { return s.mark("31", text) }
func (s Style) Green(text string) string  { return s.mark("32", text) }
func (s Style) Yellow(text string) string { return s.mark("33", text) }
func (s Style) Cyan(text string) string   { return s.mark("36", text) }

// Match marks what was looked for, as grep does.
func (s Style) Match(text string) string { return s.mark("1;31", text) }

func (s Style) mark(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
