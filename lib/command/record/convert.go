package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch/resume"
	"gt/lib/place/town"
	kept "gt/lib/record"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

type convert struct {
	ID     string `arg:"" help:"The record."`
	To     string `required:"" placeholder:"AGENT" help:"The agent that is to go on with it (claude, codex)."`
	CWD    string `name:"cwd" placeholder:"DIR" help:"The folder that it goes on in (default: the session's, or this one where that is gone)."`
	DryRun bool   `short:"n" help:"Print what would be written where, and write nothing."`
}

// Run writes a record as a conversation that another agent resumes, and prints the command
// that does.
func (c *convert) Run(env *cli.Env) error {
	w := writers.Of(c.To)
	if w == nil {
		var names []string
		for _, w := range writers.All {
			names = append(names, w.Client())
		}
		return cli.Failf(cli.Usage, "gt does not know how %s keeps a conversation that it resumes (try %s)", c.To, strings.Join(names, " or "))
	}
	s, id, err := one(env, c.ID)
	if err != nil {
		return err
	}
	i, err := s.Info(id)
	switch {
	case err != nil:
		return err
	case i.Gone != "":
		return cli.Failf(cli.No, "the record '%s' was %s", id, i.Gone)
	}
	head, err := s.Head(id)
	if err != nil {
		return err
	}
	dir, err := c.folder(env, i)
	if err != nil {
		return err
	}
	entries, err := entriesOf(s, id)
	if err != nil {
		return err
	}
	to := &conversation.Copy{ID: session.NewID(), From: i.Agent, CWD: dir, Branch: head.Branch, Entries: conversation.Settle(entries), Now: env.Now()}
	if len(to.Entries) == 0 {
		return cli.Failf(cli.No, "nothing was said in '%s'", id)
	}
	path, folder, err := w.Place(env.Getenv, to)
	if err != nil {
		return err
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return cli.Fail(cli.No, fmt.Errorf("%s has no folder '%s' here", c.To, folder), "start it once, or name its folder as you do for it")
	}
	var data bytes.Buffer
	if err := w.Write(&data, to); err != nil {
		return err
	}
	if !c.DryRun {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return atomicfile.Error("create", filepath.Dir(path), err)
		}
		if err := atomicfile.Create(path, data.Bytes(), atomicfile.Synced); err != nil {
			return err
		}
	}
	known, err := agent.Load(env.Getenv, town.Personal(env.Getenv))
	if err != nil {
		env.Warn("%v", err)
	}
	cmd := resume.Of(known, known.Of(c.To), resume.Session{ID: to.ID, Dir: dir}, false, env.Getenv)
	verb := "wrote"
	if c.DryRun {
		verb = "would write"
	}
	env.Hint("%s %s (%s) for %s; the record and the original stay as they are", verb, env.Place(path), term.Size(int64(data.Len())), c.To)
	_, err = fmt.Fprintln(env.Stdout, term.Clean(env.Redact(cmd.String())))
	return err
}

// folder is where the conversation goes on.
func (c *convert) folder(env *cli.Env, i kept.Info) (string, error) {
	dir := cmp.Or(c.CWD, i.CWD)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(env.Dir, dir)
	}
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return filepath.Clean(dir), nil
	case c.CWD != "":
		return "", cli.Fail(cli.Usage, atomicfile.Error("use", dir, cmp.Or(err, errors.New("it is no folder"))))
	}
	env.Hint("the folder '%s' is gone: it goes on in this one", dir)
	return env.Dir, nil
}

// entriesOf are those of a record's conversation.
func entriesOf(s kept.Store, id kept.ID) (all []conversation.Entry, err error) {
	err = s.Lines(id, func(l kept.Line) bool {
		if !l.Kind.Said() {
			return true
		}
		e := l.Entry()
		if l.Hidden != "" {
			e.Text = strings.TrimSpace(e.Text + "\n[left out: " + l.Hidden + "]")
		}
		if l.Context != nil {
			if text, err := s.Context(*l.Context); err == nil {
				e.Text = text // it is still there
			}
		}
		all = append(all, e)
		return true
	})
	return all, err
}
