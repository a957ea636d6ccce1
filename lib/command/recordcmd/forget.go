package recordcmd

import (
	"errors"
	"slices"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/text/count"
	"gt/lib/text/duration"
	"gt/lib/text/term"
)

type forgetCmd struct {
	ID []string `arg:"" name:"id" help:"The records."`
}

func (c *forgetCmd) Run(env *cli.Env) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	for _, name := range c.ID {
		id, err := findRecord(env, s, name)
		if err != nil {
			return err
		}
		gone, err := s.Remove(id, record.Forgotten, env.Now())
		if err != nil {
			return err
		}
		if err := env.Printf("%s: %s removed\n", id, count.Plural(gone.Lines, "line")); err != nil {
			return err
		}
	}
	return nil
}

type prune struct {
	OlderThan duration.Flag `default:"90d" placeholder:"TIME" help:"Of sessions in which nothing was said for this long (default 90d)."`
	DryRun    bool          `help:"Print what would be removed, and change nothing."`
}

// Validate rejects an age at which a session may still run.
func (c *prune) Validate() error {
	if time.Duration(c.OlderThan) < 24*time.Hour {
		return errors.New("--older-than needs at least a day")
	}
	return nil
}

func (c *prune) Run(env *cli.Env) error {
	s, err := openStore(env)
	if err != nil {
		return err
	}
	all, err := listInfos(env, s)
	if err != nil {
		return err
	}
	old := findOutdated(env, all, time.Duration(c.OlderThan), 0)
	bytes := int64(0)
	for _, i := range old {
		bytes += i.Size
		if c.DryRun {
			if err := env.Printf("%s  %s  %s  %s\n", i.ID, i.Agent, term.FormatDay(lastTime(i), env.Now()), term.FormatSize(i.Size)); err != nil {
				return err
			}
			continue
		}
		if _, err := s.Remove(i.ID, record.Pruned, env.Now()); err != nil {
			return err
		}
	}
	n := len(old)
	verb := "removed"
	if c.DryRun {
		verb = "would be removed"
	}
	return env.Printf("%s, %s, %s\n", count.Plural(n, "record"), term.FormatSize(bytes), verb)
}

func lastTime(i record.Info) time.Time {
	if i.Started.After(i.Ended) {
		return i.Started
	}
	return i.Ended
}

// findOutdated returns the records without an entry for longer than keep (0: no limit), and the
// oldest others until the rest is at most most bytes (0: no limit). It leaves out removed records,
// and sessions that run or, because not all can be seen to run, had an entry within a day.
func findOutdated(env *cli.Env, all []record.Info, keep time.Duration, most int64) (old []record.Info) {
	state := place.StateOf(env.Getenv)
	runs, errs := scan.Running(env.Getenv)
	env.WarnError(errors.Join(errs...))
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b record.Info) int { return lastTime(a).Compare(lastTime(b)) })
	size := int64(0)
	for _, i := range all {
		size += i.Size
	}
	for _, i := range all {
		last := lastTime(i)
		_, active := runs[session.ID(i.Session)] // only some clients have a registry of running sessions
		active = active || session.AtWork(state, session.ID(i.Session), env.Now())
		age := env.Now().Sub(last)
		if i.Gone != "" || active || last.IsZero() || age < 24*time.Hour {
			continue
		}
		if keep > 0 && age > keep || most > 0 && size > most {
			old = append(old, i)
			size -= i.Size
		}
	}
	return old
}
