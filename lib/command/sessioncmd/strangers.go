package sessioncmd

import (
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/live/fleet"
	"gt/lib/sys/tmux"
)

// adopts is the command that makes gt's agents of those that it did not start.
const adopts = "gt-session import --tmux"

// isStranger reports whether gt did not start an agent, and no list has it.
func isStranger(m fleet.Member) bool { return m.ID == "" }

// withStrangers is membersOf, and has in the first scope the agents in tmux that gt did not
// start. A named profile has none.
func (p profile) withStrangers(env *cli.Env, all []scope) (found []scopeMembers, unread error) {
	look := fleet.NewSurvey(env.Getenv, env.Now())
	if p.Profile == "" {
		look.Ask(tmux.Around()) // while the instances are read
	}
	found, unread = membersAt(look, env, all)
	if p.Profile != "" || unread != nil { // a pane may be an agent's that cannot be read
		return found, unread
	}
	found[0].members = append(found[0].members, strangers(env, look, found)...)
	return found, nil
}

// strangers returns the agents in tmux that no scope has.
func strangers(env *cli.Env, look *fleet.Survey, found []scopeMembers) []fleet.Member {
	server := tmux.Around()
	taken := panesOf(server, found)
	all := look.Strangers(found[0].table(), server, func(pane string) bool { return taken[pane] })
	if len(all) == 0 {
		return nil
	}
	// They may be agents of scopes that are not listed.
	others, unread := scopes(env)
	others = slices.DeleteFunc(others, func(other scope) bool {
		return slices.ContainsFunc(found, func(s scopeMembers) bool { return s.store.Dir == other.store.Dir })
	})
	rest, err := membersAt(look, env, others)
	if unread != nil || err != nil {
		return nil
	}
	taken = panesOf(server, rest)
	return slices.DeleteFunc(all, func(m fleet.Member) bool { return taken[m.Pane.ID] })
}

// panesOf returns the panes of a tmux server that agents have.
func panesOf(server tmux.Server, all []scopeMembers) map[string]bool {
	taken := map[string]bool{}
	for _, s := range all {
		for _, m := range s.members {
			if m.Pane.ID != "" && tmux.Server(m.TmuxServer).Is(server) {
				taken[m.Pane.ID] = true
			}
		}
	}
	return taken
}

// offerAdoption prints the command that adopts strangers in these panes.
func offerAdoption(env *cli.Env, panes []string) {
	if len(panes) > 0 {
		env.Hint("gt-session did not start %s; %s adopts such agents", strings.Join(panes, ", "), adopts)
	}
}
