package process

import (
	"maps"
	"slices"
)

// Named returns the processes whose program has that name, as Name gives it,
// the one with the lowest number first.
func Named(name string) []Proc {
	var all []Proc
	for _, pid := range slices.Sorted(maps.Keys(parents())) {
		if Name(pid) != name {
			continue
		}
		if p, err := Find(pid); err == nil {
			all = append(all, p)
		}
	}
	return all
}
