package tmux

import (
	"bytes"
	"cmp"
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

// CurrentServer returns the server that the program runs in, or tmux's default, by its socket.
// From within another server, the default would be that one.
func CurrentServer() Server { return Server("").resolveSocket() }

// startWait bounds a call that may have to start the server.
const startWait = 15 * time.Second

var ErrNoTmux = errors.New("tmux is not installed")

var ErrDuplicate = errors.New("there is a tmux session of that name")

// NewSession describes a session to create.
type NewSession struct {
	Name string
	Dir  string // of further windows
	// Environ is the environment of a server that has to be started. All its sessions inherit it.
	Environ []string
	Vars    [][2]string // session variables; not secret
	Remain  bool        // the pane remains when its command ends
	Theme   string      // style of the status line, see CheckStyle; "" for the default
	Mark    string      // whose agent it is, see Pane.Mark; may be ""
	Buffer  Buffer      // loaded with Data, for the command
	Data    []byte
	Command []string // executed without a shell; at least two words
}

func IsInstalled() bool {
	_, err := process.LookPath("tmux", "", os.Environ())
	return err == nil
}

// New creates a detached session, and starts the server if necessary. If there still is the session
// that New made for the same Mark, without its pane, because somebody else's panes are in it, New
// makes a window there instead. If New fails, there is neither pane nor buffer.
func (s Server) New(n NewSession) (Pane, error) {
	if n.Name == "" || strings.ContainsAny(n.Name, ":.#") || len(n.Command) < 2 {
		return Pane{}, fmt.Errorf("cannot start the tmux session '%s'", n.Name)
	}
	if !IsInstalled() {
		return Pane{}, ErrNoTmux
	}
	for tries := 1; ; tries++ {
		// A server ends when it has lost its last session, maybe during the call.
		pane, err := s.createPane(n, "new-session", "-d", "-x", "200", "-y", "50", "-s", n.Name)
		if errors.Is(err, ErrDuplicate) && s.IsLeftover(n.Name, n.Mark) {
			pane, err = s.createPane(n, "new-window", "-t", "="+n.Name+":")
		}
		if !errors.Is(err, ErrNoServer) {
			return pane, err
		}
		if tries == 5 {
			return pane, cmp.Or(s.WhyEnds(), err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// WhyEnds returns why a server ends by itself although sessions run, nil if it does not.
func (s Server) WhyEnds() error {
	args := []string{"start-server", ";", "show-options", "-s", "-v", "exit-unattached"}
	if said, err := s.resolveSocket().runAt(process.Socket{}, nil, nil, nil, startWait, args...); err == nil && said == "on" {
		return errors.New("its tmux server ends while nobody is attached: the option exit-unattached is on")
	}
	return nil
}

// IsLeftover reports whether New made the session of that name for the same mark, and its pane is gone.
func (s Server) IsLeftover(session, mark string) bool {
	if !s.MadeFor(session, mark) {
		return false
	}
	panes, err := s.Panes()
	return err == nil && !slices.ContainsFunc(panes, func(p Pane) bool { return p.Session == session && p.Mark == mark })
}

// tmux 3.1 to 3.6 ends with all its sessions when it makes a window while the person's
// window-size is manual. freeSize switches that off, and fixSize on again. No command between them
// may wait for something, as load-buffer does for its input: other calls would run meanwhile.
var (
	freeSize = []string{"if-shell", "-F", "#{==:#{window-size},manual}", "set-option -g @gt-size manual ; set-option -g window-size largest"}
	fixSize  = []string{"if-shell", "-F", "#{@gt-size}", "set-option -g window-size manual ; set-option -g -u @gt-size"}
)

// MadeFor reports whether New made the session of that name for the mark.
func (s Server) MadeFor(session, mark string) bool {
	said, err := s.run("show-options", "-q", "-v", "-t", "="+session+":", "@gt-session")
	return err == nil && said != "" && said == mark
}

// Lend lets New make the pane of a mark in somebody else's session of its name, as if New had
// made that session. The panes there, maybe of that mark, are nobody's agent.
func (s Server) Lend(session, mark string, panes []Pane) error {
	args := []string{"set-option", "-t", "=" + session + ":", "@gt-session", escapeFinal(mark)}
	for _, p := range panes {
		args = append(args, ";", "set-option", "-p", "-u", "-t", p.ID, "@gt-agent")
	}
	return s.runSilent(args...)
}

// createPane creates the pane of New with the tmux command creates, which is new-session or
// new-window with its flags. The same call sets the pane up.
func (s Server) createPane(n NewSession, creates ...string) (Pane, error) {
	at := s.resolveSocket()
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(at) > most {
		return Pane{}, fmt.Errorf("the path of the tmux socket '%s' has %d bytes, and one has %d at most (TMUX_TMPDIR names a shorter folder)", at, len(at), most)
	}
	socket, err := at.openTrusted()
	switch {
	case errors.Is(err, ErrNoServer):
		if err := makeOwnFolder(filepath.Dir(string(at))); err != nil {
			return Pane{}, err
		}
	case err != nil:
		return Pane{}, err
	}
	defer socket.Close()
	args := slices.Concat([]string{"start-server", ";", "load-buffer", "-b", string(n.Buffer), "-", ";"}, freeSize, []string{";"}, creates,
		[]string{"-P", "-F", paneFormat, "-c", escapeFinal(strings.ReplaceAll(n.Dir, "#", "##")), "--"})
	for _, a := range n.Command {
		args = append(args, escapeFinal(a))
	}
	// In the same call, for tmux can end the session after it.
	args = slices.Concat(args, n.optionCommands("="+n.Name+":", creates[0]), []string{";", "display-message", "-p", "-t", "=" + n.Name + ":", "#{pane_id}", ";"}, fixSize)
	var out string
	if socket.File == nil {
		out, err = at.startServer(n, args)
	} else {
		out, err = at.runAt(socket, nil, bytes.NewReader(n.Data), n.Environ, startWait, args...)
	}
	if err != nil {
		_ = at.runSilent(fixSize...) // the call ended before that
	}
	if err == nil && out == "" { // the server ended during the call
		return Pane{}, ErrNoServer
	}
	pane, perr := parsePane(out)
	switch {
	case perr != nil:
	case strings.HasSuffix(out, "\n"+pane.ID):
		err = nil // only a hook of the person's can have failed
	default: // such a hook has renamed the session, or another pane is its active one
		if _, found, _ := strings.Cut(out, "\n"); isPane(found) {
			_ = s.runSilent("set-option", "-p", "-u", "-t", found, "@gt-agent", ";", "set-option", "-p", "-u", "-t", found, "remain-on-exit")
		}
		if err = s.runSilent(n.optionCommands(pane.ID, creates[0])[1:]...); err == nil {
			pane, err = s.Pane(pane.ID, callWait)
		} else if _, gone := s.Pane(pane.ID, callWait); gone != nil && !errors.Is(gone, ErrNoAnswer) {
			err = errors.New("tmux ended its pane at once, maybe by a hook (tmux show-hooks -g)")
		}
	}
	if err == nil {
		return pane, perr
	}
	_ = at.DropBuffer(n.Buffer) // it may not have been loaded, or was taken
	if strings.Contains(err.Error(), "duplicate session") {
		return Pane{}, fmt.Errorf("%w: %s", ErrDuplicate, n.Name)
	}
	return Pane{}, errors.Join(err, s.killPanesOf(n.Buffer))
}

// optionCommands returns tmux's commands, each after a ";", for the options of the pane that a
// command has created, and of its session.
func (n NewSession) optionCommands(pane, created string) []string {
	remain := "off"
	if n.Remain {
		remain = "on"
	}
	args := []string{";", "set-option", "-p", "-t", pane, "remain-on-exit", remain,
		";", "set-option", "-p", "-t", pane, "@gt-agent", escapeFinal(n.Mark)}
	if created == "new-session" {
		// With the options of the person's, tmux can end a session that nobody is attached to,
		// and can make it as small as a client of another session (tmux 3.3a) in spite of -x.
		// A window that was resized keeps its size until somebody attaches.
		args = append(args, ";", "set-option", "-t", pane, "destroy-unattached", "off",
			";", "set-option", "-t", pane, "@gt-session", escapeFinal(n.Mark),
			";", "resize-window", "-t", pane, "-x", "200", "-y", "50",
			";", "set-option", "-w", "-u", "-t", pane, "window-size")
	}
	for _, kv := range n.Vars {
		args = append(args, ";", "set-environment", "-t", pane, kv[0], escapeFinal(kv[1]))
	}
	if n.Theme != "" {
		args = append(args, ";", "set-option", "-t", pane, "status-style", escapeFinal(n.Theme))
	}
	return args
}

// killPanesOf ends the panes that an unfinished start has left. Their command names its buffer.
func (s Server) killPanesOf(b Buffer) error {
	out, err := s.run("list-panes", "-a", "-F", "#{pane_id} #{pane_start_command}")
	if errors.Is(err, ErrNoServer) {
		return nil
	}
	for line := range strings.Lines(out) {
		if id, command, _ := strings.Cut(line, " "); strings.Contains(command, string(b)) {
			err = errors.Join(err, s.KillPane(id))
		}
	}
	return err
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

// OnDeath makes the server run a shell command whenever the process of a remaining pane
// ends; before tmux 3.2, of any pane in its session. The command's output is discarded.
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
	pid := strconv.Itoa(p.PID)
	missed := []string{";", "if-shell", "-t", p.ID, "-F", "#{&&:#{<:#{version},3.6},#{!=:#{@gt_outlive}," + pid + "}}", job(ended + " " + pid), // one for each process
		";", "set-option", "-t", p.ID, "@gt_outlive", pid}
	err := s.runSilent(append([]string{"set-hook", "-p", "-t", p.ID, "pane-died", job(command)}, missed...)...)
	if err != nil && !errors.Is(err, ErrNoAnswer) && !errors.Is(err, ErrNoServer) { // no hooks of panes
		err = s.runSilent(append([]string{"set-hook", "-t", p.ID, "pane-died", job(command)}, missed...)...)
	}
	return err
}

// NotOnDeath undoes OnDeath.
func (s Server) NotOnDeath(pane string) error {
	return s.runSilent("set-hook", "-p", "-u", "-t", pane, "pane-died")
}

// startServer starts the server with its first session, under systemd in a scope of its
// own. Otherwise it would end with the unit of its starter, a terminal or a service.
// Without systemd it starts directly.
func (s Server) startServer(n NewSession, args []string) (string, error) {
	run := func(launcher ...string) (string, error) {
		return s.runAt(process.Socket{}, launcher, bytes.NewReader(n.Data), n.Environ, startWait, args...)
	}
	if program, err := process.LookPath("systemd-run", "", os.Environ()); err == nil {
		out, err := run(program, "--user", "--scope", "--quiet", "--collect", "--description=tmux", "--")
		if err == nil {
			return out, nil
		}
		socket, none := s.openTrusted()
		socket.Close()
		// Another process may have started the server meanwhile. No error of tmux begins like this.
		if !errors.Is(none, ErrNoServer) && !strings.HasPrefix(err.Error(), "tmux: Failed to ") {
			return out, err // tmux itself failed
		}
	}
	return run()
}

// makeOwnFolder makes a socket's folder like tmux does, or returns an error if it is another user's.
func makeOwnFolder(dir string) error {
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

// KillPane ends a pane and its processes, if it exists. A session ends with its last pane,
// so nobody else's pane ends.
func (s Server) KillPane(id string) error {
	if !isPane(id) {
		return fmt.Errorf("'%s' is not a tmux pane", id)
	}
	err := s.runSilent("kill-pane", "-t", id)
	if err == nil || errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrUntrusted) {
		return err
	}
	// tmux reports a missing pane in several ways.
	panes, perr := s.Panes()
	if perr == nil && slices.ContainsFunc(panes, func(p Pane) bool { return p.ID == id }) {
		return err
	}
	return nil
}

// UsableTerminal returns the kind of terminal as which tmux can use one of the given kind, "" if
// there is none: often a machine that is reached by ssh does not know the terminal at which
// the person sits. tmux itself would only fail when it is asked to.
func UsableTerminal(kind string) string {
	tput, err := process.LookPath("tput", "", os.Environ())
	// knows assumes without tput that the machine knows any terminal but a dumb one.
	knows := func(kind string) bool {
		return kind != "" && (err != nil && kind != "dumb" || err == nil && exec.Command(tput, "-T", kind, "clear").Run() == nil)
	}
	for _, like := range [][2]string{{"tmux", "screen-256color"}, {"xterm", ""}, {"alacritty", ""}, {"foot", ""}, {"ghostty", ""}, {"kitty", ""}, {"wezterm", ""}, {"konsole", ""}, {"vte", ""}, {"gnome", ""}, {"rio", ""}, {"contour", ""}, {"st-", ""}} {
		if other := cmp.Or(like[1], "xterm-256color"); strings.HasPrefix(kind, like[0]) && !knows(kind) && knows(other) {
			return other
		}
	}
	if !knows(kind) {
		return ""
	}
	return kind
}

// Attach replaces this process by a tmux client that shows a pane in a terminal of that
// kind. It returns only on failure.
func (s Server) Attach(p Pane, terminal string) error {
	at := s.resolveSocket()
	socket, err := at.openTrusted()
	if err != nil {
		return err
	}
	socket.Close()
	program, err := process.LookPath("tmux", "", os.Environ())
	if err != nil {
		return ErrNoTmux
	}
	environ := append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }), "TERM="+terminal)
	err = syscall.Exec(program, []string{"tmux", "-u", "-S", string(at), "attach-session", "-t", p.target()}, environ)
	return fmt.Errorf("cannot run '%s': %w", program, err)
}
