package mailcmd

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/place/identity"
	"gt/lib/state/beads"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/waiting"
	"gt/lib/sys/tmux"
	"gt/lib/text/count"
	"gt/lib/text/frame"
	"gt/lib/text/term"
)

type inbox struct {
	All  bool `help:"Also list notes that are read or done, or for another agent of this folder."`
	JSON bool `name:"json" help:"One JSON object per line."`
}

// listRow is a line of the list: a note, or an issue that bd has hooked.
type listRow struct {
	mail.Note
	Status string `json:"status,omitempty"` // of an issue
	Stale  string `json:"stale,omitempty"`  // why a predecessor may have handled the note
}

const issueType = "bead"

// Run lists the notes for this agent and the work that bd has given it. Without --all it only
// counts what is done, and what is read but not given as work.
func (c *inbox) Run(env *cli.Env) error {
	me := currentAgent(env)
	box := me.box
	if c.All { // also what is for another agent of the folder
		box = box.ReadBy(nil)
	}
	notes, err := box.List()
	if err != nil {
		return err
	}
	created := sessionCreated(env, len(notes) > 0)
	var rows []listRow
	hidden := 0
	for _, n := range notes {
		if !c.All && (n.Done || n.Seen && !n.Hooked) {
			hidden++
			continue
		}
		r := listRow{Note: n.Clean(env.Redact)} // another program may have written it
		if !n.Hooked && !n.Done {
			r.Stale = mail.StaleReason(n.Date, created)
		}
		rows = append(rows, r)
	}
	work, err := beads.Given(me.home, env.ChildEnviron())
	env.WarnError(err)
	for _, w := range work {
		rows = append(rows, listRow{Status: w.Status, Note: mail.Note{
			ID: w.ID, Type: issueType, Subject: env.Redact(w.Title), Date: w.Updated, Hooked: true,
		}})
	}
	// Hooked first, then unread; the sort is stable.
	slices.SortStableFunc(rows, func(a, b listRow) int { return cmp.Compare(a.rank(), b.rank()) })

	if c.JSON {
		return cli.JSONLines(env, rows)
	}
	if len(rows) > 0 {
		if err := c.printTable(env, me, rows); err != nil {
			return err
		}
	}
	switch {
	case len(rows) == 0 && hidden == 0:
		env.Hint("no notes for %s; gt-mail send and gt-handoff leave some", me.home.Identity.Address())
	case len(rows) == 0:
		env.Hint("nothing waits; --all lists %d more, read or done", hidden)
	case hidden > 0:
		env.Hint("--all lists %d more, read or done", hidden)
	}
	me.hintOverseer(env)
	return nil
}

// hintOverseer tells a person in a town how many unread notes the overseer's box has. The overseer
// is the person, who looks into another box here. An agent is not told.
func (a agent) hintOverseer(env *cli.Env) {
	overseer := string(identity.Overseer)
	if a.home.Town.Personal || a.id != "" || env.Getenv(instance.Variable) != "" || a.home.Identity.Address() == overseer {
		return
	}
	switch n, err := mail.NewBox(a.home, overseer).CountUnread(); {
	case err != nil:
		env.WarnError(err)
	case n > 0:
		env.Hint("%s: GT_ROLE=%s gt-mail", count.PluralForm(n, "note for the overseer waits", "notes for the overseer wait"), overseer)
	}
}

// rank orders the list: given work, unread, read, done. It is also the index of flags' words.
func (r listRow) rank() int {
	switch {
	case r.Hooked:
		return 0
	case r.Done:
		return 3
	case r.Seen:
		return 2
	}
	return 1
}

// statusWords returns the status of a note in words. A hand-over that a session has received is
// "delivered" until the session ends. Given work is "hooked" in a town.
func (r listRow) statusWords(inTown bool) string {
	status := []string{"given", "new", "read", "done"}[r.rank()]
	switch {
	case !r.Hooked: // its rank says all
	case r.Type == mail.Handoff && r.Seen:
		status = "delivered"
	case r.Type == mail.Handoff:
		status = "waiting"
	case r.Status == beads.InProgress:
		status = "in progress"
	case inTown:
		status = "hooked"
	}
	if r.Stale != "" {
		status += ",stale"
	}
	return status
}

const maxFrom = 22 // limits the sender's column, in columns of the terminal

func (c *inbox) printTable(env *cli.Env, me agent, rows []listRow) error {
	own, now := me.home.Identity.Address(), env.Now()
	lines := [][]string{{"ID", "FLAGS", "FROM", "DATE", "SUBJECT"}}
	for _, r := range rows {
		from := r.From
		switch {
		case r.Type == issueType:
			from = "bd"
		case from == own:
			from = "self"
		}
		subject := r.Subject
		if subject == "" && r.Problem != "" {
			subject = "(" + r.Problem + ")"
		}
		lines = append(lines, []string{r.ID, r.statusWords(!me.home.Town.Personal), term.CutFront(term.Clean(from), maxFrom), term.FormatDay(r.Date, now), subject})
	}
	width := term.Width(env.Stdout, env.Getenv)
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, width, term.Narrow(width, lines, "DATE", "FROM"), nil)
}

// paneWait bounds a question to tmux, whose program a busy machine takes long to start.
const paneWait = 3 * time.Second

// sessionCreated returns when this command's tmux session began. It is zero outside tmux,
// if tmux does not answer, or if wanted is false.
func sessionCreated(env *cli.Env, wanted bool) time.Time {
	server, pane := tmux.FromEnv(env.Getenv)
	if !wanted || pane == "" {
		return time.Time{}
	}
	p, err := tmux.Server(server).Pane(pane, paneWait)
	if err != nil && !errors.Is(err, tmux.ErrNoServer) {
		env.Warn("cannot tell which notes are stale: %v", err)
	}
	return p.Created
}

type readCmd struct {
	ID   string `arg:"" help:"The note, by its ID or the beginning of it."`
	Mark bool   `help:"Mark it as read, as an agent that reads it does."`
	JSON bool   `name:"json" help:"One JSON object; body has the text as it was written."`
}

// Run prints a note and then marks it as read, if its agent reads it or --mark is given. A
// person, or another agent, may look at it before the agent is told of it.
func (c *readCmd) Run(env *cli.Env) error {
	me := currentAgent(env)
	n, err := me.box.Get(c.ID)
	var kept *mail.Note // of a hand-over, whose copy in the box is gone
	if errors.Is(err, mail.ErrNotFound) {
		if kept = waiting.FindNote(me.home, c.ID); kept != nil {
			n, err = *kept, nil
		}
	}
	if err != nil {
		return findError(err)
	}
	mark := kept == nil && (c.Mark || me.id != "" && !me.box.IsForOther(n))
	r := listRow{Note: n.Clean(env.Redact)} // another program may have written it
	if !n.Hooked && !n.Done {
		r.Stale = mail.StaleReason(n.Date, sessionCreated(env, true))
	}
	if c.JSON {
		if mark { // as it will be; the new path is not known yet
			r.Seen, r.Path = true, ""
		}
		err = env.JSON(r)
	} else {
		err = env.Print(letterText(r, !me.home.Town.Personal))
	}
	if err != nil {
		return err
	}
	if !mark {
		return nil
	}
	return findError(me.box.MarkSeen(n.ID))
}

// letterText returns a note as text. It frames the content as gt-prime does, because an agent
// may read it that saw only a part in its start-up text.
func letterText(r listRow, inTown bool) string {
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
		line("Flags:", r.statusWords(inTown))
	}
	line("Stale:", r.Stale)
	b.WriteByte('\n')
	b.WriteString(frame.Words(r.Body)) // mutant without frame.Words: . TestScripts/handoff_auto_hostile
	if r.Body != "" && !strings.HasSuffix(r.Body, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}
