// Package hooks holds the wiring of gt into the coding agents, one file an
// agent, in that agent's own words. gt-hooks writes it into the agent's
// settings; the same file serves the plugin that this folder also is.
package hooks

import _ "embed"

// Claude is the wiring for Claude Code: what its settings hold under "hooks",
// with the binaries named as they are found on PATH.
//
//go:embed claude.json
var Claude []byte
