// Package programs lists gt's programs for the tests, man pages and other tools that need
// all of them.
package programs

import (
	"gt/lib/cli"
	"gt/lib/command/checkpointcmd"
	"gt/lib/command/handoffcmd"
	"gt/lib/command/hookscmd"
	"gt/lib/command/hubcmd"
	"gt/lib/command/keepalivecmd"
	"gt/lib/command/krccmd"
	"gt/lib/command/mailcmd"
	"gt/lib/command/pickcmd"
	"gt/lib/command/primecmd"
	"gt/lib/command/reconcilecmd"
	"gt/lib/command/recordcmd"
	"gt/lib/command/relaycmd"
	"gt/lib/command/seancecmd"
	"gt/lib/command/sessioncmd"
	"gt/lib/command/watchcmd"
)

// constructors are in the order of the programs' names.
var constructors = []func() cli.Program{
	checkpointcmd.Program, handoffcmd.Program, hookscmd.Program, hubcmd.Program, keepalivecmd.Program, krccmd.Program, mailcmd.Program, pickcmd.Program,
	primecmd.Program, reconcilecmd.Program, recordcmd.Program, relaycmd.Program, seancecmd.Program, sessioncmd.Program, watchcmd.Program,
}

// Mains runs each program, by its name.
var Mains = map[string]func(*cli.Env) int{}

func init() {
	for _, program := range constructors {
		Mains[program().Name] = func(env *cli.Env) int { return cli.Run(env, program()) }
	}
}

// List returns the programs, in the order of their names.
func List() (all []cli.Program) {
	for _, program := range constructors {
		all = append(all, program())
	}
	return all
}
