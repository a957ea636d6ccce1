package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"gt/lib/sys/atomicfile"
)

// BoundsOf returns the bounds of the process with that PID. It fails if it cannot see all of them.
func BoundsOf(pid int) (Bounds, error) {
	b := Bounds{Walls: map[string]string{}}
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	for _, ns := range namespaces {
		target, err := os.Readlink(dir + "ns/" + ns.file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && ns.file != "mnt": // the kernel has none; but all have mnt
			continue
		case err != nil:
			return b, fmt.Errorf("cannot look at process %d: %w", pid, err)
		}
		b.Walls[ns.name] = target
	}
	root, err := os.Stat(dir + "root")
	if err != nil {
		return b, fmt.Errorf("cannot look at process %d: %w", pid, err)
	}
	if st, ok := root.Sys().(*syscall.Stat_t); ok {
		b.Walls[Root] = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	data, err := atomicfile.Read(dir+"status", maxProc)
	if err != nil {
		return b, fmt.Errorf("cannot look at process %d: %w", pid, err)
	}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.Join(strings.Fields(value), " ")
		switch name {
		case "Uid":
			b.Walls[User] = value
		case "Gid", "Groups":
			b.Walls[Group] += value + ";"
		case "NoNewPrivs":
			b.Walls[NoNewPrivs] = value
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
			b.Walls[Capabilities] += value + ";"
		case "Seccomp", "Seccomp_filters":
			b.Walls["seccomp"] += value + ";"
		case "Umask":
			if n, err := strconv.ParseInt(value, 8, 32); err == nil {
				mask := int(n)
				b.Limits = &Limits{Umask: &mask}
			}
		}
	}
	if data, err = atomicfile.Read(dir+"cgroup", maxProc); err == nil {
		b.Walls[CGroup] = cgroup(string(data))
	} else if !errors.Is(err, fs.ErrNotExist) {
		return b, fmt.Errorf("cannot look at process %d: %w", pid, err)
	}
	if data, err = atomicfile.Read(dir+"attr/current", maxProc); err == nil { // with a security module
		b.Walls["security label"] = strings.Trim(string(data), "\x00\n")
	}
	return b, nil
}

// Inits returns the descendants of a process that are in another PID namespace than their
// parent. Usually each is the first process of its namespace, which ends with it.
func Inits(pid int) (all []Proc) {
	namespace := func(pid int) string {
		ns, _ := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
		return ns
	}
	for _, below := range Snapshot().Descendants(pid) {
		outer, inner := namespace(Parent(below)), namespace(below)
		if p, err := Find(below); err == nil && below != pid && outer != "" && inner != "" && outer != inner {
			all = append(all, p)
		}
	}
	return all
}

// cgroup returns the control group of a process, or "" for the scope that tmux makes for each pane:
// two panes do not differ by it.
func cgroup(text string) string {
	for line := range strings.Lines(text) {
		name := path.Base(strings.TrimSpace(line))
		if strings.HasPrefix(name, "tmux-spawn-") && strings.HasSuffix(name, ".scope") {
			return ""
		}
	}
	return text
}

// Unit returns the systemd unit that a process belongs to, a scope or service, "" if there is
// none. The processes of a unit end with it.
func Unit(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return unitOf(string(text))
}

// unitOf returns the systemd unit in the text of /proc/<pid>/cgroup (cgroups(7)), or "".
func unitOf(text string) string {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		if controllers != "" && controllers != "name=systemd" {
			continue
		}
		if name := path.Base(group); strings.HasSuffix(name, ".scope") || strings.HasSuffix(name, ".service") {
			return name
		}
	}
	return ""
}
