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

// Around returns the server that the program runs in, or tmux's default, by its socket.
// From within another server, the default would be that one.
func Around() Server { return Server("").socket() }

// starting bounds a call that may have to start the server.
const starting = 15 * time.Second

var ErrNoTmux = errors.New("tmux is not installed")

var ErrDuplicate = errors.New("there is a tmux session of that name")

// NewSession describes a session to create.
type NewSession struct {
	Name string
	Dir  string // of further windows
	// Environ is the environment of a server that has to be started. All its sessions
	// inherit it.
	Environ []string
	Vars    [][2]string // session variables; not secret
	Remain  bool        // the pane remains when its command ends
	Theme   string      // style of the status line, see CheckStyle; "" for the default
	Buffer  Buffer      // loaded with Data, for the command
	Data    []byte
	Command []string // executed without a shell; at least two words
}

func Installed() bool {
	_, err := process.LookPath("tmux", "", os.Environ())
	return err == nil
}

// New creates a detached session, and starts the server if necessary. If it fails, there is
// neither session nor buffer.
func (s Server) New(n NewSession) (Pane, error) {
	if n.Name == "" || strings.ContainsAny(n.Name, ":.#") || len(n.Command) < 2 {
		return Pane{}, fmt.Errorf("cannot start the tmux session '%s'", n.Name)
	}
	if !Installed() {
		return Pane{}, ErrNoTmux
	}
	for tries := 1; ; tries++ {
		// A server ends when it has lost its last session, maybe during the call.
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
	case err == nil && out == "": // the server ended during the call
		return Pane{}, ErrNoServer
	case err == nil:
		return parsePane(out)
	}
	_ = at.Drop(n.Buffer) // it may not have been loaded, or was taken
	switch {
	case strings.Contains(err.Error(), "duplicate session"):
		return Pane{}, fmt.Errorf("%w: %s", ErrDuplicate, n.Name)
	}
	return Pane{}, errors.Join(err, s.Kill(n.Name))
}

// CheckStyle returns an error unless a style has only words such as fg=colour51,bold.
// Otherwise tmux's expansion could run a program.
func CheckStyle(style string) error {
	for _, r := range style {
		if !strings.ContainsRune("=,#-_ ", r) && (r < '0' || r > '9') && (r|0x20 < 'a' || r|0x20 > 'z') {
			return fmt.Errorf("invalid style '%.80s': it contains %q (try fg=black,bg=cyan)", style, r)
		}
	}
	return nil
}

// OnDeath makes the server run a shell command whenever the process of a remaining pane in
// the session ends. The command's output is discarded.
//
// Up to 3.5, a tmux with libutempter, as distributions have it, can miss that the process
// ended: libutempter resets SIGCHLD while it removes the terminal's entry (tmux issue
// 4559). tmux notices when another child ends. The command ended is such a child: it gets
// the pane's PID as an argument, and runs a little longer than that process.
func (s Server) OnDeath(p Pane, command, ended string) error {
	// tmux parses each as a command, and expands what that runs as a format.
	job := func(command string) string {
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, `#`, `##`).Replace(command + " >/dev/null 2>&1")
		return `run-shell -b "` + quoted + `"`
	}
	_, err := s.run("set-hook", "-t", "="+p.Session+":", "pane-died", job(command), ";",
		"if-shell", "-F", "#{<:#{version},3.6}", job(ended+" "+strconv.Itoa(p.PID)))
	return err
}

// NotOnDeath undoes OnDeath.
func (s Server) NotOnDeath(session string) error {
	_, err := s.run("set-hook", "-u", "-t", "="+session+":", "pane-died")
	return err
}

// startServer starts the server with its first session, under systemd in a scope of its
// own. Otherwise it would end with the unit of its starter, a terminal or a service.
// Without systemd it starts directly.
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
		// Another process may have started the server meanwhile. No error of tmux begins
		// like this.
		if !errors.Is(none, ErrNoServer) && !strings.HasPrefix(err.Error(), "tmux: Failed to ") {
			return "", err // tmux itself failed
		}
	}
	return run()
}

// ownFolder makes a socket's folder like tmux does, or returns an error if it is another
// user's.
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

// Kill ends a session and its processes, if it exists.
func (s Server) Kill(session string) error {
	_, err := s.run("kill-session", "-t", "="+session)
	if err == nil || errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrUntrusted) {
		return err
	}
	// tmux reports a missing session in several ways.
	panes, perr := s.Panes()
	if perr == nil && slices.ContainsFunc(panes, func(p Pane) bool { return p.Session == session }) {
		return err
	}
	return nil
}

// HasScreen reports whether tmux can run in a terminal of that kind, according to tput.
// tmux itself would only fail when it is asked to.
func HasScreen(kind string) bool {
	tput, err := process.LookPath("tput", "", os.Environ())
	if err != nil {
		return kind != "" && kind != "dumb"
	}
	return exec.Command(tput, "-T", kind, "clear").Run() == nil
}

// Attach replaces this process by a tmux client that shows a session. It returns only on
// failure.
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
