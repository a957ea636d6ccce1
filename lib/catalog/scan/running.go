package scan

import (
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// Running returns the processes of the running sessions, of clients that record them. It checks that
// the process exists and is not another one with the same number. errs has one error for
// each store that could not be read completely; its sessions may be missing.
func Running(getenv func(string) string) (runs map[session.ID]process.Proc, errs []error) {
	runs = map[session.ID]process.Proc{}
	for _, r := range readers.All {
		reg, ok := r.(conversation.Registry)
		if !ok {
			continue
		}
		for _, store := range r.Stores(getenv) {
			err := reg.Running(store, func(id session.ID, pid int, start string) {
				if p, err := process.Find(pid); err == nil && (start == "" || start == p.Start) {
					runs[id] = p
				}
			})
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return runs, errs
}

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
