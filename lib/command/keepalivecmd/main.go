// Package keepalivecmd is the gt-keepalive command: it records that an agent is alive and
// what it does, reports the age of that, and tracks processes.
package keepalivecmd

import (
	"gt/lib/cli"
	"gt/lib/client/hook"
)

func Program() cli.Program {
	return cli.Program{
		Name: "gt-keepalive",
		Summary: `
Records that an agent is alive and what it does, and tells how long ago that
was. An agent's hooks call touch and end. In an agent's folder, you ask:

  gt-keepalive check --max-age 5m || echo idle
  gt-keepalive show

It also tracks the processes of sessions, and ends exactly those:

  gt-keepalive pid track gt-api
  gt-keepalive pid list
  gt-keepalive pid reap --grace 10s`,
		Exits: `
0  done, or the answer is yes; with --hook always
1  the answer is no: idle, ended, gone, no such session, something is left`,
		Prepare:  hook.DefaultArgs("touch", "--hook"),
		Grammar:  &grammar{},
		FastPath: hook.FastPath(func(f hook.Flags) cli.Command { return &touch{Flags: f} }, "touch"),
	}
}

type grammar struct {
	cli.Flags
	Touch touch `cmd:"" help:"Record a sign of life."`
	End   end   `cmd:"" help:"Close a session: record and log its outcome."`
	Show  show  `cmd:"" default:"withargs" help:"Show the last sign of life (the default)."`
	Check check `cmd:"" help:"Report by the exit code whether the agent is alive."`
	Pid   pid   `cmd:"" help:"Track the processes of sessions, and end them."`
}
