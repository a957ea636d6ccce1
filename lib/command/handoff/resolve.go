package handoff

import (
	"errors"
	"fmt"
	"strings"

	"gt/lib/cli"
	"gt/lib/place/crew"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

// named finds out what an argument names: another session, which becomes the one
// that is handed over, or work, whose id is returned.
//
// An existing tmux session comes first, for its name can look like a work id;
// then a pane and a session's id; then an address or role; then a note in the box; then an id of the home's
// work store.
func (t target) named(what, kind string) (o target, work string, err error) {
	if t.server.Has(what) {
		o, err = t.other(what, identity.Identity{}, kind)
		return o, "", err
	}
	if strings.HasPrefix(what, "%") {
		pane, err := t.server.Pane(what, paneWait)
		if err == nil {
			t, err = t.in(pane, "pane "+what, identity.Identity{}, kind)
		}
		return t, "", cli.Fail(cli.No, err)
	}
	if r, err := session.Lookup(t.home.Town.State, session.ID(what)); err == nil && r != nil && r.Live() && r.TmuxPane != "" {
		if r.ID == t.id {
			return t, "", nil
		}
		if server := tmux.Server(r.TmuxServer); !server.Is(t.server) {
			t.server, t.pane = server, tmux.Pane{}
		}
		pane, err := t.server.Pane(r.TmuxPane, paneWait)
		if err == nil {
			t, err = t.in(pane, "pane "+r.TmuxPane, identity.Identity{}, kind)
		}
		return t, "", cli.Fail(cli.No, err)
	}
	id, ok := t.roleOf(what)
	if !ok {
		var err error
		if id, ok, err = crew.Find(t.home.Town, t.home.Identity, what); err != nil {
			return t, "", cli.Fail(cli.No, err)
		}
	}
	if ok {
		prefixes, err := rig.Prefixes(t.home.Town)
		if err != nil {
			return t, "", err
		}
		name, err := id.SessionName(prefixes)
		if err != nil {
			return t, "", cli.Fail(cli.No, err)
		}
		o, err = t.other(name, id, kind)
		return o, "", err
	}
	box := mail.Of(t.home, t.home.Identity.Address())
	note, err := box.Get(what)
	var many *mail.Ambiguous
	switch {
	case err == nil:
		return t, note.ID, nil
	case errors.As(err, &many):
		return t, "", cli.Fail(cli.No, err)
	case !errors.Is(err, mail.ErrNotFound):
		return t, "", err
	case beads.Find(t.home) != "" && isBead(what):
		return t, what, nil
	}
	return t, "", cli.Fail(cli.No, fmt.Errorf("there is no session, role or work '%s'", what),
		"gt-mail inbox lists notes, gt-seance list sessions")
}

// isBead knows the form of an id in a beads work store: a prefix, a dash and a
// short word, perhaps with the numbers of a child (gt-a3f.1).
func isBead(s string) bool {
	prefix, rest, ok := strings.Cut(s, "-")
	return ok && prefix != "" && rest != "" &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-.") == ""
}

// roleOf reads an address, or the name of a role in the town or in our own
// rig.
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

// hookWork hooks the work before the hand-over, so that the successor finds
// it.
func (t target) hookWork(work string) error {
	box := mail.Of(t.home, t.home.Identity.Address())
	if err := box.Hook(work); !errors.Is(err, mail.ErrNotFound) {
		return err
	}
	return beads.Hook(t.home, work, t.env.Environ)
}
