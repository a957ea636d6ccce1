package seancecmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/sys/atomicfile"
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
	switch {
	case c.Limit != nil && *c.Limit < 0:
		return fmt.Errorf("--limit needs a number of at least 0")
	case c.HTML == "-" && c.SVG == "-":
		return errors.New("--html and --svg cannot both go to standard output")
	}
	return nil
}

// recent is the default time span. A picture of a year shows little of a day.
const recent = 7 * 24 * time.Hour

// drawn is the default number of sessions.
const drawn = 200

func (c *picture) Run(env *cli.Env) error {
	most := 0
	switch {
	case c.Limit != nil:
		most = *c.Limit
	case !c.All:
		most = drawn
	}
	found, all, err := c.sessions(env, most)
	if err != nil {
		return err
	}
	now := env.Now()
	o := timeline.Options{
		By: timeline.By(c.By), Now: now, Since: c.Since.Before(now),
		Short: all.Short(), About: (*catalog.Session).About,
	}
	cut := most > 0 && len(found) == most
	if o.Since.IsZero() && c.Until.Before(now).IsZero() && c.Chain == "" && c.Work == "" && !c.All && c.Limit == nil {
		week := now.Add(-recent)
		latest := slices.DeleteFunc(slices.Clone(found), func(s *catalog.Session) bool { return chain.End(s, now).Before(week) })
		if len(latest) > 0 {
			cut = cut && len(latest) == len(found)
			found, o.Since = latest, week
		}
	}
	switch {
	case len(found) > 0:
	case all.Len() == 0:
		env.Hint(noSessions)
	default:
		env.Hint("none of %s matches", number(all.Len(), "session"))
	}
	if cut {
		env.Hint("the newest %s; --limit 0 draws all", number(len(found), "session"))
	}
	if c.HTML == "" && c.SVG == "" {
		if len(found) == 0 {
			return nil
		}
		if o.By == "" && len(found) <= timeline.Few {
			o.By = timeline.Session
		}
		text := timeline.Layout(found, o).Text(palette.StyleFor(env.Stdout, env.Getenv), term.Width(env.Stdout, env.Getenv))
		_, err := io.WriteString(env.Stdout, text)
		return err
	}
	p := timeline.Layout(found, o)
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

// write replaces a file, or writes to standard output for "-".
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
