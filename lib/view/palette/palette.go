// Package palette defines the look of a session's outcome. It never relies on colour alone,
// for paper, colour-blind readers and terminals without colours.
package palette

import (
	"io"
	"strings"

	"gt/lib/catalog"
	"gt/lib/live/status"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// OutcomeStyle is the look of one outcome.
type OutcomeStyle struct {
	Outcome session.Outcome
	Means   string // text of the legend
	Letter  string // CSS class, one letter
	Light   string // colour on white
	Dark    string // colour on black; both after Okabe and Ito, for colour-blind readers
	Mark    rune   // in a terminal
	ASCII   rune   // in a terminal with ASCII only
	sgr     string // ANSI colour
}

// OutcomeStyles has all outcomes in the order of a legend.
var OutcomeStyles = []OutcomeStyle{
	{session.Handoff, "handed over", "h", "#0072b2", "#4aa8e0", '▶', '>', "34"},
	{session.Done, "came to its end", "d", "#00875f", "#2fbf95", '●', 'o', "32"},
	{session.Crash, "crashed", "c", "#c8420b", "#ff7a3d", '✖', 'X', "31"},
	{session.Killed, "was killed", "k", "#a8467f", "#e08fc0", '■', '#', "35"},
	{catalog.Active, "is at work", "a", "#b97a00", "#f0b93a", '»', '~', "33"},
	{catalog.Gone, "nothing more is known", "g", "#7c828c", "#8d949f", '◌', '?', "90"},
}

// FindStyle returns the style of an outcome. Unknown outcomes have the last style.
func FindStyle(o session.Outcome) *OutcomeStyle {
	for i := range OutcomeStyles {
		if OutcomeStyles[i].Outcome == o {
			return &OutcomeStyles[i]
		}
	}
	return &OutcomeStyles[len(OutcomeStyles)-1]
}

// Style is what a terminal can show.
type Style struct {
	term.Style
	ASCII bool // draw ASCII only
}

// StyleFor returns the style for output to w. ASCII is set if the locale names a charset
// other than UTF-8. Without a locale, as in a container, it is not.
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

// MarkOf returns the mark of an outcome.
func (s Style) MarkOf(l *OutcomeStyle) string {
	if s.ASCII {
		return string(l.ASCII)
	}
	return string(l.Mark)
}

// Paint colours a text if the terminal has colours.
func (s Style) Paint(l *OutcomeStyle, text string) string {
	if !s.IsEnabled() || text == "" {
		return text
	}
	return "\x1b[" + l.sgr + "m" + text + "\x1b[0m"
}

// Plain replaces the ellipsis of a cut text in an ASCII terminal.
func (s Style) Plain(text string) string {
	if s.ASCII {
		return strings.ReplaceAll(text, "…", "~")
	}
	return text
}

type statusStyle struct {
	mark, ascii rune
	sgr         string
}

var statusStyles = map[status.Status]statusStyle{
	status.Waiting:  {'●', '!', "33"},
	status.Error:    {'✖', 'X', "31"},
	status.Running:  {'»', '~', "32"},
	status.Starting: {'»', '~', "33"},
	status.Idle:     {'○', 'o', "2"},
	status.Unknown:  {'?', '?', "2"},
	status.Stopped:  {'·', '-', "2"},
}

// StatusMark returns the mark of what an agent does.
func (s Style) StatusMark(of status.Status) string {
	look, ok := statusStyles[of]
	switch {
	case !ok:
		return "?"
	case s.ASCII:
		return string(look.ascii)
	}
	return string(look.mark)
}

// PaintStatus colours a text by what an agent does, as gt-session list does.
func (s Style) PaintStatus(of status.Status, text string) string {
	look, ok := statusStyles[of]
	if !s.IsEnabled() || text == "" || !ok {
		return text
	}
	return "\x1b[" + look.sgr + "m" + text + "\x1b[0m"
}
