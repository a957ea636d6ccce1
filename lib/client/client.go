// Package client holds the folder of each coding agent that gt knows. A folder
// has the agent's block of the table, agent.toml, and packages for what a block
// cannot say; docs/agents.md tells how to add one.
package client

import "embed"

//go:embed */agent.toml
var blocks embed.FS

// Names returns the agents by the names of their folders, in the order of the
// table: where several could be meant, the first counts.
func Names() []string {
	return []string{"claude", "codex", "gemini", "qwen", "copilot", "cursor", "opencode", "pi", "amp"}
}

// Block returns the agent's block of the table: TOML in the form of a person's
// own agents.toml, which package agent reads.
func Block(name string) []byte {
	text, err := blocks.ReadFile(name + "/agent.toml")
	if err != nil {
		panic(err) // a test reads them all
	}
	return text
}
