// Package wiring is what gt-hooks knows of Cursor's command line.
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
)

//go:embed cursor.json
var text []byte

// Client returns what there is to know of Cursor.
func Client() wiring.Client {
	return wiring.Client{
		Name: "cursor", Text: text, Shape: wiring.Flat,
		TurnEnds: []string{"stop"},
		Compact:  "/compress",
		// What a person types behind the command stands in their message.
		Command: &wiring.Command{
			File: "commands/handoff.md", Typed: "/handoff", Args: "see the person's message.",
			Head: "# gt: written by gt-hooks\n\n",
		},
	}
}
