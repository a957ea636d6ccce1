package seancecmd

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/count"
	"gt/lib/text/term"
	"gt/lib/view/chain"
	"gt/lib/view/palette"
	"gt/lib/view/timeline"
)

type picture struct {
	selection
	Limit *int   `short:"n" placeholder:"N" help:"Only the newest N (default 200); 0 draws all."`
	By    string `enum:",actor,folder,agent,session" default:"" placeholder:"WHAT" help:"One lane for each actor (who worked, by the name in the first column of list), folder, agent or session (default: actor; in a terminal, session if there are few)."`
	HTML  string `name:"html" placeholder:"FILE" type:"path" help:"Write a page for a browser; - is standard output."`
	SVG   string `name:"svg" placeholder:"FILE" type:"path" help:"Write an image; - is standard output."`
}

func (c *picture) Validate() error {
	err := checkLimit(c.Limit)
	if err == nil && c.HTML == "-" && c.SVG == "-" {
		err = errors.New("--html and --svg cannot both go to standard output")
	}
	return err
}

const recent = 7 * 24 * time.Hour

const drawn = 200

// Run draws the sessions in the terminal, or into the files that the flags name.
func (c *picture) Run(env *cli.Env) error {
	most := 0
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case !c.All:
		most = drawn
	}
	all, f, err := c.openCatalog(env)
	if err != nil {
		return err
	}
	now := env.Now()
	o := timeline.Options{
		By: timeline.LaneKind(c.By), Now: now, Since: c.Since.TimeBefore(now),
		Short: all.IDShortener(), About: (*catalog.Session).Headline,
	}
	found, cut := all.MatchingSessions(f), false
	if most > 0 {
		newest := all.Select(f, most)
		cut = len(newest) == most // there may be more
		// Without a limit it draws only the last week, unless nothing happened then.
		if o.Since.IsZero() && c.Until.TimeBefore(now).IsZero() && c.Chain == "" && c.Work == "" && c.Limit == nil {
			week := now.Add(-recent)
			latest := slices.DeleteFunc(slices.Clone(newest), func(s *catalog.Session) bool { return chain.EndOf(s, now).Before(week) })
			if len(latest) > 0 {
				cut = cut && len(latest) == len(newest)
				newest, o.Since = latest, week
			}
		}
		found = slices.Values(newest)
	}
	text := c.HTML == "" && c.SVG == ""
	if text {
		o.Few = timeline.MaxSessionLines
	}
	p := timeline.Layout(redactSessions(env, found), o)
	warnUnread(env, all)
	if p.Len() == 0 {
		hintNone(env, all)
	}
	if cut {
		env.Hint("the newest %s; --limit 0 draws all", count.Plural(p.Len(), "session"))
	}
	if text {
		if p.Len() == 0 {
			return nil
		}
		return env.Print(p.Text(palette.StyleFor(env.Stdout, env.Getenv), term.Width(env.Stdout, env.Getenv)))
	}
	if c.HTML != "" {
		if err := write(env, c.HTML, p.HTML); err != nil {
			return err
		}
	}
	if c.SVG != "" {
		return write(env, c.SVG, p.SVG)
	}
	return nil
}

// write replaces the file at path by what draw writes; "-" is standard output.
func write(env *cli.Env, path string, draw func(io.Writer) error) error {
	if path == "-" {
		return draw(env.Stdout)
	}
	atomicfile.Sweep(filepath.Dir(path), env.Now()) // left by a killed run
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err == nil {
		defer dir.Close()
		err = atomicfile.MakeIn(dir, filepath.Base(path), func(f *os.File) error { return draw(f) })
	}
	return atomicfile.Error("write", path, err)
}
