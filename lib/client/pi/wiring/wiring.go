// Package wiring describes the wiring of pi.
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
)

//go:embed pi.ts
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "pi", Text: text, Shape: wiring.Script, ScriptKind: "extension",
		TurnEnds: []string{"Stop"},
		Compact:  "/compact",
		Command: &wiring.Command{
			File: "prompts/handoff.md", Typed: "/handoff", Args: "$ARGUMENTS",
			Head: "---\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\n" + "---\n",
		},
		AfterInstall: "pi loads an extension when it starts: start it anew, or type /reload",
	}
}
