// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "antigravity"

var processes = []string{"agy"}

const maxContext = 10000

const sessionVar = "ANTIGRAVITY_CONVERSATION_ID"
