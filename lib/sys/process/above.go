package process

// Info is what anybody can see of a process.
type Info struct {
	PID  int
	Name string   // the program's, up to 15 characters
	Args []string // nil if unreadable
}

// Path returns a process and its ancestors up to top, or up to the last visible one for top
// 0. reached reports whether that is top.
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

// Parent returns the PID of a process's parent, or 0 if it is not visible.
func Parent(pid int) int {
	st, err := stat(pid)
	if err != nil {
		return 0
	}
	return st.parent
}

// Contained reports whether this program runs in another PID namespace than the machine's
// first: in a container or a sandbox.
func Contained() bool {
	ns, err := namespace()
	return err != nil || ns != "" && ns != firstNamespace
}

// firstNamespace is the first PID namespace of Linux (PROC_PID_INIT_INO).
const firstNamespace = "4026531836"
