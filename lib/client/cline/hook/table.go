// Code generated from ../agent.toml by go generate ./lib/client/agent; DO NOT EDIT.

package hook

// Name is the client's name.
const Name = "cline"

var processes = []string{"cline", ".cline", "node"}

const maxContext = 10000

const storeVar = "CLINE_DIR"
