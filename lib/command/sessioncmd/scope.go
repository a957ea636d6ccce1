package sessioncmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"sync"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/state/instance"
)

// scope is what a command works in: a person's own agents, those of one of their profiles,
// or a town's.
type scope struct {
	env     *cli.Env
	store   instance.Store
	town    town.Town
	profile string // "" for none
	// table returns the agents that are known there. It reads them when it is first asked.
	table func() *agent.Table
}

// newScope is the scope of a profile, "" for none, or of a town.
func newScope(env *cli.Env, t town.Town, profile string) scope {
	at := scope{env: env, town: t, profile: profile, store: storeIn(t, profile), table: tableOf(env, t)}
	at.store.Warn = func(err error) { env.Warn("%v", err) }
	return at
}

// tableOf returns a function that reads the agents of a town once.
func tableOf(env *cli.Env, t town.Town) func() *agent.Table {
	return sync.OnceValue(func() *agent.Table {
		table, err := agent.Load(env.Getenv, t)
		if err != nil {
			env.Warn("%v", err)
		}
		return table
	})
}

// name is what a person calls the place, "" for their own.
func (at scope) name() string {
	if at.profile != "" || at.town.Personal {
		return at.profile
	}
	return filepath.Base(at.town.Root)
}

// in says where an agent is, behind its name.
func (at scope) in() string {
	switch {
	case at.profile != "":
		return " of the profile " + at.profile
	case !at.town.Personal:
		return " of the town " + at.name()
	}
	return ""
}

// members returns what instances of the scope do.
func (at scope) members(all []*instance.Instance) []fleet.Member {
	return fleet.Members(at.env.Getenv, at.store, at.table(), all, at.env.Now())
}

// member returns what one instance does.
func (at scope) member(in *instance.Instance) fleet.Member {
	return at.members([]*instance.Instance{in})[0]
}

// scope returns what a command works in: its profile, or the town around, or the person's own.
func (p profile) scope(env *cli.Env) (scope, error) {
	around := town.Find(env.Getenv, env.Dir)
	if around.Unread != nil {
		env.Warn("%v", around.Unread)
	}
	if err := around.State.Check(); err != nil {
		return scope{}, err
	}
	t := around
	if p.Profile != "" {
		if err := instance.CheckName(p.Profile); err != nil {
			return scope{}, cli.Fail(cli.Usage, err)
		}
		t = town.Personal(env.Getenv)
	}
	at := newScope(env, t, p.Profile)
	at.table = tableOf(env, around) // the town around names the agents of a profile, too
	return at, nil
}

// scopes returns all: the person's own first, then their profiles, then the trusted towns.
// What cannot be read is missing, and the error says it.
func scopes(env *cli.Env) ([]scope, error) {
	own := town.Personal(env.Getenv)
	if err := own.State.Check(); err != nil {
		return nil, err
	}
	profiles, unread := instance.Profiles(own.State)
	all := []scope{newScope(env, own, "")}
	for _, name := range profiles {
		all = append(all, newScope(env, own, name))
	}
	trusted, err := own.State.Towns()
	unread = errors.Join(unread, err)
	for _, t := range trusted {
		if trust, err := own.State.Trusted(t.Path); err == nil { // else it is another folder now
			all = append(all, newScope(env, town.Town{Root: t.Path, State: own.State, Trust: trust}, ""))
		}
	}
	return all, unread
}

// all calls do with each instance of all places, until one call returns an error, which it
// returns.
func all(state place.State, do func(instance.Store, *instance.Instance) error) error {
	stores, err := instance.Stores(state)
	if err != nil {
		return err
	}
	for _, s := range stores {
		instances, err := s.All()
		if err != nil {
			return err
		}
		for _, in := range instances {
			if err := do(s, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// gcPercent is how much garbage there may be while agents are looked at, in percent of what
// is in use. A list of a thousand collects none, and one of ten thousand takes 80 MB.
const gcPercent = 1600

// scopeMembers is a scope with its agents.
type scopeMembers struct {
	scope
	members []fleet.Member
}

// loaded is the table of agents of a place.
type loaded struct {
	*cli.Task
	table *agent.Table
	err   error
}

func (l *loaded) load(env *cli.Env, t town.Town) {
	l.Task = cli.Go(func() { l.table, l.err = agent.Load(env.Getenv, t) })
}

// deferGC lets garbage gather until the function that it returns is called: a list is over
// before the memory matters that a collection would free.
func deferGC() (end func()) {
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// membersOf looks at the agents of places. unread says which could not be read.
func membersOf(env *cli.Env, all []scope) (found []scopeMembers, unread error) {
	defer deferGC()()
	said := map[string]bool{}
	var at []fleet.Place
	loads := make([]loaded, len(all))
	for i := range all {
		loads[i].load(env, all[i].town) // while the instances are read
	}
	for i, p := range all {
		instances, err := p.store.All()
		unread = errors.Join(unread, err)
		loads[i].Wait()
		known, err := loads[i].table, loads[i].err
		if err != nil && len(instances) > 0 && !said[err.Error()] {
			said[err.Error()] = true
			env.Warn("%v", err)
		}
		at = append(at, fleet.Place{Store: p.store, Instances: instances, Table: known})
	}
	for i, members := range fleet.LookAt(env.Getenv, at, env.Now()) {
		all[i].askAway(members)
		all[i].table = func() *agent.Table { return at[i].Table }
		found = append(found, scopeMembers{all[i], members})
	}
	return found, unread
}

// everywhere has the flag with which a person means all places.
type everywhere struct {
	profile
	Everywhere bool `short:"A" name:"everywhere" help:"The agents of all profiles and workspaces."`
}

// Validate refuses one profile of all.
func (e everywhere) Validate() error {
	if e.Everywhere && e.Profile != "" {
		return fmt.Errorf("-A means all profiles (leave -p %s out)", e.Profile)
	}
	return nil
}

// scopes returns those that a person means.
func (e everywhere) scopes(env *cli.Env) ([]scope, error) {
	if e.Everywhere {
		return scopes(env)
	}
	one, err := e.scope(env)
	return []scope{one}, err
}
