package process

import (
	"maps"
	"slices"
)

// Bounds are what a process is kept in by, and what it may use.
type Bounds struct {
	// Walls are what keeps it in, by what a person calls each: its user, namespaces, root,
	// capabilities and the like. A value is only good for comparing, within this boot.
	Walls map[string]string
	// Limits are what it may use; nil where the system does not tell.
	Limits *Limits
}

// Differ returns in which walls two processes differ, sorted.
func (b Bounds) Differ(other Bounds) []string {
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

// The walls that programs which make a sandbox change in themselves.
const (
	NoNewPrivs   = "no_new_privs"
	Capabilities = "capabilities"
	User         = "user"
	Group        = "group"
	Root         = "root folder"
	CGroup       = "control group"
)

// Namespaces are the walls that are namespaces.
func Namespaces() []string {
	names := make([]string, 0, len(namespaces))
	for _, ns := range namespaces {
		names = append(names, ns.name)
	}
	return names
}

// namespaces are those of Linux, by their names in /proc and to a person.
var namespaces = []struct{ file, name string }{
	{"user", "user namespace"}, {"mnt", "mount namespace"}, {"pid", "PID namespace"}, {"net", "network namespace"},
	{"ipc", "IPC namespace"}, {"uts", "host name namespace"}, {"cgroup", "control group namespace"}, {"time", "time namespace"},
}
