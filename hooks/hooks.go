// Package hooks holds the wiring of gt into Claude Code. The folder is a plugin for
// it as well, so its wiring lies here and not in lib/client/claude, and is the same
// for the plugin and for gt-hooks.
package hooks

import _ "embed"

// Claude is what the client's settings hold under "hooks".
//
//go:embed claude.json
var Claude []byte
