package recordcmd

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/record"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

//go:embed page.css
var css string

// writeHTML prints records as one page. The page loads nothing, and its policy forbids it to.
// Calls and their results are folded.
func writeHTML(env *cli.Env, s record.Store, ids []record.ID) error {
	p := &htmlPage{env: env, w: bufio.NewWriter(env.Stdout), escape: strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;")}
	sum := sha256.Sum256([]byte(css))
	for n, id := range ids {
		i, err := s.Info(id)
		if err != nil {
			return err
		}
		p.agent = p.escapeText(i.Agent)
		if n == 0 {
			p.putText(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-` + base64.StdEncoding.EncodeToString(sum[:]) + `'; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>` + p.escapeLine(i.Title) + `</title>
<style>` + css + `</style>
</head>
<body>
`)
		}
		p.putText(`<section id="` + string(id) + `">` + "\n<h1>" + p.escapeLine(i.Title) + "</h1>\n<p class=\"about\">" + p.agent + " " + p.escapeLine(i.Session))
		if i.CWD != "" {
			p.putText(" in <code>" + p.escapeLine(i.CWD) + "</code>")
		}
		p.putText(fmt.Sprintf(", %s, %s</p>\n", formatTime(i.Started), count.Plural(i.Messages, "message")))
		if err := s.Lines(id, func(l record.Line) bool { p.putEntry(&l); return p.err == nil }); err != nil {
			return err
		}
		p.putText("</section>\n")
	}
	p.putText("</body>\n</html>\n")
	return errors.Join(p.err, p.w.Flush())
}

type htmlPage struct {
	env    *cli.Env
	w      *bufio.Writer
	escape *strings.Replacer
	agent  string
	err    error
}

func (p *htmlPage) putText(text string) {
	if p.err == nil {
		_, p.err = p.w.WriteString(text)
	}
}

// escapeText returns a text escaped for a page, and line one without line breaks.
func (p *htmlPage) escapeText(s string) string {
	return p.escape.Replace(strings.TrimSpace(term.CleanText(p.env.Redact(s))))
}

func (p *htmlPage) escapeLine(s string) string { return p.escapeText(term.OneLine(s)) }

func formatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// putEntry writes a line of a record, with calls and results folded. It leaves out steps and remarks.
func (p *htmlPage) putEntry(l *record.Line) {
	text := p.escapeText(l.Text)
	if l.Hidden != "" {
		defer p.putText(`<p class="about">Left out: ` + p.escapeLine(l.Hidden) + "</p>\n")
	}
	putArticle := func(class, who string) {
		if text != "" {
			p.putText(`<article class="` + class + `"><h2>` + who + ` <time>` + formatTime(l.Time) + "</time></h2>\n<pre>" + text + "</pre></article>\n")
		}
	}
	putFolded := func(class, about string) {
		p.putText(`<details class="` + class + `"><summary>` + about + "</summary><pre>" + text + "</pre></details>\n")
	}
	switch l.Kind {
	case record.Kind(conversation.Prompt), record.Kind(conversation.Reply):
		putArticle("you", "You")
	case record.Kind(conversation.Message):
		putArticle("summary", "Message from "+p.escapeText(l.Tool))
	case record.Kind(conversation.Answer):
		putArticle("agent", p.agent)
	case record.Kind(conversation.Summary):
		putArticle("summary", "Summary")
	case record.Kind(conversation.Call):
		const width = 120
		about := cmp.Or(l.Target, l.Text)
		text = cmp.Or(text, p.escapeText(l.Target))
		putFolded("call", "<b>"+p.escapeLine(l.Tool)+"</b> "+p.escapeLine(term.Cut(term.OneLine(term.CleanText(p.env.Redact(about))), width)))
	case record.Kind(conversation.Result):
		state := "result"
		if l.Failed || l.Rejected {
			state = "failed"
		}
		putFolded("call "+state, state)
	case record.End:
		p.putText(`<p class="about">The session ended ` + formatTime(l.Time) + p.escapeLine(reasonSuffix(l)) + "</p>\n")
	}
}
