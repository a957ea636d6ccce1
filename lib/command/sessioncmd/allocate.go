package sessioncmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
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

// someOf returns the rig of an address that means any of its polecats, such as gastown/polecats.
func someOf(role string) (rig string, is bool) {
	rig, is = strings.CutSuffix(strings.TrimSuffix(role, "/"), "/polecats")
	return rig, is && rig != "" && !strings.Contains(rig, "/")
}

// allocate chooses a polecat of a rig and, if c names none, a branch for its worktree. It
// reuses the name of an idle polecat, whose instance and worktree it removes, or takes a
// new name. No other command allocates in the town until release is called.
func (c *newOne) allocate(at scope, rigName string) (release func(), err error) {
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
	if status, err := rig.Parked(t, rigName); err != nil {
		return nil, err
	} else if status != "" {
		return nil, cli.Failf(cli.AnswerNo, "the rig %s is %s", rigName, status)
	}
	if n := count(members, func(m fleet.Member) bool { return !roster.IsArchived(m) && isBusy(m) }); most > 0 && n >= most {
		return nil, launch.Full(rigName, n, most)
	}
	name := ""
	for _, m := range members {
		switch is, err := c.retire(at, m.Instance); {
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
	if _, err := work(at.Env, filepath.Join(t.Root, filepath.FromSlash(id.Dir()))); err != nil {
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
	return m.Process.IsSet() || m.Unanswered != nil || m.Wanted() || m.StartedAt.IsZero()
}

// retire removes an idle worker and its worktree, and reports whether it did. It keeps a
// worker that is archived or has been given work, whose worktree holds unsaved work, or whose folder
// exists but was not made by gt.
func (c *newOne) retire(at scope, in *instance.Instance) (bool, error) {
	held, err := at.Store.Hold(in.ID, 0)
	if err != nil {
		return false, withExitCode(in.Name, err)
	}
	defer held.Release()
	if held.IsArchived() || isBusy(at.Member(held.Instance)) {
		return false, nil
	}
	if held.Worktree == nil {
		if is, err := atomicfile.Present(held.Path); err != nil || is {
			return false, err
		}
	}
	if given, err := work(at.Env, held.Path); err != nil || len(given) > 0 {
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

func work(env *cli.Env, dir string) ([]mail.Note, error) {
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
			return "", noPrefix(id, err)
		}
		is, err := atomicfile.Present(filepath.Join(t.Root, filepath.FromSlash(id.Dir())))
		switch {
		case err != nil:
			return "", err
		case is, slices.ContainsFunc(members, func(m fleet.Member) bool { return m.Role == id.Address() }), tmux.CurrentServer().HasSession(session):
			continue
		}
		return name, nil
	}
}

// spawned logs that a polecat was made, if its folder exists.
func spawned(env *cli.Env, in *instance.Instance) {
	id, err := identity.Parse(in.Role)
	if err != nil || id.Role != identity.Polecat {
		return
	}
	if info, err := os.Stat(in.Path); err != nil || !info.IsDir() {
		return // starting it reports that
	}
	t := home.FindOtherHome(place.ScopeOf(env.Getenv), in.Path).Town
	err = eventlog.Log(t.Events()).AppendOr(eventlog.Log(t.Spare()), env.WarnError, env.Now(), eventlog.Spawn,
		home.Find(env.Getenv, env.Dir, "").Identity.Address(), map[string]any{"rig": id.Rig, "polecat": id.Name})
	env.WarnError(err)
}
