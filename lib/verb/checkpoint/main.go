// Package checkpoint is the gt-checkpoint command.
package checkpoint

import "gt/lib/cli"

// Main runs gt-checkpoint and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-checkpoint", Grammar: &grammar{}})
}

type grammar struct{ cli.Flags }

func (g *grammar) Run(env *cli.Env) error { return nil }
