package process

import (
	"path/filepath"
	"slices"
)

// Using returns the visible processes that work in a folder or below it, or have a file
// there open, lowest PID first.
func Using(dir string) []Proc {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	inside := func(path string) bool { return isBelow(path, dir) }
	var all []Proc
	for pid := range parents() {
		p, err := Find(pid)
		if err != nil {
			continue
		}
		if at, err := p.Dir(); err == nil && inside(at) || slices.ContainsFunc(p.Files(), inside) {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Proc) int { return a.PID - b.PID })
	return all
}
