package respawn

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/launcher"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// ParseExec returns the command for a pane's --exec BUFFER, or nil.
func ParseExec(args []string) cli.Command {
	if len(args) == 2 && args[0] == "--exec" {
		return become(args[1])
	}
	return nil
}

type become string

func (b become) Run(env *cli.Env) error { return Exec(env, string(b)) }

// Exec takes a Run, which says how an agent starts, from the tmux buffer of that name. It ends the
// earlier agent if that still runs, restores remain-on-exit and becomes the new agent. If the Run
// has only a first prompt, it types that beside the agent. Its errors stay visible in the pane.
func Exec(env *cli.Env, name string) error {
	buffer, err := tmux.ParseBuffer(name)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	socket, _ := tmux.FromEnv(env.Getenv)
	server := tmux.Server(socket)
	data, err := server.TakeBuffer(buffer)
	if err != nil {
		return cli.Fail(cli.IO, err)
	}
	env.WarnError(server.SweepBuffers(env.Now()))
	var run Run
	err = json.Unmarshal(data, &run)
	switch {
	case err == nil && len(run.Args) == 0 && run.FirstPrompt != nil:
		return run.FirstPrompt.typeInto(server)
	case err != nil || len(run.Args) == 0:
		return atomicfile.Error("use", name, errors.Join(err, errors.New("it does not describe an agent")))
	}
	if err := run.openFolder(); err != nil {
		return err
	}
	for _, key := range []string{"TMUX", "TMUX_PANE", "TERM", "COLUMNS", "LINES"} { // the pane's own
		run.Env = slices.DeleteFunc(run.Env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
		if v := env.Getenv(key); v != "" {
			run.Env = append(run.Env, key+"="+v)
		}
	}
	pane := cmp.Or(run.Pane, env.Getenv("TMUX_PANE")) // a new tmux session's pane id is only known now
	if run.Capture != nil {
		run.Capture.captureSession(env, server, pane, &run)
	}
	// The variable gets the PID of this process, which becomes the agent or its launcher.
	for i, kv := range run.Env {
		if name, value, _ := strings.Cut(kv, "="); name == instance.Variable {
			value, _, _ = strings.Cut(value, ":")
			run.Env[i] = fmt.Sprintf("%s=%s:%d", name, value, os.Getpid())
			if len(run.Launcher) > 0 {
				run.Env[i] += instance.Launched
			}
		}
	}
	if !live.AwaitGone([]process.Proc{run.EarlierAgent}, endGrace) && !live.Terminate(run.EarlierAgent, endGrace) {
		live.KillAll(live.ProcessTree(run.EarlierAgent))
	}
	run.Args = launcher.WrapCommand(run.Launcher, run.Args)
	program, err := process.LookPath(run.Args[0], run.Dir, run.Env)
	if err != nil {
		return err
	}
	env.WarnError(server.RestoreRemainOnExit(pane, run.Remain))
	if run.FirstPrompt != nil {
		run.FirstPrompt.Unreported = run.FirstPrompt.Unreported || len(run.Launcher) > 0
		if err := run.FirstPrompt.startTyper(server, pane, run.Dir, run.Env); err != nil {
			return fmt.Errorf("cannot give it its first prompt: %w", err)
		}
	}
	if run.Shell != "" {
		return run.runThenShell(program)
	}
	run.Limits.Apply()
	err = syscall.Exec(program, run.Args, run.Env)
	return fmt.Errorf("cannot run '%s': %w", program, err)
}

// openFolder changes to r.Dir. If r.Folder is known, it must still be that folder.
func (r Run) openFolder() error {
	if r.Folder.Inode == 0 {
		return atomicfile.Error("change to", r.Dir, os.Chdir(r.Dir))
	}
	dir, err := place.Reopen(r.Dir, r.Folder)
	if err == nil {
		defer dir.Close()
		err = dir.Chdir()
	}
	if _, ok := errors.AsType[*place.ExchangedError](err); ok {
		return cli.Fail(cli.AnswerNo, err)
	}
	return atomicfile.Error("change to", r.Dir, err)
}

// runThenShell runs the agent as a child, and afterwards becomes the pane's shell.
func (r Run) runThenShell(program string) error {
	// A Ctrl-C after the agent's end is for the shell.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGQUIT)
	cmd := exec.Cmd{
		Path: program, Args: r.Args, Env: r.Env,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		// Like a shell: tmux names the window after the terminal's foreground process
		// group.
		SysProcAttr: &syscall.SysProcAttr{Foreground: true, Ctty: syscall.Stdin},
	}
	restore := r.Limits.Apply() // the shell does not get them
	err := cmd.Start()
	restore()
	if err != nil {
		return fmt.Errorf("cannot run '%s': %w", program, err)
	}
	if err := process.AwaitForeground(cmd.Process.Pid); err != nil {
		return err
	}
	shellEnv := slices.DeleteFunc(r.Env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == shellVar || name == "GT_AGENT" || name == "GT_PROCESS_NAMES" // it may start another agent
	})
	err = syscall.Exec(r.Shell, []string{filepath.Base(r.Shell)}, shellEnv)
	return fmt.Errorf("cannot run '%s': %w", r.Shell, err)
}

// WidensPermissions returns why the successor's run would have more than the session that
// asks for it from its sandbox, or "". mode is what the client calls the permission that
// the session has. If the run would have more, a person has to give away the pane.
func (s Successor) WidensPermissions(mode string, r Run) string {
	within := s.isInProject(r)
	program, err := process.LookPath(r.Args[0], r.Dir, r.Env)
	switch {
	case mode != "" && agent.FreedomOfMode(mode) < agent.FreedomOfArgs(r.Args): // mutant never: TestOutgrows
		return fmt.Sprintf("its successor would start with more freedom than it has now (%s)", mode)
	case s.BringsLauncher(r):
		return "what its successor is started in lies in the project"
	case err != nil:
		return err.Error()
	case within(program):
		return "its successor's program lies in the project"
	case slices.ContainsFunc(agent.FileArgs(r.Args), within):
		return "its successor's program or settings lie in the project"
	}
	for _, kv := range r.Env {
		if name, value, _ := strings.Cut(kv, "="); name == s.Client.StoreEnv && filepath.IsAbs(value) && within(value) {
			return "its successor's settings lie in the project"
		}
	}
	return ""
}

// BringsLauncher reports whether a program or file of a run's launcher is in the project,
// where an agent in a sandbox could have changed it. It ignores bwrap's own arguments:
// mounts, and what runs inside.
func (s Successor) BringsLauncher(r Run) bool {
	if len(r.Launcher) == 0 {
		return false
	}
	within := s.isInProject(r)
	if program, err := process.LookPath(r.Launcher[0], r.Dir, r.Env); err != nil || within(program) {
		return true
	}
	words := r.Launcher
	if n := slices.IndexFunc(words, func(word string) bool { return filepath.Base(word) == "bwrap" }); n >= 0 {
		words = words[:n+1]
	}
	return slices.ContainsFunc(words[1:], func(word string) bool {
		if !filepath.IsAbs(word) {
			word = filepath.Join(r.Dir, word)
		}
		info, err := os.Stat(word)
		return err == nil && info.Mode().IsRegular() && within(word)
	})
}

// isInProject returns a function that reports whether a path exists and leads into a project.
func (s Successor) isInProject(r Run) func(path string) bool {
	project := []string{place.Real(s.Home.Dir), place.Real(r.Dir)}
	return func(path string) bool {
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.Dir, path)
		}
		if _, err := os.Lstat(path); err != nil {
			return false
		}
		if process.LeadsThroughProject(path, r.Dir, r.Env) {
			return true
		}
		path = place.Real(path)
		for _, dir := range project {
			if place.IsBelow(path, dir) {
				return true
			}
		}
		return false
	}
}
