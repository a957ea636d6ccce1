package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/process"
	"gt/lib/text/lazyregexp"
)

// Server is a tmux server's socket; "" for tmux's default.
type Server string

// callWait bounds every call, so that a server that hangs does not hang its callers.
var callWait = 5 * time.Second

// ErrNoServer is returned if no server runs, or tmux is not installed.
var ErrNoServer = errors.New("no tmux server is running there")

// ErrNoAnswer is returned if a server is too busy. Then nothing is known.
var ErrNoAnswer = errors.New("tmux did not answer")

// run runs tmux commands, separated by ";", and returns their output.
func (s Server) run(args ...string) (string, error) {
	return s.runFor(callWait, args...)
}

// runSilent is run for commands whose output is of no interest.
func (s Server) runSilent(args ...string) error {
	_, err := s.run(args...)
	return err
}

func (s Server) runFor(limit time.Duration, args ...string) (string, error) {
	return s.runWith(nil, limit, args...)
}

// runWith runs a command of tmux, with input if the command reads any.
func (s Server) runWith(input io.Reader, limit time.Duration, args ...string) (string, error) {
	at := s.resolveSocket()
	socket, err := at.openTrusted()
	if err != nil {
		return "", err
	}
	defer socket.Close()
	return at.runAt(socket, nil, input, nil, limit, args...)
}

// runAt runs tmux at a trusted socket, below a launcher unless that is nil. If there is no socket,
// a command that starts a server creates it, in the given environment; nil means this process's.
func (s Server) runAt(socket process.Socket, launcher []string, input io.Reader, environ []string, limit time.Duration, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	path := string(s)
	if socket.File != nil { // mutant never: TestExchangedSocket
		path = "/proc/self/fd/3" // the first of ExtraFiles
	}
	program, err := process.LookPath("tmux", "", os.Environ())
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoServer, ErrNoTmux)
	}
	words := slices.Concat(launcher, []string{program, "-u", "-S", path}, args)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	if socket.File != nil {
		cmd.ExtraFiles = []*os.File{socket.File}
	}
	cmd.Env = environ
	var out, errs strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &out, &errs
	// If respawning the pane ends this process with SIGHUP, the tmux client must survive
	// until it has told the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // tmux's children may hold its output open
	err = cmd.Run()
	switch message := strings.TrimSpace(errs.String()); {
	case err == nil:
		return strings.TrimRight(out.String(), "\n"), nil
	case ctx.Err() != nil, errors.Is(err, exec.ErrWaitDelay): // not all output was read
		return "", fmt.Errorf("%w within %v", ErrNoAnswer, limit)
	case strings.HasPrefix(message, "no server running"), strings.HasSuffix(message, "(No such file or directory)"),
		strings.HasSuffix(message, "(Connection refused)"):
		return "", ErrNoServer
	case strings.HasPrefix(message, "error connecting"), strings.HasPrefix(message, "error creating"), strings.HasPrefix(message, "couldn't create"),
		strings.HasPrefix(message, "server exited"), strings.HasPrefix(message, "lost server"): // while the call was running
		return "", fmt.Errorf("%w: %s", ErrNoServer, message)
	case strings.Contains(message, "unknown option"), strings.Contains(message, "usage: "), strings.HasPrefix(message, "unknown command"):
		if err := CheckVersion(); err != nil {
			return "", err
		}
		return "", fmt.Errorf("tmux: %s", message)
	case message != "": // of several commands, others may have printed something
		return strings.TrimRight(out.String(), "\n"), fmt.Errorf("tmux: %s", message)
	default:
		return "", fmt.Errorf("tmux: %w", err)
	}
}

// MinVersion is the first version of tmux that has what gt uses, such as commands from
// standard input, by which it reads the screens.
const MinVersion = "3.1"

var versionForm = lazyregexp.New(`^tmux (?:[a-z]*-)?(\d+\.\d+)`)

// CheckVersion returns an error if tmux is not installed, or is older than MinVersion.
func CheckVersion() error {
	program, err := process.LookPath("tmux", "", os.Environ())
	if err != nil {
		return ErrNoTmux
	}
	out, err := exec.Command(program, "-V").Output()
	if err != nil {
		return fmt.Errorf("cannot run '%s': %w", program, err)
	}
	said := strings.TrimSpace(string(out))
	if m := versionForm().FindStringSubmatch(said); m != nil && len(m[1]) == len(MinVersion) && m[1] < MinVersion {
		return fmt.Errorf("%s is too old: gt needs tmux %s or later", said, MinVersion)
	}
	return nil
}

// escapeFinal escapes a final ";", which would end tmux's command.
func escapeFinal(arg string) string {
	if body, ok := strings.CutSuffix(arg, ";"); ok {
		return body + `\;`
	}
	return arg
}

// Pane is a pane of tmux.
type Pane struct {
	ID       string // %N
	Session  string
	Path     string // the working folder of its program
	PID      int    // of the process that the pane was started with; 0 of a dead pane since tmux 3.8
	Dead     bool
	Killed   bool      // by a signal; unknown before tmux 3.3
	Created  time.Time // of the session
	Attached bool
	Mark     string // NewSession.Mark of a pane that New made, "" of another
}

const paneFormat = "#{pane_id}\t#{pane_pid}\t#{pane_dead}\t#{pane_dead_signal}\t#{session_created}\t#{session_attached}\t#{@gt-agent}\t#{session_name}\t#{pane_current_path}"

// SameServer reports whether both are the same server: the default one has a path, too.
func (s Server) SameServer(other Server) bool { return s.resolveSocket() == other.resolveSocket() }

// Pane returns the pane with that id. If it does not exist, it returns an error.
func (s Server) Pane(id string, within time.Duration) (Pane, error) {
	if !isPane(id) {
		return Pane{}, fmt.Errorf("'%s' is not a tmux pane", id)
	}
	out, err := s.runFor(within, "display-message", "-p", "-t", id, paneFormat)
	if err != nil {
		return Pane{}, err
	}
	if out == "" || out[0] == '\t' { // with exit code 0
		return Pane{}, fmt.Errorf("there is no pane '%s'", id)
	}
	return parsePane(out)
}

// ActivePane returns the active pane of the session with exactly that name.
func (s Server) ActivePane(session string) (Pane, error) {
	if !s.HasSession(session) {
		return Pane{}, fmt.Errorf("there is no tmux session '%s'", session)
	}
	out, err := s.run("display-message", "-p", "-t", "="+session+":", paneFormat)
	if err != nil {
		return Pane{}, err
	}
	return parsePane(out)
}

// parsePane parses the first line, in paneFormat: a tmux hook of the person's can print more.
func parsePane(out string) (Pane, error) {
	line, _, _ := strings.Cut(out, "\n")
	f := strings.SplitN(line, "\t", 9)
	if len(f) < 9 {
		return Pane{}, errors.New("cannot parse tmux's description of a pane")
	}
	p := Pane{ID: f[0], Dead: f[2] == "1", Attached: f[5] != "0", Mark: f[6], Session: f[7], Path: f[8]}
	p.Killed = p.Dead && f[3] != ""
	var err error
	if p.PID, err = strconv.Atoi(f[1]); err != nil && f[1] != "" {
		return Pane{}, fmt.Errorf("tmux returned '%s' as the number of a process", f[1])
	}
	if created, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		p.Created = time.Unix(created, 0)
	}
	return p, nil
}

func (s Server) HasSession(session string) bool {
	if session == "" || strings.ContainsAny(session, ":.") {
		return false // not a valid name
	}
	_, err := s.run("has-session", "-t", "="+session) // mutant without "=": TestHasIsExact
	return err == nil
}

// SetEnvironment sets and unsets variables of a pane's session for future processes, in one call.
// The values are visible on a command line and in show-environment, so they must not be secret.
func (s Server) SetEnvironment(pane string, vars [][2]string, unset []string, within time.Duration) error {
	if !isPane(pane) {
		return fmt.Errorf("'%s' is not a tmux pane", pane)
	}
	var args []string
	for _, kv := range vars {
		args = append(args, ";", "set-environment", "-t", pane, kv[0], escapeFinal(kv[1]))
	}
	for _, name := range unset {
		args = append(args, ";", "set-environment", "-u", "-t", pane, name)
	}
	if args == nil {
		return nil
	}
	_, err := s.runFor(within, args[1:]...) // without the first ";"
	return err
}

// Environments returns the environments of the panes' sessions by pane id, in one call,
// without panes that are gone.
func (s Server) Environments(panes []string) map[string][]string {
	all := map[string][]string{}
	for pane, lines := range s.runEach(panes, "show-environment") {
		all[pane] = strings.Split(lines, "\n")
	}
	return all
}

// CapturePanes returns the panes' text by id, in one call, without panes that are gone.
func (s Server) CapturePanes(panes []string) map[string]string {
	return s.runEach(panes, "capture-pane", "-p")
}

// runEach runs a command for each pane in one call, and returns the outputs. tmux reads the
// commands from standard input, because a fleet's do not fit into a command line, where one
// failure would also stop the rest.
func (s Server) runEach(panes []string, command ...string) map[string]string {
	separator := "gt-" + rand.Text() + " " // no screen shows it
	var input strings.Builder
	for _, pane := range panes {
		if isPane(pane) {
			fmt.Fprintf(&input, "display-message -p '%s%s'\n%s -t %s\n", separator, pane[1:], strings.Join(command, " "), pane)
		}
	}
	if input.Len() == 0 {
		return nil
	}
	out, _ := s.runWith(strings.NewReader(input.String()), callWait, "source-file", "-") // the output is good despite an error
	all := map[string]string{}
	for _, said := range strings.Split("\n"+out, "\n"+separator)[1:] {
		number, text, _ := strings.Cut(said, "\n")
		all["%"+number] = strings.TrimRight(text, "\n")
	}
	return all
}

// RemainSetting is a pane's own remain-on-exit, or unset if the pane inherits its window's.
type RemainSetting struct {
	Set   bool   `json:"set"`
	Value string `json:"value,omitempty"`
}

func (s Server) RemainOnExit(pane string) (RemainSetting, error) {
	out, err := s.run("show-options", "-p", "-t", pane, "remain-on-exit")
	if err != nil || out == "" {
		return RemainSetting{}, err
	}
	_, value, _ := strings.Cut(out, " ")
	return RemainSetting{Set: true, Value: value}, nil
}

// IsDead reports whether a remaining pane's terminal is closed: nobody has it open any more,
// and tmux has read all that was printed. A pane that is gone is an error.
func (s Server) IsDead(pane string) (bool, error) {
	out, err := s.run("display-message", "-p", "-t", pane, "#{pane_id} #{pane_dead}")
	if id, _, _ := strings.Cut(out, " "); err == nil && id != pane { // some versions of tmux tell nothing of a pane that is gone
		err = fmt.Errorf("there is no pane '%s'", pane)
	}
	return out == pane+" 1", err
}

// ExitedCleanly reports whether the process of a remaining pane ended with exit status 0.
func (s Server) ExitedCleanly(pane string) (bool, error) {
	out, err := s.run("display-message", "-p", "-t", pane, "#{pane_dead}\t#{pane_dead_status}")
	return out == "1\t0", err
}

// HowEnded returns how the process of a remaining pane ended: "exit status 1" or "signal 9", or "" if
// it runs or tmux does not know. Asking makes a tmux that missed the end (see OnDeath) notice it.
func (s Server) HowEnded(pane string) (how string, err error) {
	for range 2 {
		out, err := s.run("display-message", "-p", "-t", pane, "#{pane_dead} #{?#{==:#{pane_dead_signal},},#{?#{==:#{pane_dead_status},},,exit status #{pane_dead_status}},signal #{pane_dead_signal}}")
		dead, how, _ := strings.Cut(out, " ")
		if err != nil || dead != "1" || how != "" {
			return how, err
		}
		if _, err := s.run("run-shell", "true"); err != nil {
			return "", err
		}
	}
	return "", nil
}

// SetNote keeps a word with a pane under a name of gt, for Noted; "" removes it.
func (s Server) SetNote(pane, name, word string) error {
	if word == "" {
		return s.runSilent("set-option", "-p", "-u", "-t", pane, "@gt-"+name)
	}
	return s.runSilent("set-option", "-p", "-t", pane, "@gt-"+name, escapeFinal(word))
}

func (s Server) NoteOf(pane, name string) (string, error) {
	return s.run("show-options", "-p", "-q", "-v", "-t", pane, "@gt-"+name)
}

// KeepPane makes the pane remain when its process ends.
func (s Server) KeepPane(pane string) error {
	return s.runSilent("set-option", "-p", "-t", pane, "remain-on-exit", "on")
}

func (s Server) RestoreRemainOnExit(pane string, r RemainSetting) error {
	if !r.Set {
		return s.runSilent("set-option", "-p", "-u", "-t", pane, "remain-on-exit")
	}
	return s.runSilent("set-option", "-p", "-t", pane, "remain-on-exit", r.Value)
}

// Respawn replaces a pane's process in one call: it sets remain-on-exit, clears the scrollback if
// clear is set, kills the process and starts the new one without a shell. Success means only that
// tmux accepted the command. The caller restores remain-on-exit. The same call loads the buffer for
// the new process, so that a killed hand-over leaves none behind.
//
// The program needs an argument: tmux passes a single word to a shell.
func (s Server) Respawn(pane string, clear bool, b Buffer, data []byte, command ...string) error {
	if !isPane(pane) {
		return fmt.Errorf("'%s' is not a tmux pane", pane)
	}
	if len(command) < 2 {
		return fmt.Errorf("cannot respawn pane '%s': the command has no arguments", pane)
	}
	args := []string{
		"load-buffer", "-b", string(b), "-", ";",
		"set-option", "-p", "-t", pane, "remain-on-exit", "on", ";",
	}
	if clear {
		args = append(args, "clear-history", "-t", pane, ";")
	}
	args = append(args, "respawn-pane", "-k", "-t", pane, "--")
	for _, a := range command {
		args = append(args, escapeFinal(a))
	}
	_, err := s.runWith(bytes.NewReader(data), callWait, args...)
	return err
}

// SwitchClient shows the pane in the caller's terminal.
func (s Server) SwitchClient(p Pane) error {
	return s.runSilent("switch-client", "-t", p.target())
}

// target names the pane in its session, of which tmux otherwise takes the window and the pane that
// the person was in last.
func (p Pane) target() string { return "=" + p.Session + ":." + p.ID }

// ShowMessage shows a line in the caller's terminal for some seconds. tmux expands #{…} in it.
func (s Server) ShowMessage(line string) error {
	return s.runSilent("display-message", "-d", "4000", line)
}

func (s Server) CapturePane(pane string) (string, error) { return s.capture(pane) }

// CaptureEnd is CapturePane for a pane whose process has ended. tmux then writes a line of
// its own, which moves the others up by one.
func (s Server) CaptureEnd(pane string) (string, error) { return s.capture(pane, "-S", "-1") }

// CaptureStyled is CapturePane with the escape sequences of styles.
func (s Server) CaptureStyled(pane string) (string, error) {
	screen, err := s.capture(pane, "-e")
	return screen, deadIfGone(err)
}

func (s Server) capture(pane string, flags ...string) (string, error) {
	if !isPane(pane) {
		return "", fmt.Errorf("'%s' is not a tmux pane", pane)
	}
	return s.run(append([]string{"capture-pane", "-p", "-t", pane}, flags...)...)
}

// Panes returns the panes of all sessions. It skips lines that do not describe a pane.
func (s Server) Panes() ([]Pane, error) {
	out, err := s.run("list-panes", "-a", "-F", paneFormat)
	if err != nil && strings.HasSuffix(err.Error(), "no current target") {
		return nil, nil // a server without sessions is about to end
	} else if err != nil {
		return nil, err
	}
	var all []Pane
	for line := range strings.Lines(out) {
		if p, err := parsePane(strings.TrimSuffix(line, "\n")); err == nil {
			all = append(all, p)
		}
	}
	return all, nil
}
