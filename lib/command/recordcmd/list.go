package recordcmd

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place/home"
	"gt/lib/place/town"
	"gt/lib/record"
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type list struct {
	Limit *int   `short:"n" placeholder:"N" help:"Only the newest N (default 20); 0 lists all."`
	Agent string `placeholder:"NAME" help:"Only of this agent (claude, codex, ...)."`
	All   bool   `short:"a" help:"Include subagents and what was removed, and do not limit the number."`
	JSON  bool   `name:"json" help:"One JSON object per line."`
}

func (c *list) Validate() error {
	if c.Limit != nil && *c.Limit < 0 {
		return fmt.Errorf("--limit needs a number of at least 0")
	}
	return nil
}

const wideTable = 100 // the width, in columns, from which on a list has all columns

const usualLimit = 20

func (c *list) Run(env *cli.Env) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	all, err := listInfos(env, s)
	if err != nil {
		return err
	}
	if c.Agent != "" && !slices.ContainsFunc(all, func(i record.Info) bool { return i.Agent == c.Agent }) && !agent.Builtin().HasClient(c.Agent) {
		return agent.Builtin().UnknownError(c.Agent)
	}
	// A short id must be unique among all records, not only among those listed.
	number, shorten := len(all), shortenIDs(all)
	all = slices.DeleteFunc(all, func(i record.Info) bool {
		return c.Agent != "" && i.Agent != c.Agent || !c.All && (i.Parent != "" || i.Gone != "")
	})
	most := usualLimit
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case c.All, c.JSON:
		most = 0
	}
	more := most > 0 && len(all) > most
	if more {
		all = all[:most]
	}
	if c.JSON {
		return cli.JSONLines(env, all)
	}
	if len(all) == 0 {
		if number == 0 {
			env.Hint("nothing is recorded yet; gt-record sync --all copies what your agents keep, and gt-hooks install --all --record what comes")
		} else {
			env.Hint("none of %s matches", count.Plural(number, "record"))
		}
		return nil
	}
	width := term.Width(env.Stdout, env.Getenv)
	rows := term.Narrow(width, term.Cells(listColumns(env, all, shorten, width), all), "MESSAGES", "AGENT", "LAST")
	if err := term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, width, rows, nil); err != nil {
		return err
	}
	if more && c.Limit == nil {
		env.Hint("the newest %d; --all lists all", usualLimit)
	}
	return nil
}

// listColumns returns the columns of a table for a width; 0 is no limit. A narrow table
// leaves out STARTED and SIZE to make room for the topic.
func listColumns(env *cli.Env, all []record.Info, shorten func(string) string, width int) []term.Column[record.Info] {
	now, about, narrow := env.Now(), topicsOf(env, all), width > 0 && width < wideTable
	return []term.Column[record.Info]{
		{Heading: "SESSION", Cell: func(i record.Info) string { return shorten(i.Session) }},
		{Heading: "AGENT", Cell: func(i record.Info) string { return term.Clean(i.Agent) }},
		{Heading: "STARTED", Hidden: narrow, Cell: func(i record.Info) string { return term.FormatDay(i.Started, now) }},
		{Heading: "LAST", Cell: func(i record.Info) string { return term.FormatDay(i.Ended, now) }},
		{Heading: "MESSAGES", Cell: func(i record.Info) string { return strconv.Itoa(i.Messages) }},
		{Heading: "SIZE", Hidden: narrow, Cell: func(i record.Info) string { return term.FormatSize(i.Size) }},
		{Heading: "TOPIC", Cell: func(i record.Info) string {
			topic := about(i)
			if i.Gone != "" {
				topic = "(" + string(i.Gone) + ")"
			}
			return term.OneLine(term.Clean(env.Redact(topic)))
		}},
	}
}

// topicsOf returns a function that returns what a session was about. It uses the event logs
// and the conversation, as gt-seance does.
func topicsOf(env *cli.Env, all []record.Info) func(record.Info) string {
	known := readLogged(env, all)
	return func(i record.Info) string {
		s := catalog.Session{Branch: i.Branch}
		if found := known.Find(i.Session); len(found) == 1 && string(found[0].ID) == i.Session {
			s = *found[0]
		}
		s.Title = i.Title
		return s.Headline()
	}
}

// readLogged reads the event logs of the person, and of the towns of this folder and the records'.
func readLogged(env *cli.Env, all []record.Info) catalog.Catalog {
	folders := map[string]bool{}
	for _, i := range all {
		folders[i.CWD] = true
	}
	delete(folders, "")
	personal := town.Personal(env.Getenv)
	towns := []town.Town{personal, home.Find(env.Getenv, env.Dir, "").Town}
	return catalog.ReadTowns(append(towns, town.FindContaining(personal.State, maps.Keys(folders))...), nil, env.WarnError)
}

// shortenIDs returns a function that shortens a client's session id to a prefix that is unique
// among all records, with at least eight characters.
func shortenIDs(all []record.Info) func(string) string {
	var ids []string
	for _, i := range all {
		ids = append(ids, i.Session)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	return func(id string) string {
		n := 8
		at, _ := slices.BinarySearch(ids, id)
		for _, other := range ids[max(0, at-1):min(len(ids), at+2)] {
			for other != id && n < len(id) && strings.HasPrefix(other, id[:n]) {
				n++
			}
		}
		return id[:min(n, len(id))]
	}
}

// listInfos returns what a list shows of all records, newest first. It warns of those that it cannot read.
func listInfos(env *cli.Env, s record.Store) ([]record.Info, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	all, errs := make([]record.Info, len(ids)), make([]error, len(ids))
	cli.Parallel(cli.Numbers(len(ids)), func(i int) { all[i], errs[i] = s.Info(ids[i]) })
	env.WarnError(errors.Join(errs...))
	all = slices.DeleteFunc(all, func(i record.Info) bool { return i.ID == "" })
	slices.SortStableFunc(all, func(a, b record.Info) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// completers completes a record's id: by its session's, or by its own if that is what was begun.
func completers() map[string]cli.Completer {
	return map[string]cli.Completer{"id": func(env *cli.Env, begin string) []cli.Candidate {
		s, err := record.StoreOf(env.Getenv)
		if err != nil {
			return nil
		}
		all, err := listInfos(env, s)
		if err != nil {
			return nil
		}
		const most = 50
		var offered []cli.Candidate
		for _, i := range all {
			word := i.Session
			if strings.HasPrefix(string(i.ID), begin) && begin != "" {
				word = string(i.ID)
			}
			if strings.HasPrefix(word, begin) && i.Gone == "" && len(offered) < most {
				about := strings.Join([]string{term.FormatDay(i.Started, env.Now()), i.Agent, i.Title}, " · ")
				offered = append(offered, cli.Candidate{Word: word, About: env.Redact(about)})
			}
		}
		return offered
	}}
}
