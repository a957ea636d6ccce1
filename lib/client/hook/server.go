package hook

import (
	"cmp"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// A server runs the hooks of all windows and hands down the variables of another one. The first
// list names the window, the second who works in it. The third can be right for all windows, if
// no folder is in a town of its own.
var (
	windowVars  = []string{"TMUX", "TMUX_PANE", "GT_SESSION", instance.Variable}
	sessionVars = []string{"GT_SESSION_ID", "GT_SESSION_UUID", "GT_HOME", "GT_ROLE", "GT_RIG", "GT_AGENT", "GT_PROCESS_NAMES", "BD_ACTOR"}
	townVars    = []string{"GT_ROOT", "GT_TOWN_ROOT"}
)

// serverOf returns the kind of server that may have run this hook instead of the client that the
// person sees: that of the dialect's client, or of the client whose agent started this client.
// It returns nil if neither has a server.
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

// findServer returns the server that runs this program in place of a client. It is unset if a
// client runs it, or if server, the kind to look for, is nil. client returns the process that
// runs this program. findServer also removes from env the variables of another window, which a
// server hands down to its commands, and to a client that its agent has started.
func findServer(env *cli.Env, server *contract.SharedServer, client func() (process.Proc, error)) process.Proc {
	if server == nil {
		return process.Proc{}
	}
	if p, err := client(); err == nil && isServer(server, p) {
		removeVars(env, windowVars)
		removeVars(env, sessionVars)
		for _, c := range registry.Clients() {
			if c.Dialect.SharedServer != server {
				removeVars(env, c.SessionVars)
			}
		}
		return p
	}
	if process.InSandbox() { // a sandbox hides the servers, and this may be in one
		removeVars(env, windowVars)
	}
	for _, pid := range process.Ancestors(os.Getpid()) {
		if process.Name(pid) != server.Program {
			continue // reading a name is cheaper than Find
		}
		if p, err := process.Find(pid); err == nil && isServer(server, p) {
			removeVars(env, windowVars)
			break
		}
	}
	return process.Proc{}
}

func isServer(server *contract.SharedServer, p process.Proc) bool {
	if process.Name(p.PID) != server.Program {
		return false
	}
	args, err := p.Args()
	return err == nil && server.IsServer(args)
}

func removeVars(env *cli.Env, names []string) {
	env.Environ = slices.DeleteFunc(slices.Clone(env.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// findWindow returns the client that shows the session: the one with the session's id in its
// arguments, else the only one of the server's account that works in the session's
// folder. Each window shows one conversation at a time: a session that replaces another
// (/clear) is in that one's window, any other in a window without a known session. If
// several windows remain, it returns none, because a successor would start in the wrong
// one.
func (c *Invocation) findWindow() process.Proc {
	var here []process.Proc
	for _, p := range process.FindByName(process.Name(c.server.PID)) {
		args, err := p.Args()
		if p == c.server || err != nil || !c.serverKind.IsWindow(args) || accountOf(c.serverKind, p) != accountOf(c.serverKind, c.server) {
			continue
		}
		if c.ID != "" && slices.Contains(args, string(c.ID)) {
			return p
		}
		if worksIn(c.serverKind, p, args, c.Dir) && (c.serverKind.Address == nil || answersAt(c.server, c.serverKind.Address(args))) {
			here = append(here, p)
		}
	}
	if len(here) == 1 {
		return here[0]
	}
	records, err := c.Store.ReadRecords()
	if err != nil {
		return process.Proc{}
	}
	ownRecord := slices.IndexFunc(records, func(r *session.Record) bool { return r.ID == c.ID })
	if ownRecord >= 0 && c.Input.Source != "resume" && slices.Contains(here, records[ownRecord].Process()) {
		return records[ownRecord].Process()
	}
	candidates := slices.DeleteFunc(here, func(p process.Proc) bool {
		isKnown := slices.ContainsFunc(records, func(r *session.Record) bool { return r.Process() == p && r.ID != c.ID && !r.Ended() })
		return isKnown != (c.Input.Source == "clear")
	})
	if len(candidates) == 1 {
		return candidates[0]
	}
	return process.Proc{}
}

func accountOf(server *contract.SharedServer, p process.Proc) string {
	environ, err := p.Environ()
	if err != nil {
		return ""
	}
	return server.AccountFolder((&cli.Env{Environ: environ}).Getenv)
}

// answersAt reports whether the server can be the one at a URL: the URL's host is this machine,
// and the server listens on its port, if the system tells that.
func answersAt(server process.Proc, address string) bool {
	u, err := url.Parse(address)
	if err != nil || !isThisMachine(u.Hostname()) {
		return false
	}
	port, err := strconv.Atoi(cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]))
	if err != nil {
		return false
	}
	listens, known := server.Listens(port)
	return listens || !known
}

// isThisMachine reports whether a URL's host names this machine whatever its network is.
func isThisMachine(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	label := func(name string) string {
		name, _, _ = strings.Cut(strings.ToLower(name), ".")
		return name
	}
	own, err := os.Hostname() // without a name, any host may be this one
	return label(host) == "localhost" || err != nil || label(host) == label(own)
}

func worksIn(server *contract.SharedServer, p process.Proc, args []string, dir string) bool {
	at, err := p.Dir()
	return err == nil && IsSameFile(server.Dir(args, at), dir)
}
