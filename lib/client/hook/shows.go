package hook

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
)

// countRequests returns how many request lines a tool with this input (JSON) can have printed:
// one for each command in its command line that leaves a request (see parseRequests), or any
// number if nothing else runs. A command that only mentions them, such as a search, may print
// anything.
func countRequests(input string) int {
	v := gjson.Parse(input)
	if v.Type == gjson.String {
		if !gjson.Valid(v.Str) {
			return parseRequests(v.Str).maxLines()
		}
		v = gjson.Parse(v.Str) // JSON in JSON, as in Codex
	}
	for _, key := range []string{"command", "cmd", "script", "action.command"} {
		c := v.Get(key)
		if all := c.Array(); c.IsArray() && len(all) > 0 { // the words, or a shell, its flag and the line
			words := make([]string, len(all))
			for i := range all {
				words[i] = all[i].Str
			}
			if isRequest(words...) {
				return maxResults
			}
			c = all[len(all)-1]
		}
		if l := parseRequests(c.Str); l.requests > 0 {
			return l.maxLines()
		}
	}
	return 0
}

// outputLines returns the different lines that begin with kind in a tool's result (JSON), or none
// if there are more than n, which is how many gt's commands can have printed (see countRequests).
// Then another program that ran at the same time, such as a project's tests, has printed such a
// line, and nobody can tell which are gt's.
func outputLines(answer, kind string, n int) []string {
	if n == 0 || !strings.Contains(answer, kind) { // kind has no characters that JSON escapes
		return nil
	}
	all := markedLines(gjson.Parse(answer), kind, n+1, 0)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > n { // a client can repeat a result
		return nil
	}
	return all
}

// markedLines returns the last n lines of a kind in each text of a value. A text can be JSON
// itself, as in Codex. Only a real line feed begins a line: quotes and other line
// separators do not.
func markedLines(v gjson.Result, kind string, n, depth int) (all []string) {
	if depth > maxNested || !strings.Contains(v.Raw, kind) {
		return nil
	}
	if v.Type == gjson.JSON {
		v.ForEach(func(_, inner gjson.Result) bool {
			all = append(all, markedLines(inner, kind, n, depth+1)...)
			return true
		})
		return all
	}
	if t := strings.TrimSpace(v.Str); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if gjson.Valid(t) {
			return markedLines(gjson.Parse(t), kind, n, depth+1)
		}
	}
	text := "\n" + strings.TrimPrefix(v.Str, "Output: ") // Gemini begins with that
	for end := len(text); len(all) < n; {
		at := strings.LastIndex(text[:end], "\n"+kind)
		if at < 0 {
			break
		}
		sum := text[at+1+len(kind) : end] // begins with the digest
		if i := strings.IndexFunc(sum, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }); i >= 0 {
			sum = sum[:i]
		}
		all, end = append(all, kind+sum), at
	}
	return all
}

// showTail is how much of a conversation's end is searched.
const showTail = 2 << 20

// maxResults limits how many results are examined, from the last one back.
const maxResults = 64

// FindOutputLines returns the lines with a prefix that gt's commands printed, according to the
// end of the conversation at path: they are in a tool's result, and the call that the
// result names ran such commands. It needs only that lines are JSON, and the keys by
// which clients name calls.
func FindOutputLines(path, kind string) (shown []string, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-showTail), showTail))
	if err != nil || !bytes.Contains(data, []byte(kind)) {
		return nil, err
	}
	var given []callResult
	for text := range bytes.Lines(data) {
		if bytes.Contains(text, []byte(kind)) && openjson.Valid(text) {
			given = append(given, toolResults(gjson.ParseBytes(text), kind, 0)...)
			given = given[max(0, len(given)-maxResults):]
		}
	}
	runs := map[string]int{} // for each call that has a result, how many of gt's commands it runs
	for text := range bytes.Lines(data) {
		var v gjson.Result
		for _, r := range given {
			if runs[r.call] > 0 || !bytes.Contains(text, []byte(`"`+r.call+`"`)) {
				continue
			}
			if !v.Exists() {
				if !openjson.Valid(text) {
					break
				}
				v = gjson.ParseBytes(text)
			}
			runs[r.call] = countOfCall(v, r.call, 0)
		}
	}
	for _, r := range given {
		shown = append(shown, outputLines(r.answer, kind, runs[r.call])...)
	}
	return shown, nil
}

type callResult struct{ call, answer string }

const maxNested = 32

// toolResults returns the tools' results in v that contain kind, at whatever level the client has them.
func toolResults(v gjson.Result, kind string, depth int) (all []callResult) {
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !strings.Contains(v.Raw, kind) {
		return nil
	}
	if v.IsObject() {
		for _, key := range []string{"tool_use_id", "call_id", "callId", "callID", "toolCallId", "tool_call_id"} {
			if id := v.Get(key); id.Type == gjson.String && id.Str != "" {
				return []callResult{{id.Str, v.Raw}}
			}
		}
	}
	v.ForEach(func(_, inner gjson.Result) bool {
		all = append(all, toolResults(inner, kind, depth+1)...)
		return true
	})
	return all
}

// countOfCall returns how many of gt's commands the call with that id runs, if the value
// holds that call.
func countOfCall(v gjson.Result, id string, depth int) int {
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !strings.Contains(v.Raw, id) {
		return 0
	}
	if v.IsObject() {
		for _, key := range []string{"id", "call_id", "callId", "callID", "toolCallId", "tool_call_id"} {
			if v.Get(key).Str != id {
				continue
			}
			for _, input := range []string{"input", "arguments", "args", "state.input"} {
				if n := countRequests(v.Get(input).Raw); n > 0 {
					return n
				}
			}
		}
	}
	n := 0
	v.ForEach(func(_, inner gjson.Result) bool {
		n = countOfCall(inner, id, depth+1)
		return n == 0
	})
	return n
}
