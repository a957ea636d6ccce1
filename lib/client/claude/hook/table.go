// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "claude"

var processes = []string{"claude", "node"}

const maxContext = 10000

const sessionVar = "CLAUDE_CODE_SESSION_ID"

const storeVar = "CLAUDE_CONFIG_DIR"
