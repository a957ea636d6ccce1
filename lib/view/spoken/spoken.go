// Package spoken writes what is said in a conversation for a person: paragraphs, under a
// heading where the speaker or the turn changes.
package spoken

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
	Numbered bool // headings have the number of the turn

	Turn    int
	Speaker string // of the paragraph before, "" where there is none
	Err     error  // of a write
}

// Say writes a paragraph.
func (p *Page) Say(who string, color func(string) string, at time.Time, text string) {
	p.Head(who, color, at)
	p.Put(text + "\n")
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
