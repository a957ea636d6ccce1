// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "opencode"

var processes = []string{"opencode"}

const maxContext = 10000
