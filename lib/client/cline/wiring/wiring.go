// Package wiring describes the wiring of Cline.
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
)

//go:embed cline.js
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "cline", Text: text, Shape: wiring.Script, ScriptKind: "plugin",
		TurnEnds: []string{"Stop"},
		Compact:  "/compact",
		Command: &wiring.Command{ // a workflow
			File: "workflows/handoff.md", Typed: "/handoff",
			Head: "---\n# gt: written by gt-hooks\nname: handoff\ndescription: Hand this session over to a fresh one, with a note of what it knows\n---\n",
		},
		AfterInstall: "Cline loads a plugin when a session starts: start it anew, or type /clear",
	}
}
