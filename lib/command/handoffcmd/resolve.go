package handoffcmd

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/launch/gtexec"
	"gt/lib/place"
	"gt/lib/place/crew"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
	"gt/lib/text/spelling"
	"gt/lib/text/term"
)

// resolveName resolves an argument: another session, which becomes the target, or work, whose id
// it returns.
//
// It tries, in this order: a tmux session, because its name can look like a work id; a
// pane; the id of a session; an address or role; a note in the box by its whole id; an agent of
// gt-session; a note by a part of its id; an id of the home's work store.
func (t target) resolveName(what, kind string) (o target, work string, err error) {
	if t.server.HasSession(what) {
		o, err = t.forTmuxSession(what, identity.Identity{}, kind)
		// An agent of gt-session can have that name. It counts if no agent is in the tmux session.
		r, serr := t.findStarted(what)
		switch {
		case r == nil || serr != nil || err == nil && o.id == r.ID:
			return o, "", err
		case err == nil:
			return t, "", cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' means two agents", what),
				fmt.Sprintf("%s  %s, in the tmux session", o.pane.ID, o.name), fmt.Sprintf("%s  %s, of gt-session", r.TmuxPane, r.Agent))
		}
		o, err = t.forRecord(r, kind)
		return o, "", err
	}
	if strings.HasPrefix(what, "%") {
		pane, err := t.server.Pane(what, paneWait)
		if err == nil {
			t, err = t.forPane(pane, "pane "+what, identity.Identity{}, kind)
		}
		if t.server != "" || !errors.Is(err, tmux.ErrNoServer) {
			return t, "", cli.Fail(cli.AnswerNo, err, whoRuns)
		} // the pane may belong to a server with another socket
	}
	r, err := t.findRunning(what, func(r *session.Record) bool {
		return what == r.TmuxPane || what == r.TmuxSession || len(what) >= shortID && strings.HasPrefix(string(r.ID), what)
	})
	if err != nil {
		return t, "", err
	}
	if r != nil {
		o, err = t.forRecord(r, kind)
		return o, "", err
	}
	id, ok := t.roleOf(what)
	if !ok {
		var err error
		if id, ok, err = crew.Find(t.home.Town, t.home.Identity, what); err != nil {
			return t, "", cli.Fail(cli.AnswerNo, err)
		}
	}
	if ok {
		prefixes, err := rig.Prefixes(t.home.Town)
		if err != nil {
			return t, "", err
		}
		name, err := id.SessionName(prefixes)
		if err != nil {
			return t, "", cli.Fail(cli.AnswerNo, err)
		}
		o, err = t.forTmuxSession(name, id, kind)
		return o, "", err
	}
	box := mail.NewBox(t.home, t.home.Identity.Address())
	note, err := box.Get(what)
	if err != nil || note.ID != what { // a part of a note's id can be the whole name of an agent
		r, err := t.findStarted(what)
		if path := place.Real(t.env.Abs(what)); r == nil && err == nil && strings.Contains(what, "/") {
			r, err = t.findRunning(what, func(r *session.Record) bool { return r.CWD == path })
		}
		if r != nil || err != nil {
			if err == nil {
				t, err = t.forRecord(r, kind)
			}
			return t, "", err
		}
	}
	var many *mail.Ambiguous // err is that of box.Get
	switch {
	case err == nil:
		return t, note.ID, nil
	case errors.As(err, &many):
		return t, "", cli.Fail(cli.AnswerNo, err)
	case !errors.Is(err, mail.ErrNotFound) && t.home.Problem == nil: // a folder where nothing is kept has no notes
		return t, "", err
	}
	if beads.Find(t.home) != "" && isBead(what) {
		return t, what, nil
	}
	if strings.HasPrefix(what, "%") {
		return t, "", cli.Fail(cli.AnswerNo, fmt.Errorf("there is no tmux pane '%s' with an agent that gt knows of", what),
			"tmux list-panes -a lists the panes, gt-seance list --live the agents that run")
	}
	return t, "", cli.Fail(cli.AnswerNo, fmt.Errorf("no agent, session or note is called '%s'", what), t.hintNames(what))
}

// hintNames returns the hint for a name that means nothing.
func (t target) hintNames(what string) string {
	var names []string
	for _, one := range t.listAgents() {
		names = append(names, term.Clean(one.Name))
	}
	near := spelling.FindNear(what, names)
	return cmp.Or(spelling.Suggest(near[:min(len(near), maxCandidates)]),
		"gt-mail inbox shows the notes, gt-session the agents, gt-seance list the sessions")
}

// listAgents returns the agents that gt-session lists.
func (t target) listAgents() (all []listedAgent) {
	out, _ := t.askGtSession("list", "--json")
	for line := range bytes.Lines(out) {
		var one listedAgent
		if json.Unmarshal(line, &one) == nil {
			all = append(all, one)
		}
	}
	return all
}

// askGtSession returns what gt-session prints.
func (t target) askGtSession(args ...string) ([]byte, error) {
	return gtexec.Output("gt-session", t.env.Dir, t.env.Environ, startedWait, args...)
}

// forRecord returns the target in a session's pane, which may be on another tmux server.
func (t target) forRecord(r *session.Record, kind string) (target, error) {
	if r.ID == t.id {
		return t, nil
	}
	if server := tmux.Server(r.TmuxServer); !server.SameServer(t.server) {
		t.server, t.pane = server, tmux.Pane{}
	}
	pane, err := t.server.Pane(r.TmuxPane, paneWait)
	if err == nil {
		t, err = t.forPane(pane, "pane "+r.TmuxPane, identity.Identity{}, kind)
	}
	return t, cli.Fail(cli.AnswerNo, err)
}

// listedAgent is what gt-session prints of an agent.
type listedAgent struct {
	ID, Name, Title, Path string
	Session               session.ID `json:"session_id"`
	TmuxSession           string     `json:"tmux_session"`
	Pane                  string
}

// findStarted returns the live session of an agent that gt-session lists under a name, title,
// folder or id, nil for none. It fails for several, and without a session that runs and is known.
func (t target) findStarted(what string) (*session.Record, error) {
	path := ""
	if what == "." || strings.Contains(what, "/") { // any other word is no folder, as in gt-session
		path = place.Real(t.env.Abs(what))
	}
	var in listedAgent
	out, err := t.askGtSession("show", "--json", "--", what)
	if err != nil { // gt-session has no such agent, or several
		var hints []string
		for _, one := range t.listAgents() {
			if one.Title == what || one.Path == path {
				hints, in = append(hints, term.Clean(one.Name+"  "+one.Path)), one
			}
		}
		if len(hints) == 0 {
			return nil, nil
		}
		if len(hints) > 1 {
			return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' is the name of %d agents", what, len(hints)), hints[:min(len(hints), maxCandidates)]...)
		}
	} else if json.Unmarshal(out, &in) != nil || in.Name != what && !strings.HasPrefix(what, in.Name+"@") && in.Title != what && in.Path != path && (len(what) < shortID || !strings.HasPrefix(in.ID, what)) {
		return nil, nil // a prefix of a name is not enough to end an agent
	}
	if _, err := session.ParseID(string(in.Session)); err == nil {
		r, err := session.Lookup(t.home.Town.State, in.Session)
		if err == nil && r != nil && r.TmuxPane != "" && r.Live() {
			return r, nil
		}
	}
	if in.Pane != "" {
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("gt knows of no session of %s yet", term.Clean(in.Name)),
			"gt-handoff "+term.Quote(in.TmuxSession)+" hands over what runs in its tmux session")
	}
	return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("%s is not running", term.Clean(in.Name)), "gt-session start "+in.Name+" starts it")
}

const startedWait = 5 * time.Second

// findRunning returns the live session in a pane that has the id what or else matches. It returns nil
// without a match, and an error for several.
func (t target) findRunning(what string, matches func(*session.Record) bool) (*session.Record, error) {
	links, _ := os.ReadDir(t.home.Town.State.Path("sessions")) // unreadable sessions cannot be named
	var found []*session.Record
	for _, l := range links {
		r, err := session.Lookup(t.home.Town.State, session.ID(l.Name()))
		switch {
		case err != nil || r == nil || r.TmuxPane == "" || !r.Live():
		case l.Name() == what:
			return r, nil
		case matches(r):
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	hints := make([]string, 0, maxCandidates)
	for _, r := range found[:min(len(found), maxCandidates)] {
		hints = append(hints, fmt.Sprintf("%s  %s in pane %s, %s", r.ID, r.Agent, r.TmuxPane, r.CWD))
	}
	return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' means %d sessions", what, len(found)), hints...)
}

const shortID = 4 // the minimal length of a prefix of an id

const maxCandidates = 10

// isBead reports whether s has the form of an id in a beads store: a prefix, a dash and a
// short word, with the numbers of a child if any (gt-a3f.1).
func isBead(s string) bool {
	prefix, rest, ok := strings.Cut(s, "-")
	return ok && prefix != "" && rest != "" &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// roleOf returns the worker of a town that an address or role names. witness and refinery alone are
// those of the own rig. A personal town has no workers.
func (t target) roleOf(what string) (identity.Identity, bool) {
	if t.home.Town.Personal {
		return identity.Identity{}, false
	}
	if own := t.home.Identity.Rig; own != "" && (what == "witness" || what == "refinery") {
		what = own + "/" + what
	}
	id, err := identity.Parse(what)
	return id, err == nil && id.Role != ""
}

func (t target) hookWork(work string) error {
	box := mail.NewBox(t.home, t.home.Identity.Address())
	if err := box.Hook(work); !errors.Is(err, mail.ErrNotFound) {
		return err
	}
	return beads.Hook(t.home, work, t.env.ChildEnviron())
}
