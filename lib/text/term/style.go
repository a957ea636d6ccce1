package term

import (
	"io"
	"slices"
)

// Style marks text for a terminal: bold, dim or coloured. Without a terminal, or with
// NO_COLOR (no-color.org), it does nothing; CLICOLOR_FORCE and FORCE_COLOR stand for a
// terminal. Clean the text first: Clean removes styles.
type Style struct {
	on    bool
	whole string // see CutLast
}

// StyleFor returns the style for output to w.
func StyleFor(w io.Writer, getenv func(string) string) Style {
	set := func(name string) bool { return !slices.Contains([]string{"", "0", "false"}, getenv(name)) }
	forced := set("CLICOLOR_FORCE") || set("FORCE_COLOR")
	return Style{on: getenv("NO_COLOR") == "" && (forced || IsTerminal(w) && getenv("TERM") != "dumb")}
}

// Styled returns a style that is always on or off, as the person asked for.
func Styled(on bool) Style { return Style{on: on} }

// CutLast returns the style for tables in which the column with that heading is cut after all
// others.
func (s Style) CutLast(heading string) Style {
	s.whole = heading
	return s
}

func (s Style) IsEnabled() bool { return s.on }

func (s Style) Bold(text string) string { return s.mark("1", text) }
func (s Style) Dim(text string) string  { return s.mark("2", text) }

// Reverse exchanges the colours of text and background.
func (s Style) Reverse(text string) string { return s.mark("7", text) }

func (s Style) Red(text string) string    { return s.mark("31", text) }
func (s Style) Green(text string) string  { return s.mark("32", text) }
func (s Style) Yellow(text string) string { return s.mark("33", text) }
func (s Style) Cyan(text string) string   { return s.mark("36", text) }

// Match marks a match, like grep.
func (s Style) Match(text string) string { return s.mark("1;31", text) }

func (s Style) mark(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
