// Package transcript writes what is said in a conversation for a person: indented paragraphs,
// under a heading where the speaker or the turn changes. Only gt writes at the margin, so
// no paragraph reads as a heading, a tool's call or a note.
package transcript

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"gt/lib/text/term"
)

// Page is a conversation that is being written.
type Page struct {
	W        io.Writer
	Style    term.Style
	Now      func() time.Time
	Width    int  // of the terminal; 0 is none
	Numbered bool // headings have the number of the turn

	Turn    int
	Speaker string // of the paragraph before, "" where there is none
	Err     error  // of a write
}

// Say writes a paragraph.
func (p *Page) Say(who string, color func(string) string, at time.Time, text string) {
	p.Head(who, color, at)
	p.Put(term.Indent(text, p.Width) + "\n")
}

// Called writes that a tool was called, in a line of its own under the agent's heading.
func (p *Page) Called(agent string, color func(string) string, at time.Time, tool, about string) {
	width := p.Width
	if width <= 0 {
		width = callWidth
	}
	p.Head(agent, color, at)
	p.Put(p.Style.Dim(term.Cut(Tool(tool)+": "+term.OneLine(about), width)) + "\n")
}

// callWidth is what is shown of a tool's call where there is no terminal.
const callWidth = 200

// Tool is a tool as a speaker: whoever named it may have called it as a person.
func Tool(name string) string { return "> " + name }

// Note writes a remark of gt's own.
func (p *Page) Note(text string) {
	p.Speaker = "-"
	p.Put("\n")
	p.remark(text)
}

// LeftOut writes that something of what the speaker said was left out, and why.
func (p *Page) LeftOut(why string) { p.remark("left out: " + why) }

func (p *Page) remark(text string) {
	p.Put(p.Style.Yellow(term.Fill("("+text+")", p.Width, len(term.Margin))) + "\n")
}

// Head writes a heading, unless the same one speaks on in the same turn.
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
		when = ", " + term.Day(at.Local(), p.Now())
	}
	if p.Numbered {
		who = "[" + strconv.Itoa(p.Turn) + "] " + who
	}
	p.Put(gap + p.Style.Bold(color(who)) + p.Style.Dim(when) + "\n")
}

// Put writes a text as it is.
func (p *Page) Put(s string) {
	if _, err := io.WriteString(p.W, s); err != nil {
		p.Err = err
	}
}
