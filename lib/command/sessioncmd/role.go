package sessioncmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/pidfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// place returns the instance that the flags describe as far as its folder and its agent,
// and its client.
func (c *newOne) place(at scope) (*instance.Instance, agent.Client, error) {
	in := &instance.Instance{
		Name: c.Name, Title: at.env.Line(c.Title, 200), Group: strings.Trim(c.Group, "/"), Args: c.Arg,
		Desired: instance.Stopped, TmuxServer: string(tmux.Around()),
	}
	var id identity.Identity
	dir, own := "", "" // the role's own directory
	if c.Role != "" {
		t := town.Find(at.env.Getenv, at.env.Dir)
		var err error
		if id, own, err = c.worker(t, in); err != nil {
			return nil, agent.Client{}, err
		}
		if dir, err = c.repository(t, id, own); err != nil {
			return nil, agent.Client{}, err
		}
		in.Path = own
	} else {
		var err error
		if dir, err = folder(at.env, c.Dir); err != nil {
			return nil, agent.Client{}, err
		}
		in.Path, id = dir, home.Elsewhere(at.env.Getenv, dir).Identity
	}
	client, _, err := at.table().For(string(id.Role), id.Rig)
	if err != nil {
		at.env.Warn("%v", err)
	}
	if c.Agent != "" {
		if !at.table().Known(c.Agent) {
			return nil, client, at.table().Unknown(c.Agent)
		}
		client = at.table().Of(c.Agent)
	}
	in.Agent = client.Name
	if c.Worktree != "" && dir != own {
		w, work, err := plan(dir, c.Worktree, own)
		in.Worktree, in.Path = &w, work
		if err != nil {
			return in, client, err
		}
	}
	return in, client, nil
}

// worker fills in what a role gives an instance: its name, which is that of its tmux
// session, and its folder. Roles that others rely on are started again when they crash.
func (c *newOne) worker(t town.Town, in *instance.Instance) (id identity.Identity, dir string, err error) {
	switch id, err = identity.Parse(c.Role); {
	case c.Dir != "":
		return id, "", cli.Failf(cli.Usage, "--role: a role has its folder (leave '%s' out)", c.Dir)
	case err != nil:
		return id, "", cli.Fail(cli.Usage, err)
	case t.Personal:
		return id, "", cli.Failf(cli.Usage, "--role: this folder is in no town that you trust")
	case id.Role == "" || id.Role == identity.Overseer:
		return id, "", cli.Failf(cli.Usage, "--role: '%s' is no agent's role", c.Role)
	}
	prefixes, err := rig.Prefixes(t)
	if err != nil {
		return id, "", err
	}
	name, err := id.SessionName(prefixes)
	if err != nil {
		return id, "", noPrefix(id, err)
	}
	if in.Name == "" {
		in.Name = name
	}
	in.Role, in.Respawn = id.Address(), id.Role != identity.Polecat
	return id, filepath.Join(t.Root, filepath.FromSlash(id.Dir())), nil
}

// noPrefix is the error for a worker that has no name for a session of tmux.
func noPrefix(id identity.Identity, err error) error {
	return cli.Fail(cli.Usage, fmt.Errorf("--role: %w", err), fmt.Sprintf("town.toml names a rig's prefix: [rigs.%s] prefix = \"gt\"", id.Rig))
}

// repository returns the folder of a role, or, where its worktree has to be made, the
// repository of its rig.
func (c *newOne) repository(t town.Town, id identity.Identity, dir string) (string, error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, nil
	}
	none := fmt.Errorf("the folder '%s' of %s is not there", dir, c.Role)
	if id.Role != identity.Crew && id.Role != identity.Polecat {
		return "", cli.Fail(cli.No, none)
	}
	if c.Worktree == "" {
		return "", cli.Fail(cli.No, none, "--worktree BRANCH makes it, from the repository of its rig")
	}
	// What the mayor's clone has checked out is newer than the HEAD of Gas Town's bare .repo.git.
	for _, name := range []string{"mayor/rig", "refinery/rig", ".repo.git"} {
		repo := filepath.Join(t.Root, id.Rig, filepath.FromSlash(name))
		if info, err := os.Stat(repo); err == nil && info.IsDir() {
			return repo, nil
		}
	}
	return "", cli.Fail(cli.No, none, fmt.Sprintf("the rig %s has no repository (mayor/rig, refinery/rig or .repo.git) to make it from", id.Rig))
}

// former returns the instance that is replaced, nil where there is none. A worker's that
// does not run any more is, and one that runs is not started twice.
func (c *newOne) former(store instance.Store, in *instance.Instance) (*instance.Instance, error) {
	if !c.Replace && in.Role == "" {
		return nil, nil
	}
	all, err := store.All()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(other *instance.Instance) bool { return other.Name == in.Name })
	if i < 0 || !c.Replace && all[i].Role != in.Role {
		return nil, nil
	}
	return all[i], nil
}

// replace ends the agent of an instance that is there, gives it what the flags say, and
// starts it. Its conversation stays its own, and so do its notes, which are its folder's.
func (c *newOne) replace(at scope, old, in *instance.Instance) error {
	m := at.member(old)
	switch {
	case old.Managed != nil:
		return cli.Fail(cli.No, fmt.Errorf("%s is a template's", old.Name), fmt.Sprintf("gt-session restart %s restarts it", old.Name))
	case m.Process.IsSet() && !c.Replace:
		return cli.Fail(cli.No, fmt.Errorf("%s is already running", old.Name), "--replace ends it first")
	case m.Process.IsSet() && slices.Contains(process.Ancestors(os.Getpid()), m.Process.PID):
		return cli.Fail(cli.No, fmt.Errorf("%s cannot be replaced by a command that runs in it", old.Name), fmt.Sprintf("gt-session restart %s restarts it", old.Name))
	case c.Worktree != "" && (old.Worktree == nil || old.Worktree.Branch != c.Worktree):
		return cli.Fail(cli.No, fmt.Errorf("--worktree: %s works elsewhere already, in '%s'", old.Name, old.Path), fmt.Sprintf("gt-session rm %s removes it", old.Name))
	case old.Worktree != nil && c.Dir != "" && in.Path != old.Path:
		return cli.Fail(cli.No, fmt.Errorf("%s has a worktree of its own, '%s'", old.Name, old.Worktree.Path), "leave the folder out")
	}
	if c.Explain {
		if m.Process.IsSet() {
			fmt.Fprintf(at.env.Stdout, "   %-11s  end the agent that runs, process %d\n", "replace", m.Process.PID)
		}
		next := *old
		c.change(&next, in, at.env.Now())
		c.replaces = true
		return c.starter(at).Explain(&next)
	}
	if !c.Start && m.Process.IsSet() {
		return cli.Fail(cli.Usage, errors.New("--replace and --no-start: its agent would be ended"), fmt.Sprintf("gt-session stop %s stops it", old.Name))
	}
	if _, err := (stopping{wanted: true}).one(at, old.ID); err != nil {
		return withExitCode(old.Name, err)
	}
	held, err := at.store.Hold(old.ID, readyWait)
	if err != nil {
		return withExitCode(old.Name, err)
	}
	c.change(held.Instance, in, at.env.Now())
	err = held.Put(at.env.Now())
	held.Release()
	if err != nil {
		return err
	}
	c.replaces = true
	return c.run(at, old.ID)
}

// change gives an instance what the flags name. Another client, or one in another folder,
// has none of its conversation.
func (c *newOne) change(old, in *instance.Instance, now time.Time) {
	moved := (c.Dir != "" || c.Role != "") && in.Path != old.Path
	if moved {
		old.Path = in.Path
	}
	if c.Dir != "" || c.Role != "" {
		old.Folder = in.Folder // a person says that it is meant
	}
	if c.Agent != "" && in.Agent != old.Agent {
		old.Agent, moved = in.Agent, true
	}
	if moved {
		old.SessionID, old.ForkOf, old.StartedAt = "", "", now.UTC() // what its hooks told before is past
	}
	if len(c.Arg) > 0 {
		old.Args = in.Args
	}
	if len(in.Launcher) > 0 {
		old.Launcher = in.Launcher
	}
	for _, f := range []struct{ to, from *string }{
		{&old.Title, &in.Title}, {&old.Group, &in.Group}, {&old.Account, &in.Account}, {&old.Theme, &in.Theme}, {&old.Role, &in.Role},
	} {
		if *f.from != "" {
			*f.to = *f.from
		}
	}
	if in.ParentID != "" && in.ParentID != old.ID {
		old.ParentID = in.ParentID
	}
	if in.SessionID != "" {
		old.SessionID, old.SessionAt, old.ForkOf = in.SessionID, in.SessionAt, ""
	}
	old.Remain, old.Respawn = old.Remain || in.Remain, old.Respawn || in.Respawn
}

// give gives an agent work, as gt-mail send --hook does: its next session begins on it.
func give(env *cli.Env, in *instance.Instance, text string) error {
	to := home.Elsewhere(env.Getenv, in.Path)
	address := to.Identity.Address()
	subject, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
	n := mail.Note{
		Type: mail.Plain, From: home.Find(env.Getenv, env.Dir, "").Identity.Address(), To: address,
		Subject: env.Line(subject, 200), Body: strings.TrimSpace(env.Text(body)),
	}
	if to.Identity.Role == "" {
		n.To = to.Dir
	}
	_, err := mail.Of(to, address).Deliver(n, true)
	return err
}

// untrack takes away the process of a worker's agent that birth has noted.
func untrack(env *cli.Env, in *instance.Instance, session string) {
	if in.Role == "" {
		return
	}
	dir := pidfile.Of(town.Find(env.Getenv, in.Path))
	if f, err := dir.Get(session); err == nil {
		if err := dir.Remove(f); err != nil {
			env.Warn("%v", err)
		}
	}
}
