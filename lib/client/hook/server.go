package hook

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// Codex (0.144 and later) runs the conversations of all its windows, their hooks
// and their commands, in one server behind them: "codex app-server". It began in
// the environment of whichever window was opened first, and outlives them all.
// So what calls a hook is not the client that a person sits in front of, and
// what it hands down says nothing of that.

// serverWord is the argument that makes a Codex the server.
const serverWord = "app-server"

// ofWindow are the variables that say where a window is, and ofSession those
// that say who works in it: a server hands down those of another window. A town
// (ofTown) can be that of all windows, where no folder is in one of its own.
var (
	ofWindow  = []string{"TMUX", "TMUX_PANE", "GT_SESSION"}
	ofSession = []string{"GT_SESSION_ID", "GT_SESSION_UUID", "GT_HOME", "GT_ROLE", "GT_RIG", "GT_AGENT", "GT_PROCESS_NAMES", "BD_ACTOR"}
	ofTown    = []string{"GT_ROOT", "GT_TOWN_ROOT"}
)

// behind finds the server that runs this program, unknown where a client does so
// itself, and takes out of the environment what that has from another window. A
// client that a server's agent has started is none, but has its window from it
// all the same. Only where Codex is at work is there anything to look for.
func behind(env *cli.Env, d Dialect) process.Proc {
	if !d.Served && env.Getenv("CODEX_THREAD_ID") == "" {
		return process.Proc{}
	}
	if p, err := process.Agent(os.Getpid()); err == nil && serves(p) {
		without(env, ofWindow)
		without(env, ofSession)
		without(env, slices.DeleteFunc(session.ClientVars(), func(name string) bool { return strings.HasPrefix(name, "CODEX_") }))
		return p
	}
	if process.InSandbox() { // no server is seen from there, and this may be one's
		without(env, ofWindow)
	}
	for _, pid := range process.Ancestors(os.Getpid()) {
		if process.Name(pid) != "codex" {
			continue // a look is cheaper than the next
		}
		if p, err := process.Find(pid); err == nil && serves(p) {
			without(env, ofWindow)
			break
		}
	}
	return process.Proc{}
}

// serves says whether the process is a server.
func serves(p process.Proc) bool {
	if process.Name(p.PID) != "codex" {
		return false
	}
	args, err := p.Args()
	return err == nil && len(args) > 1 && slices.Contains(args[1:], serverWord)
}

// without takes variables out of the environment.
func without(env *cli.Env, names []string) {
	env.Environ = slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// window finds the client that shows the session: the one that was told to go on
// with it; else the only one of the server's folder that works where the session
// does. Of several, each shows one conversation at a time: a session that
// replaces another in its window (/clear) comes where one was, any other where
// none is known. Where that leaves a choice it is unknown, for a wrong window
// would be given to a successor.
func (c *Invocation) window() process.Proc {
	var here []process.Proc
	for _, p := range process.Named(process.Name(c.server.PID)) {
		args, err := p.Args()
		if p == c.server || err != nil || !isWindow(args) || account(p) != account(c.server) {
			continue
		}
		if c.ID != "" && slices.Contains(args, string(c.ID)) {
			return p
		}
		if worksIn(p, args, c.Dir) {
			here = append(here, p)
		}
	}
	if len(here) == 1 {
		return here[0]
	}
	records, err := c.Store.All()
	if err != nil {
		return process.Proc{}
	}
	own := slices.IndexFunc(records, func(r *session.Record) bool { return r.ID == c.ID })
	if own >= 0 && c.Input.Source != "resume" && slices.Contains(here, records[own].Process()) {
		return records[own].Process()
	}
	var known, free []process.Proc
	for _, p := range here {
		if slices.ContainsFunc(records, func(r *session.Record) bool { return r.Process() == p && r.ID != c.ID && !r.Ended() }) {
			known = append(known, p)
		} else {
			free = append(free, p)
		}
	}
	if c.Input.Source == "clear" {
		free = known
	}
	if len(free) == 1 {
		return free[0]
	}
	return process.Proc{}
}

// isWindow says whether a Codex that was started with these arguments can be the
// window of a conversation that a server runs. One with settings of its own for
// this run is none: it runs its conversation itself, as one without a person does.
func isWindow(args []string) bool {
	for _, a := range args[min(1, len(args)):] {
		a, _, _ = strings.Cut(a, "=")
		switch a {
		case serverWord, "exec", "e", "review", "mcp-server", "exec-server", "sandbox",
			"--no-daemon", "-c", "--config", "-p", "--profile", "--enable", "--disable", "--strict-config",
			"--oss", "--dangerously-bypass-hook-trust":
			return false
		}
	}
	return true
}

// account is the folder in which a Codex keeps what is its own: each has a server
// of its own.
func account(p process.Proc) string {
	environ, err := p.Environ()
	if err != nil {
		return ""
	}
	env := cli.Env{Environ: environ}
	return cmp.Or(env.Getenv("CODEX_HOME"), filepath.Join(env.Getenv("HOME"), ".codex"))
}

// worksIn says whether a client with these arguments works in a folder.
func worksIn(p process.Proc, args []string, dir string) bool {
	at, err := p.Dir()
	if err != nil {
		return false
	}
	for i, a := range args {
		to, ok := strings.CutPrefix(a, "--cd=")
		if (a == "-C" || a == "--cd") && i+1 < len(args) {
			to, ok = args[i+1], true
		}
		if ok && filepath.IsAbs(to) {
			at = to
		} else if ok {
			at = filepath.Join(at, to)
		}
	}
	a, err := os.Stat(at)
	if err != nil {
		return false
	}
	b, err := os.Stat(dir)
	return err == nil && os.SameFile(a, b)
}
