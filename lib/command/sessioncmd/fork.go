package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/launch"
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
	begin
}

// Run makes an instance whose agent starts with a copy of another's conversation. It does
// not change the original.
func (c *fork) Run(env *cli.Env) (err error) {
	if c.Message, err = textOf(env, c.Message); err != nil {
		return err
	}
	parent, at, err := c.member(env, c.Parent)
	if err != nil {
		return err
	}
	of := parent.Now
	if of == "" || of.Invented() || !parent.Resumable(env.Getenv) {
		if of = parent.ForkOf; of == "" {
			return cli.Fail(cli.No, fmt.Errorf("%s has no conversation yet", parent.Name), "gt-session new starts another agent")
		}
	}
	if client := at.Table().Of(parent.Agent); !client.CanFork() {
		return cli.Fail(cli.No, fmt.Errorf("%s cannot go on with a copy of a conversation", client.Name),
			fmt.Sprintf("gt-seance read %s prints the conversation, for another agent", of))
	}
	dir, err := at.Store.Enter(parent.Instance)
	if err != nil {
		return launch.NoFolder(parent.Instance, err)
	}
	dir.Close()
	in := &instance.Instance{
		Name: cmp.Or(c.Name, instance.Variant(parent.Name, "-fork")), Title: env.Line(c.Title, 200), Path: parent.Path, Folder: &dir.Folder, Group: parent.Group,
		ParentID: parent.ID, Agent: parent.Agent, Args: slices.Concat(parent.Args, c.Arg), Account: parent.Account, Launcher: parent.Launcher, Limits: parent.Limits, Theme: parent.Theme, Remain: parent.Remain, Respawn: parent.Respawn,
		Desired: instance.Stopped, TmuxServer: cmp.Or(parent.TmuxServer, string(tmux.Around())), ForkOf: of,
	}
	in.Name = fold.Name(in.Name)
	if err := instance.CheckName(in.Name); err != nil {
		return cli.Fail(cli.Usage, err)
	}
	if c.Group != nil {
		if in.Group = fold.Name(strings.Trim(*c.Group, "/")); in.Group != "" {
			if err := instance.CheckGroup(in.Group); err != nil {
				return cli.Fail(cli.Usage, err)
			}
		}
	}
	if c.Explain {
		return c.explain(at, in)
	}
	err = at.Store.Create(in, env.Now())
	for n := 2; c.Name == "" && errors.Is(err, instance.ErrTaken); n++ {
		in.Name = instance.Variant(parent.Name, fmt.Sprintf("-fork-%d", n))
		err = at.Store.Create(in, env.Now())
	}
	if err != nil {
		return withExitCode(in.Name, err)
	}
	return c.run(at, in.ID)
}
