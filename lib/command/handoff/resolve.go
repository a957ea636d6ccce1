package handoff

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"gt/lib/cli"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/state/beads"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

// resolve finds out what the argument names: another session, which becomes
// the one that is handed over, or work, whose id is returned.
//
// An existing tmux session comes first, for its name can look like a work id;
// then an address or role; then a note in the box; then an id of the home's
// work store.
func (h *handover) resolve(what string) (work string, err error) {
	if h.server.Has(what) {
		return "", h.target(what, identity.Identity{})
	}
	if id, ok := h.roleOf(what); ok {
		prefixes, err := rig.Prefixes(h.home.Town)
		if err != nil {
			return "", err
		}
		name, err := id.SessionName(prefixes)
		if err != nil {
			return "", cli.Fail(cli.No, err)
		}
		return "", h.target(name, id)
	}
	box := mail.Of(h.home, h.home.Identity.Address())
	note, err := box.Get(what)
	var many *mail.Ambiguous
	switch {
	case err == nil:
		return note.ID, nil
	case errors.As(err, &many):
		return "", cli.Fail(cli.No, err)
	case !errors.Is(err, mail.ErrNotFound):
		return "", err
	case beads.Find(h.home) != "" && isBead(what):
		return what, nil
	}
	return "", cli.Fail(cli.No, fmt.Errorf("there is no session, role or work '%s'", what),
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
func (h *handover) roleOf(what string) (identity.Identity, bool) {
	if h.home.Town.Personal {
		return identity.Identity{}, false
	}
	if own := h.home.Identity.Rig; own != "" && (what == "witness" || what == "refinery") {
		what = own + "/" + what
	}
	id, err := identity.Parse(what)
	return id, err == nil && id.Role != ""
}

// target makes the tmux session of that name the one that is handed over.
func (h *handover) target(name string, id identity.Identity) error {
	pane, err := h.server.ActivePane(name)
	if err != nil {
		return cli.Fail(cli.No, err)
	}
	if pane.ID == h.pane.ID {
		return nil // ourselves, by name
	}
	if h.kind != session.KindHandoff {
		return cli.Failf(cli.Usage, "--auto and --cycle are for one's own session")
	}
	town := h.home.Town
	h.remote, h.pane, h.record = true, pane, nil
	h.runs, h.agents, h.vars = "", nil, nil // those were ours
	if id.Role != "" && id.Dir() != "" {
		h.home = home.At(town, id, filepath.Join(town.Root, id.Dir()))
	} else {
		h.home = home.Elsewhere(h.env.Getenv, pane.Path)
	}
	h.store = session.Store{Home: h.home, Warn: h.call.Warn}
	all, err := h.store.All()
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.TmuxPane == pane.ID && tmux.Server(r.TmuxServer) == h.server && r.Live() {
			h.record, h.agent = r, r.Process()
			return nil
		}
	}
	return cli.Fail(cli.No, fmt.Errorf("no agent that gt knows of runs in the tmux session '%s'", name),
		"its hooks may not be installed: gt-hooks status")
}

// hookWork hooks the work before the hand-over, so that the successor finds
// it.
func (h *handover) hookWork(work string) error {
	box := mail.Of(h.home, h.home.Identity.Address())
	if err := box.Hook(work); !errors.Is(err, mail.ErrNotFound) {
		return err
	}
	return beads.Hook(h.home, work, h.env.Environ)
}
