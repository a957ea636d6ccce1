package handoffcmd

import (
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
	"gt/lib/conversation"
	"gt/lib/live"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/redact"
)

// target is the session whose work is handed over, our own or another's. It is
// found before anything is changed, and stays as it was found.
type target struct {
	env    *cli.Env
	call   *hook.Invocation
	remote bool // another's session, that the caller has named

	home   home.Home
	store  session.Store
	id     session.ID      // empty where no session is known
	record *session.Record // nil where there is none

	agent   process.Proc // the client's process, not set where none runs
	name    string       // what the client is called
	left    bool         // it ended in this pane a short while ago
	unknown bool         // it has no hooks, and only its process tells of it
	environ []string     // that the client was started with, or ours where that cannot be read
	dir     string       // where the client was started: its conversations belong to that folder

	server tmux.Server
	inPane bool      // the environment names a pane
	pane   tmux.Pane // empty outside tmux, and where that does not answer

	// What takes its time is read when it is first asked for: a hook that only
	// saves does without the table of agents, and most without both.
	table  func() (*agent.Table, error)
	redact func(string) string // takes out secrets
}

// paneWait bounds the question which tmux session we are in.
const paneWait = time.Second

// self finds the session that runs us, its process and its pane. A hook that saves
// touches no pane, and needs no more of it than its record says.
func self(env *cli.Env, call *hook.Invocation, saves bool) target {
	t := target{env: env, call: call, home: call.Home, store: call.Store, id: call.ID, name: call.Agent}
	if t.id != "" {
		var err error
		t.record, err = t.store.Get(t.id)
		call.Warn(err)
	}
	if r := t.record; r != nil {
		if r.Agent != "" {
			t.name = r.Agent
		}
		if r.Process().Alive() {
			t.agent = r.Process()
		}
	}
	t.findPane(saves)
	if t.pane.ID != "" && t.id == "" {
		t.findUnhooked()
	}
	if t.pane.ID != "" && t.id == "" && !t.agent.IsSet() {
		t.findLeft()
	}
	return t.complete()
}

// leftFor is how long a session may be over for a person to hand it over in its pane.
const leftFor = 30 * time.Minute

// findLeft finds the session that a person has just left in this pane: the last one in
// it, which nobody follows yet.
func (t *target) findLeft() {
	records, err := t.store.All()
	t.call.Warn(err)
	for _, r := range records { // the newest first
		if r.TmuxPane != t.pane.ID || r.TmuxServer != string(t.server) {
			continue
		}
		if r.Ended() && r.Outcome != session.Handoff && r.ChildID == "" && r.Handoff == nil && t.env.Now().Sub(r.EndedAt).Abs() < leftFor {
			t.record, t.id, t.name, t.left = r, r.ID, r.Agent, true
		}
		return
	}
}

// findPane finds our own pane.
func (t *target) findPane(saves bool) {
	server, pane := tmux.FromEnv(t.env.Getenv)
	if pane == "" && t.agent.IsSet() {
		// A server may run us, which has no pane (hook.NewInvocation): its client's counts.
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
	if t.pane, err = t.server.Pane(pane, paneWait); err != nil {
		t.env.Warn("%v", err)
	}
}

// findUnhooked finds the agent that runs us in this pane and of which no session is
// known: it has no hooks, and tells its commands no id. Where it works counts, not
// where its command does.
func (t *target) findUnhooked() {
	known, err := agent.Load(t.env.Getenv, t.home.Town)
	t.call.Warn(err)
	p, client := live.Unhooked(known, t.pane)
	if client.Name == "" {
		return
	}
	dir, err := p.Dir()
	if err != nil {
		return
	}
	t.agent, t.name, t.unknown = p, client.Name, true
	t.home = home.Find(t.env.Getenv, dir, "")
	t.store = session.Store{Home: t.home, Warn: t.call.Warn}
}

// other finds the session that runs in the tmux session of that name, which is the
// one of an identity or of none in particular.
func (t target) other(name string, id identity.Identity, kind string) (target, error) {
	pane, err := t.server.ActivePane(name)
	if err != nil {
		return target{}, cli.Fail(cli.No, err, whoRuns)
	}
	return t.in(pane, "the tmux session '"+name+"'", id, kind)
}

// whoRuns is what to type where what was named does not run.
const whoRuns = "gt-seance list --live lists the agents that run"

// in finds the session that runs in a pane, which is called where. It is the same
// target where that is our own.
func (t target) in(pane tmux.Pane, where string, id identity.Identity, kind string) (_ target, err error) {
	if pane.ID == t.pane.ID {
		return t, nil
	}
	if kind != session.KindHandoff {
		return target{}, cli.Failf(cli.Usage, "--auto and --cycle work only on this session")
	}
	o := target{env: t.env, call: t.call, remote: true, server: t.server, inPane: t.inPane, pane: pane}
	if town := t.home.Town; id.Role != "" && id.Dir() != "" {
		o.home = home.At(town, id, filepath.Join(town.Root, id.Dir()))
	} else {
		o.home = home.Elsewhere(t.env.Getenv, pane.Path)
	}
	o.store = session.Store{Home: o.home, Warn: t.call.Warn}
	o.record, err = live.SessionIn(o.store, o.server, pane.ID)
	switch {
	case err != nil:
		return target{}, err
	case o.record == nil:
		return target{}, cli.Fail(cli.No, fmt.Errorf("no agent that gt knows of runs in %s", where),
			"its hooks may not be installed: gt-hooks status")
	}
	o.id, o.agent, o.name = o.record.ID, o.record.Process(), o.record.Agent
	if o.name == "" {
		o.name = t.call.Agent
	}
	if o.agent.Elsewhere() { // it noted itself from within a sandbox or container, and is seen here
		known, err := agent.Load(t.env.Getenv, o.home.Town)
		t.call.Warn(err)
		o.agent = live.Below(known, o.server, pane, o.name)
	}
	return o.complete(), nil
}

// complete fills in what follows from what was found.
func (t target) complete() target {
	t.environ = startEnviron(t.agent, t.env.ChildEnviron())
	t.dir = t.home.Dir
	if r := t.record; r != nil && r.CWD != "" {
		if info, err := os.Stat(r.CWD); err == nil && info.IsDir() {
			t.dir = r.CWD
		}
	}
	getenv, town, call := t.env.Getenv, t.home.Town, t.call
	t.table = sync.OnceValues(func() (*agent.Table, error) {
		table, err := agent.Load(getenv, town)
		call.Warn(err)
		return table, err
	})
	// The secrets are those of the agent's environment, and of the one that we were
	// called with, which a command may have added to.
	environ, ours := t.environ, t.env.Environ
	clean := sync.OnceValue(func() func(string) string { return redact.Of(slices.Concat(environ, ours)) })
	t.redact = func(text string) string { return clean()(text) }
	return t
}

// startEnviron returns the environment that a process was started with, or another
// where that cannot be read.
func startEnviron(p process.Proc, otherwise []string) []string {
	if p.IsSet() {
		if environ, err := p.Environ(); err == nil && len(environ) > 0 {
			return environ
		}
	}
	return otherwise
}

// warn says what is gone without.
func (t target) warn(err error) { t.call.Warn(err) }

// known are the agents that are known where the session works.
func (t target) known() *agent.Table {
	table, _ := t.table()
	return table
}

// client is the client that is handed over.
func (t target) client() agent.Client { return t.known().Of(t.name) }

// args are the arguments that our agent was started with.
func (t target) args() ([]string, error) {
	if t.left {
		return t.record.Args, nil
	}
	return live.Args(t.agent, t.client(), t.env.Getenv)
}

// replaceable reports whether the pane can be given to a fresh agent: only where an
// agent runs in it, it is that agent's own, and a person can be in front of it.
// A person's shell is left alone, and so are the agent that runs ours as its
// child and a script that runs ours for one answer.
func (t target) replaceable() bool {
	if t.pane.ID == "" || !t.agent.IsSet() || !live.OwnsPane(t.known(), t.agent, t.pane) {
		return false
	}
	args, err := t.args()
	return err != nil || !t.client().Headless(args)
}

// transcript is the path of the session's transcript, where that is one of the
// person's: what its client says, or its record. A client says what a project's own
// settings have told it, and that can be a folder in the project.
func (t target) transcript() string {
	if !t.remote && t.call.Input.Transcript != "" {
		return t.owned(t.call.Input.Transcript)
	}
	switch { // a session that was met late, by a command, or whose client does not say
	case t.record == nil:
		return ""
	case t.record.Transcript != "":
		return t.owned(t.record.Transcript)
	}
	return t.owned(files.Path(t.name, (&cli.Env{Environ: t.environ}).Getenv, t.dir, string(t.record.ID)))
}

// owned is a transcript without links; empty where it is none of the person's own.
// What counts is the environment that the client was started with, and what the
// person says of agents, but no town.
func (t target) owned(path string) string {
	if path == "" {
		return ""
	}
	getenv := (&cli.Env{Environ: t.environ}).Getenv
	if getenv("HOME") != t.env.Getenv("HOME") {
		getenv = t.env.Getenv // a launcher stands between the client and us
	}
	own := account.Own{
		Getenv:   getenv,
		Projects: []string{t.home.Dir, t.dir},
		Known: func(string) account.Known {
			known, _ := agent.Load(t.env.Getenv, town.Personal(t.env.Getenv)) // table tells what cannot be read
			c := known.Of(t.name)
			return account.Known{Accounts: c.Listed(t.env.Getenv), Variable: c.StoreEnv, Store: c.Store}
		},
	}
	// One's own agent has a store of its own, or the one whose dialect it speaks.
	_, real, err := own.File(t.name, path)
	if form := t.form(); err != nil && form != t.name {
		_, real, err = own.File(form, path)
	}
	if _, gone := os.Stat(path); err != nil && gone == nil {
		t.warn(err)
	}
	return real
}

// form is the client whose form the session's transcript has: one that gt does
// not know keeps it, as far as anything is known, as the one does whose dialect it
// speaks.
func (t target) form() string {
	if conversation.HasReader(t.name) {
		return t.name
	}
	return t.client().Dialect
}
