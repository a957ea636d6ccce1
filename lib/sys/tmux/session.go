package tmux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/process"
)

// Around returns the server that the program runs in, or else tmux's own default, by its
// socket: from within another server the default is that one.
func Around() Server { return Server("").socket() }

// starting bounds how long a server may take that has to be started first.
const starting = 15 * time.Second

// ErrNoTmux says that tmux is not installed.
var ErrNoTmux = errors.New("tmux is not installed")

// ErrDuplicate says that there is a session of that name.
var ErrDuplicate = errors.New("there is a tmux session of that name")

// A NewSession is a session that does not exist yet.
type NewSession struct {
	Name string
	Dir  string // where its further windows begin
	// Environ is the environment of the server where it has to be started, which all its
	// sessions inherit.
	Environ []string
	Vars    [][2]string // the session's own variables; nothing secret
	Remain  bool        // its pane stays when its command ends
	Theme   string      // the style of its status line, see CheckStyle; "" for the usual one
	Buffer  Buffer      // is loaded with Data, for the command
	Data    []byte
	Command []string // executed without a shell; at least two words
}

// Installed reports whether there is a tmux on the PATH.
func Installed() bool {
	_, err := process.LookPath("tmux", "", os.Environ())
	return err == nil
}

// New starts a session that nobody sees, and the server where none runs. All is one call:
// where it fails, there is no session and no buffer.
func (s Server) New(n NewSession) (Pane, error) {
	if n.Name == "" || strings.ContainsAny(n.Name, ":.#") || len(n.Command) < 2 {
		return Pane{}, fmt.Errorf("cannot start the tmux session '%s'", n.Name)
	}
	if !Installed() {
		return Pane{}, ErrNoTmux
	}
	for tries := 1; ; tries++ {
		// A server that has lost its last session ends, and may do so while it is asked.
		pane, err := s.make(n)
		if tries == 5 || !errors.Is(err, ErrNoServer) {
			return pane, err
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s Server) make(n NewSession) (Pane, error) {
	at := s.socket()
	socket, err := at.trusted()
	switch {
	case errors.Is(err, ErrNoServer):
		if err := ownFolder(filepath.Dir(string(at))); err != nil {
			return Pane{}, err
		}
	case err != nil:
		return Pane{}, err
	}
	defer socket.Close()
	remain := "off"
	if n.Remain {
		remain = "on"
	}
	args := []string{
		"start-server", ";", "load-buffer", "-b", string(n.Buffer), "-", ";",
		"new-session", "-d", "-P", "-F", paneFormat, "-s", n.Name, "-c", literal(strings.ReplaceAll(n.Dir, "#", "##")),
		"-x", "200", "-y", "50", "--",
	}
	for _, a := range n.Command {
		args = append(args, literal(a))
	}
	args = append(args, ";", "set-option", "-p", "-t", "="+n.Name+":", "remain-on-exit", remain)
	for _, kv := range n.Vars {
		args = append(args, ";", "set-environment", "-t", "="+n.Name, kv[0], literal(kv[1]))
	}
	if n.Theme != "" {
		args = append(args, ";", "set-option", "-t", "="+n.Name+":", "status-style", literal(n.Theme))
	}
	var out string
	if socket.File == nil {
		out, err = at.startServer(n, args)
	} else {
		out, err = at.call(socket, bytes.NewReader(n.Data), n.Environ, starting, args...)
	}
	switch {
	case err == nil && out == "": // the server ended as it was asked
		return Pane{}, ErrNoServer
	case err == nil:
		return parsePane(out)
	}
	_ = at.Drop(n.Buffer) // it may not have been loaded, or be taken
	switch {
	case strings.Contains(err.Error(), "duplicate session"):
		return Pane{}, fmt.Errorf("%w: %s", ErrDuplicate, n.Name)
	}
	return Pane{}, errors.Join(err, s.Kill(n.Name))
}

// CheckStyle reports what is wrong with a style: it has words such as fg=colour51,bold. In
// what tmux expands within a style, a program could be named.
func CheckStyle(style string) error {
	for _, r := range style {
		if !strings.ContainsRune("=,#-_ ", r) && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return fmt.Errorf("invalid style '%.80s': it contains %q (try fg=black,bg=cyan)", style, r)
		}
	}
	return nil
}

// OnDeath has the server run a command of a shell each time a process of the pane's
// session ends whose pane stays. What the command prints goes nowhere.
//
// Up to its version 3.5, a tmux that was built with libutempter, as those of distributions
// are, can miss that the process has ended: libutempter resets SIGCHLD while it takes down
// the terminal's entry (tmux issue 4559). It learns of it when another of its children
// ends. Such a one is ended: followed by the number of the pane's process, it runs until
// that has ended and some time longer.
func (s Server) OnDeath(p Pane, command, ended string) error {
	// Either is parsed as a command of tmux's, and what that runs is expanded as a format.
	job := func(command string) string {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, `#`, `##`).Replace(command + " >/dev/null 2>&1")
		return `run-shell -b "` + quoted + `"`
	}
	_, err := s.run("set-hook", "-t", "="+p.Session+":", "pane-died", job(command), ";",
		"if-shell", "-F", "#{<:#{version},3.6}", job(ended+" "+strconv.Itoa(p.PID)))
	return err
}

// NotOnDeath has the server run nothing any more when a process of the session ends.
func (s Server) NotOnDeath(session string) error {
	_, err := s.run("set-hook", "-u", "-t", "="+session+":", "pane-died")
	return err
}

// startServer starts the server with its first session, under systemd in a scope of its
// own: a server lives in the unit of whoever started it, and ends with that, a terminal's
// or a service's. Where there is no systemd of the person's it starts without.
func (s Server) startServer(n NewSession, args []string) (string, error) {
	run := func(launcher ...string) (string, error) {
		return s.callBelow(launcher, process.Socket{}, bytes.NewReader(n.Data), n.Environ, starting, args...)
	}
	if program, err := process.LookPath("systemd-run", "", os.Environ()); err == nil {
		out, err := run(program, "--user", "--scope", "--quiet", "--collect", "--description=tmux", "--")
		if err == nil {
			return out, nil
		}
		socket, none := s.trusted()
		socket.Close()
		// Another program may have started the server meanwhile. tmux has no error that
		// begins so.
		if !errors.Is(none, ErrNoServer) && !strings.HasPrefix(err.Error(), "tmux: Failed to ") {
			return "", err // it is tmux that failed
		}
	}
	return run()
}

// ownFolder makes the folder of a socket as tmux makes it, and refuses one that is
// somebody else's.
func ownFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownedByUs(info) || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: the tmux folder '%s' is not yours alone", ErrUntrusted, dir)
	}
	return nil
}

// Kill ends a session and what runs in it. That there is none is no error.
func (s Server) Kill(session string) error {
	_, err := s.run("kill-session", "-t", "="+session)
	if err == nil || errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrUntrusted) {
		return err
	}
	// tmux says it in several ways, also while its server comes to its end.
	panes, perr := s.Panes()
	if perr == nil && slices.ContainsFunc(panes, func(p Pane) bool { return p.Session == session }) {
		return err
	}
	return nil
}

// HasScreen reports whether tmux can show a session in a terminal of that kind: as far as tput
// knows, for tmux says it only when it is asked to.
func HasScreen(kind string) bool {
	tput, err := process.LookPath("tput", "", os.Environ())
	if err != nil {
		return kind != "" && kind != "dumb"
	}
	return exec.Command(tput, "-T", kind, "clear").Run() == nil
}

// Attach becomes the client of tmux that shows a session in this terminal. It returns only
// where that fails.
func (s Server) Attach(session string) error {
	at := s.socket()
	socket, err := at.trusted()
	if err != nil {
		return err
	}
	socket.Close()
	program, err := process.LookPath("tmux", "", os.Environ())
	if err != nil {
		return ErrNoTmux
	}
	err = syscall.Exec(program, []string{"tmux", "-u", "-S", string(at), "attach-session", "-t", "=" + session}, os.Environ())
	return fmt.Errorf("cannot run '%s': %w", program, err)
}
