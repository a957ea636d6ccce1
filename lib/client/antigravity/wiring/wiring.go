// Package wiring describes the wiring of Antigravity CLI. See gt/lib/client/antigravity/hook for
// the sources, and skillsaw's rule "antigravity-hooks-valid" (measured with 1.1.26).
package wiring

import (
	_ "embed"

	"gt/lib/client/wiring"
)

// text answers {} if gt prints nothing or fails: the client decodes an answer strictly, and one
// that is no object ends the turn (synara PR 1143). It wires no hook of tools: without a
// decision in the answer the client refuses the tool (agentmemory PR 1146), and they tell
// nothing that the next request does not.
//
//go:embed antigravity.json
var text []byte

func Client() wiring.Client {
	return wiring.Client{
		Name: "antigravity", Text: text, Shape: wiring.Named,
		OffKey: "gt.enabled", OffValue: false,
		TurnEnds: []string{"Stop"},
	}
}
