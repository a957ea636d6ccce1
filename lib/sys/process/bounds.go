package process

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"
)

// Bounds are what confines a process.
type Bounds struct {
	// Walls are its user, namespaces, root, capabilities and so on, by names for a person.
	// Their values are only good for comparing, within this boot.
	Walls map[string]string
	// Limits are nil if the system does not report them.
	Limits *Limits
}

// DifferingWalls returns the names of the walls that differ, sorted.
func (b Bounds) DifferingWalls(other Bounds) []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.Walls)) {
		if b.Walls[name] != other.Walls[name] {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other.Walls)) {
		if _, ok := b.Walls[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// Limits are what a successor gets of its predecessor beside the walls: the umask, for its files.
type Limits struct {
	Umask *int `json:"umask,omitempty"` // nil if it is the server's
}

// ChangedFrom returns the limits that differ from other's, nil if there are none.
func (l *Limits) ChangedFrom(other *Limits) *Limits {
	if l == nil || other == nil || *l.Umask == *other.Umask {
		return nil
	}
	return l
}

// Apply applies the limits to this process and returns a function that restores its own.
func (l *Limits) Apply() (restore func()) {
	if l == nil || l.Umask == nil {
		return func() {}
	}
	old := unix.Umask(*l.Umask)
	return func() { unix.Umask(old) }
}

// The walls that sandbox programs change for themselves.
const (
	NoNewPrivs   = "no_new_privs"
	Capabilities = "capabilities"
	User         = "user"
	Group        = "group"
	Root         = "root folder"
	CGroup       = "control group"
)

// namespaces are Linux's, by file in /proc and by name for a person.
var namespaces = []struct{ file, name string }{
	{"user", "user namespace"}, {"mnt", "mount namespace"}, {"pid", "PID namespace"}, {"net", "network namespace"},
	{"ipc", "IPC namespace"}, {"uts", "host name namespace"}, {"cgroup", "control group namespace"}, {"time", "time namespace"},
}
