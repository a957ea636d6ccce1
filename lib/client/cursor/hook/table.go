// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "cursor"

var processes = []string{"cursor-agent", "agent", "node"}

const maxContext = 10000
