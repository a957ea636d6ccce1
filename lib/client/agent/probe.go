package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// SessionIDProbe returns the command line that asks an agent for a session whose id
// can be read from what it prints, for one that takes no id from outside: it answers
// a prompt as short as can be, and prints that as JSON. nil where it cannot.
func (c Client) SessionIDProbe() []string {
	if !c.CanResume() || len(c.OutputFormatFlag) == 0 || c.SessionIDJSONPath == "" {
		return nil
	}
	args := slices.Clone(c.Command)
	if c.DangerousMode {
		args = append(args, c.DangerousFlag...)
	}
	return slices.Concat(args, c.PrintFlag, c.OutputFormatFlag, []string{"."})
}

// SessionIDIn returns what stands at SessionIDJSONPath in what the agent printed:
// in all of it, else in the last line that has it. It is "" where nothing does,
// and where that is not a string, or "null".
func (c Client) SessionIDIn(output []byte) string {
	if id := at(output, c.SessionIDJSONPath); id != "" {
		return id
	}
	lines := bytes.Split(output, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		if id := at(line, c.SessionIDJSONPath); id != "" {
			return id
		}
	}
	return ""
}

// at returns the text at a path (".a.b") of a JSON document.
func at(doc []byte, path string) string {
	var v any
	if json.Unmarshal(doc, &v) != nil {
		return ""
	}
	for _, key := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	if id, _ := v.(string); id != "null" {
		return id
	}
	return ""
}
