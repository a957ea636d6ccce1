// Package hooks is the gt-hooks command.
package hooks

import "gt/lib/cli"

// Main runs gt-hooks and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-hooks", Grammar: &grammar{}})
}

type grammar struct{ cli.Flags }

func (g *grammar) Run(env *cli.Env) error { return nil }
