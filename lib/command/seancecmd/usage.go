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
	"gt/lib/text/term"
)

type usage struct {
	selection
	ID   string `arg:"" optional:"" help:"The session, by its id or the beginning of it (default: all)."`
	Each bool   `help:"Add a line for each session."`
	JSON bool   `name:"json" help:"One JSON object per line."`
}

// spending is what a session, or all, spent on a model.
type spending struct {
	Session string `json:"session_id,omitempty"`
	conversation.ModelUsage
}

// Run adds up what the transcripts report. A session's subagents are counted
// with it, those whose session is gone by themselves, and what a fork copied is
// counted once.
func (c *usage) Run(env *cli.Env) error {
	if c.ID != "" && !c.everything() {
		return cli.Fail(cli.Usage, errors.New("a session's id and a filter cannot be combined"))
	}
	found, all, err := c.spenders(env)
	if err != nil {
		return err
	}
	var tally conversation.UsageTally
	var lost conversation.ReadErrors
	var lines []spending
	read, workers, ours := 0, all.Subagents(), owned(env)
	for _, s := range found {
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
			added, err := tally.Add(scan.ReaderOf(f.Client), f)
			if err != nil {
				env.Warn("%v", err)
				continue
			}
			own.AddAll(added)
			read++
		}
		for _, sp := range own.Sum() {
			lines = append(lines, spending{string(s.ID), sp})
		}
	}
	if err := lost.Err(); err != nil {
		env.Warn("%v", err)
	}
	if read == 0 {
		return cli.Fail(cli.No, fmt.Errorf("no conversation of %s is on this machine", number(len(found), "session")), "their agents have deleted them; gt-record keeps conversations, if you ask for it")
	}
	if !c.Each {
		lines = nil
	}
	for _, sp := range tally.Sum() {
		lines = append(lines, spending{"", sp})
	}
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
	rows := [][]string{{"MODEL", "INPUT", "CACHE READ", "CACHE WRITE", "OUTPUT"}}
	costs := slices.ContainsFunc(lines, func(l spending) bool { return l.Cost > 0 })
	if costs {
		rows[0] = append(rows[0], "COST")
	}
	if c.Each {
		rows[0] = append([]string{"SESSION"}, rows[0]...)
	}
	for _, l := range lines {
		row := []string{l.Model, grouped(l.Input), grouped(l.CacheRead), grouped(l.CacheWrite), grouped(l.Output)}
		if costs {
			row = append(row, cost(l.Cost))
		}
		if c.Each {
			row = append([]string{cmp.Or(l.Session, "all")}, row...)
		}
		rows = append(rows, row)
	}
	if n := len(tally.Sum()); n > 1 {
		rows = append(rows, total(lines[len(lines)-n:], costs, c.Each))
	}
	if read < len(found) {
		env.Hint("%d of %s left no transcript here", len(found)-read, number(len(found), "session"))
	}
	return term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), rows, nil)
}

// spenders are the sessions that are meant, the oldest first, without the subagents
// that are counted with their session.
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

// total adds up the lines of all models.
func total(lines []spending, costs, each bool) []string {
	var sum conversation.Usage
	for _, l := range lines {
		sum.Input += l.Input
		sum.CacheRead += l.CacheRead
		sum.CacheWrite += l.CacheWrite
		sum.Output += l.Output
		sum.Cost += l.Cost
	}
	row := []string{"total", grouped(sum.Input), grouped(sum.CacheRead), grouped(sum.CacheWrite), grouped(sum.Output)}
	if costs {
		row = append(row, cost(sum.Cost))
	}
	if each {
		row = append([]string{"all"}, row...)
	}
	return row
}

// cost is what a transcript says it cost; empty where it says nothing.
func cost(dollars float64) string {
	if dollars == 0 {
		return ""
	}
	return fmt.Sprintf("$%.4f", dollars)
}

// grouped is a number with its thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
