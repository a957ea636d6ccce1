// Package wiring describes the wiring of OpenCode.
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
)

//go:embed opencode.js
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "opencode", Text: text, Shape: wiring.Script, ScriptKind: "plugin",
		// 1.3.2 fails on a default export beside another, 1.1 does not start with it, and 1.0 not
		// with a folder plugins. What is between was not tried.
		Oldest:   "1.14.34",
		TurnEnds: []string{"Stop"},
		Compact:  "/compact",
		Command: &wiring.Command{
			File: "commands/handoff.md", Typed: "/handoff", Args: "$ARGUMENTS",
			Head: "---\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\n" + "---\n",
		},
		AfterInstall: "OpenCode loads a plugin when it starts: start it anew",
	}
}
