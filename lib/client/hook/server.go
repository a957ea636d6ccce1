package hook

import (
	"os"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// ofWindow are the variables that say where a window is, and ofSession those
// that say who works in it: a server hands down those of another window. A town
// (ofTown) can be that of all windows, where no folder is in one of its own.
var (
	ofWindow  = []string{"TMUX", "TMUX_PANE", "GT_SESSION"}
	ofSession = []string{"GT_SESSION_ID", "GT_SESSION_UUID", "GT_HOME", "GT_ROLE", "GT_RIG", "GT_AGENT", "GT_PROCESS_NAMES", "BD_ACTOR"}
	ofTown    = []string{"GT_ROOT", "GT_TOWN_ROOT"}
)

// serverOf is the server that can be behind this program: that of the client, or of
// one whose agent has started the client.
func serverOf(env *cli.Env, d *contract.Dialect) *contract.SharedServer {
	if d.SharedServer != nil {
		return d.SharedServer
	}
	for _, c := range registry.Clients() {
		if s := c.Dialect.SharedServer; s != nil && env.Getenv(s.Var) != "" {
			return s
		}
	}
	return nil
}

// behind finds the server that runs this program, unknown where a client does so
// itself, and takes out of the environment what that has from another window. A
// client that a server's agent has started is not behind it, but has its window from
// it all the same. Only where a client with a server is at work is there anything to
// look for.
func behind(env *cli.Env, server *contract.SharedServer) process.Proc {
	if server == nil {
		return process.Proc{}
	}
	if p, err := process.Agent(os.Getpid()); err == nil && serves(server, p) {
		without(env, ofWindow)
		without(env, ofSession)
		for _, c := range registry.Clients() {
			if c.Dialect.SharedServer != server {
				without(env, c.SessionVars)
			}
		}
		return p
	}
	if process.InSandbox() { // no server is seen from there, and this may be one's
		without(env, ofWindow)
	}
	for _, pid := range process.Ancestors(os.Getpid()) {
		if process.Name(pid) != server.Program {
			continue // a look is cheaper than the next
		}
		if p, err := process.Find(pid); err == nil && serves(server, p) {
			without(env, ofWindow)
			break
		}
	}
	return process.Proc{}
}

// serves reports whether the process is a server.
func serves(server *contract.SharedServer, p process.Proc) bool {
	if process.Name(p.PID) != server.Program {
		return false
	}
	args, err := p.Args()
	return err == nil && server.Serves(args)
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
		if p == c.server || err != nil || !c.behind.Shows(args) || accountOf(c.behind, p) != accountOf(c.behind, c.server) {
			continue
		}
		if c.ID != "" && slices.Contains(args, string(c.ID)) {
			return p
		}
		if worksIn(c.behind, p, args, c.Dir) {
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

// accountOf is the folder in which a client with a server keeps what is its own.
func accountOf(server *contract.SharedServer, p process.Proc) string {
	environ, err := p.Environ()
	if err != nil {
		return ""
	}
	env := cli.Env{Environ: environ}
	return server.Account(env.Getenv)
}

// worksIn reports whether a window with these arguments works in a folder.
func worksIn(server *contract.SharedServer, p process.Proc, args []string, dir string) bool {
	at, err := p.Dir()
	if err != nil {
		return false
	}
	a, err := os.Stat(server.Dir(args, at))
	if err != nil {
		return false
	}
	b, err := os.Stat(dir)
	return err == nil && os.SameFile(a, b)
}
