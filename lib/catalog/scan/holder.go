package scan

import (
	"fmt"

	"gt/lib/place"
	"gt/lib/state/session"
)

// Holder is the process that has a session's conversation open.
type Holder struct {
	PID         int
	Elsewhere   bool // in another PID namespace, for all that can be seen from here
	TmuxPane    string
	TmuxSession string
}

// HolderOf returns who has a session's conversation open, by what its client notes
// of its sessions and by the session's record; nil where nothing shows that anybody
// has.
func HolderOf(getenv func(string) string, state place.State, id session.ID) *Holder {
	r, _ := session.Lookup(state, id)
	runs, _ := Running(getenv) // of what could not be read, a listing tells
	run, noted := runs[id]
	switch {
	case !noted && (r == nil || !r.Live()):
		return nil
	case !noted && r.Elsewhere():
		return &Holder{PID: r.PID, Elsewhere: true}
	}
	h := &Holder{PID: run.Process.PID}
	if !noted {
		h.PID = r.PID
	}
	if r != nil && r.PID == h.PID {
		h.TmuxPane, h.TmuxSession = r.TmuxPane, r.TmuxSession
	}
	return h
}

// String says where that is.
func (h *Holder) String() string {
	where := fmt.Sprintf("as process %d", h.PID)
	if h.Elsewhere {
		return where + " of another PID namespace, for all that can be seen from here"
	}
	if h.TmuxPane != "" {
		where += " in tmux pane " + h.TmuxPane
		if h.TmuxSession != "" {
			where += " of " + h.TmuxSession
		}
	}
	return where
}
