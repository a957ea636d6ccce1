package process

import (
	"slices"

	"gt/lib/sys/atomicfile"
)

// Table maps each process to its children.
type Table map[int][]int

// Snapshot reads the table of visible processes.
func Snapshot() Table {
	t := Table{}
	for pid, parent := range parents() {
		t[parent] = append(t[parent], pid)
	}
	return t
}

// Descendants returns a process and its descendants, parents first. For 0, the number of no
// process, it returns nil, although the kernel's own processes have it as their parent.
func (t Table) Descendants(pid int) []int {
	if pid == 0 { // mutant never: TestBelowEnds
		return nil
	}
	all := []int{pid}
	seen := map[int]bool{pid: true} // the table can change while it is read, and contain a PID twice
	for i := 0; i < len(all); i++ {
		for _, child := range t[all[i]] {
			if !seen[child] {
				seen[child] = true
				all = append(all, child)
			}
		}
	}
	return all
}

// FindByName returns the processes with that program name (see Name), lowest PID first.
func FindByName(name string) []Proc {
	return findAll(func(p Proc) bool { return Name(p.PID) == name })
}

// findAll returns the visible processes that match, lowest PID first.
func findAll(matches func(Proc) bool) (all []Proc) {
	for _, pid := range slices.Sorted(slices.Values(ListPIDs())) {
		if p, err := Find(pid); err == nil && matches(p) {
			all = append(all, p)
		}
	}
	return all
}

// UsingFolder returns the visible processes that work in a folder or below it, or have a file
// there open, lowest PID first.
func UsingFolder(dir string) []Proc {
	dir = atomicfile.ResolveLinks(dir)
	inside := func(path string) bool { return isBelow(path, dir) }
	return findAll(func(p Proc) bool {
		at, err := p.Dir()
		return err == nil && inside(at) || slices.ContainsFunc(p.Files(), inside)
	})
}
