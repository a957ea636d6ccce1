package agents

import (
	"context"
	"os"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch/notify"
	"gt/lib/live/status"
	"gt/lib/log/eventlog"
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
	"gt/lib/state/work"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

const actor = "gt-reconcile"

// maxReason bounds how an agent ended, in characters.
const maxReason = 300

// Of returns the agents of a town, or of a profile unless that is "". The calling program
// must call respawn.Exec for --exec BUFFER.
func Of(env *cli.Env, t town.Town, profile string) (Agents, error) {
	if err := t.State.Check(); err != nil {
		return Agents{}, err
	}
	store := instance.Personal(t.State, profile)
	if profile == "" && !t.Personal {
		store = instance.OfTown(t.State, t.Root)
	}
	store.Warn = func(err error) { env.Warn("%v", err) }
	self, err := os.Executable()
	if err != nil {
		return Agents{}, err
	}
	table, err := agent.Load(env.Getenv, t)
	if err != nil {
		env.Warn("%v", err)
	}
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

// Open returns the world of a town or profile, with agents, work and checks.
func Open(env *cli.Env, t town.Town, profile string) (*perform.World, error) {
	all, err := Of(env, t, profile)
	if err != nil {
		return nil, err
	}
	store, warn := all.Store, func(err error) { env.Warn("%v", err) }
	w := perform.Of(store)
	w.Agents = all
	w.Now, w.Warn, w.AtOnce = env.Now, warn, cli.Few
	w.Clean = func(s string) string { return env.Line(s, maxReason) }
	w.Notify = func(session, why string) {
		to := agent.LoadPreferences(env.Getenv, warn).Notify
		if len(to.Command) > 0 && slices.Contains(strings.Split(to.Reasons(), ","), string(status.Failed)) {
			warn(notify.Run(env, to.Command, session, string(status.Failed), why))
		}
	}
	w.Config = config.Of(t, profile, env.Getenv).Read
	w.Server = string(tmux.Around())
	release := func(name string) (bool, error) {
		c, err := w.Config()
		return err == nil && c.Find(name) != nil && c.Find(name).OrphanedWork == template.Release, err
	}
	notes := work.Of(store)
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
		log, spare := eventlog.Log(t.Events()), eventlog.Log(t.Spare())
		if err := log.AppendOr(spare, warn, env.Now(), kind, actor, payload); err != nil {
			warn(err)
		}
	}
	return w, nil
}
