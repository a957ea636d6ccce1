package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/launch"
	"gt/lib/launch/worktree"
	"gt/lib/state/instance"
	"gt/lib/text/fold"
	"gt/lib/text/term"
)

// lockNamed returns the instance with that name, which no other command changes until its release.
func lockNamed(at scope, name string) (*instance.Locked, error) {
	in, err := findReadable(at, name)
	if err != nil {
		return nil, err
	}
	held, err := at.Store.Hold(in.ID, readyWait)
	return held, withExitCode(in.Name, err)
}

type rename struct {
	profile
	Name string  `arg:"" help:"The agent."`
	To   string  `arg:"" help:"Its new name."`
	Text *string `name:"title" placeholder:"TEXT" help:"Give it another title, too."`
}

// Run renames an instance. Its tmux session keeps the old name until the next start.
func (c *rename) Run(env *cli.Env, at scope) error {
	held, err := lockNamed(at, c.Name)
	if err != nil {
		return err
	}
	defer held.Release()
	if held.Managed != nil {
		return cli.Failf(cli.AnswerNo, "%s was made from a template, and keeps its name: its marker has it, too", held.Name)
	}
	c.To = fold.Name(c.To)
	if err := instance.CheckName(c.To); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	if c.Text != nil {
		held.Title = env.Line(*c.Text, 200)
	}
	before := held.Name
	err = held.Rename(c.To, env.Now())
	if errors.Is(err, instance.ErrTaken) {
		return cli.Fail(cli.AnswerNo, err, "gt-session lists the names that are taken")
	}
	return reportDone(env, withExitCode(before, err), "renamed %s to %s", before, c.To)
}

// reportDone prints what a command did, or returns err if it failed.
func reportDone(env *cli.Env, err error, format string, args ...any) error {
	if err == nil {
		err = env.Printf(format+"\n", args...)
	}
	return err
}

type move struct {
	profile
	Name  string  `arg:"" help:"The agent."`
	Group *string `arg:"" optional:"" help:"The group, such as work/backend; made where it is missing. An empty one takes it out of its group."`
	To    string  `placeholder:"HOST" help:"Move it to another host of the fleet instead (see gt-relay): its conversation, thread, notes and uncommitted work go, and it is started there."`
	Now   bool    `help:"With --to: do not wait for the end of its turn."`
}

func (c *move) Validate() error {
	if (c.Group == nil) == (c.To == "") {
		return errors.New("give a group, or a host with --to")
	}
	if c.Now && c.To == "" {
		return errors.New("--now needs --to")
	}
	return nil
}

// Run puts an agent into a group, takes it out of its group, or moves it to another host (--to).
func (c *move) Run(env *cli.Env, at scope) error {
	if c.To != "" {
		return c.moveToHost(at)
	}
	group, err := parseGroup(*c.Group)
	// "" is no valid group: it takes the agent out of its group.
	if err != nil && group != "" {
		return err
	}
	held, err := lockNamed(at, c.Name)
	if err != nil {
		return err
	}
	defer held.Release()
	from := held.Group
	if err := held.Move(group, env.Now()); err != nil {
		return err
	}
	if group == "" {
		return reportDone(env, nil, "took %s out of %s", held.Name, cmp.Or(env.Line(from, maxCell), "its group"))
	}
	return reportDone(env, nil, "moved %s to %s", held.Name, env.Line(group, maxCell))
}

type rm struct {
	profile
	Name         string `arg:"" help:"The agent."`
	KeepWorktree bool   `help:"Leave the git worktree that was made for it."`
	hidden
	cut
}

// checkUnshared returns an error if the name means several agents. Elsewhere archived ones give way
// to the others, but here the wrong worktree could be gone.
func (c *rm) checkUnshared(at scope) (err error) {
	all, _ := at.Store.ReadInstances() // what follows reports what cannot be read
	if found := instance.FindFirst(all, instance.Matchers(c.Name, at.Env.Abs(c.Name), at.Store.Session)); len(found) > 1 {
		_, err = singleMatch(found, c.Name)
	}
	return err
}

// Run removes an instance whose agent does not run, and the worktree that gt made for it.
// The conversation and the branch stay.
func (c *rm) Run(env *cli.Env, at scope) error {
	if err := c.checkUnshared(at); err != nil {
		return err
	}
	held, err := lockNamed(at, c.Name)
	if err != nil {
		return err
	}
	if held.Managed != nil {
		held.Release()
		if err := c.confirmBusy(at, "closed", []*instance.Instance{held.Instance}); err != nil {
			return err
		}
		said, err := actOnManaged(at, held.Instance, "closed", closeByUser)
		if err != nil {
			return err
		}
		if w := held.Worktree; w != nil { // nobody checked whether it has unsaved work
			said += fmt.Sprintf("; its worktree %s stays", env.DisplayPath(w.Path))
		}
		return env.Println(said)
	}
	defer held.Release()
	if err := c.assumeGoneHeld(at, held); err != nil {
		return err
	}
	m := at.Member(held.Instance)
	if m.Pane.ID != "" {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s is running", held.Name), fmt.Sprintf("gt-session stop %s stops it", held.Name))
	}
	if err := launch.CheckReachable(m); err != nil {
		return err
	}
	also := ""
	switch w := held.Worktree; {
	case w != nil && c.KeepWorktree:
		also = fmt.Sprintf("; its worktree %s stays", env.DisplayPath(w.Path))
	case w != nil:
		removed, err := worktree.Remove(at.Env, at.Store, held)
		if err != nil {
			return err
		}
		also = fmt.Sprintf(" and its worktree %s; the branch %s stays", env.DisplayPath(w.Path), env.Line(w.Branch, maxCell))
		if !removed {
			also = fmt.Sprintf("; its worktree %s was not there, and the branch %s stays", env.DisplayPath(w.Path), env.Line(w.Branch, maxCell))
		}
	}
	return reportDone(env, withExitCode(held.Name, held.Remove(env.Now())), "removed %s%s", held.Name, also)
}

func parseGroup(typed string) (string, error) {
	group := fold.Name(strings.Trim(typed, "/"))
	return group, cli.Fail(cli.Usage, instance.CheckGroup(group))
}

type groupOf struct {
	List   groupList   `cmd:"" default:"withargs" help:"List the groups (the default)."`
	New    groupNew    `cmd:"" help:"Make a group, and those above it."`
	Rename groupRename `cmd:"" help:"Rename or move a group, with the groups and agents in it."`
	Rm     groupRm     `cmd:"" help:"Remove a group that holds no agents."`
}

type groupList struct {
	profile
	JSON bool `name:"json" help:"One JSON object per line."`
}

// Run lists the groups as a tree, each with the number of its agents that are not archived.
func (c *groupList) Run(env *cli.Env, at scope) error {
	groups, err := at.Store.Groups()
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.JSONLines(env, groups)
	}
	all, unread := at.Store.ReadInstances()
	if len(groups) == 0 {
		env.Hint("no groups; gt-session group new work/backend makes one")
		return nil
	}
	cells, archived := [][]string{{"GROUP", "AGENTS"}}, archivedOf(at, all)
	for _, g := range groups {
		depth := strings.Count(g.Path, "/")
		n := countIf(all, func(in *instance.Instance) bool { return !archived[in] && instance.IsInGroup(in.Group, g.Path) })
		cells = append(cells, []string{strings.Repeat("  ", depth) + term.Clean(g.Path[strings.LastIndex(g.Path, "/")+1:]), fmt.Sprint(n)})
	}
	return errors.Join(term.StyleFor(env.Stdout, env.Getenv).Table(env.Stdout, term.Width(env.Stdout, env.Getenv), cells, nil), unread)
}

type groupNew struct {
	profile
	Group string `arg:"" help:"The group, such as work/backend."`
}

func (c *groupNew) Run(env *cli.Env, at scope) error {
	group, err := parseGroup(c.Group)
	if err != nil {
		return err
	}
	return reportDone(env, withExitCode("", at.Store.NewGroup(group)), "made the group %s", env.Line(group, maxCell))
}

type groupRename struct {
	profile
	Group string `arg:"" help:"The group."`
	To    string `arg:"" help:"Its new path, such as work/backend."`
}

// Run gives a group a new path. If a group has that already, this one is put into it.
func (c *groupRename) Run(env *cli.Env, at scope) error {
	to, err := parseGroup(c.To)
	if err != nil {
		return err
	}
	from := fold.Name(strings.Trim(c.Group, "/"))
	did := "renamed the group %s to %s"
	if groups, _ := at.Store.Groups(); slices.ContainsFunc(groups, func(g instance.Group) bool { return g.Path == to }) {
		did = "put the group %s into %s, which was there already"
	}
	return reportDone(env, withExitCode("", at.Store.MoveGroup(from, to, env.Now())), did, env.Line(from, maxCell), env.Line(to, maxCell))
}

type groupRm struct {
	profile
	Group string `arg:"" help:"The group."`
}

func (c *groupRm) Run(env *cli.Env, at scope) error {
	group := fold.Name(strings.Trim(c.Group, "/"))
	return reportDone(env, withExitCode("", at.Store.RemoveGroup(group)), "removed the group %s", env.Line(group, maxCell))
}
