// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "kimi"

var processes = []string{"kimi-code", "kimi", "node"}

const maxContext = 10000

const storeVar = "KIMI_CODE_HOME"
