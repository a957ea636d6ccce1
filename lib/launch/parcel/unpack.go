package parcel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/checkpoint"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
	"gt/lib/text/fold"
	"gt/lib/text/term"
)

// Unpacker makes instances of a store from parcels.
type Unpacker struct {
	Env   *cli.Env
	Store instance.Store
	Table *agent.Table

	Choices
	Force bool // take over what this machine knows of its session

	// confirm is shown what the parcel brings that a person has to accept; nil if nobody is there.
	confirm func([]Power) error
}

// Choices are what the command that unpacks a parcel chooses, kept with one that waits.
type Choices struct {
	NameHere   string `json:"name_here,omitempty"` // the instance's name; "" for the one that it has
	Folder     string `json:"folder,omitempty"`    // in the repository, or the agent's folder itself without one; "" to look for it
	Clone      string `json:"clone,omitempty"`     // clone the repository to this new folder
	ClientHere string `json:"as,omitempty"`        // another client
	// Launcher is what the agent runs in here. It has to be set, even if to no words, for an
	// instance that ran in something.
	Launcher *[]string `json:"launcher,omitempty"`
	Args     bool      `json:"args,omitempty"` // take its arguments
	// From is the host of the fleet that it comes from, and Key that host's key. A person who
	// unpacks it by hand says "".
	From string `json:"from,omitempty"`
	Key  string `json:"key,omitempty"`
}

// Result says what Unpack made.
type Result struct {
	Parcel   string      `json:"parcel"`
	ID       instance.ID `json:"id"`
	Name     string      `json:"name"`
	Path     string      `json:"path"`
	Worktree string      `json:"worktree,omitempty"`
	Branch   string      `json:"branch,omitempty"`
	Session  session.ID  `json:"session_id,omitempty"` // what the agent goes on with
	Args     []string    `json:"args,omitempty"`
	ArgsLeft []string    `json:"args_left,omitempty"` // those that were not taken
	Again    bool        `json:"again,omitempty"`     // it was unpacked before
	// Waits is what a person here has to accept first (see Accept). Until then nothing of the
	// parcel is anywhere but in gt's own folder.
	Waits []Power `json:"waits,omitempty"`
}

// plan is what an unpacking does. It is kept until the end, so that one that was killed is
// completed in the same way.
type plan struct {
	Flags      string    `json:"flags"`                // of the command that made it
	Name       string    `json:"name"`                 // of the instance
	Repository string    `json:"repository,omitempty"` // the main worktree; "" without git
	CloneFrom  string    `json:"clone_from,omitempty"`
	Branch     string    `json:"branch,omitempty"`
	Worktree   string    `json:"worktree,omitempty"`
	Path       string    `json:"path"`    // the agent's folder
	Returns    bool      `json:"returns"` // the instance was here before
	InPlace    bool      `json:"in_place,omitempty"`
	Before     []string  `json:"before,omitempty"`     // with InPlace: the files that it had and that are in its earlier parcel
	InTheWay   *[]string `json:"in_the_way,omitempty"` // with InPlace: files that others replace; nil if not known yet
	Forced     bool      `json:"force,omitempty"`      // see Unpacker.Force
	Accepted   bool      `json:"accepted,omitempty"`   // a person has accepted what it brings
	Waiting    *Waiting  `json:"waiting,omitempty"`    // nobody has, yet

	Session session.ID `json:"session_id,omitempty"` // a new one, for another client
}

// unpacking is one call of Unpack.
type unpacking struct {
	Unpacker
	*reader
	plan
	dir         string // of the extracted members
	client      agent.Client
	oldInstance *instance.Instance // the instance that was here before, or nil

	thread     *thread.Thread         // nil if there is none; see inspectSession
	checkpoint *checkpoint.Checkpoint // likewise
}

// Unpack makes the instance of a parcel. It starts nothing.
func (u Unpacker) Unpack(in io.Reader) (Result, error) {
	r, err := openParcel(in)
	if err != nil {
		return Result{}, refuseParcel(err)
	}
	all := u.Store.State.Path("parcels")
	if err := u.Store.State.Prepare(all); err != nil {
		return Result{}, err
	}
	w := &unpacking{Unpacker: u, reader: r, dir: filepath.Join(all, r.ID)}
	lock, err := flock.Acquire(w.dir+".lock", lockWait)
	if err != nil {
		return Result{}, err
	}
	defer lock.Unlock()
	var done Result
	if atomicfile.ReadJSON(w.dir+receiptSuffix, maxSmall, &done) == nil { // it was unpacked before
		done.Again = true
		_, err := io.Copy(io.Discard, in) // the other side writes it to its end
		return done, errors.Join(err, os.RemoveAll(w.dir))
	}
	atomicfile.Sweep(all, u.Env.Now())
	if err := w.loadPlan(); err != nil {
		return Result{}, err
	}
	members := filepath.Join(w.dir, "members")
	if err := errors.Join(os.RemoveAll(members), u.Store.State.Prepare(members)); err != nil {
		return Result{}, err
	}
	if err := r.extract(members); err != nil {
		return Result{}, refuseParcel(errors.Join(err, os.RemoveAll(w.dir)))
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return Result{}, err
	}
	return w.finishUnpacking()
}

// finishUnpacking makes what was planned, and notes that it is done, or keeps a parcel that has to wait.
func (w *unpacking) finishUnpacking() (Result, error) {
	done, err := w.applyPlan()
	if err == nil && done.Waits != nil {
		return done, w.keepWaiting()
	} else if err != nil {
		return done, err
	}
	if err := atomicfile.WriteJSON(w.dir+receiptSuffix, done, atomicfile.Synced); err != nil {
		return done, err
	}
	return done, os.RemoveAll(w.dir)
}

// failWithFlags returns an error with hints about flags, or without them if another host sent the parcel.
func (w *unpacking) failWithFlags(err error, hints ...string) error {
	if w.From != "" {
		hints = nil
	}
	return cli.Fail(cli.AnswerNo, err, hints...)
}

func refuseParcel(err error) error {
	return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot unpack: %w", err), "nothing was unpacked")
}

// loadPlan loads the plan of an unpacking that was killed, or makes one, before any member is read.
// It makes it anew for other flags, and while the parcel waits for a person.
func (w *unpacking) loadPlan() error {
	if err := runInOrder(w.findOldInstance, w.findAgent, w.findLauncher); err != nil {
		return err
	}
	flags := strings.Join([]string{w.NameHere, w.Folder, w.Clone, w.ClientHere, w.From}, "\x00")
	kept, ok := readPlan(w.dir)
	if ok && kept.Flags == flags && (kept.Waiting == nil || kept.Accepted) {
		w.plan = kept
		w.Forced = w.Forced || w.Force
		return nil
	}
	w.plan = plan{Flags: flags, Forced: w.Force, Returns: w.oldInstance != nil, Waiting: kept.Waiting} // what is here may have changed
	return runInOrder(w.findName, w.findRepository, w.findWorktree, w.checkKnown, w.savePlan)
}

// runInOrder calls functions up to the first that fails.
func runInOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *unpacking) savePlan() error {
	return w.Store.State.WriteJSON(filepath.Join(w.dir, planName), w.plan, atomicfile.Synced)
}

// Ask returns why what Packer.Question describes could not be unpacked here. It makes nothing.
func (u Unpacker) Ask(in io.Reader) error {
	w := &unpacking{Unpacker: u, reader: &reader{}}
	data, err := io.ReadAll(io.LimitReader(in, maxSmall))
	if err == nil {
		err = errors.Join(json.Unmarshal(data, &w.Manifest), w.checkInstance(), w.reader.Session.check())
	}
	if g := w.Git; err == nil && g != nil && (len(g.Roots) == 0 || slices.ContainsFunc(g.Roots, func(id string) bool { return !git.IsHash(id) })) {
		err = errors.New("its repository has no first commit")
	}
	if err != nil {
		return cli.Fail(cli.AnswerNo, err)
	}
	return runInOrder(w.findOldInstance, w.findAgent, w.findLauncher, w.findName, w.findRepository, w.checkKnown)
}

// findAgent finds the client in this machine's table, and its program.
func (w *unpacking) findAgent() error {
	name := cmp.Or(w.ClientHere, w.Instance.Agent)
	if !w.Table.HasClient(name) {
		if w.ClientHere != "" {
			return w.Table.UnknownError(name)
		}
		return w.failWithFlags(fmt.Errorf("no agent is called %s here", w.Env.Quoted(name)), "--agent names one that goes on with the conversation")
	}
	w.client = w.Table.FindClient(name)
	command := w.client.Restart(nil, agent.NextRun{})
	if len(command) == 0 {
		return cli.Failf(cli.AnswerNo, "%s has no command", name)
	}
	if _, err := process.LookPath(command[0], w.Env.Dir, w.Env.ChildEnviron()); err != nil {
		return w.failWithFlags(err, "install it, or go on with another: --agent")
	}
	return nil
}

// findLauncher has the person decide what the agent runs in. An agent that ran in a sandbox
// must not run outside of one, nor in one that the parcel chose, without them.
func (w *unpacking) findLauncher() error {
	if len(w.Instance.Launcher) == 0 || w.Launcher != nil || w.oldInstance != nil {
		return nil
	}
	var words []string
	for _, word := range w.Instance.Launcher {
		words = append(words, term.Typed(w.Env.Line(word, 200)))
	}
	around := strings.Join(words, " ")
	return w.failWithFlags(fmt.Errorf("%s ran in this: %s", w.Instance.Name, around), "--in COMMAND says what it runs in here; --in '' is nothing")
}

// findOldInstance finds the instance as it was here before it moved away.
func (w *unpacking) findOldInstance() error {
	old, err := w.Store.Get(w.Instance.ID)
	switch {
	case errors.Is(err, instance.ErrNone):
		return nil
	case err != nil:
		return err
	}
	Packer{Env: w.Env, Store: w.Store}.markMoved(old) // a restored backup may not have it
	switch {
	case old.Arrived == w.ID: // everything but the receipt was done
	case old.Managed != nil, old.Role != "", old.Moved == nil:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is here already, and has not moved away", old.Name), fmt.Sprintf("gt-session pack %s moves it away, gt-session rm %[1]s removes it", old.Name))
	case old.Generation >= w.Generation:
		return cli.Failf(cli.AnswerNo, "%s has moved on since this parcel was packed", old.Name)
	case w.From != "" && old.Moved.To != "" && cmp.Or(old.Moved.Key, old.Moved.To) != w.From && cmp.Or(old.Moved.Key, old.Moved.To) != w.Key: // mutant never: TestReturns
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s left here for %s, not for %s", old.Name, old.Moved.To, w.From), "only that host brings it back")
	}
	w.oldInstance = old
	return nil
}

// findName chooses the instance's name. One that the person gave must be free.
func (w *unpacking) findName() error {
	w.plan.Name = cmp.Or(w.NameHere, w.Instance.Name)
	if w.oldInstance != nil {
		w.plan.Name = cmp.Or(w.NameHere, w.oldInstance.Name)
	}
	if err := instance.CheckName(w.plan.Name); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	all, err := w.Store.ReadNamed()
	if err != nil {
		return err
	}
	base := w.plan.Name
	for n := 2; slices.ContainsFunc(all, func(in *instance.Instance) bool { return fold.SameName(in.Name, w.plan.Name) && in.ID != w.Instance.ID }); n++ {
		if w.NameHere != "" {
			return cli.Fail(cli.AnswerNo, instance.Taken(all, base), "choose another with -n NAME")
		}
		w.plan.Name = instance.Variant(base, fmt.Sprintf("-%d", n))
	}
	return nil
}

// findRepository finds the repository: in the named folder, cloned, or among those in whose
// folders sessions have worked.
func (w *unpacking) findRepository() error {
	g := w.Git
	if g == nil {
		return w.findFolder()
	}
	switch {
	case w.Clone != "":
		return w.planClone()
	case w.Folder != "":
		main, ok, err := git.HasCommits(w.Folder, g.Roots, gitWait)
		switch {
		case err != nil:
			return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot use the folder '%s': %w", w.Folder, err))
		case !ok:
			return cli.Failf(cli.AnswerNo, "the folder '%s' has another repository: its first commit is not %.12s", w.Folder, g.Roots[0])
		}
		w.Repository = main
		return nil
	}
	found, err := w.repositories()
	switch {
	case err != nil:
		return err
	case len(found) == 1:
		w.Repository = found[0]
		return nil
	case len(found) > 1:
		var hints []string
		for _, one := range found {
			hints = append(hints, "--folder "+term.Typed(one))
		}
		return w.failWithFlags(fmt.Errorf("%d folders here have its repository", len(found)), hints...)
	}
	err = w.failWithFlags(fmt.Errorf("no folder that gt knows has its repository (first commit %.12s)", g.Roots[0]), "--folder DIR names one")
	if w.From != "" {
		return cli.WithHint(err, "clone it there, and start an agent in it once")
	}
	for _, r := range g.Remotes {
		if git.CheckURL(r.URL) == nil {
			err = cli.WithHint(err, "--clone DIR clones %s", w.Env.Line(r.URL, 400))
			break
		}
	}
	return err
}

// repositories returns the main worktrees of the known repositories that have the first
// commit.
func (w *unpacking) repositories() (found []string, err error) {
	if w.oldInstance != nil { // it comes back to its own
		if main, ok, err := git.HasCommits(w.oldInstance.Path, w.Git.Roots, gitWait); ok && err == nil {
			return []string{main}, nil
		}
	}
	homes, err := w.Store.State.Homes()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, f := range homes {
		dirs = append(dirs, f.Path)
	}
	all, err := w.Store.ReadInstances()
	if err != nil {
		return nil, err
	}
	for _, in := range all {
		dirs = append(dirs, in.Path)
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		// It is not a folder that is gone or that is not a repository.
		if main, ok, err := git.HasCommits(dir, w.Git.Roots, gitWait); ok && err == nil && !slices.Contains(found, main) {
			found = append(found, main)
		}
	}
	return found, nil
}

// planClone chooses the remote to clone from: origin, or the first other one whose URL gt accepts.
func (w *unpacking) planClone() error {
	at := slices.IndexFunc(w.Git.Remotes, func(r git.Remote) bool { return r.Name == "origin" && git.CheckURL(r.URL) == nil })
	if at < 0 {
		at = slices.IndexFunc(w.Git.Remotes, func(r git.Remote) bool { return git.CheckURL(r.URL) == nil })
	}
	if at < 0 {
		return cli.Fail(cli.AnswerNo, errors.New("its repository has no remote that gt clones from"), "clone it yourself, and name the folder: --folder DIR")
	}
	if atomicfile.Exists(w.Clone) {
		return cli.Failf(cli.AnswerNo, "cannot clone to '%s': it is there already", w.Clone)
	}
	w.Repository, w.CloneFrom = place.Real(w.Clone), w.Git.Remotes[at].URL
	return nil
}

// findFolder finds the folder of an agent without a repository.
func (w *unpacking) findFolder() error {
	w.Path = w.Folder
	if w.Path == "" && w.oldInstance != nil {
		w.Path = w.oldInstance.Path
	}
	if w.Path == "" {
		return w.failWithFlags(fmt.Errorf("the folder of %s is in no repository", w.Instance.Name), "--folder DIR names the one that it works in here")
	}
	return nil
}

// findWorktree chooses a new folder beside the repository, and its branch: the parcel's own, or
// moved/NAME if that is taken here. An instance that comes back can get the folder that it left.
func (w *unpacking) findWorktree() error {
	if w.Git == nil {
		return nil
	}
	if is, err := w.findPlaceItLeft(); is || err != nil {
		return err
	}
	moved := "moved/" + w.plan.Name
	name := cmp.Or(w.Git.Branch, moved)
	if w.CloneFrom == "" {
		switch at, err := git.BranchAt(w.Repository, "moved"); {
		case err != nil:
			return err
		case at != "": // with a branch "moved", git can have no branch moved/NAME
			moved = "moved-" + w.plan.Name
		}
		all, err := git.Worktrees(w.Repository)
		if err != nil {
			return err
		}
		var unread error
		taken := func(branch string) bool {
			if slices.ContainsFunc(all, func(t git.Worktree) bool { return t.Branch == branch }) {
				return true
			}
			is, err := git.BranchTaken(w.Repository, branch, w.Git.Head)
			unread = errors.Join(unread, err)
			return is
		}
		err = git.CheckBranch(w.Repository, name)
		if err != nil && !errors.Is(err, git.ErrBranch) {
			return err
		}
		if err != nil || w.Git.Branch == "" || taken(name) {
			name = moved
		}
		for base, n := name, 2; taken(name); n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		if unread != nil {
			return unread
		}
	}
	base := strings.TrimSuffix(w.Repository, ".git") + "-" + instance.NameFor(cmp.Or(strings.TrimPrefix(name, "moved/"), name))
	w.Branch, w.Worktree = name, base
	for n := 2; atomicfile.Exists(w.Worktree); n++ {
		w.Worktree = fmt.Sprintf("%s-%d", base, n)
	}
	w.Path = filepath.Join(w.Worktree, w.Git.Within)
	return nil
}

// findPlaceItLeft chooses the folder that the instance left, if it comes back to this host and
// all there, also the files that git ignores, is as it was: somebody may have worked there.
func (w *unpacking) findPlaceItLeft() (bool, error) {
	if w.oldInstance == nil || w.oldInstance.Moved == nil || w.oldInstance.Moved.State == "" || w.Folder != "" || w.Clone != "" {
		return false, nil
	}
	scratch := filepath.Join(w.dir, "before")
	if err := errors.Join(os.RemoveAll(scratch), w.Store.State.Prepare(scratch)); err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	current := &writer{manifest: &Manifest{}}
	root, state, err := Packer{Env: w.Env, Store: w.Store, Table: w.Table, quiet: true}.addRepository(current, w.oldInstance.Path, scratch)
	if root != nil {
		root.Close()
	}
	if atomicfile.IsSystemError(err) && !errors.Is(err, fs.ErrNotExist) {
		return false, err // whether the folder is as it was is not known
	}
	if err != nil || state != w.oldInstance.Moved.State { // mutant never: . TestScripts/session_back$
		return false, nil
	}
	top := place.Real(git.Top(w.oldInstance.Path))
	w.InPlace, w.Worktree, w.Branch, w.Path = true, top, git.Branch(top), filepath.Join(top, w.Git.Within)
	w.Before = current.manifest.Git.filePaths()
	return true, nil
}

// applyPlan does what was planned. Every step can be repeated.
func (w *unpacking) applyPlan() (Result, error) {
	done := Result{Parcel: w.ID, ID: w.Instance.ID, Name: w.plan.Name, Path: w.Path, Worktree: w.Worktree, Branch: w.Branch}
	if w.oldInstance != nil && w.oldInstance.Arrived == w.ID {
		return done, nil
	}
	if err := w.inspectSession(); err != nil {
		return done, refuseParcel(err)
	}
	if w.Git != nil {
		if err := w.takeCommits(); err != nil {
			return done, err
		}
	}
	if waits, err := w.findUnaccepted(); err != nil || waits != nil {
		done.Waits = waits
		return done, err
	}
	if w.Git != nil {
		if err := w.makeWorktree(); err != nil {
			return done, err
		}
		done.Branch = w.Branch
	} else if info, err := os.Stat(w.Path); err != nil || !info.IsDir() {
		return done, atomicfile.Error("use", w.Path, cmp.Or(err, errors.New("it is not a folder")))
	}
	w.Path = place.Real(w.Path)
	done.Path = w.Path
	var err error
	if done.Session, err = w.makeSession(); err != nil {
		return done, err
	}
	return w.makeInstance(done)
}

func (w *unpacking) memberPath(name string) string { return filepath.Join(w.dir, "members", name) }

// takeCommits puts the commits into the repository, where no branch has them yet.
func (w *unpacking) takeCommits() error {
	g := w.Git
	if w.CloneFrom != "" && !atomicfile.Exists(w.Repository) {
		w.Env.Hint("clones %s", w.Env.Line(w.CloneFrom, 400))
		if err := git.Clone(w.CloneFrom, w.Repository, gitWait); err != nil {
			return cli.Fail(cli.AnswerNo, err)
		}
	}
	carried := git.Carried{Head: g.Head, Index: g.Index}
	if err := git.TakeBundle(w.Repository, w.memberPath(g.Bundle), carried, maxTotal, gitWait); errors.Is(err, git.ErrLacks) {
		return cli.Fail(cli.AnswerNo, err, fmt.Sprintf("git -C %s fetch --all may get them; then unpack it again", term.Typed(w.Repository)))
	} else if err != nil {
		return refuseParcel(err)
	}
	return nil
}

// makeWorktree makes the worktree with its files.
func (w *unpacking) makeWorktree() error {
	g := w.Git
	if w.InPlace {
		return w.resetWorktree()
	}
	err := git.MakeBranch(w.Repository, w.Branch, g.Head, w.Worktree)
	if other := "moved/" + w.plan.Name; w.CloneFrom != "" && w.Branch != other && (errors.Is(err, git.ErrBranchTaken) || errors.Is(err, git.ErrBranch)) {
		w.Branch = other // the clone has checked out that one
		err = git.MakeBranch(w.Repository, w.Branch, g.Head, w.Worktree)
	}
	if err != nil {
		return fmt.Errorf("cannot make the branch %s: %w", git.Quote(w.Branch), err)
	}
	if err := git.AddWorktree(w.Repository, w.Worktree, w.Branch, "", gitWait); err != nil {
		return fmt.Errorf("cannot make the worktree '%s': %w", w.Worktree, err)
	}
	if err := git.FillIndex(w.Worktree, g.Index, gitWait); err != nil {
		return fmt.Errorf("cannot fill the worktree '%s': %w", w.Worktree, err)
	}
	return w.writeChanges()
}

// resetWorktree makes the worktree that the instance left the one that comes back. All that
// it loses went along when it left.
func (w *unpacking) resetWorktree() error {
	root, err := os.OpenRoot(w.Worktree)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := w.clearWay(root); err != nil {
		return err
	}
	for _, name := range w.Before {
		if atomicfile.CheckLinksIn(root, filepath.Dir(name), false) != nil {
			continue
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove '%s' in '%s': %w", git.Quote(name), w.Worktree, err)
		}
	}
	if err := git.ResetWorktree(w.Worktree, w.Git.Head, w.Git.Index, gitWait); err != nil {
		return fmt.Errorf("cannot change the worktree '%s': %w", w.Worktree, err)
	}
	return w.writeChanges()
}

// clearWay renames files that did not go along and that lie where the parcel's files will be. It
// notes their names before it changes anything.
func (w *unpacking) clearWay(root *os.Root) error {
	if w.InTheWay == nil {
		names, err := git.InTheWay(w.Worktree, w.Git.Index, w.Git.filePaths(), gitWait)
		if err != nil {
			return fmt.Errorf("cannot read the worktree '%s': %w", w.Worktree, err)
		}
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(w.Before, name) })
		w.InTheWay = &names
		if err := w.savePlan(); err != nil {
			return err
		}
	}
	for _, name := range *w.InTheWay {
		if _, err := root.Lstat(name + replacedSuffix); err == nil || atomicfile.CheckLinksIn(root, filepath.Dir(name), false) != nil {
			continue // done by one that was killed
		}
		if err := atomicfile.RenameIn(root, name, name+replacedSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Error("rename", filepath.Join(w.Worktree, name), err)
		}
		w.Env.Warn("%s was in the way, and is now %s", git.Quote(name), git.Quote(name+replacedSuffix))
	}
	return nil
}

// writeChanges writes the files that differ from the index. The worktree may have hostile links:
// nothing is written through one.
func (w *unpacking) writeChanges() error {
	root, err := os.OpenRoot(w.Worktree)
	if err != nil {
		return err
	}
	defer root.Close()
	writeError := func(name string, err error) error {
		return fmt.Errorf("cannot write '%s' in '%s': %w", git.Quote(name), w.Worktree, err)
	}
	entries, err := git.Tree(w.Repository, w.Git.Index, gitWait)
	if err != nil {
		return err
	}
	tracked := map[string]bool{}
	for _, e := range entries {
		tracked[e.Path] = true
	}
	for _, name := range w.Git.Deleted {
		if !tracked[name] { // mutant never: TestRemovesItsOwn
			continue // it is not the parcel's to remove
		}
		if err := atomicfile.CheckLinksIn(root, filepath.Dir(name), false); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return writeError(name, err)
		}
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return writeError(name, err)
		}
	}
	var names []string // those that are written
	for _, f := range w.Git.Files {
		err := runInOrder(
			func() error { return atomicfile.CheckLinksIn(root, filepath.Dir(f.Path), true) },
			func() error { return w.clearPath(root, f.Path) },
			func() error { return w.putFile(root, f) },
		)
		if err != nil {
			return writeError(f.Path, err)
		}
		if f.Member != "" {
			names = append(names, f.Path)
		}
	}
	if err := atomicfile.CheckLinksIn(root, cmp.Or(w.Git.Within, "."), true); err != nil {
		return writeError(w.Git.Within, err)
	}
	if err := atomicfile.Sync(w.Worktree, names); err != nil {
		return err
	}
	return git.IntendToAdd(w.Worktree, w.Git.Intended, gitWait)
}

// clearPath removes a file. A folder with files that did not go along is renamed.
func (w *unpacking) clearPath(root *os.Root, name string) error {
	err := root.Remove(name)
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST) {
		if err = atomicfile.RenameIn(root, name, name+replacedSuffix); err == nil {
			w.Env.Warn("%s was in the way, and is now %s", git.Quote(name), git.Quote(name+replacedSuffix))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// putFile makes a file or link. The caller has cleared its path, and nothing new there is followed.
func (w *unpacking) putFile(root *os.Root, f File) error {
	if f.Link != "" {
		return atomicfile.RetryInterrupted(func() error { return root.Symlink(f.Link, f.Path) })
	}
	perm := fs.FileMode(0o666) // less the umask, as git makes files
	if f.Exec {
		perm = 0o777
	}
	from, err := atomicfile.Open(w.memberPath(f.Member))
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, atomicfile.Close(to))
}

// Waiting is a parcel that a person here has to accept: it brings what could run a program or
// permit something. All of it lies in gt's own folder, <state>/parcels/<id>.
type Waiting struct {
	Parcel string      `json:"parcel"`
	ID     instance.ID `json:"id"`
	Name   string      `json:"name"` // that the agent will have
	Agent  string      `json:"agent"`
	At     time.Time   `json:"at"`
	Choices
}

// findUnaccepted returns what a person has to accept before the parcel is unpacked, nil if there is
// nothing, or if they accept it now.
func (w *unpacking) findUnaccepted() ([]Power, error) {
	if w.Accepted {
		return nil, nil
	}
	all, err := w.findPowers()
	if err != nil || len(all) == 0 || w.confirm == nil {
		return all, err
	}
	if err := w.confirm(all); err != nil {
		return nil, err
	}
	w.Accepted = true
	return nil, w.savePlan()
}

// keepWaiting keeps a parcel until a person accepts it, or refuses one too many of the same host.
func (w *unpacking) keepWaiting() error {
	all, err := AllWaiting(w.Store.State)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o Waiting) bool { return o.From != w.From || o.Parcel == w.ID })
	if len(all) >= mostWaiting { // mutant never: TestMostWaiting
		err := refuseParcel(fmt.Errorf("%d others wait for a person already", len(all)))
		return errors.Join(err, os.RemoveAll(w.dir))
	}
	if err := atomicfile.WriteJSON(filepath.Join(w.dir, manifestName), &w.Manifest, atomicfile.Synced); err != nil {
		return err
	}
	w.plan.Waiting = &Waiting{
		Parcel: w.ID, ID: w.Instance.ID, Name: w.plan.Name, Agent: w.client.Name,
		At: w.Env.Now().UTC(), Choices: w.Choices,
	}
	return w.savePlan()
}

// AllWaiting returns the parcels that wait for a person, the oldest first.
func AllWaiting(state place.State) (all []Waiting, err error) {
	names, err := atomicfile.Folders(state.Path("parcels"))
	for _, name := range names {
		if p, ok := readPlan(state.Path("parcels", name)); ok && p.Waiting != nil && p.Waiting.Parcel == name {
			all = append(all, *p.Waiting)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].At.Before(all[j].At) })
	return all, err
}

func readPlan(dir string) (p plan, ok bool) {
	err := atomicfile.ReadJSON(filepath.Join(dir, planName), maxManifest, &p)
	return p, err == nil
}

// Accept shows confirm what a waiting parcel brings, and unpacks it if confirm returns nil.
func (u Unpacker) Accept(one Waiting, confirm func([]Power) error) (Result, error) {
	all := u.Store.State.Path("parcels")
	u.Choices, u.confirm = one.Choices, confirm
	w := &unpacking{Unpacker: u, reader: &reader{}, dir: filepath.Join(all, one.Parcel)}
	lock, err := flock.Acquire(w.dir+".lock", lockWait)
	if err != nil {
		return Result{}, err
	}
	defer lock.Unlock()
	err = atomicfile.ReadJSON(filepath.Join(w.dir, manifestName), maxManifest, &w.Manifest)
	if err == nil {
		err = runInOrder(w.check, w.loadPlan)
	}
	if err != nil {
		return Result{}, err
	}
	return w.finishUnpacking()
}

// Drop forgets a parcel that waits.
func Drop(state place.State, one Waiting) error {
	return os.RemoveAll(state.Path("parcels", one.Parcel))
}

// WaitingFor returns the parcel of an instance that waits here, by its name or id.
func WaitingFor(state place.State, name string) (Waiting, error) {
	all, err := AllWaiting(state)
	var names []string
	for _, one := range all {
		if one.Name == name || string(one.ID) == name || one.Parcel == name {
			return one, nil
		}
		names = append(names, one.Name)
	}
	if err != nil {
		return Waiting{}, err
	}
	failed := fmt.Errorf("no agent '%.80s' waits to be accepted", name)
	if names == nil {
		return Waiting{}, cli.Fail(cli.AnswerNo, failed)
	}
	return Waiting{}, cli.Fail(cli.AnswerNo, failed, "those that wait: "+strings.Join(names, ", "))
}
