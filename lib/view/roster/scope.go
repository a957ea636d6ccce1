// Package roster is what a list of agents shows: those of the person, of a profile, of a
// town or of all, with what each does, in the order of their groups; and those of other
// hosts. gt-session list prints it, and gt-watch keeps it on the screen.
package roster

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/agents"
	"gt/lib/reconcile/perform"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
)

// Scope is the set of agents that a command works on: the person's own, a profile's or a
// town's.
type Scope struct {
	Env     *cli.Env
	Store   instance.Store
	Town    town.Town
	Profile string // "" for none
	// Table returns the known agents. It loads them on the first call.
	Table func() *agent.Table
}

// New returns the scope of a town, or of a profile unless it is "".
func New(env *cli.Env, t town.Town, profile string) Scope {
	at := Scope{Env: env, Town: t, Profile: profile, Store: StoreIn(t, profile), Table: TableOf(env, t)}
	at.Store.Warn = env.WarnError
	return at
}

// TableOf returns a function that loads the agents of a town once.
func TableOf(env *cli.Env, t town.Town) func() *agent.Table {
	return sync.OnceValue(func() *agent.Table {
		table, err := agent.Load(place.Config(env.Getenv), t)
		env.WarnError(err)
		return table
	})
}

// Name returns the name of the profile or town, and "" for the person's own agents.
func (at Scope) Name() string {
	if at.Profile != "" || at.Town.Personal {
		return at.Profile
	}
	return filepath.Base(at.Town.Root)
}

// Suffix returns a phrase that names the scope, to follow an agent's name; "" for the person's own.
func (at Scope) Suffix() string {
	switch {
	case at.Profile != "":
		return " of the profile " + at.Profile
	case !at.Town.Personal:
		return " of the town " + at.Name()
	}
	return ""
}

func (at Scope) Members(all []*instance.Instance) []fleet.Member {
	return fleet.Members(at.Env.Getenv, at.Store, at.Table(), all, at.Env.Now())
}

func (at Scope) Member(in *instance.Instance) fleet.Member {
	return at.Members([]*instance.Instance{in})[0]
}

// StoreIn returns the store of a profile, or of the town if profile is "".
func StoreIn(t town.Town, profile string) instance.Store {
	if profile == "" && !t.Personal {
		return instance.OfTown(t.State, t.Root)
	}
	return instance.Personal(t.State, profile)
}

// FindScope returns the scope of the named profile, or else of the surrounding town, or else
// the person's own.
func FindScope(env *cli.Env, profile string) (Scope, error) {
	around := town.Find(env.Getenv, env.Dir)
	env.WarnError(around.TrustErr)
	if err := around.State.Check(); err != nil {
		return Scope{}, err
	}
	t := around
	if profile != "" {
		if err := instance.CheckName(profile); err != nil {
			return Scope{}, cli.Fail(cli.Usage, err)
		}
		t = town.Personal(env.Getenv)
	}
	at := New(env, t, profile)
	at.Table = TableOf(env, around) // agents of a profile use the surrounding town's table
	return at, nil
}

// ListScopes returns every scope: the person's own, their profiles, the trusted towns. The
// error reports those that cannot be read.
func ListScopes(env *cli.Env) ([]Scope, error) {
	own := town.Personal(env.Getenv)
	if err := own.State.Check(); err != nil {
		return nil, err
	}
	profiles, unread := instance.Profiles(own.State)
	all := []Scope{New(env, own, "")}
	for _, name := range profiles {
		all = append(all, New(env, own, name))
	}
	trusted, err := own.State.TrustedTowns()
	unread = errors.Join(unread, err)
	for _, t := range trusted {
		if trust, err := own.State.TrustOf(t.Path); err == nil { // otherwise the path is another folder now
			all = append(all, New(env, town.Town{Root: t.Path, State: own.State, Trust: trust}, ""))
		}
	}
	return all, unread
}

// ChosenScopes returns the scope of FindScope, or with everywhere all.
func ChosenScopes(env *cli.Env, profile string, everywhere bool) ([]Scope, error) {
	if everywhere {
		return ListScopes(env)
	}
	one, err := FindScope(env, profile)
	return []Scope{one}, err
}

// AskRuntimes fills in the status of agents that run outside tmux, as their runtimes report it.
func (at Scope) AskRuntimes(members []fleet.Member) {
	var away []*instance.Instance
	var places []int
	for i, m := range members {
		if agents.IsRemote(m.Instance) && m.TmuxSession != "" {
			away, places = append(away, m.Instance), append(places, i)
		}
	}
	if len(away) == 0 {
		return
	}
	all, err := agents.NewAgents(at.Env, at.Town, at.Profile)
	if err != nil {
		at.Env.WarnError(err)
		return
	}
	for i, s := range all.Status(context.Background(), away) {
		m := &members[places[i]]
		m.Status, m.Reason, m.Since = runtimeStatus(*m, s)
	}
}

// runtimeStatus returns the status of an agent outside tmux, its reason, and since when (zero if
// that is unknown), from its runtime's report s. An agent that has finished its turn waits for
// the person, and is idle once they have seen that (Acknowledged).
func runtimeStatus(m fleet.Member, s perform.Status) (status.Status, status.Reason, time.Time) {
	switch {
	case s.Alive == tick.Unknown:
		return status.Unknown, "", time.Time{}
	case s.Alive == tick.Dead && m.IsWanted():
		return status.Error, "", time.Time{}
	case s.Alive == tick.Dead:
		return status.Stopped, "", time.Time{}
	case s.Asks:
		return status.Waiting, status.Question, time.Time{}
	case s.Limited:
		return status.Waiting, status.Limited, time.Time{}
	case s.Idle.IsZero():
		return status.Running, "", time.Time{}
	case m.Acknowledged.After(s.Idle):
		return status.Idle, "", s.Idle
	}
	return status.Waiting, status.Done, s.Idle
}
