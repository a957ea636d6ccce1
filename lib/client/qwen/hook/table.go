// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "qwen"

var processes = []string{"qwen", "node"}

const maxContext = 10000

const sessionVar = "QWEN_CODE_SESSION_ID"

const storeVar = "QWEN_HOME"
