package process

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Socket is an open socket. Connecting reaches the same one, even if another takes its name.
type Socket struct {
	File *os.File // for whoever connects; nil if the system has no such handle
	path string
}

// OpenSocket opens a socket without connecting and without following a link.
func OpenSocket(path string) (Socket, error) {
	f, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	return Socket{f, path}, err
}

func (s Socket) Stat() (os.FileInfo, error) { return s.File.Stat() }

func (s Socket) Close() { s.File.Close() }

func (s Socket) address() string { return "/proc/self/fd/" + strconv.Itoa(int(s.File.Fd())) }

type Peer struct {
	PID int // 0 if it is outside this PID namespace
	UID int
}

// Peer connects and returns the process that began to listen.
func (s Socket) Peer() (Peer, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return Peer{}, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: s.address()}); err != nil {
		return Peer{}, err
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{PID: int(cred.Pid), UID: int(cred.Uid)}, nil
}

// Confined returns why a process is confined more than this one, or "": by another PID
// namespace, no_new_privs or a seccomp filter. Every sandbox that a user can make has at
// least one of these, and none can be shed.
func Confined(pid int) string {
	ours, err := namespace()
	if err != nil {
		return "is answered by a process that cannot be looked at"
	}
	theirs, err := namespaceOf(strconv.Itoa(pid))
	switch {
	case err != nil:
		return "is answered by a process that cannot be looked at"
	case theirs != ours: // mutant never: ./lib/sys/tmux TestSandboxedServer
		return "is answered by a process of another PID namespace"
	}
	self, err := confinement("self")
	peer, perr := confinement(strconv.Itoa(pid))
	if errors.Join(err, perr) != nil {
		return "is answered by a process that cannot be looked at"
	}
	for i := range peer {
		if peer[i] > self[i] {
			return "is answered from within a sandbox"
		}
	}
	return ""
}

// Freer reports whether a process is confined less than this one, as one outside of this
// one's sandbox. One that cannot be examined counts as freer.
func Freer(pid int) bool {
	self, err := confinement("self")
	peer, perr := confinement(strconv.Itoa(pid))
	if errors.Join(err, perr) != nil {
		return true
	}
	for i := range peer {
		if peer[i] < self[i] {
			return true
		}
	}
	return false
}

// confinement returns no_new_privs, the seccomp mode and the number of filters of a process.
func confinement(pid string) (level [3]int, err error) {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return level, err
	}
	for line := range strings.Lines(string(data)) {
		for i, name := range []string{"NoNewPrivs:", "Seccomp:", "Seccomp_filters:"} {
			if n, ok := strings.CutPrefix(line, name); ok {
				level[i], _ = strconv.Atoi(strings.TrimSpace(n))
			}
		}
	}
	return level, nil
}
