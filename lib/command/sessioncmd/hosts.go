package sessioncmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/conversation/price"
	"gt/lib/live/fleet"
	"gt/lib/place/git"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	counted "gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// listHosts lists rows, which are this host's, and the agents of the other hosts as they told last.
func (c *list) listHosts(env *cli.Env, rows []row, unread error) error {
	hosts, err := roster.Peers(env).ReadHosts()
	unread = errors.Join(unread, err)
	if c.JSON {
		unread = c.printJSON(env, rows, unread)
	}
	for _, h := range hosts {
		theirs, err := roster.Peers(env).Agents(h, env.Now())
		unread = errors.Join(unread, err)
		for _, a := range theirs {
			switch {
			case !c.matchesFlags(a.Status, a.Agent, a.Group, a.Template, a.State):
			case c.JSON:
				if err := env.JSON(cleanPeerAgent(env, a)); err != nil {
					return err
				}
			default:
				rows = append(rows, row{Hosted: roster.HostedAgent(a)})
			}
		}
	}
	if !c.JSON && len(rows) == 0 {
		env.Hint("no agent matches")
	} else if !c.JSON {
		if err := c.printTable(env, rows, false); err != nil {
			return errors.Join(err, unread)
		}
	}
	for _, h := range hosts {
		warnAway(env, h)
	}
	return unread
}

// cleanPeerAgent returns another host's agent for printing, without secrets and without its departures.
func cleanPeerAgent(env *cli.Env, a peer.Agent) peer.Agent {
	for _, text := range []*string{&a.ID, &a.Name, &a.Title, &a.Path, &a.WorksIn, &a.Group, &a.Agent, &a.Desired, &a.Reason, &a.SessionID, &a.ChainID, &a.Profile, &a.Town, &a.Actor, &a.Template, &a.State} {
		*text = env.Redact(*text)
	}
	if a.Departures = nil; a.Moved != nil {
		a.Moved = &instance.Moved{To: env.Redact(a.Moved.To), At: a.Moved.At, Complete: a.Moved.Complete, Waits: a.Moved.Waits}
	}
	return a
}

func warnAway(env *cli.Env, h peer.Host) {
	if now := env.Now(); h.IsAway(now) {
		env.Hint("%s: %s", h.Name, h.Seen(now))
	}
}

// printNamed prints the status of c.Name: an agent of this host, or one of another host (NAME@HOST)
// as that host told last.
func (c *summed) printNamed(env *cli.Env) error {
	name, at, ok := peer.SplitAddress(c.Name)
	own, err := roster.OwnHost(env)
	if err != nil {
		return err
	}
	if !ok || at == own {
		if !ok {
			name = c.Name
		}
		in, err := c.ProvideScope(env)
		if err != nil {
			return err
		}
		m, err := findMember(in, name)
		if err != nil {
			return err
		}
		if c.JSON {
			l := newJSONAgent(env, m)
			l.Host = own
			return errors.Join((routeMarkers{}).setRoutable(in.Store, l.templated, m.Name), env.JSON(l))
		}
		return errors.Join(printStatus(env, m.Name, roster.StatusText(m), m.Since), printProgress(in, m))
	}
	h, err := roster.Peers(env).Find(at)
	if err != nil {
		return err
	}
	all, err := agentsNamed(env, h, name)
	if err != nil {
		warnAway(env, h)
		return err
	}
	for _, a := range all {
		if c.JSON {
			err = env.JSON(cleanPeerAgent(env, a))
		} else {
			err = printStatus(env, a.Name+"@"+h.Name, roster.PeerStatus(a), roster.HostedAgent(a).Since)
		}
		if err != nil {
			return err
		}
	}
	warnAway(env, h)
	return nil
}

// printProgress prints what an agent is at, on a terminal only: a program that reads the status
// gets one line, at once.
func printProgress(at scope, m fleet.Member) error {
	env := at.Env
	if term.Width(env.Stdout, env.Getenv) == 0 {
		return nil
	}
	rows := []row{{Hosted: roster.HostedRow(env, "", roster.Row{Member: &m, Scope: at})}}
	warn := env.WarnError
	notToday := func(name string) bool { return name != "today" }
	lookUpColumns(env, rows, notToday, glanceWait, warn)
	work := progressOf(env, rows[0], notToday)
	branch, context := env.Redact(git.BranchOrCommit(git.Top(m.WorksIn()))), ""
	if work.Changes != nil {
		branch = strings.TrimSpace(branch + " " + work.Changes.String())
	}
	if c := work.Context; c != nil && c.Window > 0 {
		context = fmt.Sprintf("%s of %s tokens", roster.ContextText(c.Tokens, c.Window), counted.Compact(c.Window))
	} else if c != nil {
		context = counted.Compact(c.Tokens) + " tokens"
	}
	err := printFields(env, 10, [][2]string{{"  topic", work.Topic}, {"  branch", branch}, {"  context", context}})
	if err != nil {
		return err
	}
	// Last, because counting what was used today can take long.
	lookUpColumns(env, rows, func(name string) bool { return name == "today" }, requestedWait, warn)
	used := rows[0].today
	if used == (conversation.Usage{}) {
		return nil
	}
	tokens := strings.TrimSuffix(counted.Compact(used.Tokens())+" tokens, "+price.Text(used), ", ")
	return printFields(env, 10, [][2]string{{"  today", tokens}})
}

func printStatus(env *cli.Env, name, status string, since time.Time) error {
	line := env.Line(name, maxCell) + "  " + env.Line(status, maxCell)
	if !since.IsZero() {
		line += " for " + duration.Format(duration.Rough(env.Now().Sub(since)))
	}
	return env.Println(line)
}
