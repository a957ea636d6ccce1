// Package handoff is the gt-handoff command.
package handoff

import "gt/lib/cli"

// Main runs gt-handoff and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-handoff", Grammar: &grammar{}})
}

type grammar struct{ cli.Flags }

func (g *grammar) Run(env *cli.Env) error { return nil }
