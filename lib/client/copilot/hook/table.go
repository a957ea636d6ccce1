// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "copilot"

var processes = []string{"copilot", "node"}

const maxContext = 10000

const sessionVar = "COPILOT_AGENT_SESSION_ID"

const storeVar = "COPILOT_HOME"
