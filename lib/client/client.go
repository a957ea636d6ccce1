// Package client holds a folder for each coding agent that gt knows: the agent's block of
// the table, agent.toml, and packages for what a block cannot express. docs/agents.md
// says how to add one.
package client

import "embed"

//go:embed */agent.toml
var blocks embed.FS

// Names returns the agents, which are the names of their folders, in the table's order:
// if several match, the first counts.
func Names() []string {
	return []string{"claude", "codex", "gemini", "qwen", "copilot", "cursor", "opencode", "pi", "kimi", "cline", "antigravity", "amp"}
}

// Block returns an agent's block of the table, in the TOML form of a person's
// agents.toml.
func Block(name string) []byte {
	text, err := blocks.ReadFile(name + "/agent.toml")
	if err != nil {
		panic(err) // a test reads them all
	}
	return text
}
