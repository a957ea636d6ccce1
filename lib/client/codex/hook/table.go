// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "codex"

var processes = []string{"codex", "node"}

const maxContext = 10000

const sessionVar = "CODEX_SESSION_ID"

const storeVar = "CODEX_HOME"
