package session

import (
	"gt/lib/cli"
	"gt/lib/place/town"
	"gt/lib/state/instance"
)

// completers are what a shell is offered for the value of a flag or an argument, by its
// name.
func completers() map[string]cli.Completer {
	return map[string]cli.Completer{
		"name":   names,
		"parent": names,
		"group":  groups,
		"agent":  agents,
	}
}

// names offers the instances of the place that a command without flags uses.
func names(env *cli.Env, _ string) (offered []cli.Candidate) {
	all, _ := placeOf(env).All()
	for _, in := range all {
		offered = append(offered, cli.Candidate{Word: in.Name, About: env.Line(in.Agent+" · "+short(env, in.Path), 200)})
	}
	return offered
}

func groups(env *cli.Env, _ string) (offered []cli.Candidate) {
	all, err := placeOf(env).Groups()
	if err != nil {
		return nil
	}
	for _, g := range all {
		offered = append(offered, cli.Candidate{Word: g.Path})
	}
	return offered
}

func agents(env *cli.Env, _ string) (offered []cli.Candidate) {
	for _, c := range table(env).All() {
		offered = append(offered, cli.Candidate{Word: c.Name})
	}
	return offered
}

// placeOf is the store of a command without flags.
func placeOf(env *cli.Env) instance.Store { return storeIn(town.Find(env.Getenv, env.Dir), "") }
