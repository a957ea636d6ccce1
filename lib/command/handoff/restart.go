package handoff

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/beacon"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/frame"
	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// restart is all that it takes to become the successor. It travels in a buffer
// of the tmux server's, which only its user can reach and which its reader deletes:
// the environment holds keys, a command line is everybody's to read, and a file can
// be read by what runs in an agent's sandbox.
type restart struct {
	Dir    string      `json:"dir"`
	Args   []string    `json:"args"`
	Env    []string    `json:"env"`
	Pane   string      `json:"pane"`
	Remain tmux.Remain `json:"remain_on_exit"`
	// Shell is the shell that the agent was started from in this pane, which
	// comes back when the successor ends; empty where the pane is the agent's.
	Shell string `json:"shell,omitempty"`
	// Capture gets the agent a session first; nil where none is to be got.
	Capture *capture `json:"capture,omitempty"`
}

// shellVar tells a successor that runs below us which shell its pane had, for
// the next hand-over.
const shellVar = "GT_PANE_SHELL"

// continuation is the first prompt of a conversation that goes on in a new
// process.
const continuation = "Context compacted. Continue your previous task."

// successor describes the agent that takes over: the program, flags, folder
// and environment of the one before, without what belonged to that one run. Of
// another client's run only folder and environment mean something to it.
func (h *handover) successor() (restart, error) {
	var args []string
	if h.heir.Name == h.client().Name {
		args, _ = h.args() // one whose arguments nobody can read is started plainly
		args = process.Typed(args, h.dir())
	}
	next := agent.Next{Prompt: beacon.Prompt(h.home.Identity, h.sender(), h.env.Now(), beacon.Handoff, h.molecule())}
	if h.kind == session.KindCycle {
		// --continue takes the folder's latest conversation, which need not be
		// ours; the id cannot be mistaken.
		next = agent.Next{Prompt: continuation, Resume: string(h.call.ID)}
	}
	next.ID = h.ownID()
	r := restart{
		Dir:   h.dir(),
		Args:  h.heir.Restart(args, next),
		Env:   h.successorEnv(),
		Pane:  h.pane.ID,
		Shell: h.shell(),
	}
	if r.Shell != "" {
		r.Env = append(r.Env, shellVar+"="+r.Shell)
	}
	r.Capture = h.capture(next)
	return r, nil
}

// shell is the shell that the pane's agent was started from, if it was: the
// program that the pane began with, or the one that began before an earlier
// hand-over.
func (h *handover) shell() string {
	for _, kv := range h.environ() {
		if shell, ok := strings.CutPrefix(kv, shellVar+"="); ok {
			return shell
		}
	}
	if h.pane.PID == h.agent.PID || !process.IsShell(process.Name(h.pane.PID)) {
		return ""
	}
	p, err := process.Find(h.pane.PID)
	if err != nil {
		return ""
	}
	args, err := p.Args()
	if err != nil || len(args) == 0 || slices.Contains(args, "-c") {
		return "" // a shell that was to run the agent and end with it
	}
	program, err := p.Executable()
	if err != nil {
		return ""
	}
	return program
}

// sender is who starts the successor, as its beacon says it.
func (h *handover) sender() string {
	if h.remote {
		return h.call.Home.Identity.String()
	}
	return beacon.Self
}

func (h *handover) molecule() string {
	if h.record != nil {
		return h.redact()(h.record.MoleculeID) // it goes into the first prompt, which is an argument
	}
	return ""
}

// dir is where the client was started: its conversations belong to that
// folder.
func (h *handover) dir() string {
	if h.record != nil && h.record.CWD != "" {
		if info, err := os.Stat(h.record.CWD); err == nil && info.IsDir() {
			return h.record.CWD
		}
	}
	return h.home.Dir
}

// successorEnv is the environment that the client was started with, with who
// the successor is, and without what told one run of a client from another.
func (h *handover) successorEnv() []string {
	set := h.identityVars()
	env := slices.DeleteFunc(h.known().Outside(h.environ()), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		switch key {
		case "TMUX", "TMUX_PANE", "GT_SESSION_UUID", "GT_SESSION_ID", shellVar:
			return true
		}
		return slices.ContainsFunc(set, func(kv [2]string) bool { return kv[0] == key })
	})
	for _, kv := range set {
		env = append(env, kv[0]+"="+kv[1])
	}
	return env
}

// identityVars say who the successor is, and what its block in the table of
// agents gives it besides.
func (h *handover) identityVars() [][2]string {
	vars := [][2]string{
		{"GT_AGENT", h.heir.Name},
		{"GT_PROCESS_NAMES", strings.Join(h.heir.Processes, ",")},
	}
	for _, name := range slices.Sorted(maps.Keys(h.heir.Env)) {
		vars = append(vars, [2]string{name, h.heir.Env[name]})
	}
	if id := h.ownID(); id != "" {
		for _, name := range h.idVars() {
			vars = append(vars, [2]string{name, id})
		}
	}
	if id := h.home.Identity; id.Role != "" {
		vars = append(vars, [2]string{"GT_ROLE", id.Address()}, [2]string{"BD_ACTOR", id.Address()})
		if id.Rig != "" {
			vars = append(vars, [2]string{"GT_RIG", id.Rig})
		}
	}
	if !h.home.Town.Personal {
		vars = append(vars, [2]string{"GT_ROOT", h.home.Town.Root})
	}
	return vars
}

// become is the restarted side: it takes what the buffer holds, puts the pane's
// remain-on-exit back and turns into the agent. What keeps it from that stays
// readable in the pane.
func become(env *cli.Env, name string) error {
	buffer, err := tmux.ParseBuffer(name)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	socket, _ := tmux.FromEnv(env.Getenv)
	server := tmux.Server(socket)
	data, err := server.Take(buffer)
	if err != nil {
		return cli.Fail(cli.IO, err)
	}
	if err := server.SweepBuffers(env.Now()); err != nil {
		env.Warn("%v", err)
	}
	var r restart
	if err := json.Unmarshal(data, &r); err != nil || len(r.Args) == 0 {
		return atomicfile.Error("use", name, errors.Join(err, errors.New("it describes no agent")))
	}
	if err := os.Chdir(r.Dir); err != nil {
		return atomicfile.Error("change to", r.Dir, err)
	}
	for _, key := range []string{"TMUX", "TMUX_PANE", "TERM", "COLUMNS", "LINES"} { // the pane's own
		r.Env = slices.DeleteFunc(r.Env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
		if v := env.Getenv(key); v != "" {
			r.Env = append(r.Env, key+"="+v)
		}
	}
	if r.Capture != nil {
		r.Capture.ask(env, &r)
	}
	program, err := process.LookPath(r.Args[0], r.Dir, r.Env)
	if err != nil {
		return err
	}
	if err := server.RestoreRemainOnExit(r.Pane, r.Remain); err != nil {
		env.Warn("%v", err)
	}
	if r.Shell != "" {
		return r.runThenShell(program)
	}
	err = syscall.Exec(program, r.Args, r.Env)
	return fmt.Errorf("cannot run '%s': %w", program, err)
}

// runThenShell runs the agent as a child, and when it has ended gives the pane
// back to the shell that was there.
func (r restart) runThenShell(program string) error {
	// What the terminal sends is for the agent; caught and not ignored, so
	// that the agent does not inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT)
	cmd := exec.Cmd{
		Path: program, Args: r.Args, Env: r.Env, Dir: r.Dir,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
	}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return fmt.Errorf("cannot run '%s': %w", program, err)
	}
	shellEnv := slices.DeleteFunc(r.Env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == shellVar || name == "GT_AGENT" || name == "GT_PROCESS_NAMES" // it may start another
	})
	err := syscall.Exec(r.Shell, []string{filepath.Base(r.Shell)}, shellEnv)
	return fmt.Errorf("cannot run '%s': %w", r.Shell, err)
}

// stopGrace is how long a remote agent has to end by itself.
const stopGrace = 3 * time.Second

// stopAgent ends another pane's agent on purpose, so that its own end hook
// can run; what is left then goes with the pane.
func (h *handover) stopAgent() {
	if !h.agent.IsSet() || h.agent.Signal(syscall.SIGTERM) != nil {
		return
	}
	for deadline := time.Now().Add(stopGrace); time.Now().Before(deadline) && h.agent.Alive(); {
		time.Sleep(20 * time.Millisecond)
	}
}

// printRestart prints the command that starts the successor, for a shell. The
// environment stays out of it: a person's own shell has it, and it holds keys.
// So does a key that stands in the flags that the agent was started with.
func (h *handover) printRestart() error {
	r, err := h.successor()
	if err != nil {
		return err
	}
	words := []string{"env"}
	for _, kv := range h.identityVars() {
		words = append(words, kv[0]+"="+kv[1])
	}
	words = append(words, r.Args...)
	for i, w := range words {
		words[i] = quote(w)
	}
	line := strings.Join(words, " ")
	if clean := h.redact()(line); clean != line {
		line = clean
		h.env.Warn("the agent was started with a secret among its arguments: put it back where %s stands", redact.Mark)
	}
	_, err = fmt.Fprintf(h.env.Stdout, "cd %s && exec %s\n", quote(r.Dir), line)
	return err
}

func quote(s string) string { return term.Quote(s) }

// printPlan says what would be done, and does nothing of it.
func (h *handover) printPlan(work string) error {
	say := func(format string, args ...any) {
		fmt.Fprintln(h.env.Stdout, term.Clean(h.redact()(fmt.Sprintf(format, args...))))
	}
	if work != "" {
		say("would hook: %s", work)
	}
	say("would write a note to %s: %s", h.home.Identity.Address(), frame.Line(h.note.Subject))
	for line := range strings.Lines(frame.Words(h.note.Body)) { // as who reads it is told it
		say("    %s", strings.TrimRight(line, "\n"))
	}
	say("would leave the marker %s", frame.Line(h.home.Path("handoff")))
	say("would log a handoff event in %s", frame.Line(h.home.Town.Events()))
	switch {
	case h.kind == session.KindAuto:
		say("would leave the agent alone")
	case h.asks() && h.record.TmuxPane != "":
		say("would have %s take over in pane %s when the turn ends: this runs in a sandbox", h.heir.Name, h.record.TmuxPane)
	case h.asks():
		say("would have the note saved when the turn ends: this runs in a sandbox")
	case !h.respawns():
		say("would say what to type: no agent runs in a tmux pane here")
	default:
		r, err := h.successor()
		if err != nil {
			return err
		}
		say("would respawn pane %s of tmux session %s in %s", h.pane.ID, h.pane.Session, r.Dir)
		words := make([]string, len(r.Args))
		for i, a := range r.Args {
			words[i] = quote(a)
		}
		say("    %s", strings.Join(words, " "))
	}
	return nil
}
