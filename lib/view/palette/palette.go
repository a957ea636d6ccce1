// Package palette is how the outcome of a session looks: a colour, and never a
// colour alone, so that it is told apart on paper, by a reader who sees no
// colours, and in a terminal that has none.
package palette

import (
	"io"
	"strings"

	"gt/lib/catalog"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// OutcomeStyle is how one outcome is shown.
type OutcomeStyle struct {
	Outcome session.Outcome
	Means   string // in a legend
	Letter  string // the class in a page, one letter
	Light   string // the colour on white, and on
	Dark    string // black: Okabe and Ito's, which those who are colour-blind tell apart
	Mark    rune   // in a terminal, and
	ASCII   rune   // in one that knows no more than that
	sgr     string // the terminal's own colour
}

// OutcomeStyles are the outcomes in the order of a legend.
var OutcomeStyles = []OutcomeStyle{
	{session.Handoff, "handed over", "h", "#0072b2", "#4aa8e0", '▶', '>', "34"},
	{session.Done, "came to its end", "d", "#00875f", "#2fbf95", '●', 'o', "32"},
	{session.Crash, "crashed", "c", "#c8420b", "#ff7a3d", '✖', 'X', "31"},
	{session.Killed, "was killed", "k", "#a8467f", "#e08fc0", '■', '#', "35"},
	{catalog.Active, "is at work", "a", "#b97a00", "#f0b93a", '»', '~', "33"},
	{catalog.Gone, "nothing more is known", "g", "#7c828c", "#8d949f", '◌', '?', "90"},
}

// Of is the look of an outcome. One that is not known looks like one of which
// nothing is.
func Of(o session.Outcome) OutcomeStyle {
	for _, l := range OutcomeStyles {
		if l.Outcome == o {
			return l
		}
	}
	return OutcomeStyles[len(OutcomeStyles)-1]
}

// Style is what a terminal can show.
type Style struct {
	term.Style
	ASCII bool // nothing but ASCII is drawn
}

// StyleFor is the style for what is written to w. ASCII is for a locale whose
// characters are known to be others than UTF-8's; where no locale is set at all,
// as in a container, the terminal is one of today.
func StyleFor(w io.Writer, getenv func(string) string) Style {
	var locale string
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale = getenv(name); locale != "" {
			break
		}
	}
	charset := strings.ReplaceAll(strings.ToLower(locale), "-", "")
	return Style{term.StyleFor(w, getenv), locale != "" && !strings.Contains(charset, "utf8")}
}

// MarkOf is the mark of a look.
func (s Style) MarkOf(l OutcomeStyle) string {
	if s.ASCII {
		return string(l.ASCII)
	}
	return string(l.Mark)
}

// Paint colours a text where the terminal shows colours.
func (s Style) Paint(l OutcomeStyle, text string) string {
	if !s.On() || text == "" {
		return text
	}
	return "\x1b[" + l.sgr + "m" + text + "\x1b[0m"
}

// Plain puts what ASCII has in the place of the ellipsis of a text that was cut.
func (s Style) Plain(text string) string {
	if s.ASCII {
		return strings.ReplaceAll(text, "…", "~")
	}
	return text
}
