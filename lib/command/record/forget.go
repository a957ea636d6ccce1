package record

import (
	"errors"
	"fmt"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	kept "gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

type forgetful struct {
	ID []string `arg:"" name:"id" help:"The records."`
}

// Run removes records.
func (c *forgetful) Run(env *cli.Env) error {
	s, err := store(env)
	if err != nil {
		return err
	}
	for _, name := range c.ID {
		id, err := find(env, s, name)
		if err != nil {
			return err
		}
		gone, err := s.Remove(id, kept.Forgotten, env.Now())
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(env.Stdout, "%s: %s removed\n", id, count(gone.Lines, "line", "lines")); err != nil {
			return err
		}
	}
	return nil
}

type prune struct {
	OlderThan duration.Flag `default:"90d" placeholder:"TIME" help:"Of sessions in which nothing was said for so long (default 90d)."`
	DryRun    bool          `help:"Print what would be removed, and change nothing."`
}

// Validate refuses a time in which a session may still be at work.
func (c *prune) Validate() error {
	if time.Duration(c.OlderThan) < 24*time.Hour {
		return errors.New("--older-than needs at least a day")
	}
	return nil
}

// Run removes the records of sessions that ended long ago. One that runs is left.
func (c *prune) Run(env *cli.Env) error {
	s, err := store(env)
	if err != nil {
		return err
	}
	all, err := infos(env, s)
	if err != nil {
		return err
	}
	runs, errs := scan.Running(env.Getenv)
	for _, err := range errs {
		env.Warn("%v", err)
	}
	n, bytes := 0, int64(0)
	for _, i := range all {
		last := i.Ended
		if i.Started.After(last) {
			last = i.Started
		}
		_, active := runs[session.ID(i.Session)]
		if i.Gone != "" || active || last.IsZero() || env.Now().Sub(last) <= time.Duration(c.OlderThan) {
			continue
		}
		n++
		bytes += i.Size
		if c.DryRun {
			if _, err := fmt.Fprintf(env.Stdout, "%s  %s  %s  %s\n", i.ID, i.Agent, term.Day(last, env.Now()), term.Size(i.Size)); err != nil {
				return err
			}
			continue
		}
		if _, err := s.Remove(i.ID, kept.Pruned, env.Now()); err != nil {
			return err
		}
	}
	verb := "removed"
	if c.DryRun {
		verb = "would be removed"
	}
	_, err = fmt.Fprintf(env.Stdout, "%s, %s, %s\n", count(n, "record", "records"), term.Size(bytes), verb)
	return err
}
