package process

import (
	"maps"
	"slices"
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

// ListPIDs returns the visible processes.
func ListPIDs() []int { return slices.Collect(maps.Keys(parents())) }

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
