// Package wiring describes the wiring of Kimi Code.
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
)

//go:embed kimi.toml
var text []byte

// Client returns the wiring of Kimi Code.
func Client() wiring.Client {
	return wiring.Client{
		Name: "kimi", Text: text, Shape: wiring.Flat, Format: format{},
		TurnEnds:     []string{"Stop"},
		Compact:      "/compact",
		AfterInstall: "Kimi Code reads its settings when it starts: start it anew, or type /reload",
		Command: &wiring.Command{ // a skill, which a person calls by name
			File: "skills/handoff/SKILL.md", Typed: "/handoff", Args: "$ARGUMENTS",
			Head: "---\nname: handoff\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\n" +
				"disableModelInvocation: true\n---\n",
		},
	}
}
