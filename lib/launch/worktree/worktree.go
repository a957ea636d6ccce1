// Package worktree makes, fills and removes the worktrees of agents, each beside its repository.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
	counted "gt/lib/text/count"
	"gt/lib/text/term"
)

// Checkout is how long a command of git may take.
const Checkout = 10 * time.Minute

const (
	maxLeft  = 5         // how many files that were not copied are named
	maxShown = 4096      // bounds a line that is shown, in bytes
	maxSetup = time.Hour // bounds a command of the setup
)

// Plan returns the worktree for a branch, and the folder in it that corresponds to dir. The
// worktree lies at the path at, or beside the repository if that is "". Plan makes nothing.
// With an error it returns the worktree as far as it is known.
func Plan(dir, branch, at string) (w instance.Worktree, work string, err error) {
	all, err := git.Worktrees(dir)
	if errors.Is(err, git.ErrNotRepository) {
		return w, "", cli.Failf(cli.Usage, "cannot make a worktree: the folder '%s' is in no git repository", dir)
	} else if err != nil {
		return w, "", fmt.Errorf("cannot make a worktree: %w", err)
	}
	if err := git.CheckNewBranch(dir, branch); errors.Is(err, git.ErrBranch) {
		return w, "", cli.Fail(cli.Usage, err)
	} else if err != nil {
		return w, "", err
	}
	// all[0] is the main worktree, whichever one dir is in.
	w = instance.Worktree{Path: worktreePath(all[0], branch), Branch: branch, Repository: all[0].Path}
	if at != "" {
		w.Path = at
	}
	top := git.Top(dir)
	for _, other := range all {
		if other.Path == top {
			w.Start = other.Head
		}
		if other.Branch == branch {
			return w, "", explainCheckedOut(&git.CheckedOutError{Branch: branch, Path: other.Path, Lock: other.Lock}, w.Repository)
		}
	}
	if is, err := atomicfile.IsPresent(w.Path); err != nil {
		return w, "", err
	} else if is {
		return w, "", cli.WithHint(cli.Failf(cli.AnswerNo, "cannot make a worktree: '%s' is there already", w.Path), "gt-session new %s starts an agent in it", term.Quote(w.Path))
	}
	if at == "" && git.IsBare(dir) { // a bare repository has no folder that corresponds to dir
		at = w.Path
	}
	if at != "" {
		return w, at, nil
	}
	within, err := filepath.Rel(top, dir)
	if err != nil {
		within = "."
	}
	return w, filepath.Join(w.Path, within), nil
}

// worktreePath returns where a worktree for a branch lies: beside the main one (app-fix); for a
// submodule beside the checkout around it (app-sub-fix), because it would be among that one's files;
// and for a hidden repository such as .bare in the folder around it, as such layouts have it (fix).
func worktreePath(main git.Worktree, branch string) string {
	path, name := strings.TrimSuffix(main.Path, ".git"), instance.NameFor(branch)
	if hidden := filepath.Base(main.Path); strings.HasPrefix(hidden, ".") {
		return filepath.Join(filepath.Dir(main.Path), name)
	}
	if around := git.Top(filepath.Dir(path)); main.Submodule && around != "" {
		all, err := git.Worktrees(around)
		if err == nil && len(all) > 0 {
			all[0].Path = around
			return worktreePath(all[0], filepath.Base(path)+"-"+name)
		}
	}
	return path + "-" + name
}

// followMoved looks in git's list for a worktree that was moved, and corrects the paths of its
// instance, which put writes. It knows the folder by its identity, or else by the branch.
func followMoved(in *instance.Instance, put func() error) error {
	w := in.Worktree
	for _, path := range []string{w.Path, w.Path + removingSuffix, w.Path + removedSuffix} {
		if is, err := atomicfile.IsPresent(path); err != nil || is {
			return err
		}
	}
	within, err := filepath.Rel(w.Path, in.Path)
	all, _ := git.Worktrees(w.Repository) // whoever uses the worktree reports that it is gone
	if !w.Ready || err != nil {
		return nil
	}
	for _, other := range all {
		path := filepath.Join(other.Path, within)
		folder, err := place.Identify(path)
		if err == nil && (in.Folder != nil && folder.SameFolder(*in.Folder) || in.Folder == nil && other.Branch == w.Branch) {
			w.Path, in.Path, in.Folder = other.Path, path, &folder
			return put()
		}
	}
	return nil
}

// explainCheckedOut adds a hint about the worktree that has the branch. Its folder may be gone.
func explainCheckedOut(err *git.CheckedOutError, repository string) error {
	hint := fmt.Sprintf("gt-session new %s starts an agent there", term.Quote(err.Path))
	if is, unread := atomicfile.IsPresent(err.Path); !is && unread == nil {
		command := "git -C " + term.Typed(repository) + " worktree "
		hint = "that folder is gone; " + command + "prune has git forget it"
		if err.Lock != "" { // git forgets none of which it was told that its disk may not be there
			hint += fmt.Sprintf(" once it is unlocked (%.100q): ", err.Lock) + command + "unlock " + term.Typed(err.Path)
		}
	}
	return cli.Fail(cli.AnswerNo, err, hint)
}

// Ensure makes the worktree of an instance or finishes one that was begun. It restores one
// whose removal was interrupted before it was final. What is complete is never made again, also
// while it is not there: its disk may come late.
func Ensure(ctx context.Context, env *cli.Env, in *instance.Instance, put func() error) error {
	w := in.Worktree
	if w == nil {
		return nil
	}
	if err := followMoved(in, put); err != nil {
		return err
	}
	if is, err := atomicfile.IsPresent(w.Path + removedSuffix); err != nil {
		return err
	} else if is {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("the worktree '%s' of %s was being removed", w.Path, in.Name), fmt.Sprintf("gt-session rm %s finishes that", in.Name))
	}
	if is, err := atomicfile.IsPresent(w.Path + removingSuffix); err != nil {
		return err
	} else if is {
		if err := moveBack(w.Path); err != nil {
			return err
		}
	}
	if w.Ready {
		if atomicfile.Exists(w.Path) && git.Branch(w.Path) == "" && in.Managed != nil {
			return cli.Fail(cli.AnswerNo, fmt.Errorf("git no longer knows the worktree '%s' of %s", w.Path, in.Name), "git worktree repair mends a moved one")
		}
		return setUp(ctx, env, in, put)
	}
	if err := checkUnused(w, w.Path); err != nil {
		return err
	}
	add := git.AddWorktree
	if in.Managed != nil {
		add = git.AddOwnWorktree
	}
	err := add(w.Repository, w.Path, w.Branch, w.Start, Checkout)
	var taken *git.CheckedOutError
	switch {
	case errors.As(err, &taken):
		return explainCheckedOut(taken, w.Repository)
	case errors.Is(err, git.ErrSeveralRemotes):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot make a worktree of '%s': %w %s", w.Repository, err, term.Quote(w.Branch)),
			fmt.Sprintf("git -C %s branch %s REMOTE/%[2]s takes that of one", term.Typed(w.Repository), term.Quote(w.Branch)))
	case errors.Is(err, git.ErrNoCommit):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot make a worktree of '%s': %w", w.Repository, err), "commit something first, or leave --worktree out")
	case errors.Is(err, git.ErrUnsaved):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot complete the worktree '%s': %w", w.Path, err),
			fmt.Sprintf("save what you need of it, then: git -C %s reset --hard", term.Typed(w.Path)))
	case err != nil:
		return fmt.Errorf("cannot make the worktree '%s': %w", w.Path, err)
	}
	copyIncluded(env, w)
	w.Ready, w.SetUp, in.Folder = true, len(setupCommands(env)) > 0, nil // the folder is new
	if err := put(); err != nil {
		return err
	}
	return setUp(ctx, env, in, put)
}

// copyIncluded copies the files that git.Include names into a new worktree. A failure is only a warning.
func copyIncluded(env *cli.Env, w *instance.Worktree) {
	if git.IsBare(w.Repository) { // it has no files
		return
	}
	n, left, err := git.CopyIncluded(w.Repository, w.Path, Checkout)
	if n > 0 {
		fmt.Fprintf(env.Stderr, "copied %s of %s into %s\n", counted.Plural(n, "file"), git.Include, env.DisplayPath(w.Path))
	}
	for _, one := range left[:min(len(left), maxLeft)] {
		env.Warn("not copied into the worktree: %v", one)
	}
	if more := len(left) - maxLeft; more > 0 {
		env.Warn("not copied into the worktree: %d more", more)
	}
	if err != nil {
		env.Warn("the worktree lacks what %s names: %v", git.Include, err)
	}
}

func setupCommands(env *cli.Env) []string {
	return agent.LoadPreferences(place.Config(env.Getenv), env.WarnError).Worktree.Setup
}

// setUp runs the person's commands for a new worktree in it, unless they have run. What they
// print goes to standard error. The first that fails, or Ctrl-C, ends it. They run once; those of
// a session of a template, which nobody watches, run again until none fails.
func setUp(ctx context.Context, env *cli.Env, in *instance.Instance, put func() error) error {
	w := in.Worktree
	if !w.SetUp {
		return nil
	}
	keep := filepath.Join(w.Path, ".git") // those of a killed caller may still run, and have it open
	if err := checkUnused(w, keep); err != nil {
		return err
	}
	environ := process.Inherited(env.ChildEnviron())
	shell, err := process.LookPath("sh", w.Path, environ)
	if err != nil {
		return err
	}
	inside, err := os.Open(keep)
	if err != nil {
		return err
	}
	defer inside.Close()
	ctx, stop := signal.NotifyContext(ctx, cli.EndSignals()...)
	defer stop()
	for _, line := range setupCommands(env) {
		fmt.Fprintf(env.Stderr, "setting up %s: %s\n", env.DisplayPath(w.Path), env.Line(line, maxShown))
		run := bounded.Program{Path: shell, Args: []string{"-c", line}, Dir: w.Path, Env: environ, Keep: inside, Show: env.Stderr, Within: maxSetup, NoTerminal: true}
		if _, err = run.Run(ctx); errors.Is(err, context.Canceled) {
			err = errors.New("it was interrupted")
		}
		if err != nil && in.Managed != nil {
			return fmt.Errorf("setup failed: '%s': %w", env.Line(line, maxShown), err)
		} else if err != nil {
			err = cli.Fail(cli.AnswerNo, fmt.Errorf("the worktree of %s is there, but its setup failed: '%s': %w", in.Name, env.Line(line, maxShown), err),
				fmt.Sprintf("gt-session start %s starts the agent all the same, gt-session rm %[1]s removes both", in.Name))
			break
		}
	}
	w.SetUp = false
	return errors.Join(err, put())
}

// checkUnused returns an error while git or a setup, of which a process uses path, still works on a worktree:
// both outlive a killed caller.
func checkUnused(w *instance.Worktree, path string) error {
	if all := process.UsingFolder(path); len(all) > 0 {
		return cli.Fail(cli.Busy, fmt.Errorf("the worktree '%s' is still being made, by process %d (%s)", w.Path, all[0].PID, process.Name(all[0].PID)), "try again")
	}
	return nil
}

// A removal first gives the worktree's name removingSuffix, so that nobody finds it by its path,
// and checks it again. The other suffix makes the removal final; then it is deleted.
const (
	removingSuffix = ".gt-removing"
	removedSuffix  = ".gt-removed"
)

// moveBack undoes a removal that is not final. It does not replace what is at the path again.
func moveBack(path string) error {
	if is, err := atomicfile.IsPresent(path); err != nil {
		return err
	} else if is {
		return fmt.Errorf("cannot move '%s' back: '%s' is there again", path+removingSuffix, path)
	}
	return atomicfile.Rename(path+removingSuffix, path, atomicfile.Synced)
}

// Remove removes the worktree of an instance, unless it is in use or holds unsaved work
// (git.ErrUnsaved). It finishes an interrupted removal. was says that there was a worktree.
// The branch stays. No caller removes that of a session of a template, which nobody watches.
func Remove(env *cli.Env, store instance.Store, held *instance.Locked) (was bool, err error) {
	if err := followMoved(held.Instance, func() error { return held.Put(env.Now()) }); err != nil {
		return false, err
	}
	w := held.Worktree
	staysError := func(err error) error {
		code := cli.IO
		if errors.Is(err, git.ErrUnsaved) || errors.Is(err, errInUse) {
			code = cli.AnswerNo
		}
		return cli.Fail(code, fmt.Errorf("the worktree '%s' of %s stays: %w", w.Path, held.Name, err),
			fmt.Sprintf("gt-session rm --keep-worktree %s removes the agent's place only", held.Name))
	}
	// It is in its place, or an interrupted removal renamed it, before or after that was final.
	there, err := atomicfile.IsPresent(w.Path)
	renamed, aerr := atomicfile.IsPresent(w.Path + removingSuffix)
	final, ferr := atomicfile.IsPresent(w.Path + removedSuffix)
	switch err := errors.Join(err, aerr, ferr); {
	case err != nil:
		return false, staysError(err)
	case !w.Ready: // it was begun, and nobody has worked in it
		if err := checkUnused(w, w.Path); err != nil {
			return false, err
		}
		if err := git.DropWorktree(w.Repository, w.Path); err != nil {
			return false, staysError(err)
		}
		return true, nil
	}
	if there {
		if err := checkIdle(store, held, w.Path); err != nil {
			return false, staysError(err)
		}
		if renamed {
			return false, staysError(fmt.Errorf("'%s' exists already", w.Path+removingSuffix))
		}
		if err := atomicfile.Rename(w.Path, w.Path+removingSuffix, atomicfile.Synced); err != nil {
			return false, staysError(err)
		}
	}
	if there || renamed {
		if err := checkIdle(store, held, w.Path+removingSuffix); err != nil {
			return false, staysError(errors.Join(err, moveBack(w.Path)))
		}
		if err := os.RemoveAll(w.Path + removedSuffix); err != nil { // left by an earlier removal
			return false, staysError(errors.Join(err, moveBack(w.Path)))
		}
		if err := atomicfile.Rename(w.Path+removingSuffix, w.Path+removedSuffix, atomicfile.Synced); err != nil {
			return false, staysError(errors.Join(err, moveBack(w.Path)))
		}
	}
	if !there && !renamed && !final { // git may know of it: who moved it by hand can have that repaired
		return false, nil
	}
	// The folder goes last: an interrupted removal is recognized by it.
	if err := git.ForgetWorktree(w.Repository, w.Path); err != nil {
		env.Warn("git still knows of the worktree '%s': %v", w.Path, err) // the repository may be gone
	}
	if err := os.RemoveAll(w.Path + removedSuffix); err != nil {
		return false, atomicfile.Error("remove", w.Path+removedSuffix, err)
	}
	return true, nil
}

var errInUse = errors.New("it is in use")

// checkIdle returns errInUse if anybody uses the worktree, and git.ErrUnsaved if it holds unsaved
// work. path is where it is now, before or after Remove renamed it.
func checkIdle(store instance.Store, held *instance.Locked, path string) error {
	if all := process.UsingFolder(path); len(all) > 0 {
		return fmt.Errorf("%w: process %d (%s) works in it", errInUse, all[0].PID, process.Name(all[0].PID))
	}
	err := instance.Walk(store.State, func(_ instance.Store, in *instance.Instance) error {
		if in.ID != held.ID && place.IsBelow(in.Path, held.Worktree.Path) {
			return fmt.Errorf("%w: %s works in it, too", errInUse, in.Name)
		}
		return nil
	})
	if err == nil {
		err = checkUnoccupied(store, held.Worktree.Path)
	}
	if err != nil {
		return err
	}
	return git.CheckSaved(path, Checkout)
}

// checkUnoccupied returns an error if a session works in a worktree, as far as its hooks tell:
// process.UsingFolder sees none of another container.
func checkUnoccupied(store instance.Store, path string) error {
	homes, err := store.State.Homes()
	if err != nil {
		return err
	}
	for _, folder := range homes {
		if !place.IsBelow(folder.Path, path) {
			continue
		}
		records, err := session.Store{Home: home.HomeOutsideTown(store.State, folder.Path)}.ReadRecords()
		for _, r := range records {
			if r.Live() {
				return fmt.Errorf("%w: process %d of %s works in it, as its hooks tell", errInUse, r.PID, r.Agent)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
