package sessioncmd

import (
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/launch/parcel"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/text/fold"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// findMeant returns the instances that a name means, by the first of instance.Matchers that finds
// any. Archived and closed ones count only if it finds no others. A name can end with "@" and the
// name of this host.
func findMeant(at scope, all []*instance.Instance, name string) []*instance.Instance {
	found := instance.FindFirst(all, instance.Matchers(name, at.Env.Abs(name), at.Store.Session))
	if open := instance.OpenInstances(found); len(open) > 0 {
		return open
	}
	if found != nil {
		return found
	}
	if local := peer.NewHosts(at.Store.State).LocalName(name); local != name {
		return findMeant(at, all, local)
	}
	return nil
}

// findByName returns the instance that a name means. If nothing matches it returns unread, because
// the instance may be among those that could not be read. Without such an error it says what else
// has the name: a parcel that waits, a group, an agent that gt did not start or of another host.
func findByName(at scope, all []*instance.Instance, unread error, name string) (*instance.Instance, error) {
	if found := findMeant(at, all, name); len(found) > 0 {
		return singleMatch(found, name)
	}
	if unread != nil {
		return nil, unread
	}
	if _, err := parcel.WaitingFor(at.Store.State, name); err == nil {
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("%s came from another machine, and waits for you", name), fmt.Sprintf("gt-session accept %s shows what it brings, and starts it", name))
	}
	hint := instance.Hint(all, name, "gt-session lists them")
	if slices.ContainsFunc(all, func(in *instance.Instance) bool { return name != "" && string(in.Group) == name }) {
		hint = "it is a group: gt-session list -g " + name + " lists its agents"
	}
	if strings.HasPrefix(name, "%") {
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("gt-session has not started or adopted an agent in pane %.80s", name), roster.AdoptCommand+" adopts those in tmux")
	}
	if others := findStrangers(at, name); others != nil {
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("gt-session has not started or adopted the agent '%.80s' in pane %s", name, others[0].Name), roster.AdoptCommand+" adopts those in tmux")
	}
	if e, err := findOnHost(at.Env, name); err != nil {
		return nil, err
	} else if e != nil {
		if _, err := agentsNamed(at.Env, e.host, e.name); err != nil {
			return nil, err
		}
		return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("%s@%s is an agent of another host, which this command does not take", e.name, e.host.Name), "answer, attach, peek, send, start, status and stop do; the others work there")
	}
	return nil, cli.Fail(cli.AnswerNo, fmt.Errorf("there is no agent '%.80s'", name), hint)
}

// findStrangers returns the agents in tmux that gt did not start, and whose pane or actor is called
// name.
func findStrangers(at scope, name string) (found []*instance.Instance) {
	name = peer.NewHosts(at.Store.State).LocalName(name)
	if at.Profile != "" || name == "" {
		return nil
	}
	listed, _ := roster.ReadWithStrangers(at.Env, "", []scope{at}) // the caller says that there is none
	for _, s := range listed {
		for _, m := range s.Agents {
			if roster.IsStranger(m) && (m.Name == name || m.Record.Actor == name) {
				found = append(found, m.Instance)
			}
		}
	}
	return found
}

func findByPrefix(all []*instance.Instance, name string) []*instance.Instance {
	begins := func(in *instance.Instance) bool {
		return name != "" && !in.IsArchived() && strings.HasPrefix(fold.Text(in.Name), fold.Text(name))
	}
	return instance.FindFirst(all, []func(*instance.Instance) bool{begins})
}

// singleMatch returns the only match, or an error with the candidates. found is not empty.
func singleMatch(found []*instance.Instance, name string) (*instance.Instance, error) {
	if len(found) == 1 {
		return found[0], nil
	}
	err := cli.Failf(cli.AnswerNo, "'%.80s' is the name of %d agents", name, len(found))
	for _, in := range found[:min(len(found), maxCandidates)] {
		err = cli.WithHint(err, "%s", describeCandidate(in))
	}
	if more := len(found) - maxCandidates; more > 0 {
		err = cli.WithHint(err, "and %d more; gt-session lists them", more)
	}
	return nil, err
}

const maxCandidates = 10

// findReadable returns the instance with that name. What stops, removes, changes or types needs a
// whole one.
func findReadable(at scope, name string) (*instance.Instance, error) {
	all, unread := at.Store.ReadInstances()
	return findByName(at, all, unread, name)
}

// findShown is findReadable for a command that only looks. A name may also be the beginning of one,
// or the pane of an agent that gt did not start.
func findShown(at scope, name string) (*instance.Instance, error) {
	all, unread := at.Store.ReadInstances()
	found := findMeant(at, all, name)
	if len(found) == 0 && unread == nil {
		found = findByPrefix(all, term.TrimEllipsis(name))
	}
	if len(found) == 0 {
		found = findStrangers(at, name)
	}
	if len(found) > 0 {
		return singleMatch(found, name)
	}
	return findByName(at, all, unread, name)
}
