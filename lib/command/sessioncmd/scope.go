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

// scope is the set of agents that a command works on: the person's own, a profile's or a
// town's.
type scope struct {
	env     *cli.Env
	store   instance.Store
	town    town.Town
	profile string // "" for none
	// table returns the known agents. It loads them on the first call.
	table func() *agent.Table
}

// newScope returns the scope of a town, or of a profile unless it is "".
func newScope(env *cli.Env, t town.Town, profile string) scope {
	at := scope{env: env, town: t, profile: profile, store: storeIn(t, profile), table: tableOf(env, t)}
	at.store.Warn = func(err error) { env.Warn("%v", err) }
	return at
}

// tableOf returns a function that loads the agents of a town once.
func tableOf(env *cli.Env, t town.Town) func() *agent.Table {
	return sync.OnceValue(func() *agent.Table {
		table, err := agent.Load(env.Getenv, t)
		if err != nil {
			env.Warn("%v", err)
		}
		return table
	})
}

// name returns the name of the profile or town, and "" for the person's own agents.
func (at scope) name() string {
	if at.profile != "" || at.town.Personal {
		return at.profile
	}
	return filepath.Base(at.town.Root)
}

// in returns a phrase that names the scope, to be put after an agent's name.
func (at scope) in() string {
	switch {
	case at.profile != "":
		return " of the profile " + at.profile
	case !at.town.Personal:
		return " of the town " + at.name()
	}
	return ""
}

func (at scope) members(all []*instance.Instance) []fleet.Member {
	return fleet.Members(at.env.Getenv, at.store, at.table(), all, at.env.Now())
}

func (at scope) member(in *instance.Instance) fleet.Member {
	return at.members([]*instance.Instance{in})[0]
}

// scope returns the scope of the named profile, or else of the surrounding town, or else
// the person's own.
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
	at.table = tableOf(env, around) // agents of a profile use the surrounding town's table
	return at, nil
}

// scopes returns every scope: the person's own, their profiles, the trusted towns. The
// error reports those that cannot be read.
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
		if trust, err := own.State.Trusted(t.Path); err == nil { // otherwise the path is another folder now
			all = append(all, newScope(env, town.Town{Root: t.Path, State: own.State, Trust: trust}, ""))
		}
	}
	return all, unread
}

// all calls do with each instance of all stores until a call fails, and returns its error.
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

// gcPercent is the value of GOGC while agents are listed. A list of a thousand agents then
// needs no collection, and one of ten thousand takes 80 MB.
const gcPercent = 1600

// scopeMembers is a scope with the status of its agents.
type scopeMembers struct {
	scope
	members []fleet.Member
}

// loaded is a table of agents that is loaded in the background.
type loaded struct {
	*cli.Task
	table *agent.Table
	err   error
}

func (l *loaded) load(env *cli.Env, t town.Town) {
	l.Task = cli.Go(func() { l.table, l.err = agent.Load(env.Getenv, t) })
}

// deferGC raises GOGC until end is called, because a list ends before memory matters.
func deferGC() (end func()) {
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// membersOf returns the agents of scopes with their status. unread reports instances that
// could not be read.
func membersOf(env *cli.Env, all []scope) (found []scopeMembers, unread error) {
	return membersAt(fleet.NewSurvey(env.Getenv, env.Now()), env, all)
}

// membersAt is membersOf in a look that has more.
func membersAt(look *fleet.Survey, env *cli.Env, all []scope) (found []scopeMembers, unread error) {
	defer deferGC()()
	said := map[string]bool{}
	var at []fleet.Place
	loads := make([]loaded, len(all))
	for i := range all {
		loads[i].load(env, all[i].town) // runs while the instances are read
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
	for i, members := range look.At(at) {
		all[i].askAway(members)
		all[i].table = func() *agent.Table { return at[i].Table }
		found = append(found, scopeMembers{all[i], members})
	}
	return found, unread
}

type everywhere struct {
	profile
	Everywhere bool `short:"A" name:"everywhere" help:"The agents of all profiles and workspaces."`
}

func (e everywhere) Validate() error {
	if e.Everywhere && e.Profile != "" {
		return fmt.Errorf("-A means all profiles (leave -p %s out)", e.Profile)
	}
	return nil
}

func (e everywhere) scopes(env *cli.Env) ([]scope, error) {
	if e.Everywhere {
		return scopes(env)
	}
	one, err := e.scope(env)
	return []scope{one}, err
}
