package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/launch"
	"gt/lib/launch/worktree"
	"gt/lib/live/fleet"
	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/place/town"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/tmux"
	"gt/lib/view/roster"
)

// buildInstance returns a new instance with the folder and agent that the flags describe, and the
// agent's client.
func (c *newOne) buildInstance(at scope) (*instance.Instance, agent.Client, error) {
	in := &instance.Instance{
		Name: c.Name, Title: at.Env.Line(c.Title, 200), Group: strings.Trim(c.Group, "/"), Args: c.Arg,
		Desired: instance.Stopped, TmuxServer: string(tmux.CurrentServer()),
	}
	var id identity.Identity
	var err error
	dir, own := "", "" // where it works or its worktree comes from, and the role's folder
	if c.Role != "" {
		t := town.Find(at.Env.Getenv, at.Env.Dir)
		if id, own, err = c.setRole(t, in); err == nil {
			dir, err = c.roleRepository(t, id, own)
		}
		in.Path = own
	} else if dir, err = findFolder(at.Env, c.Dir); err == nil {
		in.Path, id = dir, home.FindOtherHome(place.ScopeOf(at.Env.Getenv), dir).Identity
	}
	if err != nil {
		return nil, agent.Client{}, err
	}
	client, _, err := at.Table().ClientForRole(string(id.Role), id.Rig)
	at.Env.WarnError(err)
	if c.Agent != "" {
		if !at.Table().HasClient(c.Agent) {
			return nil, client, at.Table().UnknownError(c.Agent)
		}
		client = at.Table().FindClient(c.Agent)
	}
	in.Agent = client.Name
	if c.Worktree != "" && dir != own { // otherwise the role's folder is there already
		w, work, err := worktree.Plan(dir, c.Worktree, own)
		in.Worktree, in.Path = &w, work
		if err != nil {
			return in, client, err // in is for hintUnfinished
		}
	}
	return in, client, nil
}

// setRole sets the name, role and restart policy of an instance from its role, and returns
// the role's folder. The name is that of the role's tmux session. All roles but polecats
// are restarted after a crash, because others rely on them.
func (c *newOne) setRole(t town.Town, in *instance.Instance) (id identity.Identity, dir string, err error) {
	switch id, err = identity.Parse(c.Role); {
	case c.Dir != "":
		return id, "", cli.Failf(cli.Usage, "--role: a role has its folder (leave '%s' out)", c.Dir)
	case err != nil:
		return id, "", cli.Fail(cli.Usage, err)
	case t.Personal:
		return id, "", cli.Failf(cli.Usage, "--role: this folder is in no town that you trust")
	case id.Role == "" || id.Role == identity.Overseer:
		return id, "", cli.Failf(cli.Usage, "--role: '%s' is not an agent's role", c.Role)
	}
	prefixes, err := rig.Prefixes(t)
	if err != nil {
		return id, "", err
	}
	name, err := id.SessionName(prefixes)
	if err != nil {
		return id, "", noPrefixError(id, err)
	}
	in.Name = cmp.Or(in.Name, name)
	in.Role, in.Respawn = id.Address(), id.Role != identity.Polecat
	return id, filepath.Join(t.Root, filepath.FromSlash(id.Dir())), nil
}

func noPrefixError(id identity.Identity, err error) error {
	return cli.Fail(cli.Usage, fmt.Errorf("--role: %w", err), fmt.Sprintf("town.toml names a rig's prefix: [rigs.%s] prefix = \"gt\"", id.Rig))
}

// roleRepository returns the folder of a role, or the repository of its rig if the worktree is
// yet to be made.
func (c *newOne) roleRepository(t town.Town, id identity.Identity, dir string) (string, error) {
	if atomicfile.IsFolder(dir) {
		return dir, nil
	}
	none := fmt.Errorf("the folder '%s' of %s is not there", dir, c.Role)
	if id.Role != identity.Crew && id.Role != identity.Polecat {
		return "", cli.Fail(cli.AnswerNo, none)
	}
	if c.Worktree == "" {
		return "", cli.Fail(cli.AnswerNo, none, "--worktree BRANCH makes it, from the repository of its rig")
	}
	// The mayor's clone comes first: its checkout is newer than the HEAD of Gas Town's bare .repo.git.
	for _, name := range []string{"mayor/rig", "refinery/rig", ".repo.git"} {
		repo := filepath.Join(t.Root, id.Rig, filepath.FromSlash(name))
		if atomicfile.IsFolder(repo) {
			return repo, nil
		}
	}
	return "", cli.Fail(cli.AnswerNo, none, fmt.Sprintf("the rig %s has no repository (mayor/rig, refinery/rig or .repo.git) to make it from", id.Rig))
}

// findFormer returns the instance that the flags change, or nil if they make a new one. It is the
// one with the name of in. Without --replace, both must have the same role, and not just none.
func (c *newOne) findFormer(store instance.Store, in *instance.Instance) (*instance.Instance, error) {
	if !c.Replace && in.Role == "" {
		return nil, nil
	}
	all, err := store.ReadInstances()
	if err != nil {
		return nil, err
	}
	former := instance.FindNamed(all, in.Name)
	if former == nil || !c.Replace && former.Role != in.Role {
		return nil, nil
	}
	return former, nil
}

// replace ends the agent of an existing instance, applies the flags and starts it again. It
// keeps the conversation, and the notes, which belong to the folder. Without --replace it
// only starts an agent that does not run. With --explain it prints what it would do.
func (c *newOne) replace(at scope, old, in *instance.Instance) error {
	if c.Explain {
		m := at.Member(old)
		if err := c.checkReplaceable(m, in); err != nil {
			return err
		}
		if m.Process.IsSet() {
			fmt.Fprintf(at.Env.Stdout, "   %-11s  end the agent that runs, process %d\n", "replace", m.Process.PID)
		}
		next := *old
		c.applyFlags(&next, in, at.Env.Now())
		c.existed, c.replaces = true, c.Replace
		return c.flaggedStarter(at).Explain(&next)
	}
	if c.Replace {
		if err := c.confirmBusy(at, "replaced", []*instance.Instance{old}); err != nil {
			return err
		}
	}
	if err := c.changeHeld(at, old.ID, in); err != nil {
		return withExitCode(old.Name, err)
	}
	c.existed, c.replaces = true, c.Replace
	return c.startAndReport(at, old.ID)
}

// changeHeld ends the agent of an instance, if it may, and applies the flags. The instance is
// locked from the question whether an agent runs until then.
func (c *newOne) changeHeld(at scope, id instance.ID, in *instance.Instance) error {
	held, err := at.Store.Hold(id, readyWait)
	if err != nil {
		return err
	}
	defer held.Release()
	if err := c.assumeGoneHeld(at, held); err != nil {
		return err
	}
	m := at.Member(held.Instance)
	if err := c.checkReplaceable(m, in); err != nil {
		return err
	}
	if !c.Start && m.Process.IsSet() {
		return cli.Fail(cli.Usage, errors.New("--replace and --no-start: its agent would be ended"), fmt.Sprintf("gt-session stop %s stops it", held.Name))
	}
	next := *held.Instance
	c.applyFlags(&next, in, at.Env.Now())
	if err := c.flaggedStarter(at).CheckStartable(&next); err != nil {
		return err
	}
	if c.Replace {
		if _, err := newStopper(at, false, true).StopHeld(held); err != nil {
			return err
		}
	}
	c.applyFlags(held.Instance, in, at.Env.Now())
	return held.Put(at.Env.Now())
}

// checkReplaceable fails if the flags may not change an agent that exists.
func (c *newOne) checkReplaceable(m fleet.Member, in *instance.Instance) error {
	old := m.Instance
	switch {
	case old.Managed != nil:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is a template's", old.Name), fmt.Sprintf("gt-session restart %s restarts it", old.Name))
	case m.Process.IsSet() && !c.Replace:
		return alreadyRunsError(old.Name)
	case runsInAgent(m):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s cannot be replaced by a command that runs in it", old.Name), fmt.Sprintf("gt-session restart %s restarts it", old.Name))
	case c.Worktree != "" && (old.Worktree == nil || old.Worktree.Branch != c.Worktree):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("--worktree: %s works elsewhere already, in '%s'", old.Name, old.Path), fmt.Sprintf("gt-session rm %s removes it", old.Name))
	case old.Worktree != nil && c.Dir != "" && in.Path != old.Path:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s has a worktree of its own, '%s'", old.Name, old.Worktree.Path), "leave the folder out")
	}
	return nil
}

func alreadyRunsError(name string) error {
	return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is already running", name), "--replace ends it first")
}

// applyFlags applies the flags, which in has, to the instance old. If they change the client or the
// folder, old loses its conversation.
func (c *newOne) applyFlags(old, in *instance.Instance, now time.Time) {
	old.ArchivedAt = time.Time{}
	moved := (c.Dir != "" || c.Role != "") && in.Path != old.Path
	if moved {
		old.Path = in.Path
	}
	if c.Dir != "" || c.Role != "" {
		old.Folder = in.Folder // the flag confirms the folder
	}
	if c.Agent != "" && in.Agent != old.Agent {
		old.Agent, moved = in.Agent, true
	}
	if moved {
		old.SessionID, old.ForkOf, old.StartedAt = "", "", now.UTC() // earlier hooks no longer count
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
		old.SessionID, old.SessionAt, old.ForkOf, old.StartedAt = in.SessionID, in.SessionAt, "", now.UTC()
	}
	old.Remain, old.Respawn = old.Remain || in.Remain, old.Respawn || in.Respawn
}

// giveNote puts a hooked note into the box of the instance's folder. Its first line is the subject.
func giveNote(env *cli.Env, in *instance.Instance, text string) error {
	to := home.FindOtherHome(place.ScopeOf(env.Getenv), in.Path)
	address := to.Identity.Address()
	subject, body, _ := strings.Cut(strings.TrimSpace(text), "\n")
	n := mail.Note{
		Type: mail.Plain, From: home.Find(env.Getenv, env.Dir, "").Identity.Address(), To: address,
		Subject: env.Line(subject, 200), Body: strings.TrimSpace(env.Text(body)),
	}
	if to.Identity.Role == "" {
		n.To = to.Dir
	}
	_, err := mail.NewBox(to, address).Deliver(n, true)
	return err
}

// anyPolecatRig returns the rig of an address that means any of its polecats, such as gastown/polecats.
func anyPolecatRig(role string) (rig string, is bool) {
	rig, is = strings.CutSuffix(strings.TrimSuffix(role, "/"), "/polecats")
	return rig, is && rig != "" && !strings.Contains(rig, "/")
}

// allocatePolecat sets c.Role to a polecat of a rig, and c.Worktree to a new branch if it is "". It
// reuses the name of an idle polecat, whose instance and worktree it removes, or takes a
// new name. No other command allocates in the town until release is called.
func (c *newOne) allocatePolecat(at scope, rigName string) (release func(), err error) {
	t := town.Find(at.Env.Getenv, at.Env.Dir)
	switch {
	case t.Personal:
		return nil, cli.Failf(cli.Usage, "--role: this folder is in no town that you trust")
	case c.Name != "" || c.Resume != "" || c.Replace || c.Explain:
		return nil, cli.Fail(cli.Usage, errors.New("--role: without the name of a polecat, it cannot be combined with --name, --resume, --replace or --explain"), fmt.Sprintf("name one: %s/polecats/NAME", rigName))
	}
	lock, err := at.Store.LockWorkers()
	if err != nil {
		return nil, withExitCode("the workers of the town", err)
	}
	defer func() {
		if err != nil {
			lock.Unlock()
		}
	}()
	all, err := at.Store.ReadInstances()
	if err != nil {
		return nil, err // an unreadable instance may be idle, or count towards the limit
	}
	all = slices.DeleteFunc(all, func(in *instance.Instance) bool { return !isPolecatOf(in, rigName) })
	members := at.Members(all)
	most, err := rig.MaxPolecats(t, rigName)
	if err != nil {
		return nil, err
	}
	if status, err := rig.ParkedStatus(t, rigName); err != nil {
		return nil, err
	} else if status != "" {
		return nil, cli.Failf(cli.AnswerNo, "the rig %s is %s", rigName, status)
	}
	if n := countIf(members, func(m fleet.Member) bool { return !roster.IsArchived(m) && isBusy(m) }); most > 0 && n >= most {
		return nil, launch.RigFullError(rigName, n, most)
	}
	name := ""
	for _, m := range members {
		switch is, err := c.retireIdle(at, m.Instance); {
		case err != nil:
			at.Env.Warn("%s is not reused: %v", m.Name, err)
		case is:
			id, _ := identity.Parse(m.Role)
			name = id.Name
		}
		if name != "" {
			break
		}
	}
	if name == "" {
		if name, err = freeName(t, rigName, members); err != nil {
			return nil, err
		}
	}
	id := identity.Identity{Role: identity.Polecat, Rig: rigName, Name: name}
	if _, err := hookedWork(at.Env, filepath.Join(t.Root, filepath.FromSlash(id.Dir()))); err != nil {
		return nil, err // it would not see its work
	}
	c.Role = id.Address()
	if c.Worktree == "" {
		c.Worktree = "polecat/" + name + "-" + strconv.FormatInt(at.Env.Now().UnixMilli(), 36)
	}
	return lock.Unlock, nil
}

func isPolecatOf(in *instance.Instance, rigName string) bool {
	id, err := identity.Parse(in.Role)
	return err == nil && id.Role == identity.Polecat && id.Rig == rigName
}

// isBusy reports whether a worker counts as busy: it runs or should run, its state is
// unknown, or it was just made and not started yet.
func isBusy(m fleet.Member) bool {
	return m.Process.IsSet() || m.Unanswered != nil || m.IsWanted() || m.StartedAt.IsZero()
}

// retireIdle removes an idle worker and its worktree, and reports whether it did. It keeps a
// worker that is archived or has been given work, whose worktree holds unsaved work, or whose folder
// exists but was not made by gt.
func (c *newOne) retireIdle(at scope, in *instance.Instance) (bool, error) {
	held, err := at.Store.Hold(in.ID, 0)
	if err != nil {
		return false, withExitCode(in.Name, err)
	}
	defer held.Release()
	if held.IsArchived() || isBusy(at.Member(held.Instance)) {
		return false, nil
	}
	if held.Worktree == nil {
		if is, err := atomicfile.IsPresent(held.Path); err != nil || is {
			return false, err
		}
	}
	if given, err := hookedWork(at.Env, held.Path); err != nil || len(given) > 0 {
		return false, err
	}
	if held.Worktree != nil {
		removed, err := worktree.Remove(at.Env, at.Store, held)
		if err != nil {
			return false, err
		}
		if !removed { // the next one is made at the same path
			if err := git.ForgetWorktree(held.Worktree.Repository, held.Worktree.Path); err != nil {
				return false, err
			}
		}
	}
	return true, held.Remove(at.Env.Now())
}

func hookedWork(env *cli.Env, dir string) ([]mail.Note, error) {
	at := home.FindOtherHome(place.ScopeOf(env.Getenv), dir)
	return mail.NewBox(at, at.Identity.Address()).Hooked()
}

var polecatNames = [...]string{
	"furiosa", "nux", "slit", "toast", "capable", "dag", "cheedo", "valkyrie", "keeper", "rictus", "morsov", "ace", "max", "goose", "glory", "bullet",
}

// freeName returns a name that no polecat of the rig, no folder and no tmux session has.
func freeName(t town.Town, rigName string, members []fleet.Member) (string, error) {
	prefixes, err := rig.Prefixes(t)
	if err != nil {
		return "", err
	}
	for i := 0; ; i++ {
		name := polecatNames[i%len(polecatNames)]
		if round := i / len(polecatNames); round > 0 {
			name += strconv.Itoa(round + 1)
		}
		id := identity.Identity{Role: identity.Polecat, Rig: rigName, Name: name}
		session, err := id.SessionName(prefixes)
		if err != nil {
			return "", noPrefixError(id, err)
		}
		is, err := atomicfile.IsPresent(filepath.Join(t.Root, filepath.FromSlash(id.Dir())))
		switch {
		case err != nil:
			return "", err
		case is, slices.ContainsFunc(members, func(m fleet.Member) bool { return m.Role == id.Address() }), tmux.CurrentServer().HasSession(session):
			continue
		}
		return name, nil
	}
}

// logSpawn logs that a polecat was made, if its folder exists.
func logSpawn(env *cli.Env, in *instance.Instance) {
	id, err := identity.Parse(in.Role)
	if err != nil || id.Role != identity.Polecat {
		return
	}
	if info, err := os.Stat(in.Path); err != nil || !info.IsDir() {
		return // starting it reports that
	}
	t := home.FindOtherHome(place.ScopeOf(env.Getenv), in.Path).Town
	err = eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.SpareEvents()), env.WarnError, env.Now(), eventlog.Spawn,
		home.Find(env.Getenv, env.Dir, "").Identity.Address(), map[string]any{"rig": id.Rig, "polecat": id.Name})
	env.WarnError(err)
}
