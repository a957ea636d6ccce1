package process

// Table is who started whom, of all processes, at one moment.
type Table map[int][]int // the children of each

// Snapshot reads the table of processes, as far as it may be seen.
func Snapshot() Table {
	t := Table{}
	for pid, parent := range parents() {
		t[parent] = append(t[parent], pid)
	}
	return t
}

// Descendants returns a process and all that run below it, each before those that it
// started.
func (t Table) Descendants(pid int) []int {
	all := []int{pid}
	seen := map[int]bool{pid: true} // of a table that changes while it is read, a number can be two processes
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
