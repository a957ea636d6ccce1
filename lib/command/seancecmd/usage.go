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
	"gt/lib/text/count"
	"gt/lib/text/term"
)

type usage struct {
	selection
	ID   string   `arg:"" optional:"" help:"The session, by its id or the beginning of it (default: all)."`
	By   []string `enum:"day,model,agent,chain,session" default:"model" placeholder:"WHAT" help:"A line for each day, model, agent, chain or session, or of several, as in day,model (default: model)."`
	Each bool     `help:"Add a line for each session and model."`
	JSON bool     `name:"json" help:"One JSON object per line."`

	selected int  // how many sessions
	foreign  bool // one of them is another host's
}

// spending is what was used. Only what it is grouped by is set.
type spending struct {
	Session string `json:"session_id,omitempty"`
	Day     string `json:"day,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Chain   string `json:"chain_id,omitempty"`
	Model   string `json:"model,omitempty"`
	conversation.Usage
	Stated float64 `json:"cost,omitempty"` // Cost, which is cost_usd; set as it is printed
}

// groups are what spendings are grouped by, in the order of the columns.
var groups = []struct {
	by, heading string
	of          func(*spending) *string
}{
	{"session", "SESSION", func(s *spending) *string { return &s.Session }},
	{"day", "DAY", func(s *spending) *string { return &s.Day }},
	{"agent", "AGENT", func(s *spending) *string { return &s.Agent }},
	{"chain", "CHAIN", func(s *spending) *string { return &s.Chain }},
	{"model", "MODEL", func(s *spending) *string { return &s.Model }},
}

// Run prints the sum of what the transcripts report. A session includes its subagents; a
// subagent whose parent is gone counts by itself. What a fork copied is counted once, for the
// session that it copied it from.
func (c *usage) Run(env *cli.Env) error {
	if c.ID != "" && !c.everything() {
		return cli.Fail(cli.Usage, errors.New("a session's id and a filter cannot be combined"))
	}
	found, all, err := c.spenders(env)
	if err != nil {
		return err
	}
	if c.ID != "" { // otherwise the selection has said it
		warnStale(env, found...)
	}
	spent, read := c.addUp(env, found, all)
	if read == 0 {
		why := "their agents have deleted them; gt-record keeps conversations, if you ask for it"
		if c.foreign {
			why = "the conversations of another host are there"
		}
		return cli.Fail(cli.No, fmt.Errorf("no conversation of %s is on this machine", count.Of(c.selected, "session")), why)
	}
	var lines []spending
	if c.Each {
		lines = grouped(spent, []string{"session", "model"})
	}
	sums := grouped(spent, c.By)
	lines = append(lines, sums...)
	if c.JSON {
		for i := range lines {
			lines[i].Stated = lines[i].Cost
		}
		return cli.JSONLines(env, lines)
	}
	if len(sums) > 1 {
		lines = append(lines, grouped(sums, nil)...)
	}
	if read < c.selected {
		env.Hint("%d of %s left no transcript here", c.selected-read, count.Of(c.selected, "session"))
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), c.table(lines), nil)
}

// unknown is the model or day of what a conversation does not date or attribute.
const unknown = "unknown"

// addUp returns what the sessions used, and how many transcripts were read.
func (c *usage) addUp(env *cli.Env, sessions []*catalog.Session, all catalog.Catalog) (spent []spending, read int) {
	n := newCounter(env, all)
	n.tally.Since, n.tally.Until = c.Since.Before(env.Now()), c.Until.Before(env.Now())
	for _, s := range sessions {
		for _, of := range append([]*catalog.Session{s}, all.Subagents(s.ID)...) {
			used, ok := n.count(of)
			if !ok {
				continue
			}
			for _, u := range used {
				spent = append(spent, spending{
					Session: string(s.ID), Day: cmp.Or(u.Day, unknown), Agent: clientName(s), Chain: string(s.Chain()),
					Model: cmp.Or(env.Redact(u.Model), unknown), Usage: u.Usage,
				})
			}
			read++
		}
	}
	for _, err := range n.failed {
		env.Warn("%v", err)
	}
	if err := n.lost.Err(); err != nil {
		env.Warn("%v", err)
	}
	return spent, read
}

// counter counts the tokens of sessions. It reads what a conversation may be a copy of before
// it, also if nobody asks for that.
type counter struct {
	env    *cli.Env
	all    catalog.Catalog
	own    account.Own
	tally  conversation.UsageTally
	counts map[session.ID]counted

	lost   conversation.ReadErrors // foreign ones
	failed []error
}

type counted struct {
	used []conversation.DayUsage
	read bool
}

func newCounter(env *cli.Env, all catalog.Catalog) *counter {
	return &counter{env: env, all: all, own: owned(env), counts: map[session.ID]counted{}}
}

// count returns what a session used without its subagents, and whether its conversation was
// read.
func (n *counter) count(s *catalog.Session) ([]conversation.DayUsage, bool) {
	if done, known := n.counts[s.ID]; known {
		return done.used, done.read
	}
	n.counts[s.ID] = counted{} // even of a session that is its own ancestor
	var ancestors []session.ID
	for next := []session.ID{s.ForkOf, s.SubagentOf}; len(next) > 0; next = next[1:] {
		id := next[0]
		if id == "" || id == s.ID || slices.Contains(ancestors, id) {
			continue
		}
		ancestors = append(ancestors, id)
		if a := n.all.Get(id); a != nil && a.Agent == s.Agent {
			n.count(a)
			next = append(next, a.ForkOf, a.SubagentOf)
		}
	}
	f, err := transcriptOf(n.env, n.own, s)
	if err != nil {
		if _, ok := errors.AsType[*account.ForeignError](err); ok {
			n.lost.Add(err)
		}
		return nil, false
	}
	used, err := n.tally.Add(scan.ReaderOf(f.Client), f, conversation.Lineage{ID: s.ID, Began: s.StartedAt, Ancestors: ancestors})
	if err != nil {
		n.failed = append(n.failed, err)
		return nil, false
	}
	if err := scan.CheckRead(s.ID, f); err != nil {
		n.failed = append(n.failed, err)
	}
	n.counts[s.ID] = counted{used, true}
	return used, true
}

// grouped adds up what is the same: by day the first first, otherwise the most output
// first, but sessions as they come.
func grouped(all []spending, by []string) (sums []spending) {
	at := map[spending]int{}
	for _, s := range all {
		var key spending
		for _, g := range groups {
			if slices.Contains(by, g.by) {
				*g.of(&key) = *g.of(&s)
			}
		}
		i, known := at[key]
		if !known {
			i = len(sums)
			at[key], sums = i, append(sums, key)
		}
		sums[i].Add(s.Usage)
	}
	order := map[string]int{}
	for i, s := range sums {
		if _, known := order[s.Session]; !known {
			order[s.Session] = i
		}
	}
	slices.SortStableFunc(sums, func(a, b spending) int {
		return cmp.Or(cmp.Compare(order[a.Session], order[b.Session]), cmp.Compare(a.Day, b.Day), cmp.Compare(b.Output, a.Output), cmp.Compare(a.Model, b.Model))
	})
	return sums
}

func (c *usage) table(lines []spending) [][]string {
	free := !slices.ContainsFunc(lines, func(l spending) bool { return l.Cost > 0 })
	var columns []term.Column[spending]
	for _, g := range groups {
		if !slices.Contains(c.By, g.by) && !(c.Each && (g.by == "session" || g.by == "model")) {
			continue
		}
		first := len(columns) == 0
		columns = append(columns, term.Column[spending]{Heading: g.heading, Cell: func(l spending) string {
			cell := *g.of(&l)
			switch {
			case cell != "":
			case l == (spending{Usage: l.Usage}) && (first && !c.Each || g.by == "model"):
				cell = "total"
			case first && c.Each:
				cell = "all"
			}
			return cell
		}})
	}
	return term.Cells(append(columns, []term.Column[spending]{
		{Heading: "INPUT", Cell: func(l spending) string { return thousands(l.Input) }},
		{Heading: "CACHE READ", Cell: func(l spending) string { return thousands(l.CacheRead) }},
		{Heading: "CACHE WRITE", Cell: func(l spending) string { return thousands(l.CacheWrite) }},
		{Heading: "OUTPUT", Cell: func(l spending) string { return thousands(l.Output) }},
		{Heading: "COST", Hidden: free, Cell: func(l spending) string { return cost(l.Cost) }},
	}...), lines)
}

// spenders returns those of the selected sessions that left a conversation, oldest first.
// Subagents are left out unless their parent is gone.
func (c *usage) spenders(env *cli.Env) (found []*catalog.Session, all catalog.Catalog, err error) {
	if c.ID != "" {
		found, all, err = thoseOf(env, c.ID, c.selection)
		c.selected, c.foreign = 1, err == nil && found[0].Foreign()
		return found, all, err
	}
	c.All = false
	all, f, err := c.open(env)
	if err != nil {
		return nil, all, err
	}
	own := owned(env)
	left := func(s *catalog.Session) bool {
		c.selected++
		c.foreign = c.foreign || s.Foreign()
		at, err := s.Conversation(own)
		return err != nil || at.Path != "" || len(all.Subagents(s.ID)) > 0
	}
	found, err = oldest(env, all, f, left)
	f.Subagents = true
	for _, s := range all.Orphans() {
		if f.Matches(s) && left(s) {
			found, err = append(found, s), nil
		}
	}
	return found, all, err
}

func cost(dollars float64) string {
	if dollars == 0 {
		return ""
	}
	return fmt.Sprintf("$%.4f", dollars)
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
