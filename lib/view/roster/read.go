package roster

import (
	"errors"
	"runtime/debug"
	"slices"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/place"
	"gt/lib/state/peer"
	"gt/lib/sys/tmux"
)

// gcPercent is the value of GOGC while agents are listed. A list of a thousand agents then
// needs no collection, and one of ten thousand takes 80 MB.
const gcPercent = 1600

// Listed is a scope with the status of its agents.
type Listed struct {
	Scope
	Agents   []fleet.Member
	Archived []fleet.Member // which do not run
}

// DeferGC raises GOGC until end is called, because a list ends before memory matters.
func DeferGC() (end func()) {
	before := debug.SetGCPercent(gcPercent)
	return func() { debug.SetGCPercent(before) }
}

// Read returns the agents of scopes with their status. unread reports instances that could not be read.
func Read(env *cli.Env, all []Scope) (found []Listed, unread error) {
	return ReadBySurvey(fleet.NewSurvey(env.Getenv, env.Now()), env, all)
}

// ReadBySurvey is Read in a survey that the caller uses for more.
func ReadBySurvey(look *fleet.Survey, env *cli.Env, all []Scope) (found []Listed, unread error) {
	defer DeferGC()()
	warned := map[string]bool{}
	at, loads, errs := make([]fleet.StoreInstances, len(all)), make([]*cli.Task, len(all)), make([]error, len(all))
	for i, p := range all { // while the instances are read
		loads[i] = cli.Go(func() { at[i].Table, errs[i] = agent.Load(place.Config(env.Getenv), p.Town) })
	}
	for i, p := range all {
		instances, err := p.Store.ReadInstances()
		unread = errors.Join(unread, err)
		loads[i].Wait()
		if err := errs[i]; err != nil && len(instances) > 0 && !warned[err.Error()] {
			warned[err.Error()] = true
			env.WarnError(err)
		}
		at[i].Store, at[i].Instances = p.Store, instances
	}
	hosts := Peers(env)
	claims, err := hosts.Claims()
	unread = errors.Join(unread, err)
	for i, members := range look.ReadStores(at) {
		for i := range members {
			m := &members[i]
			peer.MarkMoved(m.Instance, claims)
			hosts.Underway(m.Instance)
			if m.Moved != nil && m.Status == status.Error {
				m.Status = status.Stopped // nothing is wrong: it does not have to run here
			}
		}
		all[i].AskRuntimes(members)
		all[i].Table = func() *agent.Table { return at[i].Table }
		listed := Listed{Scope: all[i]}
		for _, m := range members {
			if IsArchived(m) {
				listed.Archived = append(listed.Archived, m)
			} else {
				listed.Agents = append(listed.Agents, m)
			}
		}
		found = append(found, listed)
	}
	return found, unread
}

// AdoptCommand is the command that makes gt's agents of those that it did not start.
const AdoptCommand = "gt-session import --tmux"

// IsStranger reports whether gt did not start an agent, and no list has it.
func IsStranger(m fleet.Member) bool { return m.ID == "" }

// IsArchived reports whether an agent is archived and does not run.
func IsArchived(m fleet.Member) bool {
	return m.IsArchived() && m.Pane.ID == "" && !m.Process.IsSet()
}

// ReadWithStrangers is Read, and has in the first scope the agents in tmux that gt did not
// start. A named profile has none.
func ReadWithStrangers(env *cli.Env, profile string, all []Scope) (found []Listed, unread error) {
	look := fleet.NewSurvey(env.Getenv, env.Now())
	if profile == "" {
		look.Ask(tmux.CurrentServer()) // while the instances are read
	}
	found, unread = ReadBySurvey(look, env, all)
	if profile != "" || unread != nil { // a pane may be an agent's that cannot be read
		return found, unread
	}
	found[0].Agents = append(found[0].Agents, findStrangers(env, look, found)...)
	return found, nil
}

// findStrangers returns the agents in tmux that no scope has.
func findStrangers(env *cli.Env, look *fleet.Survey, found []Listed) []fleet.Member {
	server := tmux.CurrentServer()
	taken := PanesOf(server, found)
	all := look.Strangers(found[0].Table(), server, func(pane string) bool { return taken[pane] })
	if len(all) == 0 {
		return nil
	}
	// They may be agents of scopes that are not listed.
	others, unread := ListScopes(env)
	others = slices.DeleteFunc(others, func(other Scope) bool {
		return slices.ContainsFunc(found, func(s Listed) bool { return s.Store.Dir == other.Store.Dir })
	})
	rest, err := ReadBySurvey(look, env, others)
	if unread != nil || err != nil {
		return nil // a pane may be an agent's that cannot be read
	}
	taken = PanesOf(server, rest)
	return slices.DeleteFunc(all, func(m fleet.Member) bool { return taken[m.Pane.ID] })
}

// PanesOf returns the panes of a tmux server that agents have.
func PanesOf(server tmux.Server, all []Listed) map[string]bool {
	taken := map[string]bool{}
	for _, s := range all {
		for _, m := range s.Agents {
			if m.Pane.ID != "" && tmux.Server(m.TmuxServer).SameServer(server) {
				taken[m.Pane.ID] = true
			}
		}
	}
	return taken
}
