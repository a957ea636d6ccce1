package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gt/lib/sys/atomicfile"
)

// maxProc bounds a file in /proc: arguments and environment take up to a quarter of the stack.
const maxProc = 16 << 20

// stat reads /proc/<pid>/stat (proc(5)): PID, (name), state, parent, group, session,
// terminal and its foreground group, as the 20th field the number of threads, and as the 22nd
// the start in clock ticks since boot. The name can contain blanks and brackets, so fields
// are counted from the last bracket.
//
// While a thread of a process runs execve(2), the first one looks like a zombie until all others
// have ended, which takes seconds on a busy machine, and then for an instant is in state X, or a
// zombie without threads if it was released while the kernel wrote the file. A zombie that waits
// for its parent has one.
func stat(pid int) (status, error) {
	st, state, err := readStat(pid)
	for tries := 1; (state == dead || state == zombie && st.threads == 0) && tries <= 100; tries++ {
		st, state, err = readStat(pid)
	}
	if state == dead || state == zombie && st.threads < 2 { // with more, it is in an execve
		return status{}, os.ErrProcessDone
	}
	return st, err
}

// States of a process in /proc.
const (
	stopped = "T"
	zombie  = "Z"
	dead    = "X"
)

// readStat reads the file once. state is the kernel's letter for the process's state.
func readStat(pid int) (st status, state string, err error) {
	data, err := atomicfile.Read("/proc/"+strconv.Itoa(pid)+"/stat", maxProc)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH): // ESRCH: it ended just now
		return status{}, "", os.ErrProcessDone
	case err != nil: // a process that cannot be examined is not known to be gone
		return status{}, "", fmt.Errorf("cannot read the status of process %d: %w", pid, err)
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return status{}, "", fmt.Errorf("cannot read the status of process %d", pid)
	}
	f := strings.SplitN(strings.TrimLeft(string(data[end+1:]), " "), " ", 21) // the state is the first
	if len(f) < 20 {
		return status{}, "", fmt.Errorf("cannot read the status of process %d", pid)
	}
	st = status{start: strings.TrimSpace(f[19]), name: string(data[open+1 : end]), suspended: f[0] == stopped}
	var bad error
	st.parent, err = strconv.Atoi(f[1])
	st.session, _ = strconv.Atoi(f[3])
	st.terminal, bad = strconv.Atoi(f[4])
	st.group, _ = strconv.Atoi(f[5])
	st.threads, _ = strconv.Atoi(f[17])
	if err != nil || bad != nil || st.start == "" {
		return status{}, "", fmt.Errorf("cannot read the status of process %d", pid)
	}
	return st, f[0], nil
}

const noTerminal = 0

// ticks is the number of clock ticks per second in /proc, on every Linux.
const ticks = 100

// StartTime returns when the process with that PID started, to within some seconds: Linux
// records it with a clock that nobody sets.
func StartTime(pid int) (time.Time, error) {
	st, err := stat(pid)
	if err != nil {
		return time.Time{}, err
	}
	boot, err := Booted()
	began, err2 := strconv.ParseInt(st.start, 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return time.Time{}, err
	}
	return boot.Add(time.Duration(began/ticks) * time.Second), nil
}

// Booted returns when the machine started, to the second.
func Booted() (time.Time, error) {
	data, err := atomicfile.Read("/proc/stat", maxProc)
	if err != nil {
		return time.Time{}, err
	}
	_, after, _ := strings.Cut(string(data), "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	at, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(at, 0), nil
}

// awake is the clock that stands still while the machine sleeps.
const awake = unix.CLOCK_MONOTONIC

// command returns the program name of the process with that PID. It costs a fraction of stat.
func command(pid int) (string, error) {
	data, err := atomicfile.Read("/proc/"+strconv.Itoa(pid)+"/comm", maxProc)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.ErrProcessDone
	}
	return strings.TrimSuffix(string(data), "\n"), err
}

// namespace returns the PID namespace of the numbers in /proc (pid_namespaces(7)), or "" if
// the kernel does not report it. It fails in a sandbox with the outside's /proc, whose PIDs
// are not this process's. The namespace of a process never changes.
var namespace = sync.OnceValues(func() (string, error) {
	if self, err := os.Readlink("/proc/self"); err == nil && self != strconv.Itoa(os.Getpid()) {
		return "", errors.New("cannot tell processes apart: /proc is that of another PID namespace")
	}
	ns, _ := namespaceOf("self")
	return ns, nil
})

// emptyNamespaces caches what abandoned found of PID namespaces, for a second: a number is used again.
var emptyNamespaces sync.Map

type emptiness struct {
	at    time.Time
	empty bool
}

// abandoned reports whether no process is left in a PID namespace. Only from the first
// namespace are those of all others visible. A process of another user cannot be examined,
// and is no agent of this one.
func abandoned(ns string) bool {
	if last, known := emptyNamespaces.Load(ns); known && time.Since(last.(emptiness).at) < time.Second {
		return last.(emptiness).empty
	}
	empty := !IsContained()
	for pid := range parents() {
		if !empty {
			break
		}
		at := strconv.Itoa(pid)
		// The owner of the folder is root for a program that may not be looked into.
		data, err := atomicfile.Read("/proc/"+at+"/status", maxProc)
		_, uids, _ := strings.Cut(string(data), "\nUid:\t")
		if err != nil || os.Geteuid() != 0 && !strings.HasPrefix(uids, strconv.Itoa(os.Geteuid())+"\t") {
			continue
		}
		// A process with a single number is of the first namespace. This is known even of one
		// that may not be looked into, such as ssh-agent.
		_, numbers, known := strings.Cut(string(data), "\nNSpid:\t")
		if numbers, _, _ = strings.Cut(numbers, "\n"); known && len(strings.Fields(numbers)) == 1 {
			continue
		}
		of, err := namespaceOf(at)
		empty = of != ns && (err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH))
	}
	emptyNamespaces.Store(ns, emptiness{time.Now(), empty})
	return empty
}

func namespaceOf(pid string) (string, error) {
	name, err := os.Readlink("/proc/" + pid + "/ns/pid") // such as pid:[4026531836]
	return strings.Trim(name, "pid:[]"), err
}

var bootID = sync.OnceValues(func() (string, error) {
	data, err := atomicfile.Read("/proc/sys/kernel/random/boot_id", maxProc)
	return strings.TrimSpace(string(data)), err
})

// IsKernelBoot reports whether the boot's id is the kernel's own. LXC and systemd-nspawn mount
// another one into each container, and gVisor invents one, without the file beside it.
func IsKernelBoot() bool {
	var boot, beside syscall.Stat_t
	err := errors.Join(syscall.Stat("/proc/sys/kernel/random/boot_id", &boot), syscall.Stat("/proc/sys/kernel/random/entropy_avail", &beside))
	return err == nil && boot.Dev == beside.Dev
}

// Args returns the arguments of a process, or none if it has overwritten them with a title,
// which empty words follow.
func (p Proc) Args() ([]string, error) {
	words, err := p.whileAlive(p.args())
	if err == nil && len(words) > 1 && !slices.ContainsFunc(words[1:], func(word string) bool { return word != "" }) {
		return nil, nil
	}
	return words, err
}

// Environ returns the initial environment of a process; for a client that restarted itself,
// the one before that.
func (p Proc) Environ() ([]string, error) {
	return p.whileAlive(Proc{PID: originalProcess(p.PID, Name(p.PID))}.readWords("environ"))
}

// whileAlive returns what was just read of a process, unless its PID may be another's by now.
func (p Proc) whileAlive(words []string, err error) ([]string, error) {
	if err == nil && !p.IsAlive() {
		err = os.ErrProcessDone
	}
	if err != nil {
		return nil, err
	}
	return words, nil
}

// startEnviron returns the initial environment of the process with that PID.
func startEnviron(pid int) ([]string, error) { return Proc{PID: pid}.readWords("environ") }

// args returns the arguments of the process with that PID, whatever its identity.
func (p Proc) args() ([]string, error) { return p.readWords("cmdline") }

// readWords returns the words of a file in /proc/<pid>, each of which ends with a NUL byte.
func (p Proc) readWords(file string) ([]string, error) {
	data, err := atomicfile.Read("/proc/"+strconv.Itoa(p.PID)+"/"+file, maxProc)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimSuffix(data, []byte{0})
	if len(data) == 0 {
		return nil, nil
	}
	return strings.Split(string(data), "\x00"), nil
}

func (p Proc) Executable() (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/exe")
}

// HungUp reports whether the terminal that the process was started in is gone.
func (p Proc) HungUp() bool {
	path, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/fd/0")
	return err == nil && strings.HasPrefix(path, "/dev/pts/") && strings.HasSuffix(path, " (deleted)")
}

// Listens reports whether the process accepts connections at a TCP port, and whether that is known.
func (p Proc) Listens(port int) (listens, known bool) {
	dir := "/proc/" + strconv.Itoa(p.PID)
	sockets := map[string]bool{}
	for _, table := range []string{"/net/tcp", "/net/tcp6"} {
		data, err := os.ReadFile(dir + table)
		known = known || err == nil
		for line := range strings.Lines(string(data)) {
			const local, state, inode, listening = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listening && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", port)) {
				sockets["socket:["+f[inode]+"]"] = true
			}
		}
	}
	entries, err := os.ReadDir(dir + "/fd")
	for _, e := range entries {
		if name, err := os.Readlink(dir + "/fd/" + e.Name()); err == nil && sockets[name] {
			return true, true
		}
	}
	return false, known && err == nil
}

// OnScreen reports whether the process has a screen: its standard input is a terminal from
// which it reads single keys. If that cannot be read, because the process or its terminal has
// just ended, the answer is true: it may have had one.
func (p Proc) OnScreen() bool {
	path := "/proc/" + strconv.Itoa(p.PID) + "/fd/0"
	name, err := os.Readlink(path)
	if err != nil {
		open, _ := os.ReadDir(filepath.Dir(path))
		return len(open) == 0 // otherwise it runs and has closed its standard input
	}
	if !strings.HasPrefix(name, "/dev/") {
		return false // not a pipe, which would wait for its other end
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return true
	}
	defer f.Close()
	mode, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return !errors.Is(err, unix.ENOTTY)
	}
	return mode.Lflag&unix.ICANON == 0
}

// ListPIDs returns the visible processes, zombies included.
func ListPIDs() []int {
	entries, _ := os.ReadDir("/proc")
	all := make([]int, 0, len(entries))
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func parents() map[int]int {
	all := map[int]int{}
	for _, pid := range ListPIDs() {
		if st, err := stat(pid); err == nil {
			all[pid] = st.parent
		}
	}
	return all
}

// Files returns the regular files that a process has open, as far as visible.
func (p Proc) Files() []string {
	dir := "/proc/" + strconv.Itoa(p.PID) + "/fd"
	entries, _ := os.ReadDir(dir)
	var files []string
	for _, e := range entries {
		if path, err := os.Readlink(dir + "/" + e.Name()); err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/dev/") {
			files = append(files, path)
		}
	}
	return files
}

// Dir returns a process's working folder.
func (p Proc) Dir() (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
}
