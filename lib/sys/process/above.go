package process

// Info is what the kernel tells of a process to whoever may see it.
type Info struct {
	PID  int
	Name string   // of its program, at most 15 characters of it
	Args []string // nil where they cannot be read
}

// Path returns a process and those above it, up to the process top, or to the last that
// can be seen where top is 0. reached reports whether top is the last of them.
func Path(pid, top int) (all []Info, reached bool) {
	for range maxDepth {
		st, err := stat(pid)
		if err != nil || pid <= 0 {
			return all, false
		}
		args, _ := Proc{PID: pid}.args()
		if p, err := Find(pid); err == nil && args == nil {
			args, _ = p.Args()
		}
		all = append(all, Info{PID: pid, Name: st.name, Args: args})
		if pid == top {
			return all, true
		}
		pid = st.parent
	}
	return all, false
}

// Parent returns the number of the process above, 0 where there is none to be seen.
func Parent(pid int) int {
	st, err := stat(pid)
	if err != nil {
		return 0
	}
	return st.parent
}

// Contained reports whether this program runs in a PID namespace that is not the
// machine's first one: in a container or in a sandbox.
func Contained() bool {
	ns, err := namespace()
	return err != nil || ns != "" && ns != firstNamespace
}

// firstNamespace is the number of the PID namespace that Linux begins with
// (PROC_PID_INIT_INO).
const firstNamespace = "4026531836"
