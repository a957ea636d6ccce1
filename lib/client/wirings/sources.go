package wirings

import (
	"cmp"
	"fmt"
	"path/filepath"

	"gt/lib/client/agent"
	"gt/lib/client/sandbox"
	"gt/lib/client/wiring"
)

// AgentSources returns the files from which an agent reads hooks if it works in a project's top folder,
// as a.Sources, the weakest first, and how its client is wired. known is false for an agent that
// gt cannot be wired into.
func AgentSources(c agent.Client, getenv func(string) string, project string) (client wiring.Client, a wiring.Agent, known bool, err error) {
	client, known = FindClient(cmp.Or(c.Hooks.Format, c.Dialect))
	if !known || c.Hooks.User == "" {
		return client, a, false, nil
	}
	a = wiring.Agent{Name: c.Name, Command: c.Name, Project: project}
	if len(c.Command) > 0 {
		a.Command = c.Command[0]
	}
	user, err := c.Hooks.UserFile(getenv, project)
	if err != nil {
		return client, a, false, err
	}
	a.Folder = filepath.Dir(user)
	if c.Hooks.Home != "" {
		if a.Folder, err = agent.Expand(getenv, project, c.Hooks.Home); err != nil {
			return client, a, false, err
		}
	}
	a.Sources = []wiring.Source{client.Read(wiring.User, user)}
	for _, f := range [...]struct{ scope, file string }{{wiring.Project, c.Hooks.Project}, {wiring.Local, c.Hooks.Local}} {
		if path := filepath.Join(project, f.file); f.file != "" && path != user {
			a.Sources = append(a.Sources, client.Read(f.scope, path))
		}
	}
	if c.Name == client.Name && client.Sources != nil {
		a.Sources = append(a.Sources, client.Sources(a)...)
	}
	return client, a, true, nil
}

// FitVersion has the wiring fit the version of a client that is found with an environment. It may run
// the client.
func FitVersion(client *wiring.Client, c agent.Client, environ []string) {
	if client.Oldest != "" && c.Name == client.Name {
		client.Version, client.VersionUnknown = sandbox.VersionOf(c, environ)
	}
}

// Blockers returns what keeps gt's hooks in an agent's sources from running. An agent with
// the dialect of another client is treated like that one.
func Blockers(client wiring.Client, dialect string, a wiring.Agent) (all []wiring.Blocker) {
	var off *wiring.Source // the one that disables all hooks
	for i, s := range a.Sources {
		switch { // a later one overrides the earlier ones
		case s.SwitchesOff == nil:
		case *s.SwitchesOff:
			off = &a.Sources[i]
		default:
			off = nil
		}
	}
	for _, s := range a.Sources {
		if why := client.UnfitReason(a.Name, s); why != "" && len(s.OwnHandlers()) > 0 {
			remedy := cmp.Or(s.Repair, "gt-hooks install "+a.Name)
			if client.UnableReason() != "" {
				remedy = "update " + a.Command
			}
			all = append(all, wiring.Blocker{Reason: why, Remedy: remedy})
		}
		if s.Refused != nil && len(s.OwnHandlers()) > 0 {
			all = append(all, wiring.Blocker{Reason: s.Refusal(a.Name), Remedy: "correct that"})
		}
	}
	if off != nil {
		all = append(all, wiring.Blocker{Reason: fmt.Sprintf("'%s' disables all hooks with %s; remove that", off.File, client.OffKey)})
	}
	if c, ok := FindClient(cmp.Or(dialect, client.Name)); ok && c.Blockers != nil {
		all = append(all, c.Blockers(a)...)
	}
	return all
}
