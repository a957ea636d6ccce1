package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gt/lib/cli"
	"gt/lib/launch"
	"gt/lib/launch/worktree"
	"gt/lib/place/git"
	"gt/lib/state/instance"
	"gt/lib/sys/tmux"
	"gt/lib/text/fold"
)

type fork struct {
	profile
	Parent string  `arg:"" name:"name" help:"The agent whose conversation is copied."`
	Name   string  `type:"given" short:"n" placeholder:"NAME" help:"The name of the new one (default: the other's, with -fork)."`
	Title  string  `placeholder:"TEXT" help:"What it is for, one line."`
	Group  *string `short:"g" placeholder:"GROUP" help:"The group that it is in (default: the other's)."`
	Times  int     `default:"1" placeholder:"N" help:"Make this many, numbered."`
	// Worktree takes no branch, unlike that of new: each of several forks has its own.
	Worktree bool `help:"Give it a git worktree of its own, beside the repository, with a new branch of its name at the other's commit."`
	begin
}

func (c *fork) Validate() error {
	if c.Times < 1 || c.Times > maxForks {
		return fmt.Errorf("invalid --times %d (try 3, at most %d)", c.Times, maxForks)
	}
	return nil
}

const maxForks = 50 // bounds how many copies a command makes: each is an agent that works

// Run makes an instance whose agent starts with a copy of another's conversation. It does
// not change the original.
func (c *fork) Run(env *cli.Env, at scope) (err error) {
	if c.Message, err = readText(env, c.Message); err != nil {
		return err
	}
	parent, err := findMember(at, c.Parent)
	if err != nil {
		return err
	}
	original := parent.CurrentID
	if original == "" || original.Invented() || !parent.IsResumable() {
		if original = parent.ForkOf; original == "" { // a fork that has not begun is a copy of that
			return cli.Fail(cli.AnswerNo, fmt.Errorf("%s has no conversation yet", parent.Name), "gt-session new starts another agent")
		}
	}
	if client := at.Table().FindClient(parent.Agent); !client.CanFork() {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s cannot go on with a copy of a conversation", client.Name),
			fmt.Sprintf("gt-seance read %s prints the conversation, for another agent", original))
	}
	dir, err := launch.EnterFolder(at.Store, parent.Instance)
	if err != nil {
		return err
	}
	dir.Close()
	in := instance.Instance{
		Name: cmp.Or(c.Name, instance.Variant(parent.Name, "-fork")), Title: env.Line(c.Title, 200), Path: parent.Path, Folder: &dir.Folder, Group: parent.Group,
		ParentID: parent.ID, Agent: parent.Agent, Args: slices.Concat(parent.Args, c.Arg), Account: parent.Account, Launcher: parent.Launcher, Limits: parent.Limits, Theme: parent.Theme, Remain: parent.Remain, Respawn: parent.Respawn,
		Desired: instance.Stopped, TmuxServer: cmp.Or(parent.TmuxServer, string(tmux.CurrentServer())), ForkOf: original,
	}
	in.Name = fold.Name(in.Name)
	if err := instance.CheckName(in.Name); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	if c.Group != nil {
		if in.Group, err = parseGroup(*c.Group); err != nil && in.Group != "" { // "" is none
			return err
		}
	}
	if c.Explain {
		return c.explainStart(at, &in)
	}
	head := ""
	if c.Worktree {
		if head, err = forkCommit(env, parent.Path); err != nil {
			return err
		}
	}
	var made []*instance.Instance
	var failed error
	for n := 1; len(made) < c.Times && failed == nil; n++ { // n goes past names that are taken
		one := in
		if n > 1 {
			one.Name = instance.Variant(in.Name, fmt.Sprintf("-%d", n))
		}
		err := c.addFork(at, &one, head)
		taken := errors.Is(err, instance.ErrTaken) || errors.Is(err, git.ErrBranchTaken)
		switch {
		case err == nil:
			made = append(made, &one)
		// A taken name fails if it was given for a single fork, or if more than maxForks are taken.
		case !taken || c.Name != "" && c.Times == 1 || n > len(made)+maxForks:
			if errors.Is(err, git.ErrBranchTaken) {
				err = cli.Fail(cli.AnswerNo, err, fmt.Sprintf("choose another with -n NAME; gt-session new --worktree %s works on that branch, without the conversation", one.Name))
			}
			failed = withExitCode(one.Name, err)
		}
	}
	return errors.Join(failed, forEachInstance(env, made, func(one *instance.Instance) (string, error) { return "", c.startAndReport(at, one.ID) }))
}

// forkCommit returns the commit of a folder's worktree, and warns of what no commit has.
func forkCommit(env *cli.Env, dir string) (string, error) {
	s, err := git.Status(dir, worktree.Checkout)
	switch {
	case errors.Is(err, git.ErrNotRepository):
		return "", cli.Failf(cli.Usage, "cannot make a worktree: the folder '%s' is in no git repository", dir)
	case err != nil:
		return "", err
	case s.Head == "":
		return "", cli.Fail(cli.AnswerNo, git.ErrNoCommit)
	case len(s.Changes) > 0:
		s.Ahead, s.Behind = 0, 0
		env.Warn("what is not committed in %s is not in the new worktree: %s", env.DisplayPath(dir), s.Summary())
	}
	return s.Head, nil
}

// addFork adds a fork, and makes its worktree with a new branch of its name at a commit, unless that is "".
func (c *fork) addFork(at scope, in *instance.Instance, head string) error {
	if head == "" {
		return at.Store.Create(in, at.Env.Now())
	}
	w, work, err := worktree.Plan(in.Path, in.Name, "")
	if cli.ExitCode(err) == cli.AnswerNo { // a worktree has the branch, or the folder is there
		return fmt.Errorf("%w: %w", git.ErrBranchTaken, err)
	} else if err != nil {
		return err
	}
	if old, err := git.BranchAt(in.Path, in.Name); err != nil || old != "" {
		return cmp.Or(err, fmt.Errorf("%w: %s", git.ErrBranchTaken, in.Name))
	}
	from := in.Path
	in.Worktree, in.Path, in.Folder = &w, work, nil
	if err := at.Store.Create(in, at.Env.Now()); err != nil {
		return err
	}
	if err := git.MakeBranch(from, w.Branch, head, w.Path); err != nil {
		held, herr := at.Store.Hold(in.ID, readyWait)
		if herr == nil {
			herr = held.Remove(at.Env.Now())
			held.Release()
		}
		return errors.Join(err, herr)
	}
	return makeWorktree(at, in)
}
