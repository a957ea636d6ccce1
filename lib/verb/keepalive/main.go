// Package keepalive is the gt-keepalive command.
package keepalive

import "gt/lib/cli"

// Main runs gt-keepalive and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{Name: "gt-keepalive", Grammar: &grammar{}})
}

type grammar struct{ cli.Flags }

func (g *grammar) Run(env *cli.Env) error { return nil }
