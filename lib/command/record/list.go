package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	kept "gt/lib/record"
	"gt/lib/text/term"
)

type list struct {
	Limit *int   `short:"n" placeholder:"N" help:"Only the newest N (default 20); 0 lists all."`
	Agent string `placeholder:"NAME" help:"Only this client's (claude, codex, ...)."`
	All   bool   `short:"a" help:"Include subagents and what was removed, and do not limit the number."`
	JSON  bool   `name:"json" help:"One JSON object per line."`
}

// Validate refuses a negative number of records.
func (c *list) Validate() error {
	if c.Limit != nil && *c.Limit < 0 {
		return fmt.Errorf("--limit needs a number of at least 0")
	}
	return nil
}

// wide is how many columns all of a list needs.
const wide = 100

// usual is how many records are listed where nothing is said of it.
const usual = 20

// Run lists records.
func (c *list) Run(env *cli.Env) error {
	s, err := store(env)
	if err != nil {
		return err
	}
	all, err := infos(env, s)
	if err != nil {
		return err
	}
	if c.Agent != "" && !slices.ContainsFunc(all, func(i kept.Info) bool { return i.Agent == c.Agent }) && !agent.Builtin().Known(c.Agent) {
		return agent.Builtin().Unknown(c.Agent)
	}
	number := len(all)
	all = slices.DeleteFunc(all, func(i kept.Info) bool {
		return c.Agent != "" && i.Agent != c.Agent || !c.All && (i.Parent != "" || i.Gone != "")
	})
	most := usual
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case c.All || c.JSON:
		most = 0
	}
	more := most > 0 && len(all) > most
	if more {
		all = all[:most]
	}
	if c.JSON {
		for _, i := range all {
			if err := env.JSON(i); err != nil {
				return err
			}
		}
		return nil
	}
	if len(all) == 0 {
		switch {
		case number == 0:
			env.Hint("nothing is recorded yet; gt-record sync --all copies what your agents keep")
		default:
			env.Hint("none of %s matches", count(number, "record", "records"))
		}
		return nil
	}
	now := env.Now()
	rows := [][]string{{"SESSION", "AGENT", "STARTED", "LAST", "MESSAGES", "SIZE", "TOPIC"}}
	for _, i := range all {
		topic := i.Title
		if i.Gone != "" {
			topic = "(" + string(i.Gone) + ")"
		}
		rows = append(rows, []string{
			short(i.Session), term.Clean(i.Agent), term.Day(i.Started, now), term.Day(i.Ended, now), strconv.Itoa(i.Messages), term.Size(i.Size),
			term.OneLine(term.Clean(env.Redact(topic))),
		})
	}
	width := term.Width(env.Stdout, env.Getenv)
	if width > 0 && width < wide { // without STARTED and SIZE, for the topic tells most
		for i, r := range rows {
			rows[i] = []string{r[0], r[1], r[3], r[4], r[6]}
		}
	}
	if err := term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, width, rows, nil); err != nil {
		return err
	}
	if more && c.Limit == nil {
		env.Hint("the newest %d; --all lists all", usual)
	}
	return nil
}

// short is the beginning of a client's id, which mostly is enough to name it.
func short(id string) string {
	const enough = 8
	if strings.Count(id, "-") == 4 && len(id) == 36 && id[14] != '7' { // the first of a UUID of version 7 is a time
		return id[:enough]
	}
	return id
}

// infos reads what a list shows of all records, the newest first. What cannot be read is
// warned of.
func infos(env *cli.Env, s kept.Store) ([]kept.Info, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	all, errs := make([]kept.Info, len(ids)), make([]error, len(ids))
	at := make([]int, len(ids))
	for i := range at {
		at[i] = i
	}
	cli.Parallel(at, func(i int) { all[i], errs[i] = s.Info(ids[i]) })
	for _, err := range errs {
		if err != nil {
			env.Warn("%v", err)
		}
	}
	all = slices.DeleteFunc(all, func(i kept.Info) bool { return i.ID == "" })
	slices.SortStableFunc(all, func(a, b kept.Info) int {
		return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

// completers offer records, the newest first.
func completers() map[string]cli.Completer {
	return map[string]cli.Completer{"id": func(env *cli.Env, begin string) []cli.Candidate {
		s, err := kept.StoreOf(env.Getenv)
		if err != nil {
			return nil
		}
		all, err := infos(env, s)
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
				about := strings.Join([]string{term.Day(i.Started, env.Now()), i.Agent, i.Title}, " · ")
				offered = append(offered, cli.Candidate{Word: word, About: env.Redact(about)})
			}
		}
		return offered
	}}
}
