package recordcmd

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/record"
	"gt/lib/text/term"
)

// markdownPage writes a conversation as Markdown. Messages are quotations; the input and output
// of tools are fenced in quotations.
type markdownPage struct {
	env   *cli.Env
	w     io.Writer
	agent string
	who   string
	err   error
}

func (p *markdownPage) putEntry(l *record.Line) {
	text := strings.TrimSpace(term.CleanText(p.env.Redact(l.Text)))
	if l.Hidden != "" {
		defer p.putText("(Left out: " + inlineCode(l.Hidden) + ")\n")
	}
	switch conversation.Kind(l.Kind) {
	case conversation.Prompt, conversation.Reply:
		p.putMessage("You", l.Time, text)
	case conversation.Message:
		p.putMessage("Message from "+inlineCode(l.Tool), l.Time, text)
	case conversation.Answer:
		p.putMessage(p.agent, l.Time, text)
	case conversation.Summary:
		p.putMessage("Summary", l.Time, text)
	case conversation.Call:
		p.putSpeaker(p.agent, l.Time)
		if text == "" {
			text = term.CleanText(p.env.Redact(l.Target))
		}
		p.putText("**" + inlineCode(p.env.Redact(l.Tool)) + "**\n\n" + fenceText(text))
	case conversation.Result:
		if text != "" || l.Hidden == "" {
			p.putText(fenceText(text))
		}
	}
}

func (p *markdownPage) putMessage(who string, at time.Time, text string) {
	if text != "" {
		p.putSpeaker(who, at)
		p.putText(quoteText(text) + "\n")
	}
}

// putSpeaker writes a heading when the speaker changes. It has the time of the first entry below it.
func (p *markdownPage) putSpeaker(who string, at time.Time) {
	if who == p.who {
		return
	}
	p.who = who
	when := ""
	if !at.IsZero() {
		when = ", " + at.UTC().Format(time.RFC3339)
	}
	p.putText("## " + who + when + "\n")
}

func (p *markdownPage) putText(text string) {
	if p.err == nil {
		_, p.err = fmt.Fprint(p.w, "\n"+text)
	}
}

func fenceText(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return "> " + fence + "\n> " + strings.ReplaceAll(text, "\n", "\n> ") + "\n> " + fence + "\n"
}

func inlineCode(text string) string {
	return "`" + strings.ReplaceAll(term.OneLine(term.Clean(text)), "`", "'") + "`"
}

// quoteText returns a text as a quotation that neither tags nor headings in it can leave. Text
// in fences stays as it is, if the fence is certain to be one: it begins a line. After any
// other fence nothing is certain any more.
func quoteText(text string) string {
	var b strings.Builder
	fence, certain := "", true
	for line := range strings.Lines(text) {
		mark, before := fenceIn(line)
		rest := line[len(before)+len(mark):]
		alone := strings.Trim(rest, " \t\n") == ""
		switch {
		case fence != "":
			if mark != "" {
				before = strings.ReplaceAll(before, "\t", "    ") // a tab is narrower after the quotation mark
				line = before + mark + rest
			}
			if alone && strings.HasPrefix(mark, fence) && len(before) < 4 && strings.Trim(before, " ") == "" {
				fence = ""
			}
		case mark != "" && before == "" && certain && !strings.Contains(rest, "`"):
			fence = mark
			line = mark + escapeTags(rest)
		default:
			certain = certain && mark == ""
			line = escapeTags(line)
		}
		b.WriteString("> " + line)
	}
	return b.String()
}

// fenceIn returns a run of at least three backticks or tildes, if the line has only blanks,
// list markers and quotation marks before it.
func fenceIn(line string) (mark, before string) {
	rest := strings.TrimLeft(line, " \t>-+*.)0123456789")
	for _, c := range []string{"`", "~"} {
		if n := len(rest) - len(strings.TrimLeft(rest, c)); n >= 3 {
			return rest[:n], line[:len(line)-len(rest)]
		}
	}
	return "", ""
}

// escapeTags escapes everything that could begin an HTML tag or comment.
func escapeTags(text string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c == '<' && i+1 < len(text) && (strings.IndexByte("/!?", text[i+1]) >= 0 || unicode.IsLetter(rune(text[i+1]))) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
