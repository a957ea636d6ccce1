// Package process identifies processes, even after their PIDs were reused, and examines
// their ancestors.
package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Proc identifies a process for ever, by PID, start, boot and PID namespace. PID files and
// records store these. Start is the kernel's figure, only good for comparing.
type Proc struct {
	PID   int
	Start string
	Boot  string
	NS    string // number of the PID namespace; "" if the system has none
}

// Find returns the running process with that PID. A zombie counts as gone.
func Find(pid int) (Proc, error) {
	seen, err := Look(pid)
	return seen.Proc, err
}

// Seen is what one look at a process shows.
type Seen struct {
	Proc      Proc
	Name      string // of the program (see Name)
	Suspended bool   // see Proc.Suspended
}

// Look finds a process by its number, and returns all that one look at it shows.
func Look(pid int) (Seen, error) {
	ns, err := namespace()
	if err != nil {
		return Seen{}, err
	}
	st, err := stat(pid)
	if err != nil {
		return Seen{}, err
	}
	boot, err := bootID()
	if err != nil {
		return Seen{}, err
	}
	return Seen{Proc{PID: pid, Start: st.start, Boot: boot, NS: ns}, st.name, st.suspended}, nil
}

// EnvironOf is Environ for a process whose program has that name. It does not check that the
// process still runs: if p is not alive, the environment may be another's.
func (p Proc) EnvironOf(name string) ([]string, error) {
	return startEnviron(originalProcess(p.PID, name))
}

// ProcFromRecord returns a process from a file. If the file predates namespaces, the reader's is assumed.
func ProcFromRecord(pid int, start, boot, ns string) Proc {
	p := Proc{PID: pid, Start: start, Boot: boot, NS: ns}
	if ns == "" && p.IsSet() {
		p.NS, _ = namespace() // otherwise no process would match
	}
	return p
}

// Presence is what is known of a process or a pane. What ends, removes, replaces or begins
// something asks for it, and takes nothing that is Unseen for Dead.
type Presence int

const (
	Unseen Presence = iota // nothing here tells
	Alive
	Dead
)

// Presence returns what can be seen of this very process from here. It is Unseen in another
// PID namespace, or if the system does not show it. It is Dead without start or boot.
func (p Proc) Presence() Presence {
	if p.IsElsewhere() {
		return Unseen
	}
	found, err := Find(p.PID)
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return Dead
	case err != nil:
		return Unseen
	case found == p && p.Start != "":
		return Alive
	}
	return Dead
}

// IsAlive reports whether this very process is seen to run, Gone whether it is known to have
// ended. Both are false of one that is Unseen.
func (p Proc) IsAlive() bool { return p.IsSet() && p.Presence() == Alive }

func (p Proc) Gone() bool { return p.Presence() == Dead }

// IsSuspended reports whether the process does nothing until a SIGCONT, as after Ctrl-Z. What is
// typed in its terminal reaches the shell that it was started from.
func (p Proc) IsSuspended() bool {
	if p.IsElsewhere() {
		return false
	}
	st, err := stat(p.PID)
	return err == nil && st.suspended && st.start == p.Start
}

// IsElsewhere reports whether the process belongs to another PID namespace of this boot: a
// container's, a sandbox's, or one outside. Its PID means nothing here. A namespace of which
// nothing is left does not count.
func (p Proc) IsElsewhere() bool { return p.IsSet() && InOtherNamespace(p.Boot, p.NS) }

// InOtherNamespace reports whether a PID namespace of a boot is another one of this boot, and may
// still have processes. What cannot be found out counts as yes.
func InOtherNamespace(boot, ns string) bool {
	if ns == "" {
		return false
	}
	own, err := namespace()
	if err != nil {
		return true // the visible PIDs are not ours
	}
	if own == ns { // mutant always: TestOtherNamespace
		return false
	}
	here, err := bootID()
	return err != nil || here == boot && !abandoned(ns)
}

// CurrentNamespace returns the boot's id and the PID namespace of this program, as far as known.
func CurrentNamespace() (boot, ns string) {
	boot, _ = bootID()
	ns, _ = namespace()
	return boot, ns
}

func (p Proc) IsSet() bool { return p.PID > 0 && p.Start != "" }

// Signal sends sig to this very process, even if its PID is being reused: it takes a handle
// (on Linux a pidfd) before it checks the identity. It returns os.ErrProcessDone if the
// process is gone.
func (p Proc) Signal(sig syscall.Signal) error {
	handle, err := os.FindProcess(p.PID)
	if err != nil {
		return err
	}
	defer handle.Release()
	if !p.IsAlive() {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// Name returns the name of a process's program, up to 15 characters, or "".
func Name(pid int) string {
	st, err := stat(pid)
	if err != nil {
		return ""
	}
	return st.name
}

// maxDepth bounds how many ancestors are examined.
const maxDepth = 64

// Ancestors returns the PIDs of a process's ancestors, the parent first.
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

// AgentOf returns the agent that runs the process pid: the nearest ancestor that is neither a
// shell nor timeout(1), through which clients run hooks and commands. The environment does
// not show it, because another client that the agent starts inherits that.
//
// Inside a sandbox (see InSandbox) it fails.
func AgentOf(pid int) (Proc, error) {
	up, name := nearestProgram(pid)
	switch {
	case isSandbox(up, name), firstIsSandbox():
		return Proc{}, os.ErrPermission
	case up == 0:
		return Proc{}, os.ErrProcessDone
	}
	return Find(up)
}

// Visible reports whether pid, an ancestor of this program, runs outside this program's terminal:
// it may then be the terminal's own program, which the person sees, or the tmux server behind it.
func Visible(pid int) bool {
	own, err := stat(os.Getpid())
	if err != nil || own.terminal == noTerminal {
		return false
	}
	up, err := stat(pid)
	return err == nil && up.terminal != own.terminal
}

// InSandbox reports whether this program is a command in an agent's sandbox with a PID
// namespace. There, nothing shows whether an outside process runs, and the first process is
// the sandbox. Codex's has a name of its own. Claude Code uses bubblewrap and a helper
// whose name is a file descriptor. If the agent itself runs in a sandbox, InSandbox is
// false, because everything is visible.
func InSandbox() bool {
	return isSandbox(nearestProgram(os.Getpid())) || firstIsSandbox()
}

// firstSandbox is the first process in Codex's sandbox. It is here and not in Codex's
// package because packages below lib/client need it.
const firstSandbox = "codex-linux-sandbox"

func firstIsSandbox() bool {
	args, err := Proc{PID: 1}.args()
	return err == nil && len(args) > 0 && filepath.Base(args[0]) == firstSandbox
}

// isSandbox reports whether a process is a sandbox around its children.
func isSandbox(pid int, name string) bool {
	if name == "bwrap" {
		return true
	}
	if strings.Trim(name, "0123456789") != "" || name == "" {
		return false // reading the arguments is not free
	}
	args, err := Proc{PID: pid}.args()
	return err == nil && len(args) > 0 && strings.HasPrefix(args[0], "/proc/self/fd/")
}

// nearestProgram returns the nearest ancestor that is neither a shell nor timeout(1), with its
// name, or 0.
func nearestProgram(pid int) (up int, name string) {
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

var shells = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "yash", "ash", "busybox", "csh", "tcsh", "fish", "nu", "pwsh"}

// IsShell reports whether a name is a shell's, also as a path or of a login shell.
func IsShell(name string) bool {
	return slices.Contains(shells, strings.TrimPrefix(filepath.Base(name), "-"))
}

type status struct {
	parent    int
	start     string
	name      string
	suspended bool
	threads   int // Linux only
	terminal  int // number of the controlling terminal, or noTerminal
	session   int // its leader's PID; 0 if the system does not tell
	group     int // the terminal's foreground process group
}

// SharingTerminal returns the other processes that have a process's terminal or are in the
// session that it leads.
func SharingTerminal(pid int) (all []Proc) {
	of, err := stat(pid)
	if err != nil {
		return nil
	}
	for _, other := range ListPIDs() {
		st, err := stat(other)
		if err != nil || other == pid || (st.terminal != of.terminal || of.terminal == noTerminal) && st.session != pid {
			continue
		}
		if p, err := Find(other); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// ShellAtPrompt returns the name of the shell that waits for a person in the foreground of a
// process's terminal, "" if something else is there. A shell that runs a script or one
// command does not count.
func ShellAtPrompt(pid int) string {
	st, err := stat(pid)
	if err != nil || st.group <= 0 {
		return ""
	}
	p, err := Find(st.group)
	if err != nil {
		return ""
	}
	args, err := p.Args()
	if err != nil || len(args) == 0 || !IsShell(args[0]) || slices.ContainsFunc(args[1:], func(arg string) bool {
		return !strings.HasPrefix(arg, "-") || !strings.HasPrefix(arg, "--") && strings.Contains(arg, "c")
	}) {
		return ""
	}
	return filepath.Base(strings.TrimPrefix(args[0], "-"))
}

func (p Proc) DescendsFrom(other Proc) bool {
	return slices.Contains(Ancestors(p.PID), other.PID)
}

// Info is what anybody can see of a process.
type Info struct {
	PID  int
	Name string   // the program's, up to 15 characters
	Args []string // nil if unreadable
}

// AncestorPath returns a process and its ancestors up to top, or up to the last visible one for top
// 0. reached reports whether that is top.
func AncestorPath(pid, top int) (all []Info, reached bool) {
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

// IsContained reports whether this program runs in another PID namespace than the machine's
// first: in a container or a sandbox.
func IsContained() bool {
	ns, err := namespace()
	return err != nil || ns != "" && ns != firstNamespace
}

// firstNamespace is the first PID namespace of Linux (PROC_PID_INIT_INO).
const firstNamespace = "4026531836"

// Awake returns how many seconds the machine ran since it started, without those in which it
// slept, 0 if that is unknown. Nobody sets this clock.
func Awake() int64 {
	var at unix.Timespec
	if unix.ClockGettime(awake, &at) != nil {
		return 0
	}
	return int64(at.Sec)
}

// Slept returns how much of the time by the clock from at to now the machine slept, or the
// clock was set by. awake is what Awake returned at that time; without it, or with one of an
// earlier start, Slept returns 0.
func Slept(at time.Time, awake int64, now time.Time) time.Duration {
	return sleepWithin(now.Sub(at), awake, Awake())
}

func sleepWithin(passed time.Duration, awake, now int64) time.Duration {
	if awake == 0 || awake > now {
		return 0
	}
	return passed - time.Duration(now-awake)*time.Second
}
