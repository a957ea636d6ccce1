package tmux

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gt/lib/sys/process"
)

// Whoever answers at a socket can have the tmux client run a command (the protocol's
// MSG_SHELL and MSG_EXEC). So gt only talks to the person's own server. An agent's sandbox
// can make a socket in its project or in /tmp, and put it in the place of the person's. But
// it cannot be an ancestor of the agent, or be as free as this process.

// ErrUntrusted is returned for a socket that is not the person's own.
var ErrUntrusted = errors.New("it is not used")

// openTrusted opens the server's socket, which the caller closes, or returns ErrUntrusted (see above).
func (s Server) openTrusted() (process.Socket, error) {
	path := string(s)
	refuse := func(why string) (process.Socket, error) {
		return process.Socket{}, fmt.Errorf("%w: the tmux socket '%s' %s", ErrUntrusted, path, why)
	}
	if !filepath.IsAbs(path) {
		return refuse("has no absolute path")
	}
	socket, err := process.OpenSocket(path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return socket, ErrNoServer
	case err != nil:
		return refuse("cannot be opened: " + err.Error())
	}
	if why, err := whyUntrusted(socket, filepath.Dir(path)); err != nil || why != "" {
		socket.Close()
		if err != nil {
			return process.Socket{}, err
		}
		return refuse(why)
	}
	return socket, nil
}

// whyUntrusted returns why a socket or its server is not trusted.
func whyUntrusted(socket process.Socket, folder string) (why string, err error) {
	info, err := socket.Stat()
	switch {
	case err != nil:
		return err.Error(), nil
	case info.Mode().Type() != os.ModeSocket:
		return "is no socket", nil
	case !ownedByUs(info):
		return "belongs to another user", nil
	}
	peer, err := socket.Peer()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return "", ErrNoServer
	case errors.Is(err, syscall.EAGAIN):
		return "", ErrNoAnswer
	case err != nil:
		return "does not say who answers: " + err.Error(), nil
	case peer.UID != 0 && peer.UID != os.Geteuid(): // mutant never: TestForeignServer
		return "is answered by another user", nil
	case peer.PID > 0 && slices.Contains(process.Ancestors(os.Getpid()), peer.PID):
		return "", nil // the server is an ancestor
	}
	if peer.PID == 0 || socket.File == nil {
		// The server is outside this container, so not one that an agent started inside; or nothing
		// prevents the socket from being replaced. Then its folder must be as tmux makes it.
		dir, err := os.Stat(folder)
		if err != nil || !ownedByUs(dir) || dir.Mode().Perm()&0o077 != 0 {
			return "lies in a folder that is not yours alone", nil
		}
	}
	if peer.PID == 0 {
		return "", nil
	}
	return process.Confined(peer.PID), nil
}

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid())
}

// resolveSocket returns the server's socket, or tmux's default.
func (s Server) resolveSocket() Server {
	if s != "" {
		return s
	}
	if path, _, _ := strings.Cut(os.Getenv("TMUX"), ","); filepath.IsAbs(path) { // tmux sets no other
		return Server(path)
	}
	dir, err := filepath.Abs(cmp.Or(os.Getenv("TMUX_TMPDIR"), "/tmp"))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil { // tmux passes over a folder that is not there, too
		dir = "/tmp"
	}
	return Server(filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default"))
}

// PID returns the server's process, 0 if it is not visible.
func (s Server) PID() (int, error) {
	socket, err := s.resolveSocket().openTrusted()
	if err != nil {
		return 0, err
	}
	defer socket.Close()
	peer, err := socket.Peer()
	return peer.PID, err
}
