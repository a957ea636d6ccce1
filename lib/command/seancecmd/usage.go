package seancecmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"gt/lib/catalog"
	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

type usage struct {
	selection
	ID   string `arg:"" optional:"" help:"The session, by its id or the beginning of it (default: all)."`
	Each bool   `help:"Add a line for each session."`
	JSON bool   `name:"json" help:"One JSON object per line."`
}

// spending is what a session, or all together, used of a model.
type spending struct {
	Session string `json:"session_id,omitempty"`
	conversation.ModelUsage
}

// Run prints the sum of what the transcripts report. A session includes its subagents; a
// subagent whose parent is gone counts by itself. What a fork copied is counted once.
func (c *usage) Run(env *cli.Env) error {
	if c.ID != "" && !c.everything() {
		return cli.Fail(cli.Usage, errors.New("a session's id and a filter cannot be combined"))
	}
	found, all, err := c.spenders(env)
	if err != nil {
		return err
	}
	spent := addUp(env, found, all.Subagents())
	if spent.read == 0 {
		return cli.Fail(cli.No, fmt.Errorf("no conversation of %s is on this machine", number(len(found), "session")), "their agents have deleted them; gt-record keeps conversations, if you ask for it")
	}
	var lines []spending
	if c.Each {
		lines = spent.each
	}
	models := spent.models()
	lines = append(lines, models...)
	for i := range lines {
		lines[i].Model = env.Redact(lines[i].Model)
	}
	if c.JSON {
		for _, l := range lines {
			if err := env.JSON(l); err != nil {
				return err
			}
		}
		return nil
	}
	if len(models) > 1 {
		lines = append(lines, total(models))
	}
	if spent.read < len(found) {
		env.Hint("%d of %s left no transcript here", len(found)-spent.read, number(len(found), "session"))
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), c.table(lines), nil)
}

type expenses struct {
	tally conversation.UsageTally
	each  []spending // by session and model
	read  int        // number of transcripts read
}

func addUp(env *cli.Env, sessions []*catalog.Session, workers func(session.ID) []*catalog.Session) (all expenses) {
	ours := owned(env)
	var lost conversation.ReadErrors
	for _, s := range sessions {
		own := conversation.UsageTally{}
		for _, s := range append([]*catalog.Session{s}, workers(s.ID)...) {
			f, err := transcriptOf(env, ours, s)
			if err != nil {
				var foreign *account.ForeignError
				if errors.As(err, &foreign) {
					lost.Add(err)
				}
				continue
			}
			added, err := all.tally.Add(scan.ReaderOf(f.Client), f)
			if err != nil {
				env.Warn("%v", err)
				continue
			}
			own.AddAll(added)
			all.read++
		}
		for _, u := range own.Sum() {
			all.each = append(all.each, spending{string(s.ID), u})
		}
	}
	if err := lost.Err(); err != nil {
		env.Warn("%v", err)
	}
	return all
}

func (e *expenses) models() (all []spending) {
	for _, u := range e.tally.Sum() {
		all = append(all, spending{"", u})
	}
	return all
}

func (c *usage) table(lines []spending) [][]string {
	free := !slices.ContainsFunc(lines, func(l spending) bool { return l.Cost > 0 })
	return term.Cells([]term.Column[spending]{
		{Heading: "SESSION", Hidden: !c.Each, Cell: func(l spending) string { return cmp.Or(l.Session, "all") }},
		{Heading: "MODEL", Cell: func(l spending) string { return l.Model }},
		{Heading: "INPUT", Cell: func(l spending) string { return grouped(l.Input) }},
		{Heading: "CACHE READ", Cell: func(l spending) string { return grouped(l.CacheRead) }},
		{Heading: "CACHE WRITE", Cell: func(l spending) string { return grouped(l.CacheWrite) }},
		{Heading: "OUTPUT", Cell: func(l spending) string { return grouped(l.Output) }},
		{Heading: "COST", Hidden: free, Cell: func(l spending) string { return cost(l.Cost) }},
	}, lines)
}

// spenders returns the selected sessions, oldest first. Subagents are left out unless their
// parent is gone.
func (c *usage) spenders(env *cli.Env) ([]*catalog.Session, catalog.Catalog, error) {
	c.All = false
	found, all, err := thoseOf(env, c.ID, c.selection)
	if err != nil || c.ID != "" {
		return found, all, err
	}
	f, err := c.filter(env, all)
	f.Subagents = true
	orphan := all.OrphanedSubagent()
	for s := range all.All() {
		if orphan(s) && f.Matches(s) {
			found = append(found, s)
		}
	}
	return found, all, err
}

func total(lines []spending) spending {
	sum := spending{ModelUsage: conversation.ModelUsage{Model: "total"}}
	for _, l := range lines {
		sum.Input += l.Input
		sum.CacheRead += l.CacheRead
		sum.CacheWrite += l.CacheWrite
		sum.Output += l.Output
		sum.Cost += l.Cost
	}
	return sum
}

func cost(dollars float64) string {
	if dollars == 0 {
		return ""
	}
	return fmt.Sprintf("$%.4f", dollars)
}

// grouped formats a number with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
