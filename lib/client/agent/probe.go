package agent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// SessionIDProbe returns the command line that starts a session whose id gt reads from
// the output, for an agent that takes no id: the agent answers the shortest possible
// prompt as JSON. It returns nil if the agent cannot do that.
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

// SessionIDIn returns the text at SessionIDJSONPath in the agent's output: in the whole
// output, else in the last line that has it. It is "" if there is none, or if it is
// "null".
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
