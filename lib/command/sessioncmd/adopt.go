package sessioncmd

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/launch/launcher"
	"gt/lib/live"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/view/roster"
)

// adopt makes an instance of each agent that runs in tmux without one. The agents keep
// running in their panes.
func (c *imports) adopt(env *cli.Env, at scope) error {
	server := tmux.CurrentServer()
	found, err := unmanaged(at, server)
	if errors.Is(err, tmux.ErrNoServer) {
		env.Hint("no tmux server is running")
		return nil
	} else if err != nil {
		return err
	}
	if len(found) == 0 {
		env.Hint("no agent runs in tmux that is not listed")
		return nil
	}
	var all []*instance.Instance
	for _, a := range found {
		in, err := adopted(at, server, a)
		if err != nil {
			env.WarnError(err)
			continue
		}
		all = append(all, in)
	}
	said, adopt := "adopted", at.Store.Adopt
	if c.DryRun {
		said, adopt = "would adopt", at.Store.Adoptable
	}
	all, err = adopt(all, env.Now())
	for _, in := range all {
		if err := env.Printf("%s %s (%s) in %s, pane %s of the tmux session %s\n", said, in.Name, in.Agent, env.DisplayPath(in.Path), in.TmuxPane, env.DisplayPath(in.TmuxSession)); err != nil {
			return err
		}
	}
	return err
}

// unmanaged returns the agents in tmux that belong to no instance of any scope.
func unmanaged(at scope, server tmux.Server) ([]live.Agent, error) {
	panes, err := server.Panes()
	if err != nil {
		return nil, err
	}
	everywhere, unread := roster.ListScopes(at.Env)
	all, err := roster.Read(at.Env, everywhere)
	if err := errors.Join(unread, err); err != nil {
		return nil, err // the pane could belong to an instance that cannot be read
	}
	taken := roster.PanesOf(server, all)
	return slices.DeleteFunc(live.InPanes(at.Table(), server, panes), func(a live.Agent) bool { return taken[a.Pane.ID] }), nil
}

// adopted returns a new instance for a running agent. It fails if gt could not start the
// agent again in the same surroundings.
func adopted(at scope, server tmux.Server, a live.Agent) (*instance.Instance, error) {
	p, err := process.Find(a.PID)
	if err != nil {
		return nil, fmt.Errorf("the agent in pane %s has ended", a.Pane.ID)
	}
	in := &instance.Instance{
		Path: a.Pane.Path, Agent: a.Client.Name, Desired: instance.Running, StartedAt: a.Pane.Created.UTC(),
		TmuxServer: string(server), TmuxSession: a.Pane.Session, TmuxPane: a.Pane.ID, Adopted: instance.Adopt(p),
	}
	if !filepath.IsAbs(in.Path) {
		return nil, fmt.Errorf("tmux does not know the folder of pane %s", a.Pane.ID)
	}
	in.Path = filepath.Clean(in.Path)
	args, err := p.Args()
	if err == nil {
		in.Args = a.Client.Kept(args)
	}
	l := launcher.FindLauncher(at.Table(), a.Client, p, a.Pane)
	switch {
	case l.Why != "":
	case a.PID == a.Pane.PID && a.Client.Name != at.Table().OfProcess(a.PID).Name:
		l.Why = "only its screen tells of it"
	case launcher.Cleared(p, a.Pane):
		l.Why = "it has an environment of its own"
	}
	if l.Why != "" {
		return nil, fmt.Errorf("the agent in pane %s is not adopted, for gt cannot start it again in what it was started in: %s", a.Pane.ID, l.Why)
	}
	in.Launcher, in.Limits = l.Words, l.Limits
	// tmux numbers the sessions that have no name.
	name := instance.NameFor(a.Pane.Session)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = instance.NameFor(filepath.Base(in.Path))
	}
	in.Name = name
	h := home.FindOtherHome(place.ScopeOf(at.Env.Getenv), in.Path)
	r, err := live.SessionIn(session.Store{Home: h}, server, a.Pane.ID)
	if err == nil && r != nil {
		in.SessionID, in.SessionAt = r.ID, r.StartedAt.UTC()
		in.StartedAt, in.Agent = r.StartedAt.UTC(), cmp.Or(r.Agent, in.Agent)
	}
	return in, nil
}

func offerAdoption(env *cli.Env, members []fleet.Member) {
	var panes []string
	for _, m := range members {
		if roster.IsStranger(m) {
			panes = append(panes, m.Name)
		}
	}
	if len(panes) > 0 {
		env.Hint("gt-session did not start %s; %s adopts such agents", strings.Join(panes, ", "), roster.Adopts)
	}
}
