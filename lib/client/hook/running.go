package hook

import (
	"cmp"
	"slices"

	"github.com/tidwall/gjson"
)

const maxRunning = 20

// RunsBackground reports whether a subagent or command of the session still runs in the
// background at the end of a turn.
func (in Input) RunsBackground() bool {
	running := in.runsMore
	gjson.Parse(in.background).ForEach(func(_, t gjson.Result) bool {
		running = running || isRunning(t)
		return !running
	})
	return running
}

// isRunning reports whether a background task has not ended: Qwen Code lists those too.
func isRunning(t gjson.Result) bool {
	return t.IsObject() && !slices.Contains([]string{"completed", "failed", "cancelled"}, t.Get("status").Str)
}

// RunningLines returns what still runs in the background at the end of a turn and what the
// session has planned, one line each, in the client's words.
func (in Input) RunningLines() (all []string) {
	gjson.Parse(in.background).ForEach(func(_, t gjson.Result) bool {
		if !isRunning(t) {
			return true
		}
		kind, text := cmp.Or(t.Get("type").Str, "task"), t.Get("description").Str
		if name := cmp.Or(t.Get("agent_type").Str, t.Get("name").Str, t.Get("tool").Str); name != "" {
			kind += " " + name
		}
		if command := t.Get("command").Str; command != "" && command != text {
			text = command + " (" + text + ")"
		}
		all = append(all, kind+": "+text)
		return len(all) < maxRunning
	})
	gjson.Parse(in.crons).ForEach(func(_, t gjson.Result) bool {
		if !t.IsObject() {
			return true
		}
		all = append(all, "planned for "+t.Get("schedule").Str+": "+t.Get("prompt").Str)
		return len(all) < maxRunning
	})
	return all[:min(len(all), maxRunning)]
}
