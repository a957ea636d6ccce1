package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/text/duration"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

func (c *list) hosted(env *cli.Env, rows []row, unread error) error {
	own, err := roster.OwnHost(env)
	unread = errors.Join(unread, err)
	hosts, err := roster.Peers(env).ReadHosts()
	unread = errors.Join(unread, err)
	var all []roster.Hosted
	for _, r := range rows {
		all = append(all, roster.HostedRow(env, own, r.Row))
	}
	if c.JSON {
		unread = c.printJSON(env, rows, unread)
	}
	for _, h := range hosts {
		theirs, err := roster.Peers(env).Agents(h, env.Now())
		unread = errors.Join(unread, err)
		for _, a := range theirs {
			switch {
			case !c.selectsAgent(a):
			case c.JSON:
				if err := env.JSON(cleaned(env, a)); err != nil {
					return err
				}
			default:
				all = append(all, roster.HostedAgent(a))
			}
		}
	}
	if !c.JSON {
		if err := printHosted(env, all); err != nil {
			return errors.Join(err, unread)
		}
	}
	for _, h := range hosts {
		warnAway(env, h)
	}
	return unread
}

func cleaned(env *cli.Env, a peer.Agent) peer.Agent {
	for _, text := range []*string{&a.ID, &a.Name, &a.Title, &a.Path, &a.Group, &a.Agent, &a.Desired, &a.Reason, &a.SessionID, &a.ChainID, &a.Profile, &a.Town, &a.Template, &a.State} {
		*text = env.Redact(*text)
	}
	if a.Departures = nil; a.Moved != nil {
		a.Moved = &instance.Moved{To: env.Redact(a.Moved.To), At: a.Moved.At, Complete: a.Moved.Complete, Waits: a.Moved.Waits}
	}
	return a
}

func (c *list) selectsAgent(a peer.Agent) bool {
	return (c.Status == "" || c.Status == a.Status) && (c.Agent == "" || c.Agent == a.Agent) &&
		(c.Group == "" || instance.IsInGroup(a.Group, strings.Trim(c.Group, "/"))) &&
		(c.Template == "" || c.Template == a.Template) && (c.State == "" || slices.Contains(strings.Split(c.State, ","), a.State))
}

func printHosted(env *cli.Env, all []roster.Hosted) error {
	if len(all) == 0 {
		env.Hint("no agent matches")
		return nil
	}
	line := func(text string) string { return env.Line(text, maxCell) }
	now := env.Now()
	cells := term.Cells([]term.Column[roster.Hosted]{
		{Heading: "NAME", Cell: func(h roster.Hosted) string {
			return strings.Repeat("  ", h.Depth) + line(h.Name)
		}},
		{Heading: "HOST", Cell: func(h roster.Hosted) string { return cmp.Or(h.Host, "-") }},
		{Heading: "STATUS", Cell: func(h roster.Hosted) string { return line(h.Text) }},
		{Heading: "FOR", Cell: func(h roster.Hosted) string {
			if h.Since.IsZero() {
				return ""
			}
			return duration.Format(roster.Rough(now.Sub(h.Since)))
		}},
		{Heading: "AGENT", Cell: func(h roster.Hosted) string { return line(h.Agent) }},
		{Heading: "GROUP", Hidden: !slices.ContainsFunc(all, func(h roster.Hosted) bool { return h.Group != "" }), Cell: func(h roster.Hosted) string { return line(h.Group) }},
		{Heading: "FOLDER", Cell: func(h roster.Hosted) string { return line(h.Folder) }},
	}, all)
	width := term.Width(env.Stdout, env.Getenv)
	cells = term.Narrow(width, cells, "AGENT", "FOLDER", "GROUP", "FOR")
	return term.StyleFor(env.Stdout, env.Getenv).CutLast("STATUS").TableOfPaths(env.Stdout, width, cells, painted(env, slices.Index(cells[0], "STATUS")))
}

// warnAway says when a host was last seen, unless it is there now.
func warnAway(env *cli.Env, h peer.Host) {
	if now := env.Now(); h.IsAway(now) {
		env.Hint("%s: %s", h.Name, h.Seen(now))
	}
}

// named prints the status of one agent, of this host or of another.
func (c *summed) named(env *cli.Env) error {
	name, at, ok := peer.Split(c.Name)
	own, err := roster.OwnHost(env)
	if err != nil {
		return err
	}
	if !ok || at == own {
		if !ok {
			name = c.Name
		}
		m, in, err := c.member(env, name)
		if err != nil {
			return err
		}
		if c.JSON {
			l := lineOf(env, m)
			l.Host = own
			return errors.Join((marks{}).tell(in.Store, l.templated, m.Name), env.JSON(l))
		}
		return printOne(env, m.Name, roster.StatusText(m), m.Since)
	}
	h, err := roster.Peers(env).Find(at)
	if err != nil {
		return err
	}
	all, err := roster.Peers(env).Agents(h, env.Now())
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(a peer.Agent) bool { return a.Name != name && a.ID != name })
	if len(all) == 0 {
		warnAway(env, h)
		return cli.Fail(cli.AnswerNo, fmt.Errorf("there is no agent '%.80s' on %s", name, h.Name), "gt-session list --hosts lists them")
	}
	for _, a := range all {
		if c.JSON {
			err = env.JSON(cleaned(env, a))
		} else {
			err = printOne(env, a.Name+"@"+h.Name, roster.PeerStatus(a), roster.HostedAgent(a).Since)
		}
		if err != nil {
			return err
		}
	}
	warnAway(env, h)
	return nil
}

func printOne(env *cli.Env, name, status string, since time.Time) error {
	line := env.Line(name, maxCell) + "  " + env.Line(status, maxCell)
	if !since.IsZero() {
		line += " for " + duration.Format(roster.Rough(env.Now().Sub(since)))
	}
	_, err := fmt.Fprintln(env.Stdout, line)
	return err
}
