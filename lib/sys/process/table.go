package process

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

// Descendants returns a process and its descendants, parents first.
func (t Table) Descendants(pid int) []int {
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
