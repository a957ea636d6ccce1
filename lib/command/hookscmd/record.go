package hookscmd

import (
	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/sandbox"
	"gt/lib/client/wiring"
	"gt/lib/text/term"
)

// offerRecord asks the person once, on an upgrade, whether conversations are recorded. A
// first installation is not the time for it. It does not ask without a terminal, below an
// agent, or if config.toml has the setting; the answer is then nil.
func offerRecord(env *cli.Env, all []target) *bool {
	if !installed(env, recorder) || !term.IsTerminal(env.Stdin) || !term.IsTerminal(env.Stdout) || sandbox.RefuseBelowAgent(env, "") != nil {
		return nil
	}
	wrong := false
	own := agent.LoadPreferences(env.Getenv, func(error) { wrong = true }) // load warns
	if wrong || own.Record != nil || !wiredBefore(env, all) {
		return nil
	}
	on := env.Confirm("Agents delete conversations (Claude Code: after 30 days). gt can keep a copy,\n"+
		"without secrets, in ~/.agent (docs/record.md). Record conversations? [y/N] ", "", "") == nil
	if !on {
		(&printer{env: env}).line("nothing is recorded; gt-hooks install --all --record switches it on")
	}
	return &on
}

// wiredBefore reports whether the person's settings of any agent have hooks of gt.
func wiredBefore(env *cli.Env, all []target) bool {
	for _, t := range all {
		for _, p := range survey(env, t) {
			if p.Scope == wiring.User && len(p.OwnHandlers()) > 0 {
				return true
			}
		}
	}
	return false
}
