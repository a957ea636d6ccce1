package hook

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/atomicfile"
)

// runsOurs is how many commands that leave a request a tool's input, as JSON, runs in
// its command line. One that only names them, as a search does, may print anything.
func runsOurs(input string) int {
	v := gjson.Parse(input)
	if v.Type == gjson.String {
		if !gjson.Valid(v.Str) {
			return leaving(v.Str)
		}
		v = gjson.Parse(v.Str) // JSON in JSON, as Codex has it
	}
	for _, key := range []string{"command", "cmd", "script", "action.command"} {
		c := v.Get(key)
		if all := c.Array(); c.IsArray() && len(all) > 0 { // the words, or a shell, its flag and the line
			if len(all) > 1 && leaves(all[0].Str, all[1].Str) || leaves(all[0].Str, "") {
				return 1
			}
			c = all[len(all)-1]
		}
		if n := leaving(c.Str); n > 0 {
			return n
		}
	}
	return 0
}

// before are the words that can stand in a command line before a program's name.
var before = []string{"env", "exec", "command", "nohup", "time", "!", "if", "then", "else", "elif", "while", "until", "do"}

// leaving is how many of them a shell's command line runs. Quotes are not looked at:
// what is quoted is the agent's own text.
func leaving(line string) int {
	n := 0
	for command := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";&|\n(){}`", r) }) {
		words := strings.Fields(command)
		for len(words) > 0 && (slices.Contains(before, words[0]) || strings.Contains(words[0], "=")) {
			words = words[1:]
		}
		if len(words) > 0 && leaves(words[0], strings.Join(words[1:min(2, len(words))], "")) {
			n++
		}
	}
	return n
}

// leaves reports whether a program leaves requests with that first argument. What
// prints somebody's words does not.
func leaves(program, argument string) bool {
	switch filepath.Base(program) {
	case "gt-handoff":
		return true
	case "gt-checkpoint":
		return argument == "write"
	case "gt-mail":
		return argument == "send" || argument == "hook"
	}
	return false
}

// prints reports whether the line is one of the last n of its kind that a tool's
// answer, as JSON, has at the beginning of a line: one for each command of ours. What
// else ran before them, such as a project's tests, may have printed such a line too.
func prints(answer, line string, n int) bool {
	if !strings.Contains(answer, line) {
		return false // the line has nothing in it that JSON writes another way
	}
	kind, _, _ := strings.Cut(line, ":")
	said := saying(gjson.Parse(answer), kind+":", n, 0)
	return slices.Contains(said[max(0, len(said)-n):], line)
}

// saying are the last n lines of that kind in each text of a value, in their order. A text can
// be JSON itself, as Codex has it. What is no part of the text, a line break or a
// quote, is told from one that somebody has printed.
func saying(v gjson.Result, kind string, n, depth int) (said []string) {
	if depth > maxNested || !strings.Contains(v.Raw, kind) {
		return nil
	}
	if v.Type == gjson.JSON {
		v.ForEach(func(_, inner gjson.Result) bool {
			said = append(said, saying(inner, kind, n, depth+1)...)
			return true
		})
		return said
	}
	if t := strings.TrimSpace(v.Str); strings.HasPrefix(t, "{") || strings.HasPrefix(t, "[") {
		if gjson.Valid(t) {
			return saying(gjson.Parse(t), kind, n, depth+1)
		}
	}
	text := "\n" + strings.TrimPrefix(v.Str, "Output: ") // Gemini's
	for end := len(text); len(said) < n; {
		at := strings.LastIndex(text[:end], "\n"+kind)
		if at < 0 {
			break
		}
		sum := text[at+1+len(kind) : end]
		if i := strings.IndexFunc(sum, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }); i >= 0 {
			sum = sum[:i]
		}
		said, end = append(said, kind+sum), at
	}
	slices.Reverse(said)
	return said
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
	var given []result
	shown := 0
	for text := range bytes.Lines(data) {
		if shown < maxShown && bytes.Contains(text, []byte(line)) && json.Valid(text) {
			shown++
			given = append(given, results(gjson.ParseBytes(text), line, 0)...)
		}
	}
	for text := range bytes.Lines(data) {
		for _, r := range given {
			if bytes.Contains(text, []byte(`"`+r.call+`"`)) && json.Valid(text) && prints(r.answer, line, calledBy(gjson.ParseBytes(text), r.call, 0)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// result is what a call gave, as JSON.
type result struct{ call, answer string }

// maxNested bounds how deep a conversation's values are looked into.
const maxNested = 32

// results are those that hold the line.
func results(v gjson.Result, line string, depth int) (all []result) {
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !strings.Contains(v.Raw, line) {
		return nil
	}
	if v.IsObject() {
		for _, key := range []string{"tool_use_id", "call_id", "callId", "callID", "toolCallId", "tool_call_id"} {
			if id := v.Get(key); id.Type == gjson.String && id.Str != "" {
				return []result{{id.Str, v.Raw}}
			}
		}
	}
	v.ForEach(func(_, inner gjson.Result) bool {
		all = append(all, results(inner, line, depth+1)...)
		return true
	})
	return all
}

// calledBy is how many commands of gt's the call of that id runs, where the value
// holds it.
func calledBy(v gjson.Result, id string, depth int) int {
	if depth > maxNested || !v.IsObject() && !v.IsArray() || !strings.Contains(v.Raw, id) {
		return 0
	}
	if v.IsObject() {
		for _, key := range []string{"id", "call_id", "callId", "callID", "toolCallId", "tool_call_id"} {
			if v.Get(key).Str != id {
				continue
			}
			for _, input := range []string{"input", "arguments", "args", "state.input"} {
				if n := runsOurs(v.Get(input).Raw); n > 0 {
					return n
				}
			}
		}
	}
	n := 0
	v.ForEach(func(_, inner gjson.Result) bool {
		n = calledBy(inner, id, depth+1)
		return n == 0
	})
	return n
}
