package wirings

import (
	"cmp"
	"fmt"
	"path/filepath"

	"gt/lib/client/agent"
	"gt/lib/client/sandbox"
	"gt/lib/client/wiring"
)

// Sources returns the files from which an agent reads hooks if it works in a project's top folder,
// as a.Sources, the weakest first, and how its client is wired. known is false for an agent that
// gt cannot be wired into.
func Sources(c agent.Client, getenv func(string) string, project string) (how wiring.Client, a wiring.Agent, known bool, err error) {
	how, known = FindClient(cmp.Or(c.Hooks.Format, c.Dialect))
	if !known || c.Hooks.User == "" {
		return how, a, false, nil
	}
	a = wiring.Agent{Name: c.Name, Command: c.Name, Project: project}
	if len(c.Command) > 0 {
		a.Command = c.Command[0]
	}
	user, err := c.Hooks.UserFile(getenv, project)
	if err != nil {
		return how, a, false, err
	}
	a.Folder = filepath.Dir(user)
	if c.Hooks.Home != "" {
		if a.Folder, err = agent.Expand(getenv, project, c.Hooks.Home); err != nil {
			return how, a, false, err
		}
	}
	a.Sources = []wiring.Source{how.Read(wiring.User, user)}
	for _, f := range [...]struct{ scope, file string }{{wiring.Project, c.Hooks.Project}, {wiring.Local, c.Hooks.Local}} {
		if path := filepath.Join(project, f.file); f.file != "" && path != user {
			a.Sources = append(a.Sources, how.Read(f.scope, path))
		}
	}
	if c.Name == how.Name && how.Sources != nil {
		a.Sources = append(a.Sources, how.Sources(a)...)
	}
	return how, a, true, nil
}

// Fit has the wiring fit the version of a client that is found with an environment. It may run
// the client.
func Fit(how *wiring.Client, c agent.Client, environ []string) {
	if how.Oldest != "" && c.Name == how.Name {
		how.Version, how.Unknown = sandbox.VersionOf(c, environ)
	}
}

// Blockers returns what keeps gt's hooks in an agent's sources from running. An agent with
// the dialect of another client is treated like that one.
func Blockers(how wiring.Client, dialect string, a wiring.Agent) (all []wiring.Blocker) {
	var off *wiring.Source // the one that disables all hooks
	for i, s := range a.Sources {
		switch { // a later one overrides the earlier ones
		case s.Off == nil:
		case *s.Off:
			off = &a.Sources[i]
		default:
			off = nil
		}
	}
	for _, s := range a.Sources {
		if why := how.Unfit(a.Name, s); why != "" && len(s.OwnHandlers()) > 0 {
			remedy := cmp.Or(s.Repair, "gt-hooks install "+a.Name)
			if how.Unable() != "" {
				remedy = "update " + a.Command
			}
			all = append(all, wiring.Blocker{Reason: why, Remedy: remedy})
		}
		if s.Refused != nil && len(s.OwnHandlers()) > 0 {
			all = append(all, wiring.Blocker{Reason: s.Refusal(a.Name), Remedy: "correct that"})
		}
	}
	if off != nil {
		all = append(all, wiring.Blocker{Reason: fmt.Sprintf("'%s' disables all hooks with %s; remove that", off.File, how.OffKey)})
	}
	if c, ok := FindClient(cmp.Or(dialect, how.Name)); ok && c.Blockers != nil {
		all = append(all, c.Blockers(a)...)
	}
	return all
}
