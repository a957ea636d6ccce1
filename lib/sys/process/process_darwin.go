package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Values of P_stat (sys/proc.h).
const (
	suspended = 4
	zombie    = 5
)

const noTerminal = -1

// stat returns the status of a process from sysctl. A zombie counts as gone.
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
		parent:    int(k.Eproc.Ppid),
		start:     fmt.Sprintf("%d.%06d", started.Sec, started.Usec),
		name:      string(name),
		suspended: k.Proc.P_stat == suspended,
		terminal:  int(k.Eproc.Tdev),
		group:     int(k.Eproc.Tpgid),
	}, nil
}

// StartTime returns when the process with that PID started.
func StartTime(pid int) (time.Time, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return time.Time{}, os.ErrProcessDone
	}
	return time.Unix(int64(k.Proc.P_starttime.Sec), 0), nil
}

// Booted returns when the machine started.
func Booted() (time.Time, error) {
	at, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(at.Unix()), nil
}

// awake is the clock that stands still while the machine sleeps.
const awake = unix.CLOCK_UPTIME_RAW

// namespace returns "": macOS has no PID namespaces.
func namespace() (string, error) { return "", nil }

func abandoned(string) bool { return false }

// IsKernelBoot returns true: macOS has no containers.
func IsKernelBoot() bool { return true }

func bootID() (string, error) { return unix.Sysctl("kern.bootsessionuuid") }

func (p Proc) Args() ([]string, error) {
	_, args, _, err := p.procargs()
	return args, err
}

func (p Proc) Environ() ([]string, error) {
	_, _, environ, err := p.procargs()
	return environ, err
}

func (p Proc) Executable() (string, error) {
	path, _, _, err := p.procargs()
	return path, err
}

// procargs reads kern.procargs2 (sysctl(3)): the number of arguments, the path, padding,
// the arguments, the environment, each with a NUL.
func (p Proc) procargs() (path string, args, environ []string, err error) {
	data, err := unix.SysctlRaw("kern.procargs2", p.PID)
	if err != nil {
		return "", nil, nil, err
	}
	if !p.IsAlive() {
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

// ListPIDs returns the visible processes, zombies included.
func ListPIDs() []int { return slices.Collect(maps.Keys(parents())) }

func parents() map[int]int {
	procs, _ := unix.SysctlKinfoProcSlice("kern.proc.all")
	all := make(map[int]int, len(procs))
	for _, k := range procs {
		all[int(k.Proc.P_pid)] = int(k.Eproc.Ppid)
	}
	return all
}

// Files returns nil: macOS does not report them.
func (p Proc) Files() []string { return nil }

// Dir returns the PWD that the process was started with. The kernel reports no working
// folder without its C library.
func (p Proc) Dir() (string, error) {
	environ, err := p.Environ()
	dir := Variable(environ, "PWD")
	if err == nil && dir == "" {
		err = errors.New("cannot find the folder of the process")
	}
	return dir, err
}

// args returns nil: there are no PID namespaces.
func (p Proc) args() ([]string, error) { return nil, nil }

// Listens returns that it is not known.
func (p Proc) Listens(int) (listens, known bool) { return false, false }

// HungUp returns false: macOS does not report it.
func (p Proc) HungUp() bool { return false }

// OnScreen returns true: macOS does not report it.
func (p Proc) OnScreen() bool { return true }

func command(pid int) (string, error) {
	st, err := stat(pid)
	return st.name, err
}

// startEnviron returns the initial environment of the process with that PID.
func startEnviron(pid int) ([]string, error) {
	p, err := Find(pid)
	if err != nil {
		return nil, err
	}
	return p.Environ()
}
