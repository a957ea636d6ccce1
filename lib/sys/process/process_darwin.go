package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// noTerminal is NODEV of <sys/param.h>.
const noTerminal = -1

func stat(pid int) (status, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || k.Proc.P_stat == zombie {
		return status{}, os.ErrProcessDone
	}
	started := k.Proc.P_starttime
	name := k.Proc.P_comm[:]
	if end := bytes.IndexByte(name, 0); end >= 0 {
		name = name[:end]
	}
	return status{
		parent:   int(k.Eproc.Ppid),
		start:    fmt.Sprintf("%d.%06d", started.Sec, started.Usec),
		name:     string(name),
		terminal: int(k.Eproc.Tdev),
	}, nil
}

// StartTime returns when whatever process has the number now began.
func StartTime(pid int) (time.Time, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return time.Time{}, os.ErrProcessDone
	}
	return time.Unix(int64(k.Proc.P_starttime.Sec), 0), nil
}

// namespace is empty: the system has one, for all.
func namespace() (string, error) { return "", nil }

func bootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

// Args returns the arguments that a process was started with.
func (p Proc) Args() ([]string, error) {
	_, args, _, err := p.procargs()
	return args, err
}

// Environ returns the environment that a process was started with.
func (p Proc) Environ() ([]string, error) {
	_, _, environ, err := p.procargs()
	return environ, err
}

// Executable returns the path of the program that a process runs.
func (p Proc) Executable() (string, error) {
	path, _, _, err := p.procargs()
	return path, err
}

// procargs reads kern.procargs2 (sysctl(3)): the number of arguments, the
// path, padding, the arguments, the environment, each ended by NUL.
func (p Proc) procargs() (path string, args, environ []string, err error) {
	data, err := unix.SysctlRaw("kern.procargs2", p.PID)
	if err != nil {
		return "", nil, nil, err
	}
	if !p.Alive() {
		return "", nil, nil, os.ErrProcessDone
	}
	if len(data) < 4 {
		return "", nil, nil, errors.New("cannot read the arguments of the process")
	}
	count := int(binary.LittleEndian.Uint32(data))
	rest := data[4:]
	next := func() (string, bool) {
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return "", false
		}
		s := string(rest[:end])
		rest = rest[end+1:]
		return s, true
	}
	path, _ = next()
	rest = bytes.TrimLeft(rest, "\x00")
	for range count {
		if s, ok := next(); ok {
			args = append(args, s)
		}
	}
	for {
		s, ok := next()
		if !ok || s == "" {
			return path, args, environ, nil
		}
		environ = append(environ, s)
	}
}

// parents returns the parent of each process.
func parents() map[int]int {
	procs, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	all := make(map[int]int, len(procs))
	for _, k := range procs {
		all[int(k.Proc.P_pid)] = int(k.Eproc.Ppid)
	}
	return all
}

// Files is not known here.
func (p Proc) Files() []string { return nil }

// Dir returns the folder that a process was started in, as its shell said it:
// the kernel tells no more without its C library.
func (p Proc) Dir() (string, error) {
	environ, err := p.Environ()
	if err != nil {
		return "", err
	}
	for _, kv := range environ {
		if dir, ok := strings.CutPrefix(kv, "PWD="); ok {
			return dir, nil
		}
	}
	return "", errors.New("cannot tell the folder of the process")
}

// args says nothing: there are no numbers of their own here.
func (p Proc) args() ([]string, error) { return nil, nil }

// HungUp reports whether the terminal is gone that the process was started in, which
// cannot be seen here.
func (p Proc) HungUp() bool { return false }

// command is the name of the program that whatever process has the number now runs.
func command(pid int) (string, error) {
	st, err := stat(pid)
	return st.name, err
}

// startEnviron is the environment that whatever process has the number now was
// started with.
func startEnviron(pid int) ([]string, error) {
	p, err := Find(pid)
	if err != nil {
		return nil, err
	}
	return p.Environ()
}
