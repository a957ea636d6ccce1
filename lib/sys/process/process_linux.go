package process

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// maxProc bounds what is read of a process: a command line and an environment take a
// quarter of its stack at most.
const maxProc = 16 << 20

// stat reads /proc/<pid>/stat (proc(5)): number, (name), state, parent, and as
// the 22nd field the start in clock ticks since boot. The name may hold blanks
// and brackets, so fields are counted from the last bracket.
func stat(pid int) (status, error) {
	data, err := atomicfile.Read("/proc/"+strconv.Itoa(pid)+"/stat", maxProc)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH): // ESRCH: it went while we looked
		return status{}, os.ErrProcessDone
	case err != nil: // a process that cannot be looked at is not known to be gone
		return status{}, fmt.Errorf("cannot read the status of process %d: %w", pid, err)
	}
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return status{}, fmt.Errorf("cannot read the status of process %d", pid)
	}
	var state, parent, terminal, start []byte
	for i, rest := 0, bytes.TrimLeft(data[end+1:], " "); i < 20; i++ {
		field, after, _ := bytes.Cut(rest, []byte(" "))
		switch rest = after; i {
		case 0:
			state = field
		case 1:
			parent = field
		case 4:
			terminal = field
		case 19:
			start = bytes.TrimSpace(field)
		}
	}
	if string(state) == "Z" || string(state) == "X" {
		return status{}, os.ErrProcessDone
	}
	up, err := strconv.Atoi(string(parent))
	tty, bad := strconv.Atoi(string(terminal))
	if err != nil || bad != nil || len(start) == 0 {
		return status{}, fmt.Errorf("cannot read the status of process %d", pid)
	}
	return status{parent: up, start: string(start), name: string(data[open+1 : end]), terminal: tty}, nil
}

// noTerminal is tty_nr of a process without one.
const noTerminal = 0

// ticks is how many clock ticks of /proc a second has, on every Linux.
const ticks = 100

// StartTime returns when whatever process has the number now began, to within some
// seconds: Linux keeps it by a clock that no one sets.
func StartTime(pid int) (time.Time, error) {
	st, err := stat(pid)
	if err != nil {
		return time.Time{}, err
	}
	data, err := atomicfile.Read("/proc/stat", maxProc)
	if err != nil {
		return time.Time{}, err
	}
	_, after, _ := strings.Cut(string(data), "\nbtime ")
	line, _, _ := strings.Cut(after, "\n")
	boot, err := strconv.ParseInt(line, 10, 64)
	began, err2 := strconv.ParseInt(st.start, 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return time.Time{}, err
	}
	return time.Unix(boot+began/ticks, 0), nil
}

// command is the name of the program that whatever process has the number now runs.
// To ask for it alone takes the kernel a fraction of what a whole stat does.
func command(pid int) (string, error) {
	data, err := atomicfile.Read("/proc/"+strconv.Itoa(pid)+"/comm", maxProc)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.ErrProcessDone
	}
	return strings.TrimSuffix(string(data), "\n"), err
}

// here is the PID namespace that this process counts in, which never changes.
var here struct {
	once sync.Once
	ns   string
	err  error
}

// namespace returns the number of the PID namespace that the numbers in /proc
// count in (pid_namespaces(7)), "" where the kernel does not tell. A sandbox that
// shows the /proc of outside shows other numbers than its own: there no process is
// the one that it seems to be.
func namespace() (string, error) {
	here.once.Do(func() {
		if self, err := os.Readlink("/proc/self"); err == nil && self != strconv.Itoa(os.Getpid()) {
			here.err = errors.New("cannot tell processes apart: /proc is that of another PID namespace")
			return
		}
		here.ns, _ = namespaceOf("self")
	})
	return here.ns, here.err
}

// namespaceOf returns the PID namespace that a process is in.
func namespaceOf(pid string) (string, error) {
	name, err := os.Readlink("/proc/" + pid + "/ns/pid") // pid:[4026531836]
	return strings.Trim(name, "pid:[]"), err
}

// running is what the kernel calls the boot that runs.
var running struct {
	once sync.Once
	id   string
	err  error
}

func bootID() (string, error) {
	running.once.Do(func() {
		data, err := atomicfile.Read("/proc/sys/kernel/random/boot_id", maxProc)
		running.id, running.err = strings.TrimSpace(string(data)), err
	})
	return running.id, running.err
}

// Args returns the arguments that a process was started with.
func (p Proc) Args() ([]string, error) { return p.strings("cmdline") }

// Environ returns the environment that a process was started with; of a client that
// ran itself anew, the one that it had at first.
func (p Proc) Environ() ([]string, error) {
	first := Proc{PID: origin(p.PID, Name(p.PID))}
	words, err := first.words("environ")
	if err != nil {
		return nil, err
	}
	if !p.Alive() {
		return nil, os.ErrProcessDone
	}
	return words, nil
}

func (p Proc) strings(file string) ([]string, error) {
	words, err := p.words(file)
	if err != nil {
		return nil, err
	}
	if !p.Alive() {
		return nil, os.ErrProcessDone
	}
	return words, nil
}

// startEnviron is the environment that whatever process has the number now was
// started with.
func startEnviron(pid int) ([]string, error) { return Proc{PID: pid}.words("environ") }

// args are those of whatever process has the number now.
func (p Proc) args() ([]string, error) { return p.words("cmdline") }

func (p Proc) words(file string) ([]string, error) {
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

// Executable returns the path of the program that a process runs.
func (p Proc) Executable() (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/exe")
}

// HungUp reports whether the terminal is gone that the process was started in.
func (p Proc) HungUp() bool {
	path, err := os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/fd/0")
	return err == nil && strings.HasPrefix(path, "/dev/pts/") && strings.HasSuffix(path, " (deleted)")
}

// parents returns the parent of each process.
func parents() map[int]int {
	entries, _ := os.ReadDir("/proc")
	all := make(map[int]int, len(entries))
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if st, err := stat(pid); err == nil {
				all[pid] = st.parent
			}
		}
	}
	return all
}

// Files returns the regular files that a process has open, as far as it may be
// looked at.
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

// Dir returns the folder that a process works in.
func (p Proc) Dir() (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(p.PID) + "/cwd")
}
