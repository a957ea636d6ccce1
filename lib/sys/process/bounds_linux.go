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

	"golang.org/x/sys/unix"

	"gt/lib/sys/atomicfile"
)

// BoundsOf returns the bounds of the process with that PID. It fails if it cannot see all
// of them.
func BoundsOf(pid int) (Bounds, error) {
	b := Bounds{Walls: map[string]string{}}
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	for _, ns := range namespaces {
		target, err := os.Readlink(dir + "ns/" + ns.file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && ns.file != "mnt": // this kernel has none
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
	var umask *int
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
				umask = &mask
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
	if b.Limits, err = limitsOf(pid); err == nil {
		b.Limits.Umask = umask
	}
	return b, err
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

// cgroup returns the control group of a process, or "" for the scope that tmux makes for
// each pane.
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

// unitOf parses a process's control groups (cgroups(7)).
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

// Limits are the resource limits of a process, its niceness, processors, scheduling policy
// and I/O priority, and how early the kernel ends it when memory runs out. They include the
// umask, so that a successor makes files like the original. What favours a process, such as
// a real-time policy, is no limit.
type Limits struct {
	Resources map[int]unix.Rlimit `json:"resources,omitempty"`
	Nice      int                 `json:"nice,omitempty"`
	CPUs      unix.CPUSet         `json:"cpus,omitzero"`
	Policy    uint32              `json:"policy,omitempty"` // SCHED_BATCH or SCHED_IDLE (sched(7))
	IO        int                 `json:"io,omitempty"`     // ioprio_set(2)
	OOM       int                 `json:"oom,omitempty"`    // oom_score_adj (proc(5)), if it is more than 0
	Umask     *int                `json:"umask,omitempty"`
}

// resources are RLIMIT_* (getrlimit(2)) without core dumps: those confine nothing, and
// clients that hold keys set them to 0.
var resources = []int{
	unix.RLIMIT_AS, unix.RLIMIT_CPU, unix.RLIMIT_DATA, unix.RLIMIT_FSIZE, unix.RLIMIT_LOCKS, unix.RLIMIT_MEMLOCK, unix.RLIMIT_MSGQUEUE,
	unix.RLIMIT_NICE, unix.RLIMIT_NOFILE, unix.RLIMIT_NPROC, unix.RLIMIT_RSS, unix.RLIMIT_RTPRIO, unix.RLIMIT_RTTIME, unix.RLIMIT_SIGPENDING, unix.RLIMIT_STACK,
}

// Constants of ioprio_get(2), which package unix lacks. A greater number means less
// favoured, classes before levels.
const (
	ioWhoProcess = 1
	ioUsual      = 2<<13 | 4 // IOPRIO_CLASS_BE, level 4; unset (0) counts the same
)

func limitsOf(pid int) (*Limits, error) {
	l := &Limits{Resources: map[int]unix.Rlimit{}, IO: ioUsual}
	for _, r := range resources {
		var v unix.Rlimit
		if err := unix.Prlimit(pid, r, nil, &v); err != nil {
			return nil, fmt.Errorf("cannot look at the limits of process %d: %w", pid, err)
		}
		l.Resources[r] = v
	}
	if err := unix.SchedGetaffinity(pid, &l.CPUs); err != nil {
		return nil, fmt.Errorf("cannot look at the limits of process %d: %w", pid, err)
	}
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		return nil, fmt.Errorf("cannot look at the limits of process %d: %w", pid, err)
	}
	l.Nice = 20 - raw // getpriority(2): the system call returns 40 to 1
	// Not every container allows these two.
	if attr, err := unix.SchedGetAttr(pid, 0); err == nil && (attr.Policy == unix.SCHED_BATCH || attr.Policy == unix.SCHED_IDLE) {
		l.Policy = attr.Policy
	}
	if io, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, ioWhoProcess, uintptr(pid), 0); errno == 0 && io != 0 {
		l.IO = int(io)
	}
	if l.OOM, err = oomOf(pid); err != nil {
		return nil, err
	}
	return l, nil
}

func oomFile(pid int) string {
	if pid == 0 {
		return "/proc/self/oom_score_adj"
	}
	return "/proc/" + strconv.Itoa(pid) + "/oom_score_adj"
}

// oomOf returns how early a process is ended, or 0 if the kernel does not tell.
func oomOf(pid int) (int, error) {
	data, err := atomicfile.Read(oomFile(pid), maxProc)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, fmt.Errorf("cannot look at the limits of process %d: %w", pid, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(data)))
	return max(n, 0), err
}

// Below returns the limits that are lower than other's, and the umask if it differs; nil if
// there are none.
func (l *Limits) Below(other *Limits) *Limits {
	if l == nil || other == nil {
		return nil
	}
	low := &Limits{Resources: map[int]unix.Rlimit{}}
	found := false
	for r, v := range l.Resources {
		if o, ok := other.Resources[r]; ok && (v.Max < o.Max || v.Cur < o.Cur) {
			low.Resources[r], found = unix.Rlimit{Cur: min(v.Cur, v.Max, o.Max), Max: min(v.Max, o.Max)}, true
		}
	}
	if l.Nice > other.Nice {
		low.Nice, found = l.Nice, true
	}
	if l.CPUs != other.CPUs {
		low.CPUs, found = l.CPUs, true
	}
	if l.Policy > other.Policy {
		low.Policy, found = l.Policy, true
	}
	if l.IO > other.IO {
		low.IO, found = l.IO, true
	}
	if l.OOM > other.OOM {
		low.OOM, found = l.OOM, true
	}
	if l.Umask != nil && other.Umask != nil && *l.Umask != *other.Umask {
		low.Umask, found = l.Umask, true
	}
	if !found {
		return nil
	}
	return low
}

// Apply applies the limits to this process before it executes another program. Some apply
// to the thread only, so the caller must stay in it (runtime.LockOSThread).
func (l *Limits) Apply() error {
	if l == nil {
		return nil
	}
	if l.Umask != nil {
		unix.Umask(*l.Umask)
	}
	return errors.Join(l.Give(0), l.thread())
}

// Around calls start, which starts a program, with the limits that are per thread, and with
// the umask, which is restored. The thread keeps its limits, so the caller must let it end
// (runtime.LockOSThread). Give applies the other limits to the program.
func (l *Limits) Around(start func() error) error {
	if l.Umask != nil {
		defer unix.Umask(unix.Umask(*l.Umask))
	}
	if err := l.thread(); err != nil {
		return err
	}
	return start()
}

// Give applies the resource limits to a process, or this one for pid 0, and how early it is
// ended. It never raises a limit.
func (l *Limits) Give(pid int) error {
	for r, v := range l.Resources {
		var own unix.Rlimit
		err := unix.Prlimit(pid, r, nil, &own)
		v = unix.Rlimit{Cur: min(v.Cur, own.Max), Max: min(v.Max, own.Max)}
		switch {
		case err != nil:
		case pid == 0:
			err = unix.Setrlimit(r, &v) // Setrlimit, or package syscall restores its own limit of files
		default:
			err = unix.Prlimit(pid, r, &v, nil)
		}
		if err != nil {
			return fmt.Errorf("cannot set the limit %d of the agent: %w", r, err)
		}
	}
	if own, err := oomOf(pid); err != nil || own >= l.OOM {
		return err
	}
	// A write to an existing file, for the kernel takes the number at once.
	f, err := os.OpenFile(oomFile(pid), os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(l.OOM))
		err = errors.Join(err, f.Close())
	}
	return atomicfile.Error("write", oomFile(pid), err)
}

// thread applies the per-thread limits, which children inherit. It never raises one: limits
// that were below one tmux server's may be above another's.
func (l *Limits) thread() error {
	own, err := limitsOf(0)
	if err != nil {
		return err
	}
	if l = l.Below(own); l == nil {
		return nil
	}
	if l.Policy != 0 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err == nil {
			attr.Policy = l.Policy
			err = unix.SchedSetAttr(0, attr, 0)
		}
		if err != nil {
			return fmt.Errorf("cannot set the scheduling policy of the agent: %w", err)
		}
	}
	if l.Nice > 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, l.Nice); err != nil {
			return fmt.Errorf("cannot set the niceness of the agent: %w", err)
		}
	}
	if l.IO != 0 {
		if _, _, errno := unix.Syscall(unix.SYS_IOPRIO_SET, ioWhoProcess, 0, uintptr(l.IO)); errno != 0 {
			return fmt.Errorf("cannot set the priority of the agent at the disk: %w", errno)
		}
	}
	if l.CPUs != (unix.CPUSet{}) {
		if err := unix.SchedSetaffinity(0, &l.CPUs); err != nil {
			return fmt.Errorf("cannot set the processors of the agent: %w", err)
		}
	}
	return nil
}
