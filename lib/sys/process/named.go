package process

import "sort"

// Named returns the processes whose program has that name, as Name gives it,
// the one with the lowest number first.
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
	sort.Slice(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all
}
