// Package agents starts, ends and observes the agents of sessions that were made from
// templates: in tmux as gt-session does, or with the runtime that a town has chosen.
package agents

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/launch"
	"gt/lib/launch/notify"
	"gt/lib/launch/respawn"
	"gt/lib/launch/worktree"
	"gt/lib/live"
	"gt/lib/live/closing"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/town"
	"gt/lib/reconcile/check"
	"gt/lib/reconcile/claims"
	"gt/lib/reconcile/config"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/template"
	"gt/lib/reconcile/tick"
	"gt/lib/state/beads"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/state/work"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// Agents are the agents of a store.
type Agents struct {
	// Runtime returns a runtime by the name in a session's record; "" is tmux.
	Runtime func(name string) (runtime.Runtime, error)
	Store   instance.Store
	Table   *agent.Table
	Env     *cli.Env
	// Issues says that bd may keep work here, where a session is known by its name.
	Issues bool
}

func (a Agents) refOf(in *instance.Instance) runtime.Ref {
	return runtime.Ref{ID: a.Store.Name(in.ID), Name: in.TmuxSession, Server: in.TmuxServer, Agent: in.Agent}
}

// Status implements perform.Agents: it looks at tmux once, and at each other runtime once.
func (a Agents) Status(ctx context.Context, all []*instance.Instance) []perform.Status {
	statuses := make([]perform.Status, len(all))
	byRuntime := map[string][]int{}
	for i, in := range all {
		byRuntime[in.Managed.Runtime] = append(byRuntime[in.Managed.Runtime], i)
	}
	for _, at := range byRuntime {
		group := make([]*instance.Instance, len(at))
		for i, n := range at {
			group[i] = all[n]
		}
		look := a.tmuxStatuses
		if IsRemote(group[0]) {
			look = a.remoteStatuses
		}
		for i, s := range look(ctx, group) {
			statuses[at[i]] = s
		}
	}
	return statuses
}

// remoteStatuses returns the statuses of sessions that all have the same runtime, which is not tmux.
func (a Agents) remoteStatuses(ctx context.Context, all []*instance.Instance) []perform.Status {
	statuses := make([]perform.Status, len(all))
	r, _, err := a.RemoteRuntime(all[0])
	if err != nil {
		for i := range statuses {
			statuses[i].Err = err
		}
		return statuses
	}
	refs := make([]runtime.Ref, len(all))
	for i, in := range all {
		refs[i] = a.refOf(in)
	}
	now := a.Env.Now()
	for i, s := range r.Status(ctx, refs) {
		statuses[i] = perform.Status{Alive: s.Alive, Err: s.Err, Attached: s.Attached, Asks: s.Asks, Busy: s.Busy, Limited: s.Limited}
		if s.Limited {
			statuses[i].LimitedAt, statuses[i].LimitedUntil = now, retryAt(now, s.Until)
		}
		if s.Waits && !s.Asks {
			statuses[i].Idle = now.Add(-s.Idle)
		}
	}
	return statuses
}

// tmuxStatuses returns the statuses of sessions in tmux. Alive stays tick.Unknown if it cannot tell.
func (a Agents) tmuxStatuses(_ context.Context, all []*instance.Instance) []perform.Status {
	statuses := make([]perform.Status, len(all))
	for i, m := range fleet.Members(a.Env.Getenv, a.Store, a.Table, all, a.Env.Now()) {
		s := &statuses[i]
		switch {
		case m.Process.IsSet():
			s.Alive = tick.Alive
		case m.Unanswered != nil: // it may run where it cannot be seen
			s.Why = m.Unanswered.Error()
			continue
		case m.Pane.ID == "" || m.Pane.Dead:
			s.Alive = tick.Dead
			if m.Pane.Dead {
				s.Why = launch.DescribeEnd(tmux.Server(m.TmuxServer), m.Pane)
			}
			s.LimitedAt = m.LimitedAt()
			if s.Limited = !s.LimitedAt.IsZero(); s.Limited {
				s.LimitedUntil = retryAt(s.LimitedAt, m.LimitEnd(s.LimitedAt))
			}
		default:
			s.Why = fmt.Sprintf("its process %d cannot be seen", m.Pane.PID)
		}
		s.Attached, s.EndedByPerson, s.Busy = m.Pane.Attached, !m.IsWanted(), m.WhyBusy()
		if m.Status == status.Waiting || m.Status == status.Idle {
			switch m.Reason {
			case status.Permission, status.Question:
				s.Asks = true
			case status.Limited:
				s.Limited, s.LimitedAt, s.Idle = true, a.Env.Now(), m.Since
				s.LimitedUntil = retryAt(m.Since, m.LimitEnd(m.Since))
			default:
				s.Idle = m.QuietSince
			}
		}
	}
	return statuses
}

// retryAfter is how long to wait for a limit that ends much later. The limit may have been
// raised meanwhile, which nothing reports.
const retryAfter = 6 * time.Hour

// retryAt returns the end of a limit or, if earlier, when to try again.
func retryAt(since, until time.Time) time.Time {
	if later := since.Add(retryAfter); until.After(later) {
		return later.Truncate(time.Minute)
	}
	return until
}

// Start implements perform.Agents. It resumes the session's conversation if there is one.
func (a Agents) Start(ctx context.Context, h *instance.Locked, e template.Effective) error {
	s, err := a.newStarter(ctx, h.Instance, e)
	if err != nil {
		return err
	}
	if s.Template.Remote { // an interrupted start may have left its agent; launch sees one in tmux
		if now := a.Status(ctx, []*instance.Instance{h.Instance})[0]; now.Alive == tick.Alive {
			return nil
		}
	}
	if _, err = s.StartHeld(h, false); errors.Is(err, launch.ErrRuns) {
		return nil
	}
	return err
}

// Wake tells an idle session that work waits for it.
func (a Agents) Wake(in *instance.Instance) error {
	if IsRemote(in) {
		r, ref, err := a.RemoteRuntime(in)
		if err != nil {
			return err
		}
		return r.Send(context.Background(), ref, conversation.WorkWaits)
	}
	_, err := launch.Wake(a.Env, a.Store, a.Table, in, conversation.WorkWaits)
	if err != nil {
		err = fmt.Errorf("cannot tell %s that work waits: %w", in.Name, err)
	}
	return err
}

// IsRemote reports whether neither tmux nor a process of this machine shows a session's
// agent.
func IsRemote(in *instance.Instance) bool {
	return in.Managed != nil && in.Managed.Runtime != "" && in.Managed.Runtime != "tmux"
}

// RemoteRuntime returns a session's remote runtime and its name there.
func (a Agents) RemoteRuntime(in *instance.Instance) (runtime.Remote, runtime.Ref, error) {
	r, err := a.Runtime(in.Managed.Runtime)
	if err != nil {
		return nil, runtime.Ref{}, err
	}
	remote, ok := r.(runtime.Remote)
	if !ok {
		return nil, runtime.Ref{}, fmt.Errorf("'%s' runs in tmux", in.Name)
	}
	return remote, a.refOf(in), nil
}

// Explain implements perform.Agents.
func (a Agents) Explain(ctx context.Context, in *instance.Instance, e template.Effective) error {
	s, err := a.newStarter(ctx, in, e)
	if err != nil {
		return err
	}
	return s.Explain(in)
}

// SameClient implements perform.Agents. fleet.Members sets now.Agent to the client that a person
// may have put in its place. A variant of a client, which has its dialect, counts as the same.
func (a Agents) SameClient(in *instance.Instance, e template.Effective) bool {
	now := *in
	fleet.Members(a.Env.Getenv, a.Store, a.Table, []*instance.Instance{&now}, a.Env.Now())
	has, wants := a.Table.FindClient(now.Agent), a.Table.FindClient(e.Provider)
	return has.Name == wants.Name || has.Dialect != "" && has.Dialect == wants.Dialect
}

// newStarter returns the starter for a session, and writes the template's client and arguments
// into its record.
func (a Agents) newStarter(ctx context.Context, in *instance.Instance, e template.Effective) (launch.Starter, error) {
	r, err := a.Runtime(in.Managed.Runtime)
	if err != nil {
		return launch.Starter{}, err
	}
	if !a.Table.HasClient(e.Provider) {
		return launch.Starter{}, fmt.Errorf("no agent is called '%s'", e.Provider)
	}
	in.Agent, in.Args, in.Launcher = a.Table.FindClient(e.Provider).Name, nil, nil
	if e.Model != "" {
		in.Args = []string{"--model", e.Model}
	}
	vars := a.sessionVars(in, e)
	remote := IsRemote(in)
	if remote { // a remote agent's commands have no other way to identify it
		vars = append(vars, [2]string{instance.Variable, a.Store.Name(in.ID)})
	}
	t := &launch.Template{Command: e.Command, Vars: vars, Remote: remote}
	if len(e.PreStart) > 0 {
		t.PreStart = func(environ []string) error { return a.runCommands(ctx, in, e, environ, "pre_start", e.PreStart) }
	}
	if len(e.SessionSetup) > 0 || e.Setup != "" {
		t.SessionSetup = func(environ []string) {
			a.Env.WarnError(a.runCommands(ctx, in, e, environ, "session_setup", e.SessionSetup))
			if e.Setup != "" {
				a.Env.WarnError(a.runCommands(ctx, in, e, environ, "session_setup_script", []string{e.Setup}))
			}
		}
	}
	t.Run = func(run respawn.Run, shared [][2]string) error {
		return r.Start(ctx, runtime.Agent{
			Ref: a.refOf(in), Run: run, Vars: vars, Shared: shared, Environ: a.Table.StripRunVars(process.Inherited(a.Env.ChildEnviron())),
			HookReported: func() bool { return a.Store.HookReported(in) },
		})
	}
	return launch.Starter{
		Env: a.Env, Store: a.Store, Table: a.Table, Prompt: e.Prompt, Template: t,
		Worktree: func(in *instance.Instance, put func() error) error { return a.makeWorktree(ctx, in, put) },
		Holder:   func(id session.ID) *live.Holder { return scan.HolderOf(a.Env.Getenv, a.Store.State, id) },
	}, nil
}

// makeWorktree makes the worktree of a session whose template had worktree = true. Path and branch
// have digits of its id, so that they are nobody else's: not a person's branch, nor the worktree
// of another town's session of that name.
func (a Agents) makeWorktree(ctx context.Context, in *instance.Instance, put func() error) error {
	if in.Managed.Worktree && in.Worktree == nil {
		branch := in.Name
		if digits := "-" + strings.ReplaceAll(string(in.ID), "-", "")[:6]; !strings.HasSuffix(branch, digits) {
			branch = instance.Variant(branch, digits)
		}
		dir, err := filepath.EvalSymlinks(in.Path)
		if err != nil {
			return err
		}
		w, work, err := worktree.Plan(dir, branch, "")
		if err == nil && w.Start == "" { // a bare repository
			w.Start, err = git.HeadCommit(dir)
		}
		if err != nil {
			return err
		}
		in.Worktree, in.Path, in.Folder = &w, work, nil
		if err := put(); err != nil {
			return err
		}
	}
	ctx, stop := context.WithTimeout(ctx, worktreeTime)
	defer stop()
	return worktree.Ensure(ctx, a.Env, in, put)
}

// worktreeTime bounds what the person's [worktree] setup does for a session.
const worktreeTime = time.Hour

// sessionVars returns a session's variables: the template's, bd's if bd keeps work here, and gt's own.
func (a Agents) sessionVars(in *instance.Instance, e template.Effective) (vars [][2]string) {
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		vars = append(vars, [2]string{name, e.Env[name]})
	}
	if a.Issues {
		vars = append(vars, beads.Actor(in.Name)...)
	}
	return append(vars, [2]string{"GT_SESSION_NAME", in.Name}, [2]string{"GT_TEMPLATE", e.Name})
}

// Bounds of a template's commands.
const (
	commandTime   = time.Minute
	commandOutput = 1 << 20
)

// runCommands runs a template's commands in the session's folder with its environment.
func (a Agents) runCommands(ctx context.Context, in *instance.Instance, e template.Effective, environ []string, key string, all []string) error {
	environ = append(slices.Clip(environ), "GT_TMUX_SESSION="+in.TmuxSession)
	dir, err := launch.EnterFolder(a.Store, in) // another agent may have replaced the folder
	if err != nil {
		return err
	}
	defer dir.Close()
	for _, command := range all {
		sh, err := process.LookPath("sh", in.Path, environ)
		if err != nil {
			return err
		}
		_, err = bounded.Program{Path: sh, Args: []string{"-c", command}, Dir: dir.Dir(), Env: environ, Within: commandTime, Most: commandOutput}.Run(ctx)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", key, e.Name, err)
		}
	}
	return nil
}

// lockWait is how long closing a session waits for the lock of its home.
const lockWait = 2 * time.Second

// Stop implements perform.Agents. It first notes that gt ends the session, so that the
// session counts as killed and not as crashed.
func (a Agents) Stop(ctx context.Context, in *instance.Instance) error {
	runs, err := a.Runtime(in.Managed.Runtime)
	if err != nil {
		return err
	}
	id := a.Store.Session(in)
	if id == "" {
		return runs.Stop(ctx, a.refOf(in)) // there is no record to close
	}
	a.Env.WarnError(closing.ExpectStop(a.Store.State, id, session.Stop{Reason: endReason, Until: a.Env.Now().Add(runtime.Grace + 2*time.Second)}, a.Env.WarnError))
	if err := runs.Stop(ctx, a.refOf(in)); err != nil {
		return err
	}
	a.Env.WarnError(closing.End{ID: id, Outcome: session.Killed, Reason: endReason, At: a.Env.Now()}.CloseIn(a.Store.State, lockWait, a.Env.WarnError))
	return nil
}

// endReason is the end reason in a session's record.
const endReason = "gt-reconcile"

const actor = "gt-reconcile"

// maxReason bounds how an agent ended, in characters.
const maxReason = 300

// NewAgents returns the agents of a town or, if profile is not "", of that profile. Panes run the
// calling program with --exec BUFFER: for that, it must call respawn.Exec.
func NewAgents(env *cli.Env, t town.Town, profile string) (Agents, error) {
	if err := t.State.Check(); err != nil {
		return Agents{}, err
	}
	store := instance.Personal(t.State, profile)
	if profile == "" && !t.Personal {
		store = instance.OfTown(t.State, t.Root)
	}
	store.Warn = env.WarnError
	self, err := os.Executable()
	if err != nil {
		return Agents{}, err
	}
	table, err := agent.Load(place.Config(env.Getenv), t)
	env.WarnError(err)
	dir := t.Root
	if profile != "" || t.Personal {
		dir = string(t.State)
	}
	return Agents{
		Store: store, Table: table, Env: env, Issues: profile == "" && t.Trust != nil,
		Runtime: func(name string) (runtime.Runtime, error) {
			if program, ok := strings.CutPrefix(name, "exec:"); ok {
				return runtime.NewExec(program, dir, process.Inherited(env.ChildEnviron()))
			}
			return runtime.Tmux{Self: self}, nil
		},
	}, nil
}

// OpenWorld returns what the ticks of a town or profile work with: its agents, work and checks.
func OpenWorld(env *cli.Env, t town.Town, profile string) (*perform.World, error) {
	all, err := NewAgents(env, t, profile)
	if err != nil {
		return nil, err
	}
	store, warn := all.Store, env.WarnError
	w := perform.NewWorld(store)
	w.Agents = all
	w.Now, w.Warn, w.AtOnce = env.Now, warn, cli.MaxWaitingTasks
	w.Clean = func(s string) string { return env.Line(s, maxReason) }
	w.Notify = func(session, why string) {
		to := agent.LoadPreferences(place.Config(env.Getenv), warn).Notify
		if len(to.Command) > 0 && slices.Contains(strings.Split(to.Reasons(), ","), string(status.Failed)) {
			warn(notify.Run(env, to.Command, session, string(status.Waiting), string(status.Failed), why))
		}
	}
	w.Config = config.NewSource(place.ScopeOf(env.Getenv), t, profile).Read
	w.Server = string(tmux.CurrentServer())
	release := func(name string) (bool, error) {
		c, err := w.Config()
		return err == nil && c.Find(name) != nil && c.Find(name).OrphanedWork == template.Release, err
	}
	notes := work.NewWork(store)
	notes.Release = release
	claims := &claims.Work{Notes: notes, Release: release, Now: env.Now}
	if profile == "" && t.Trust != nil {
		claims.Databases = func(folders []string) ([]beads.Database, error) {
			return beads.Databases(t, folders, env.ChildEnviron())
		}
	}
	w.Work, w.Open, w.Wake = claims, notes.Open, all.Wake
	w.Check = func(ctx context.Context, c *config.Config) map[string]tick.Demand {
		checks := check.Checks{Dir: c.Work, Environ: env.ChildEnviron(), Clean: w.Clean}
		return checks.Demand(ctx, c.Templates)
	}
	w.Log = func(kind string, payload any) {
		log, spare := eventlog.Log(t.Events()), eventlog.Log(t.SpareEvents())
		if err := log.AppendOr(spare, warn, env.Now(), kind, actor, payload); err != nil {
			warn(err)
		}
	}
	return w, nil
}
