// Package mail is the gt-mail command.
package mail

import "gt/lib/cli"

// Main runs gt-mail and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-mail", Grammar: &grammar{}})
}

type grammar struct{ cli.Flags }

func (g *grammar) Run(env *cli.Env) error { return nil }
