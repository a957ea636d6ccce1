// Package seance is the gt-seance command: it finds the sessions that ever ran
// in a town.
package seance

import (
	"fmt"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/eventlog"
	"gt/lib/home"
	"gt/lib/roll"
	"gt/lib/span"
	"gt/lib/term"
)

const summary = `
Finds the sessions that ever ran, in the town or, outside one, for this user.

  gt-seance                                      the latest 20
  gt-seance list --agent crew/max --since 24h
  gt-seance show 4f2c81d0
  gt-seance list --recent 0 --json | jq -r 'select(.outcome == "crash").id'

An outcome is handoff, done, crash or killed; a session that did not end is
active while its process runs, and gone when nothing of it can be found.
`

const exitCodes = `
   0  done
   1  show: no such session, or several
`

// Main runs gt-seance and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-seance", Summary: summary, Exits: exitCodes, Grammar: &grammar{}})
}

type grammar struct {
	cli.Flags
	List list `cmd:"" default:"withargs" help:"List sessions, the newest first (the default)."`
	Show show `cmd:"" help:"Show all that is known of one session."`
}

// open reads the roll of the town that the command runs in.
func open(env *cli.Env) (roll.Roll, error) {
	h := home.Find(env.Getenv, env.Dir, "")
	return roll.Read(eventlog.Log(h.Town.Events()))
}

const noSessions = "no session was recorded here yet; gt-hooks install wires gt into an agent"

type list struct {
	Agent  string `placeholder:"NAME" help:"Of this client (claude) or agent: an address or its end (gastown/crew/max, crew/max)."`
	Role   string `placeholder:"ROLE" help:"Of agents in this role: crew, polecat, witness, refinery, mayor, …"`
	Rig    string `placeholder:"RIG" help:"Of agents in this rig."`
	Since  since  `placeholder:"WHEN" help:"At work since then: 24h, 7d, 2026-01-17, or a time in RFC 3339."`
	Recent int    `default:"20" placeholder:"N" help:"At most so many, the newest (default 20); 0 lists all."`
	JSON   bool   `name:"json" help:"One JSON object a line."`
}

// Validate refuses a negative number of sessions.
func (c *list) Validate() error {
	if c.Recent < 0 {
		return fmt.Errorf("--recent wants a number from 0 on")
	}
	return nil
}

// Run lists the sessions that fit.
func (c *list) Run(env *cli.Env) error {
	all, err := open(env)
	if err != nil {
		return err
	}
	now := env.Now()
	f := roll.Filter{Agent: strings.TrimSuffix(c.Agent, "/"), Role: c.Role, Rig: c.Rig, Since: c.Since.before(now)}
	found := all.Select(f, c.Recent)
	for _, s := range found {
		s.Clean(env.Redact) // another program may have logged it
	}
	if c.JSON {
		for _, s := range found {
			if err := env.JSON(s); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case len(all) == 0:
		env.Hint(noSessions)
		return nil
	case len(found) == 0:
		env.Hint("none of %d sessions fits", len(all))
		return nil
	}
	return table(env, all, found, now)
}

const (
	maxActor = 22  // columns of an address
	wide     = 100 // columns from which on the client is shown too
)

func table(env *cli.Env, all, found roll.Roll, now time.Time) error {
	width := term.Width(env.Stdout, env.Getenv)
	short := all.Short()
	rows := [][]string{{"SESSION", "ACTOR", "AGENT", "STARTED", "OUTCOME", "TOPIC"}}
	for _, s := range found {
		actor, agent := term.Clean(s.Actor), term.Clean(s.Agent)
		if width > 0 {
			actor, agent = term.CutFront(actor, maxActor), term.Cut(agent, maxActor)
		}
		rows = append(rows, []string{
			short[s.ID], actor, agent, term.Day(s.StartedAt, now), string(s.Outcome), s.Title(),
		})
	}
	if width > 0 && width < wide {
		for i, r := range rows {
			rows[i] = append(r[:2:2], r[3:]...)
		}
	}
	return term.Table(env.Stdout, width, rows)
}

type show struct {
	ID   string `arg:"" help:"The session, by its id or the beginning of it."`
	JSON bool   `name:"json" help:"One JSON object."`
}

// maxCandidates bounds how many sessions an ambiguous beginning is answered
// with.
const maxCandidates = 10

// Run shows one session.
func (c *show) Run(env *cli.Env) error {
	all, err := open(env)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return cli.Failf(cli.No, noSessions)
	}
	// What a table cut, here or elsewhere, ends in an ellipsis.
	id := strings.TrimSuffix(strings.TrimSuffix(c.ID, "…"), "...")
	found := all.Find(id)
	switch len(found) {
	case 0:
		return cli.Fail(cli.No, fmt.Errorf("no session '%s'", c.ID), "gt-seance list --recent 0 lists all")
	case 1:
		s := found[0]
		s.Settle()
		s.Clean(env.Redact)
		if c.JSON {
			return env.JSON(s)
		}
		_, err := env.Stdout.Write([]byte(portrait(s)))
		return err
	}
	err = cli.Failf(cli.No, "'%s' means %d sessions", c.ID, len(found))
	for i, s := range found {
		if i == maxCandidates {
			err = cli.WithHint(err, "and %d more", len(found)-i)
			break
		}
		err = cli.WithHint(err, "%s  %s  %s", s.ID, term.Day(s.StartedAt, env.Now()), s.Actor)
	}
	return err
}

// portrait is a session as a person reads it.
func portrait(s *roll.Session) string {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s%s\n", key+":", term.Clean(value))
		}
	}
	moment := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.Local().Format(time.RFC1123Z)
	}
	line("Session", string(s.ID))
	line("Actor", s.Actor)
	line("Agent", s.Agent)
	line("Role", s.Role)
	line("Rig", s.Rig)
	line("Source", s.Source)
	line("Started", moment(s.StartedAt))
	line("Ended", moment(s.EndedAt))
	line("Outcome", string(s.Outcome))
	line("Reason", s.Reason)
	line("Chain", string(s.ChainID))
	line("Parent", string(s.ParentID))
	line("Child", string(s.ChildID))
	line("Topic", s.Topic)
	line("Work", s.WorkUnit)
	line("Hand-over", s.Subject)
	line("Note", s.Note)
	line("Folder", s.CWD)
	line("Branch", s.Branch)
	line("Transcript", s.Transcript)
	line("Tmux", s.TmuxSession)
	line("Host", s.Host)
	return b.String()
}

// since is a moment, given as one or as a time before now.
type since struct {
	moment time.Time
	ago    time.Duration
}

// UnmarshalText reads 24h, 7d, 2w, a date (of local time), or an RFC 3339 time.
func (s *since) UnmarshalText(text []byte) error {
	word := string(text)
	for _, layout := range []string{time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04"} {
		if t, err := time.ParseInLocation(layout, word, time.Local); err == nil {
			s.moment = t
			return nil
		}
	}
	if d, err := span.Parse(word); err == nil {
		s.ago = max(d, 1) // 0d is a moment too
		return nil
	}
	return fmt.Errorf("'%s' is no time: it is like 24h, 7d, 2026-01-17 or 2026-01-17T15:04:05Z", word)
}

func (s since) before(now time.Time) time.Time {
	if s.ago > 0 {
		return now.Add(-s.ago)
	}
	return s.moment
}
