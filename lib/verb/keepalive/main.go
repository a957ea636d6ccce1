// Package keepalive is the gt-keepalive command: it records that an agent is
// alive and what it does, tells how long ago that was, and tracks processes.
package keepalive

import (
	"gt/lib/cli"
)

// Main runs gt-keepalive and returns its exit code.
func Main(env *cli.Env) int {
	return cli.Run(env, cli.Program{
		Name: "gt-keepalive",
		Summary: `
Records that an agent is alive and what it does, and tells how long ago that
was. Claude's hooks call touch and end; a supervisor asks:

  gt-keepalive check --max-age 5m || echo idle
  gt-keepalive pid track gt-crew-max && gt-keepalive pid list
  gt-keepalive pid reap --grace 10s`,
		Exits: `
0  done, or alive; with --hook always
1  idle, not alive, no such session`,
		Grammar: &grammar{},
	})
}

type grammar struct {
	cli.Flags
	Touch touch `cmd:"" help:"Give a sign of life."`
	End   end   `cmd:"" help:"Close a session."`
	Show  show  `cmd:"" help:"Show the last sign of life."`
	Check check `cmd:"" help:"Say by the exit code whether the agent is alive."`
}
