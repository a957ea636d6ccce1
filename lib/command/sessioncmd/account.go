package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/readers"
	"gt/lib/client/sandbox"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/launch/parcel"
	"gt/lib/live/fleet"
	"gt/lib/place/git"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
	counted "gt/lib/text/count"
	"gt/lib/text/term"
)

const usualAccount = "default" // the name of the account whose folder is the client's usual one

// accountFolder returns the folder of a client's account that name means: the folder's name, with
// or without its leading dot, usualAccount, a path, or "work" for .claude-work. The guard must
// allow gt to read the conversations there.
func accountFolder(env *cli.Env, guard account.StoreGuard, client agent.Client, name string) (string, error) {
	if client.StoreEnv == "" {
		return "", cli.Failf(cli.Usage, "--account: nothing is known of the accounts of %s", client.Name)
	}
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		name = filepath.Join(env.Getenv("HOME"), rest)
	}
	_, usual := client.Folder(env.Getenv)
	dirs := []string{usual} // the first one is what usualAccount means
	for p := range account.Places(client.Name, env.Getenv) {
		dirs = append(dirs, p.Dir)
	}
	var found, short, all []string
	for _, dir := range append(dirs, client.ListedAccounts(env.Getenv("HOME"))...) {
		base := filepath.Base(dir)
		if real, err := findFolder(env, dir); err != nil || slices.Contains(all, real) || guard.CheckAccount(client.Name, real) != nil {
			continue
		} else if dir = real; name == base || name == strings.TrimPrefix(base, ".") || name == usualAccount && len(all) == 0 {
			found = append(found, dir)
		} else if base == filepath.Base(usual)+"-"+name {
			short = append(short, dir)
		}
		all = append(all, dir)
	}
	if len(found) == 0 {
		found = short
	}
	if len(found) == 1 {
		return found[0], nil
	} else if len(found) > 1 {
		return "", cli.Failf(cli.AnswerNo, "'%.80s' is the name of several accounts: %s", name, strings.Join(found, ", "))
	}
	err := cli.Failf(cli.AnswerNo, "there is no account '%.80s' of %s", name, client.Name)
	if name == "." || name == ".." || strings.Contains(name, "/") {
		dir, missing := findFolder(env, name)
		if missing != nil {
			return "", missing
		}
		refused := guard.CheckAccount(client.Name, dir)
		if refused == nil {
			return dir, nil
		}
		err = cli.WithHint(err, "%v", refused)
	}
	for _, dir := range all {
		err = cli.WithHint(err, "there is %s", env.DisplayPath(term.Tilde(dir, env.Getenv("HOME"))))
	}
	return "", cli.WithHint(err, "accounts of [agents.%s] in agents.toml names others", client.Name)
}

// accountGuard returns the guard of the person's account folders, which include the instance's.
func accountGuard(at scope, in *instance.Instance) account.StoreGuard {
	return account.StoreGuard{Getenv: at.Env.Getenv, Projects: []string{git.Top(in.Path)}, Known: func(name string) account.TableAccounts {
		c := at.Table().FindClient(name)
		listed := c.ListedAccounts(at.Env.Getenv("HOME"))
		if in.Account != "" {
			listed = append(listed, in.Account)
		}
		return account.TableAccounts{Accounts: listed, Variable: c.StoreEnv, Store: c.Store}
	}}
}

// accountMove is a conversation that goes on under another account of its client.
type accountMove struct {
	from, to string   // the accounts' folders
	files    []string // relative to them, the transcript last
	size     int64
}

// planAccountMove returns which files of an agent's conversation another account needs. to is that
// account's folder. It changes nothing. An agent without a conversation has no files.
func planAccountMove(at scope, m fleet.Member, to string) (c accountMove, err error) {
	c.to = to
	client := at.Table().FindClient(m.Agent)
	if m.Record == nil || !client.CanResume() || !m.IsResumable() {
		return c, nil
	}
	r, f, err := conversationOf(at, m)
	if err != nil {
		return c, err
	}
	store, _, err := accountGuard(at, m.Instance).FindAccount(f.Client, f.Path)
	if err != nil {
		return c, cli.Fail(cli.AnswerNo, err)
	}
	if c.from, err = filepath.EvalSymlinks(store); err != nil {
		return c, err
	}
	if filepath.Ext(f.Path) != ".jsonl" && filepath.Ext(f.Path) != ".json" {
		return c, cli.Failf(cli.AnswerNo, "%s keeps the conversations of an account in one file: gt cannot take one of them along", client.Name)
	}
	if c.from == to {
		return c, cli.Failf(cli.AnswerNo, "%s is with that account already", m.Name)
	}
	paths := map[string]bool{}
	if err := r.Find(store, func(other conversation.File) {
		if f.ID == other.ID || f.ID == other.Parent {
			paths[other.Path] = true
		}
	}); err != nil {
		at.Env.WarnError(err)
	}
	if mover, ok := writers.FindWriter(client.Name).(conversation.Mover); ok {
		all, err := mover.MovedFiles(f.Path, f.ID)
		if err != nil {
			return c, err
		}
		for _, one := range all {
			paths[one.Path] = true
		}
	}
	delete(paths, f.Path)
	for _, path := range append(slices.Sorted(maps.Keys(paths)), f.Path) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return c, err
		}
		name, err := filepath.Rel(c.from, real)
		info, serr := os.Stat(real)
		if err != nil || serr != nil || !filepath.IsLocal(name) {
			return c, cmp.Or(serr, fmt.Errorf("'%s' is not in '%s'", path, c.from))
		}
		begins, _, err := parcel.CompareFiles(openFile, filepath.Join(to, name), real) // an older copy may be there
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return c, err
		} else if err == nil && !begins {
			return c, cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' is there already, with other content", filepath.Join(to, name)), "the conversation has gone on there; move that file away first")
		}
		c.files, c.size = append(c.files, name), c.size+info.Size()
	}
	return c, nil
}

// copyFiles puts the files where the other account's client looks for them. It replaces older
// copies there: planAccountMove has checked that the files begin with what those have.
func (c accountMove) copyFiles() error {
	for _, name := range c.files {
		to := filepath.Join(c.to, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := parcel.PutFile(openFile, filepath.Join(c.from, name), to); err != nil {
			return err
		}
	}
	return nil
}

func openFile(path string) (io.ReadCloser, error) { return atomicfile.Open(path) }

// confirmAccount asks the person before agents go on under another account. An agent may not:
// it would go round its account's limit by itself.
func (c *restart) confirmAccount(at scope) error {
	env := at.Env
	if err := sandbox.RefuseBelowAgent(env, "an agent cannot change the account of agents"); err != nil {
		return err
	}
	all, _, err := c.selectInstances(at)
	if err != nil {
		return err
	}
	var moves []string
	for _, m := range at.Members(all) {
		client := at.Table().FindClient(m.Agent)
		if m.Managed != nil {
			return cli.Failf(cli.AnswerNo, "%s is a template's, which says its account", m.Name)
		}
		dir, err := accountFolder(env, accountGuard(at, m.Instance), client, c.Account)
		if err != nil {
			return err
		}
		move, err := planAccountMove(at, m, dir)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		what := "has no conversation yet, and begins one"
		if len(move.files) > 0 {
			what = fmt.Sprintf("goes on with a copy of its conversation (%s, %s)", counted.Plural(len(move.files), "file"), term.FormatSize(move.size))
		}
		moves = append(moves, fmt.Sprintf("%s %s in %s", m.Name, what, env.DisplayPath(term.Tilde(dir, env.Getenv("HOME")))))
	}
	if c.Yes {
		return nil
	}
	return env.Confirm(strings.Join(moves, "\n")+"\nGo on? [y/N] ", "nothing was restarted", "--yes")
}

// restartUnderAccount restarts an agent under another account. It copies the conversation once the
// agent has ended, and keeps the old one. If the start fails, the agent stays with the old account.
func (c *restart) restartUnderAccount(at scope, held *instance.Locked) (string, error) {
	client := at.Table().FindClient(held.Agent)
	dir, err := accountFolder(at.Env, accountGuard(at, held.Instance), client, c.Account)
	if err != nil {
		return "", err
	}
	old := *held.Instance // its account stays the one to copy from
	m := at.Member(&old)
	r := newStarter(at)
	r.TakesBack, r.Trust = c.Force, c.Trust
	r.Between = func() error {
		move, err := planAccountMove(at, m, dir)
		if err != nil {
			return err
		}
		if err = move.copyFiles(); err != nil || len(move.files) == 0 {
			return err
		}
		return m.NoteTranscript(filepath.Join(dir, move.files[len(move.files)-1]))
	}
	if held.Account = dir; client.AccountChange(at.Env.Getenv, dir) == "" { // the client uses dir anyway
		held.Account = ""
	}
	b, err := r.StartHeld(held, true)
	if err != nil {
		held.Account = old.Account
		if m.Record != nil {
			err = errors.Join(err, m.NoteTranscript(m.Record.Transcript))
		}
		return "", errors.Join(err, held.Put(at.Env.Now()))
	}
	if readers.FindReader(client.Name) != nil && !b.ReadsHooks() {
		at.Env.Hint("no hook of gt is in that account: %s=%s gt-hooks install %s", client.StoreEnv, term.Quote(dir), client.Name)
	}
	return fmt.Sprintf("restarted %s in %s%s", held.Name, at.Env.DisplayPath(term.Tilde(dir, at.Env.Getenv("HOME"))), asksPhrase(b)), nil
}
