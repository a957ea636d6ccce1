package scan

import (
	"gt/lib/client/readers"
	"gt/lib/conversation"
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
