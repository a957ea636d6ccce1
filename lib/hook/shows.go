package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/atomicfile"
)

// runsOurs reports whether a tool's input, as JSON, is a command line that begins with
// one of the commands that leave a request. One that only names them, as a search
// does, may print anything.
func runsOurs(input string) bool {
	v := gjson.Parse(input)
	if v.Type == gjson.String { // JSON in JSON, as Codex has it
		v = gjson.Parse(v.Str)
	}
	for _, key := range []string{"command", "cmd", "script", "action.command"} {
		c := v.Get(key)
		if all := c.Array(); c.IsArray() && len(all) > 0 { // a shell, its flag, and the line; or the words
			if name := filepath.Base(all[0].Str); leaves(name, word(all, 1)) {
				return true
			}
			c = all[len(all)-1]
		}
		if c.Type == gjson.String && begins(c.Str) {
			return true
		}
	}
	return false
}

func word(all []gjson.Result, i int) string {
	if i < len(all) {
		return all[i].Str
	}
	return ""
}

// begins reports whether a shell's command line runs one of them first, after changes
// of folder and variables that it is given.
func begins(line string) bool {
	words := strings.Fields(line)
	for len(words) > 0 {
		switch name, value, set := strings.Cut(words[0], "="); {
		case words[0] == "cd" && len(words) > 3 && words[2] == "&&":
			words = words[3:]
		case words[0] == "cd" && len(words) > 2 && strings.HasSuffix(words[1], ";"):
			words = words[2:]
		case words[0] == "env" || set && name != "" && !strings.ContainsAny(name+value, "'\"`$;|&()/"):
			words = words[1:]
		default:
			second := ""
			if len(words) > 1 {
				second = words[1]
			}
			return leaves(filepath.Base(words[0]), second)
		}
	}
	return false
}

// leaves reports whether a program leaves requests with that first argument. What
// prints somebody's words does not.
func leaves(program, argument string) bool {
	switch program {
	case "gt-handoff":
		return true
	case "gt-checkpoint":
		return argument == "write"
	case "gt-mail":
		return argument == "send"
	}
	return false
}

// prints reports whether a tool's answer, as JSON, has the line at the beginning of a
// line.
func prints(answer, line string) bool {
	for _, before := range []string{`"`, `\n`, `"Output: `} { // the last is Gemini's
		if strings.Contains(answer, before+line) {
			return true
		}
	}
	return false
}

// showTail is how much of the end of a conversation is looked through.
const showTail = 2 << 20

// maxShown bounds how many lines that hold it are looked into.
const maxShown = 64

// Conversation reports whether the end of the conversation at path shows a line as what a command
// of gt's printed: in a tool's result, which names the call that it answers, where
// that call ran such a command. It knows no client's form but that lines are JSON,
// and the keys by which results name their calls.
func Conversation(path, line string) (bool, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-showTail), showTail))
	if err != nil || !bytes.Contains(data, []byte(line)) {
		return false, err
	}
	var calls []string // the ids of what gave the line
	shown := 0
	for text := range bytes.Lines(data) {
		if shown < maxShown && bytes.Contains(text, []byte(line)) && json.Valid(text) {
			shown++
			calls = append(calls, results(gjson.ParseBytes(text), line, 0)...)
		}
	}
	for text := range bytes.Lines(data) {
		for _, id := range calls {
			if bytes.Contains(text, []byte(`"`+id+`"`)) && json.Valid(text) && calledBy(gjson.ParseBytes(text), id, 0) {
				return true, nil
			}
		}
	}
	return false, nil
}

// maxNested bounds how deep a conversation's values are looked into.
const maxNested = 32

// results are the ids of the calls whose results hold the line.
func results(v gjson.Result, line string, depth int) (ids []string) {
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !prints(v.Raw, line) {
		return nil
	}
	if v.IsObject() {
		for _, key := range []string{"tool_use_id", "call_id", "callId", "callID", "toolCallId", "tool_call_id"} {
			if id := v.Get(key); id.Type == gjson.String && id.Str != "" {
				return []string{id.Str}
			}
		}
	}
	v.ForEach(func(_, inner gjson.Result) bool {
		ids = append(ids, results(inner, line, depth+1)...)
		return true
	})
	return ids
}

// calledBy reports whether the value holds the call of that id, with an input that
// runs a command of gt's.
func calledBy(v gjson.Result, id string, depth int) bool {
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !strings.Contains(v.Raw, id) {
		return false
	}
	if v.IsObject() {
		for _, key := range []string{"id", "call_id", "callId", "callID", "toolCallId", "tool_call_id"} {
			if v.Get(key).Str != id {
				continue
			}
			for _, input := range []string{"input", "arguments", "args", "state.input"} {
				if runsOurs(v.Get(input).Raw) {
					return true
				}
			}
		}
	}
	found := false
	v.ForEach(func(_, inner gjson.Result) bool {
		found = calledBy(inner, id, depth+1)
		return !found
	})
	return found
}
