package sessioncmd

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"gt/lib/cli"
	"gt/lib/live/fleet"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/text/duration"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

type summed struct {
	everywhereFlag
	Name  string `arg:"" optional:"" help:"Only this agent; NAME@HOST is one of another host."`
	Quiet bool   `short:"q" xor:"form" help:"Print how many agents wait, or nothing if none does."`
	Tmux  bool   `xor:"form" help:"Print who waits in a few words, for tmux's status line."`
	JSON  bool   `name:"json" xor:"form" help:"Print a NAME's agent as list --json does."`
}

func (c *summed) Validate() error {
	switch {
	case c.Name != "" && c.Everywhere:
		return errors.New("-A is for all agents (leave the NAME out)")
	case c.Name == "" && c.JSON:
		return errors.New("--json needs a NAME (gt-session list --json prints all)")
	case c.Name != "" && (c.Quiet || c.Tmux):
		return errors.New("--quiet and --tmux are for all agents (leave the NAME out)")
	}
	return c.everywhereFlag.Validate()
}

// Run prints a summary of all agents, or the status of the named one, which can be on another host.
func (c *summed) Run(env *cli.Env) error {
	if c.Name != "" {
		return c.printNamed(env)
	}
	defer roster.DeferGC()() // until the summary is printed
	scopes, err := c.scopes(env)
	if scopes == nil || err != nil && !c.Everywhere {
		return err
	}
	found, unread := roster.ReadWithStrangers(env, c.Profile, scopes)
	unread = errors.Join(unread, err)
	var all []fleet.Member
	byStatus := map[status.Status][]fleet.Member{}
	for _, s := range found {
		for _, m := range s.Agents {
			all, byStatus[m.Status] = append(all, m), append(byStatus[m.Status], m)
		}
	}
	waiting := byStatus[status.Waiting]
	sort.SliceStable(waiting, func(i, j int) bool { return urgency(waiting[i].Reason) < urgency(waiting[j].Reason) })
	err = nil
	switch {
	case c.Quiet:
		if n := len(byStatus[status.Waiting]); n > 0 {
			err = env.Println(n)
		}
	case c.Tmux:
		if text := forTmux(byStatus); text != "" {
			err = env.Println(text)
		}
		unread = nil // a status line has no room for errors
	default:
		err = c.print(env, byStatus)
		hintLost(env, all)
		if len(all) == 0 && unread == nil {
			hintNoneListed(scopes[0], false)
		}
		offerAdoption(env, all)
	}
	return errors.Join(err, unread)
}

// urgency orders agents that wait: first those that ask and cannot go on, then those whose turn
// went wrong, last those that are done.
func urgency(r status.Reason) int {
	switch {
	case r.Asks():
		return 0
	case r == status.Done:
		return 2
	}
	return 1
}

// print prints the counts and a line for each agent that waits, failed or is silent. Agents of an
// account whose login is refused share a line.
func (c *summed) print(env *cli.Env, by map[status.Status][]fleet.Member) error {
	var counts []string
	for _, s := range roster.StatusOrder {
		if n := len(by[s]); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, s))
		}
	}
	if counts == nil {
		return nil
	}
	out := bufio.NewWriterSize(env.Stdout, 64<<10)
	fmt.Fprintln(out, strings.Join(counts, ", "))
	var rows [][3]string
	width := term.Width(env.Stdout, env.Getenv)
	for _, one := range refusedLogins(by[status.Waiting]) {
		rows = append(rows, [3]string{env.Line(strings.Join(one.names, ", "), maxCell), one.describeRefusal(env)})
	}
	for _, s := range roster.StatusOrder[:3] { // waiting, error, running
		for _, m := range by[s] {
			if m.NeedsLogin || s == status.Running && m.SilentFor == 0 {
				continue // it has a row already, or works as it should
			}
			does := roster.StatusText(m)
			if !m.Since.IsZero() && m.SilentFor == 0 {
				does += " for " + duration.Format(duration.Rough(env.Now().Sub(m.Since)))
			}
			topic := ""
			if width > 0 {
				topic = env.Line(m.Topic(), maxCell)
			}
			rows = append(rows, [3]string{env.Line(m.Name, maxCell), does, topic})
		}
	}
	widest := 0
	for _, row := range rows {
		if n := term.Columns(row[0]); n <= maxAligned {
			widest = max(widest, n)
		}
	}
	for _, row := range rows {
		line := "  " + row[0] + strings.Repeat(" ", max(widest-term.Columns(row[0]), 0)) + "  " + row[1]
		if room := width - term.Columns(line) - 2; row[2] != "" && room >= leastTopic {
			line += "  " + term.Cut(row[2], room)
		}
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

const maxAligned = 30 // the greatest width of a name behind which the others are aligned

const leastTopic = 12 // how much room a topic needs

const maxNamed = 3

// forTmux returns a status line with the agents that wait, failed or are silent, "" for none. It
// escapes tmux's style characters.
func forTmux(by map[status.Status][]fleet.Member) string {
	var parts []string
	for _, s := range []string{string(status.Waiting), string(status.Error), string(activity.Silent)} {
		all := by[status.Status(s)]
		if s == string(activity.Silent) { // which is no status: such an agent runs
			all = slices.DeleteFunc(slices.Clone(by[status.Running]), func(m fleet.Member) bool { return m.SilentFor == 0 })
		}
		if len(all) == 0 {
			continue
		}
		var names []string
		for _, m := range all[:min(len(all), maxNamed)] {
			names = append(names, m.Name)
		}
		if more := len(all) - len(names); more > 0 {
			names = append(names, fmt.Sprintf("+%d", more))
		}
		parts = append(parts, fmt.Sprintf("%d %s: %s", len(all), s, strings.Join(names, ", ")))
	}
	return strings.ReplaceAll(strings.Join(parts, " · "), "#", "##")
}
