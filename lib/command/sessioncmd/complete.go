package sessioncmd

import (
	"slices"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/town"
	"gt/lib/reconcile/config"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// completers returns what completes an argument or flag in a shell, by its name.
func completers() map[string]cli.Completer {
	return map[string]cli.Completer{
		"name":   completeNames,
		"parent": completeNames,
		"group":  completeGroups,
		"agent":  agentNames,

		"template": completeTemplates,
		"state":    completeStates,
	}
}

// whenArchived are the commands that an archived agent needs.
var whenArchived = []string{"unarchive", "start", "fork", "rm", "show", "rename", "move", "pack"}

// completeNames offers agents. unarchive gets the archived ones, and the others of whenArchived get both.
func completeNames(env *cli.Env, _ string) (offered []cli.Candidate) {
	all, _ := defaultStore(env).ReadInstances()
	command := env.Args[1] // behind __complete
	for _, in := range all {
		if in.IsArchived() && !slices.Contains(whenArchived, command) || !in.IsArchived() && command == "unarchive" {
			continue
		}
		offered = append(offered, cli.Candidate{Word: in.Name, About: env.Line(in.Agent+" · "+term.Tilde(in.Path, env.Getenv("HOME")), 200)})
	}
	return offered
}

func completeGroups(env *cli.Env, _ string) (offered []cli.Candidate) {
	all, _ := defaultStore(env).Groups()
	for _, g := range all {
		offered = append(offered, cli.Candidate{Word: g.Path})
	}
	return offered
}

// completeTemplates offers the names of templates, none of a town that is not trusted.
func completeTemplates(env *cli.Env, _ string) (offered []cli.Candidate) {
	t := town.Find(env.Getenv, env.Dir)
	read, err := config.NewSource(place.ScopeOf(env.Getenv), t, "").Read()
	if err != nil || checkTrusted(t) != nil {
		return nil
	}
	for _, t := range read.Templates {
		offered = append(offered, cli.Candidate{Word: t.Name, About: env.Line(t.Provider, 200)})
	}
	return offered
}

func completeStates(*cli.Env, string) (offered []cli.Candidate) {
	for _, s := range lifecycle.States {
		offered = append(offered, cli.Candidate{Word: string(s.State), About: s.Means})
	}
	return offered
}

func agentNames(env *cli.Env, _ string) (offered []cli.Candidate) {
	for _, c := range roster.TableOf(env, town.Find(env.Getenv, env.Dir))().Clients() {
		offered = append(offered, cli.Candidate{Word: c.Name})
	}
	return offered
}

// defaultStore returns the store that a command without flags uses.
func defaultStore(env *cli.Env) instance.Store {
	return roster.StoreIn(town.Find(env.Getenv, env.Dir), "")
}
