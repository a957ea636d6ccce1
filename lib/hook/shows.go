package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/atomicfile"
)

// runsOurs reports whether a tool's input, as JSON, runs one of the commands that
// leave a request.
func runsOurs(input string) bool {
	return slices.ContainsFunc([]string{"gt-handoff", "gt-mail", "gt-checkpoint"}, func(name string) bool {
		return strings.Contains(input, name)
	})
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
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !strings.Contains(v.Raw, line) {
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
