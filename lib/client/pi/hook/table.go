// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "pi"

var processes = []string{"pi", "node"}

const maxContext = 10000

const storeVar = "PI_CODING_AGENT_DIR"
