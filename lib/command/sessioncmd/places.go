package sessioncmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/state/instance"
)

// site is where instances are kept: a person's own, one of their profiles, or a town.
type site struct {
	store   instance.Store
	town    town.Town
	profile string // "" for none
}

// name is what a person calls the place, "" for their own.
func (p site) name() string {
	if p.profile != "" || p.town.Personal {
		return p.profile
	}
	return filepath.Base(p.town.Root)
}

// in says where an agent is, behind its name.
func (p site) in() string {
	switch {
	case p.profile != "":
		return " of the profile " + p.profile
	case !p.town.Personal:
		return " of the town " + p.name()
	}
	return ""
}

// site returns the place of a command.
func (p profile) site(env *cli.Env) (site, error) {
	store, err := p.store(env)
	t := town.Find(env.Getenv, env.Dir)
	if p.Profile != "" {
		t = town.Personal(env.Getenv)
	}
	return site{store: store, town: t, profile: p.Profile}, err
}

// sites returns all places: the person's own first, then the profiles, then the trusted
// towns. What cannot be read is missing, and the error says it.
func sites(env *cli.Env) ([]site, error) {
	own := town.Personal(env.Getenv)
	if err := own.State.Check(); err != nil {
		return nil, err
	}
	warn := func(err error) { env.Warn("%v", err) }
	profiles, unread := instance.Profiles(own.State)
	all := []site{{town: own}}
	for _, name := range profiles {
		all = append(all, site{town: own, profile: name})
	}
	trusted, err := own.State.Towns()
	unread = errors.Join(unread, err)
	for _, t := range trusted {
		if trust, err := own.State.Trusted(t.Path); err == nil { // else it is another folder now
			all = append(all, site{town: town.Town{Root: t.Path, State: own.State, Trust: trust}})
		}
	}
	for i := range all {
		all[i].store = storeIn(all[i].town, all[i].profile)
		all[i].store.Warn = warn
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

// siteMember is a site with its agents.
type siteMember struct {
	site
	members []fleet.Member
	table   *agent.Table
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
func membersOf(env *cli.Env, all []site) (found []siteMember, unread error) {
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
		all[i].askAway(env, members)
		found = append(found, siteMember{all[i], members, at[i].Table})
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

// sites returns the places that a person means.
func (e everywhere) sites(env *cli.Env) ([]site, error) {
	if e.Everywhere {
		return sites(env)
	}
	one, err := e.site(env)
	return []site{one}, err
}
