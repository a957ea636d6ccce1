package mailcmd

import (
	"io"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/state/mail"
	"gt/lib/text/frame"
)

type read struct {
	ID   string `arg:"" help:"The note, by its ID or the beginning of it."`
	Mark bool   `help:"Mark it as read, as an agent that reads it does."`
	JSON bool   `name:"json" help:"One JSON object; body has the text as it was written."`
}

// Run prints a note and then marks it as read, if its agent reads it or --mark is given. A
// person, or another agent, may look at it before the agent is told of it.
func (c *read) Run(env *cli.Env) error {
	me := self(env)
	n, err := me.box.Get(c.ID)
	if err != nil {
		return unfound(err)
	}
	mark := c.Mark || me.id != "" && !me.box.Others(n)
	r := row{Note: n.Clean(env.Redact)} // another program may have written it
	if !n.Hooked && !n.Done {
		r.Stale = mail.StaleReason(n.Date, sessionCreated(env, true))
	}
	if c.JSON {
		if mark { // as it will be; the new path is not known yet
			r.Seen, r.Path = true, ""
		}
		err = env.JSON(r)
	} else {
		_, err = io.WriteString(env.Stdout, letter(r, !me.home.Town.Personal))
	}
	if err != nil {
		return err
	}
	if !mark {
		return nil
	}
	return unfound(me.box.MarkSeen(n.ID))
}

// letter returns a note as text. It frames the content as gt-prime does, because an agent
// may read it that saw only a part in its start-up text.
func letter(r row, inTown bool) string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			b.WriteString(key + strings.Repeat(" ", max(1, 9-len(key))) + frame.Line(value) + "\n")
		}
	}
	line("From:", r.From)
	line("To:", r.To)
	line("Date:", r.Date.Local().Format(time.RFC1123Z))
	line("Subject:", r.Subject)
	line("Session:", r.Session)
	if r.Hooked || r.Done || r.Stale != "" {
		line("Flags:", r.flags(inTown))
	}
	line("Stale:", r.Stale)
	b.WriteByte('\n')
	b.WriteString(frame.Words(r.Body)) // mutant without frame.Words: . TestScripts/handoff_auto_hostile
	if r.Body != "" && !strings.HasSuffix(r.Body, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}
