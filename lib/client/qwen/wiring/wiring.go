// Package wiring describes the wiring of Qwen Code, a fork of Gemini CLI.
package wiring

import (
	_ "embed"

	gemini "gt/lib/client/gemini/wiring"
	"gt/lib/client/wiring"
)

//go:embed qwen.json
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "qwen", Text: text, Schema: gemini.Matchers, Unit: wiring.EitherUnit,
		OffKey: "disableAllHooks", OffValue: true,
		Comments: true,
		TurnEnds: []string{"Stop"},
		Compact:  "/compress",
		Command: &wiring.Command{
			File: "commands/handoff.md", Typed: "/handoff", Args: "{{args}}",
			Head: "---\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\ndisable-model-invocation: true\n---\n",
		},
		Allow: &wiring.Allow{
			Keys: []string{"permissions", "allow"},
			Rule: func(program string) string { return "Bash(" + program + " *)" },
		},
		Sources:  func(a wiring.Agent) []wiring.Source { return gemini.Extensions(Client(), a) },
		Blockers: func(a wiring.Agent) []wiring.Blocker { return gemini.Blockers(a, false) },
	}
}
