// Package hooks holds the wiring of gt into the coding agents, one file a
// format, in that agent's own words. gt-hooks writes it into the agent's
// settings; claude.json serves the plugin that this folder also is.
//
// A binary is named as it is found on PATH, and the agent by its own name,
// behind --agent: gt-hooks puts a path and the name of a custom agent in their
// places. In a script the first is a word of its own in double quotes,
// "gt-prime", and so is the second: "--agent", "pi".
package hooks

import "embed"

// Claude is the wiring for Claude Code: what its settings hold under "hooks".
//
//go:embed claude.json
var Claude []byte

//go:embed *.json *.js *.ts
var files embed.FS

// Of is the wiring of a format, and the name of its file; nil where there is
// none of that name.
func Of(format string) (file string, text []byte) {
	for _, kind := range []string{".json", ".js", ".ts"} {
		if text, err := files.ReadFile(format + kind); err == nil {
			return format + kind, text
		}
	}
	return "", nil
}
