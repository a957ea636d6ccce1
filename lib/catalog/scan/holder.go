package scan

import (
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/state/session"
)

// HolderOf returns the process that has a session's conversation open, according to the
// client and the session's record; nil if none is known.
func HolderOf(getenv func(string) string, state place.State, id session.ID) *live.Holder {
	r, _ := session.Lookup(state, id)
	runs, _ := Running(getenv) // a listing reports the errors
	run, noted := runs[id]
	switch {
	case !noted && (r == nil || !r.Live()):
		return nil
	case !noted && r.Elsewhere():
		return &live.Holder{PID: r.PID, Elsewhere: true}
	}
	h := &live.Holder{PID: run.PID}
	if !noted {
		h.PID = r.PID
	}
	if r != nil && r.PID == h.PID {
		h.TmuxPane, h.TmuxSession = r.TmuxPane, r.TmuxSession
	}
	return h
}
