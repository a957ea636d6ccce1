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
	}
}
