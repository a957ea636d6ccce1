// Package process tells one process from every other, also after its number
// was given to another, and looks at those above it.
package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Proc names one process for all time: its number, when the kernel started it,
// in which boot, and the PID namespace that the number counts in. The four are
// what PID files and records keep. Start is the kernel's own figure and only good
// for comparing.
type Proc struct {
	PID   int
	Start string
	Boot  string
	NS    string // the namespace's number; "" where the system has none
}

// Find returns the running process with that number. A zombie counts as gone.
func Find(pid int) (Proc, error) {
	p, _, err := FindNamed(pid)
	return p, err
}

// FindNamed is Find, and returns the name of the process's program as well (see Name).
func FindNamed(pid int) (p Proc, name string, err error) {
	ns, err := namespace()
	if err != nil {
		return Proc{}, "", err
	}
	st, err := stat(pid)
	if err != nil {
		return Proc{}, "", err
	}
	boot, err := bootID()
	if err != nil {
		return Proc{}, "", err
	}
	return Proc{PID: pid, Start: st.start, Boot: boot, NS: ns}, st.name, nil
}

// EnvironOf is Environ for a process whose program has that name. It does not look
// whether the process still runs: where its number was given to another meanwhile, the
// environment is the other's, and p is not alive.
func (p Proc) EnvironOf(name string) ([]string, error) { return startEnviron(origin(p.PID, name)) }

// Noted returns a process as a file names it. One without a namespace was noted
// before that stood in the file, and means a process of the reader's.
func Noted(pid int, start, boot, ns string) Proc {
	p := Proc{PID: pid, Start: start, Boot: boot, NS: ns}
	if ns == "" && p.IsSet() {
		p.NS, _ = namespace() // or nothing is found of any process
	}
	return p
}

// Elsewhere reports whether the process was noted in another PID namespace of
// this boot: in a container, in a sandbox, or outside of ours. Its number means
// another process here or none, so nothing can be said of it.
func (p Proc) Elsewhere() bool {
	if p.NS == "" || !p.IsSet() {
		return false
	}
	ns, err := namespace()
	if err != nil {
		return true // our numbers are not those that we see
	}
	if ns == p.NS {
		return false
	}
	boot, err := bootID()
	return err != nil || boot == p.Boot
}

// Alive reports whether exactly this process still runs. A Proc without a start
// time or boot is nobody's, and not alive.
func (p Proc) Alive() bool {
	if p.PID <= 0 || p.Start == "" || p.Boot == "" {
		return false
	}
	now, err := Find(p.PID)
	return err == nil && now == p
}

// Gone reports whether exactly this process is known to run no more. Where it
// cannot be looked at, as from another PID namespace, neither Alive nor Gone
// holds.
func (p Proc) Gone() bool {
	if p.Elsewhere() {
		return false
	}
	now, err := Find(p.PID)
	if err != nil {
		return errors.Is(err, os.ErrProcessDone)
	}
	return now != p
}

// IsSet reports whether p names a process at all.
func (p Proc) IsSet() bool { return p.PID > 0 && p.Start != "" }

// Signal sends sig to exactly this process, and to no other that got its
// number meanwhile: the handle is taken first and the identity checked after
// (on Linux the handle is a pidfd). A process that is gone gives
// os.ErrProcessDone.
func (p Proc) Signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return err
	}
	defer handle.Release()
	if !p.Alive() {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// Name returns the name of a process's program, at most 15 characters of it;
// "" for one that is gone.
func Name(pid int) string {
	st, err := stat(pid)
	if err != nil {
		return ""
	}
	return st.name
}

// maxDepth bounds how far up the tree of processes anything here looks.
const maxDepth = 64

// Ancestors returns the numbers of the processes above pid, the parent first.
func Ancestors(pid int) []int {
	var up []int
	for range maxDepth {
		st, err := stat(pid)
		if err != nil || st.parent <= 0 {
			break
		}
		pid = st.parent
		up = append(up, pid)
	}
	return up
}

// Agent finds the agent that runs the process pid: the nearest ancestor that
// is no shell and no timeout(1), for a client may run a hook or a command
// through one. What a client says of itself in the environment does not count:
// another client that it starts inherits that.
//
// From inside a sandbox (see InSandbox) it cannot be seen.
func Agent(pid int) (Proc, error) {
	up, name := nearest(pid)
	switch {
	case boxes(up, name), firstIsSandbox():
		return Proc{}, os.ErrPermission
	case up == 0:
		return Proc{}, os.ErrProcessDone
	}
	return Find(up)
}

// Visible reports whether a process above this program is what shows its terminal, or the tmux
// server behind that, and does not run in it.
func Visible(pid int) bool {
	own, err := stat(os.Getpid())
	if err != nil || own.terminal == noTerminal {
		return false
	}
	up, err := stat(pid)
	return err == nil && up.terminal != own.terminal
}

// InSandbox reports whether this program is a command that an agent runs in a sandbox
// with process numbers of its own: of no process outside can be said whether it
// runs, and the first one inside is the sandbox. Codex makes it under a name of its
// own; Claude Code with bubblewrap, and runs the command by a helper that has no
// name but that of a file descriptor. Where the agent itself runs in one, with all
// that it has, nothing is out of sight.
func InSandbox() bool {
	return boxes(nearest(os.Getpid())) || firstIsSandbox()
}

// firstSandbox is the sandbox of Codex, which is the first process inside. Its name
// stands here, and not in Codex's folder, since what lies below lib/client asks too.
const firstSandbox = "codex-linux-sandbox"

func firstIsSandbox() bool {
	args, err := Proc{PID: 1}.args()
	return err == nil && len(args) > 0 && filepath.Base(args[0]) == firstSandbox
}

// boxes reports whether a process is a sandbox around what it runs.
func boxes(pid int, name string) bool {
	if name == "bwrap" {
		return true
	}
	if strings.Trim(name, "0123456789") != "" || name == "" {
		return false // a look at the arguments is not free
	}
	args, err := Proc{PID: pid}.args()
	return err == nil && len(args) > 0 && strings.HasPrefix(args[0], "/proc/self/fd/")
}

// nearest is the nearest ancestor that is no shell and no timeout(1), with its
// name; 0 where there is none.
func nearest(pid int) (up int, name string) {
	st, err := stat(pid)
	for range maxDepth {
		if err != nil {
			break
		}
		pid = st.parent
		if st, err = stat(pid); err == nil && !IsShell(st.name) && st.name != "timeout" {
			return pid, st.name
		}
	}
	return 0, ""
}

// IsShell knows the shells by the name of their program.
func IsShell(name string) bool {
	switch strings.TrimPrefix(filepath.Base(name), "-") {
	case "sh", "bash", "dash", "zsh", "ksh", "mksh", "yash", "ash", "busybox", "csh", "tcsh", "fish", "nu", "pwsh":
		return true
	}
	return false
}

// status is what the kernel tells of a process.
type status struct {
	parent   int
	start    string
	name     string
	terminal int // the number of the one that controls it; none is noTerminal
}

// DescendsFrom reports whether p runs somewhere below the other process.
func (p Proc) DescendsFrom(other Proc) bool {
	return slices.Contains(Ancestors(p.PID), other.PID)
}
