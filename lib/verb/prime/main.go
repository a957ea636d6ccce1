// Package prime is the gt-prime command.
package prime

import "gt/lib/cli"

// Main runs gt-prime and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-prime", Grammar: &grammar{}})
}

type grammar struct{ cli.Flags }

func (g *grammar) Run(env *cli.Env) error { return nil }
