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

// Mains has the Main function of each program, by the program's name.
var Mains = map[string]func(*cli.Env) int{
	"gt-checkpoint": checkpointcmd.Main,
	"gt-handoff":    handoffcmd.Main,
	"gt-hooks":      hookscmd.Main,
	"gt-hub":        hubcmd.Main,
	"gt-keepalive":  keepalivecmd.Main,
	"gt-krc":        krccmd.Main,
	"gt-mail":       mailcmd.Main,
	"gt-pick":       pickcmd.Main,
	"gt-prime":      primecmd.Main,
	"gt-reconcile":  reconcilecmd.Main,
	"gt-record":     recordcmd.Main,
	"gt-relay":      relaycmd.Main,
	"gt-seance":     seancecmd.Main,
	"gt-session":    sessioncmd.Main,
	"gt-watch":      watchcmd.Main,
}

// All returns the programs, in the order of their names.
func All() []cli.Program {
	return []cli.Program{
		checkpointcmd.Program(), handoffcmd.Program(), hookscmd.Program(), hubcmd.Program(), keepalivecmd.Program(), krccmd.Program(), mailcmd.Program(),
		pickcmd.Program(), primecmd.Program(), reconcilecmd.Program(), recordcmd.Program(), relaycmd.Program(), seancecmd.Program(), sessioncmd.Program(), watchcmd.Program(),
	}
}
