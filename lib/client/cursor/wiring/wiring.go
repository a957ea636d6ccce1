// Package wiring describes the wiring of Cursor's command line.
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
	"gt/lib/conversation"
)

//go:embed cursor.json
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "cursor", Text: text, Shape: wiring.Flat,
		TurnEnds: []string{"stop"},
		Compact:  "/compress",
		// The client leaves the arguments of the command in the person's message.
		Command: &wiring.Command{
			File: "commands/handoff.md", Typed: "/handoff", Args: conversation.HandoffElsewhere,
			Head: "# gt: written by gt-hooks\n\n",
		},
	}
}
