package record

import (
	"fmt"
	"io"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/conversation"
	kept "gt/lib/record"
	"gt/lib/text/term"
)

// marked writes a conversation as Markdown: what was said as it is, what tools were called
// with and gave in fences.
type marked struct {
	env   *cli.Env
	w     io.Writer
	agent string
	who   string
	err   error
}

func (p *marked) line(l *kept.Line) {
	text := strings.TrimSpace(term.CleanText(p.env.Redact(l.Text)))
	if l.Hidden != "" {
		text = strings.TrimSpace(text + "\n[left out: " + term.Clean(l.Hidden) + "]")
	}
	switch conversation.Kind(l.Kind) {
	case conversation.Prompt, conversation.Reply:
		p.say("You", l.Time, text)
	case conversation.Answer:
		p.say(p.agent, l.Time, text)
	case conversation.Summary:
		p.say("Summary", l.Time, text)
	case conversation.Call:
		p.head(p.agent, l.Time)
		if text == "" {
			text = term.CleanText(p.env.Redact(l.Target))
		}
		p.put("**" + term.Clean(p.env.Redact(l.Tool)) + "**\n\n" + fenced(text))
	case conversation.Result:
		p.put(fenced(text))
	}
}

func (p *marked) say(who string, at time.Time, text string) {
	if text != "" {
		p.head(who, at)
		p.put(text + "\n")
	}
}

func (p *marked) head(who string, at time.Time) {
	if who == p.who {
		return
	}
	p.who = who
	when := ""
	if !at.IsZero() {
		when = ", " + at.UTC().Format(time.RFC3339)
	}
	p.put("## " + who + when + "\n")
}

func (p *marked) put(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprint(p.w, "\n"+text)
	}
}

// fenced is a text between fences that are longer than any in it.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence + "\n"
}
