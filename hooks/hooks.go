// Package hooks holds the wiring of gt into Claude Code, from which its plugin is made, too.
package hooks

import _ "embed"

// Claude is what the client's settings hold under "hooks".
//
//go:embed claude.json
var Claude []byte
