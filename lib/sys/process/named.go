package process

import (
	"cmp"
	"slices"
)

// Named returns the processes with that program name (see Name), lowest PID first.
func Named(name string) []Proc {
	var all []Proc
	for pid := range parents() {
		if Name(pid) != name {
			continue
		}
		if p, err := Find(pid); err == nil {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Proc) int { return cmp.Compare(a.PID, b.PID) })
	return all
}
