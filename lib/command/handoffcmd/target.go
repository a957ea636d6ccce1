package handoffcmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/client/readers/files"
	"gt/lib/client/registry"
	"gt/lib/live"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/redact"
)

// target is the session that is handed over, this one or another. It is found before
// anything changes and stays the same.
type target struct {
	env    *cli.Env
	call   *hook.Invocation
	remote bool // another session, named by the caller

	home   home.Home
	store  session.Store
	id     session.ID      // empty if no session is known
	record *session.Record // nil without a record

	agent      process.Proc // the client's process, unset if none runs
	name       string       // the client's name
	hasEnded   bool         // the session ended in this pane a short while ago
	hasNoHooks bool         // it has no hooks; only its process is known
	environ    []string     // the client's environment at its start, or ours if that cannot be read
	dir        string       // where the client was started, which is where it keeps its conversations

	server tmux.Server
	inPane bool      // the environment names a pane
	pane   tmux.Pane // empty outside tmux, and if tmux does not answer

	// Both are read on first use: a hook that only saves needs no table, and most need neither.
	table  func() (*agent.Table, error)
	redact func(string) string // removes secrets
}

const paneWait = 3 * time.Second // limits a question to tmux

// currentTarget finds the session that runs this command, its process and its pane. A hook that only
// saves takes the pane from the record.
func currentTarget(env *cli.Env, call *hook.Invocation, saves bool) target {
	t := target{env: env, call: call, home: call.Home, store: call.Store, id: call.ID, name: call.Agent}
	if t.id != "" {
		var err error
		t.record, err = t.store.Get(t.id)
		call.Warn(err)
	}
	if r := t.record; r != nil {
		t.name = cmp.Or(r.Agent, t.name)
		if r.Process().IsAlive() {
			t.agent = r.Process()
		}
	}
	t.findPane(saves)
	// An agent whose hooks never ran has no session; after an agent's end, the pane's last one is meant.
	if t.pane.ID != "" && t.id == "" {
		t.findUnhooked()
	}
	if t.pane.ID != "" && t.id == "" && !t.agent.IsSet() {
		t.findEndedHere()
	}
	return t.withDerived()
}

const leftFor = 30 * time.Minute // how long after its end a person can hand over a session in its pane

// findEndedHere makes this pane's last session the target, if it ended lately without a hand-over.
func (t *target) findEndedHere() {
	records, err := t.store.ReadRecords()
	t.call.Warn(err)
	for _, r := range records { // newest first
		if r.TmuxPane != t.pane.ID || r.TmuxServer != string(t.server) {
			continue
		}
		if r.Ended() && r.Outcome != session.Handoff && r.ChildID == "" && r.Handoff == nil && t.env.Now().Sub(r.EndedAt).Abs() < leftFor {
			t.record, t.id, t.name, t.hasEnded = r, r.ID, r.Agent, true
		}
		return // only the latest session of the pane counts
	}
}

// findPane finds the pane that this command's environment names. With saves, the session's record
// is enough, and tmux is not asked.
func (t *target) findPane(saves bool) {
	server, pane := tmux.FromEnv(t.env.Getenv)
	if pane == "" && t.agent.IsSet() {
		// Hooks of a client with a server run outside the pane
		// (hook.NewInvocation), so take it from the client's environment.
		client := &cli.Env{Environ: startEnviron(t.agent, t.env.ChildEnviron())}
		server, pane = tmux.FromEnv(client.Getenv)
	}
	if pane == "" {
		return
	}
	t.server, t.inPane = tmux.Server(server), true
	if r := t.record; saves && r != nil && r.TmuxPane == pane && r.TmuxSession != "" {
		t.pane.Session = r.TmuxSession
		return
	}
	var err error
	t.pane, err = t.server.Pane(pane, paneWait)
	t.env.WarnError(err)
}

// findUnhooked finds an agent without hooks in this pane. Such a client gives its commands
// no session id. The agent's folder counts, not the command's.
func (t *target) findUnhooked() {
	known, err := agent.Load(place.Config(t.env.Getenv), t.home.Town)
	t.call.Warn(err)
	p, client := live.FindUnhooked(known, t.pane)
	if client.Name == "" {
		return
	}
	dir, err := p.Dir()
	if err != nil {
		return
	}
	t.agent, t.name, t.hasNoHooks = p, client.Name, true
	t.home = home.Find(t.env.Getenv, dir, "")
	t.store = session.Store{Home: t.home, Warn: t.call.Warn}
}

func (t target) forTmuxSession(name string, id identity.Identity, kind string) (target, error) {
	pane, err := t.server.ActivePane(name)
	if err != nil {
		return target{}, cli.Fail(cli.AnswerNo, err, whoRuns)
	}
	return t.forPane(pane, "the tmux session '"+name+"'", id, kind)
}

const whoRuns = "gt-seance list --live lists the agents that run" // the hint for a target that does not run

// forPane returns the target in a pane; where describes the pane in errors.
func (t target) forPane(pane tmux.Pane, where string, id identity.Identity, kind string) (_ target, err error) {
	if pane.ID == t.pane.ID {
		return t, nil
	}
	if kind != session.KindHandoff {
		return target{}, cli.Failf(cli.Usage, "--auto and --cycle work only on this session")
	}
	o := target{env: t.env, call: t.call, remote: true, server: t.server, inPane: t.inPane, pane: pane}
	if town := t.home.Town; id.Role != "" && id.Dir() != "" {
		o.home = home.NewHome(town, id, filepath.Join(town.Root, id.Dir()))
	} else {
		o.home = home.FindOtherHome(place.ScopeOf(t.env.Getenv), pane.Path)
	}
	o.store = session.Store{Home: o.home, Warn: t.call.Warn}
	o.record, err = live.SessionIn(o.store, o.server, pane.ID)
	switch {
	case err != nil:
		return target{}, err
	case o.record == nil:
		return target{}, cli.Fail(cli.AnswerNo, fmt.Errorf("no agent that gt knows of runs in %s", where),
			"its hooks may not be installed: gt-hooks status")
	}
	o.id, o.agent, o.name = o.record.ID, o.record.Process(), cmp.Or(o.record.Agent, t.call.Agent)
	// mutant never: . TestScripts/handoff_box$
	if o.agent.IsElsewhere() { // it recorded its process from inside a sandbox or container
		known, err := agent.Load(place.Config(t.env.Getenv), o.home.Town)
		t.call.Warn(err)
		o.agent = live.FindClientBelow(known, o.server, pane, o.name)
	}
	return o.withDerived(), nil
}

// withDerived sets what follows from agent and record: the environment, folder, table and redactor.
func (t target) withDerived() target {
	t.environ = startEnviron(t.agent, t.env.ChildEnviron())
	t.dir = t.home.Dir
	if r := t.record; r != nil && r.CWD != "" && atomicfile.IsFolder(r.CWD) {
		t.dir = r.CWD
	}
	getenv, town, call := t.env.Getenv, t.home.Town, t.call
	t.table = sync.OnceValues(func() (*agent.Table, error) {
		table, err := agent.Load(place.Config(getenv), town)
		call.Warn(err)
		return table, err
	})
	// Secrets are those of the agent's environment and of this command's, which may have more.
	environ, ours := t.environ, t.env.Environ
	clean := sync.OnceValue(func() func(string) string { return redact.NewRedactor(slices.Concat(environ, ours)) })
	t.redact = func(text string) string { return clean()(text) }
	return t
}

// startEnviron returns the environment with which a process was started, or otherwise if
// that cannot be read.
func startEnviron(p process.Proc, otherwise []string) []string {
	if p.IsSet() {
		if environ, err := p.Environ(); err == nil && len(environ) > 0 {
			return environ
		}
	}
	return otherwise
}

func (t target) warn(err error) { t.call.Warn(err) }

func (t target) clientTable() *agent.Table {
	table, _ := t.table()
	return table
}

func (t target) client() agent.Client { return t.clientTable().FindClient(t.name) }

func (t target) agentArgs() ([]string, error) {
	if t.hasEnded {
		return t.record.Args, nil
	}
	return live.StartArgs(t.agent, t.client(), t.env.Getenv("GT_AGENT_ARGS"))
}

// canReplace reports whether the pane can be given to a fresh agent. The agent must own the pane and
// be interactive. A person's shell stays, and so does an agent or a script that runs this one.
func (t target) canReplace() bool {
	if t.pane.ID == "" || !t.agent.IsSet() || !live.OwnsPane(t.clientTable(), t.agent, t.pane) {
		return false
	}
	args, err := t.agentArgs()
	return err != nil || !t.client().Headless(args)
}

// transcript returns the path of the session's transcript from the hook's input or the record, ""
// unless it is in a folder of the person's. A project's settings can make a client report another path.
func (t target) transcript() string {
	if !t.remote && t.call.Input.Transcript != "" {
		return t.ownedPath(t.call.Input.Transcript)
	}
	switch {
	case t.record == nil:
		return ""
	case t.record.Transcript != "":
		return t.ownedPath(t.record.Transcript)
	}
	// Its client reports no path, or a command recorded it late.
	return t.ownedPath(files.Path(t.name, (&cli.Env{Environ: t.environ}).Getenv, t.dir, string(t.record.ID)))
}

// ownedPath returns a transcript's path without links, and "" if the file is not in a store of the person's
// client. Only the client's start environment and the person's own settings decide that, not a town.
func (t target) ownedPath(path string) string {
	if path == "" {
		return ""
	}
	getenv := (&cli.Env{Environ: t.environ}).Getenv
	if getenv("HOME") != t.env.Getenv("HOME") {
		getenv = t.env.Getenv // a launcher runs between the client and us
	}
	own := account.StoreGuard{
		Getenv:   getenv,
		Projects: []string{t.home.Dir, t.dir},
		Known: func(string) account.TableAccounts {
			known, _ := agent.Load(place.Config(t.env.Getenv), town.Personal(t.env.Getenv)) // table reports the error
			c := known.FindClient(t.name)
			return account.TableAccounts{Accounts: c.ListedAccounts(t.env.Getenv("HOME")), Variable: c.StoreEnv, Store: c.Store}
		},
	}
	// A person's own agent has its own store, or that of the client whose dialect it uses.
	_, real, err := own.FindAccount(t.name, path)
	if form := t.transcriptForm(); err != nil && form != t.name {
		_, real, err = own.FindAccount(form, path)
	}
	if _, gone := os.Stat(path); err != nil && gone == nil {
		t.warn(err)
	}
	return real
}

// transcriptForm returns the client in whose form the transcript is written: an unknown client is
// assumed to use that of its dialect.
func (t target) transcriptForm() string {
	if registry.HasReader(t.name) {
		return t.name
	}
	return t.client().Dialect
}
