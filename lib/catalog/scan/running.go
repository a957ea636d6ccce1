package scan

import (
	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// Run is a session that runs now, as its client notes it.
type Run struct {
	Process process.Proc
	Status  string // the client's word: busy, idle, waiting, …
}

// Running returns the sessions that run now, of the clients that note it: those
// whose process is there and is no other that got its number. errs says of each
// store what could not be read: what runs by that looks as if it did not.
func Running(getenv func(string) string) (runs map[session.ID]Run, errs []error) {
	runs = map[session.ID]Run{}
	for _, r := range readers.All {
		reg, ok := r.(conversation.Registry)
		if !ok {
			continue
		}
		for _, store := range r.Stores(getenv) {
			err := reg.Running(store, func(id session.ID, pid int, start, status string) {
				if p, err := process.Find(pid); err == nil && (start == "" || start == p.Start) {
					runs[id] = Run{p, status}
				}
			})
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return runs, errs
}
