package instance

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"gt/lib/sys/atomicfile"
)

const maxServers = 1 << 20

// Servers returns the names of the MCP servers in a folder's .mcp.json.
func Servers(dir string) (names []string) {
	data, err := atomicfile.Read(filepath.Join(dir, ".mcp.json"), maxServers)
	if err != nil {
		return nil
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if json.Unmarshal(data, &file) != nil {
		return nil
	}
	for name := range file.Servers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
