// Package transcript prints a conversation for a person: indented paragraphs under headings
// for each change of speaker or turn. Only gt's own lines begin at the margin, so no
// paragraph can look like a heading, a tool's call or a note.
package transcript

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"gt/lib/text/term"
)

// Page is a conversation that is being printed.
type Page struct {
	W        io.Writer
	Style    term.Style
	Now      func() time.Time
	Width    int  // of the terminal; 0 without one
	Numbered bool // put the number of the turn into headings

	Turn    int
	Speaker string // of the previous paragraph, "" without one
	Err     error  // of the last failed write
}

// Say prints a paragraph.
func (p *Page) Say(who string, color func(string) string, at time.Time, text string) {
	p.Head(who, color, at)
	p.Put(term.Indent(text, p.Width) + "\n")
}

// Called prints the call of a tool as a line below the agent's heading.
func (p *Page) Called(agent string, color func(string) string, at time.Time, tool, about string) {
	width := p.Width
	if width <= 0 {
		width = callWidth
	}
	p.Head(agent, color, at)
	p.Put(p.Style.Dim(term.Cut(Tool(tool)+": "+term.OneLine(about), width)) + "\n")
}

// callWidth limits a call without a terminal, in columns.
const callWidth = 200

// Tool returns a tool as a speaker. The mark distinguishes it from a person with the same
// name.
func Tool(name string) string { return "> " + name }

// Note prints a remark of gt.
func (p *Page) Note(text string) {
	p.Speaker = "-" // so that the next paragraph has a heading
	p.Put("\n")
	p.remark(text)
}

// LeftOut prints that a part of the speaker's text was left out, and why.
func (p *Page) LeftOut(why string) { p.remark("left out: " + why) }

func (p *Page) remark(text string) {
	p.Put(p.Style.Yellow(term.Fill("("+text+")", p.Width, len(term.Margin))) + "\n")
}

// Head prints a heading if the speaker or the turn changed.
func (p *Page) Head(who string, color func(string) string, at time.Time) {
	speaker := fmt.Sprint(p.Turn, who)
	if speaker == p.Speaker {
		return
	}
	gap := "\n"
	if p.Speaker == "" {
		gap = ""
	}
	p.Speaker = speaker
	when := ""
	if !at.IsZero() && p.Now != nil {
		when = ", " + term.FormatDay(at.Local(), p.Now())
	}
	if p.Numbered {
		who = "[" + strconv.Itoa(p.Turn) + "] " + who
	}
	p.Put(gap + p.Style.Bold(color(who)) + p.Style.Dim(when) + "\n")
}

// Put prints a text unchanged.
func (p *Page) Put(s string) {
	if _, err := io.WriteString(p.W, s); err != nil {
		p.Err = err
	}
}
