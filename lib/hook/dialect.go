package hook

import (
	"encoding/json"
	"unicode/utf16"
)

// Dialect is the way a client takes what a hook tells the model. Each was seen
// with the real client: what one accepts, another drops or reports as a
// failure.
type Dialect struct {
	// Cap is how many UTF-16 code units the client takes whole. Of a longer
	// text the model sees the first 2 KB.
	Cap   int
	shape shape
	// Compaction says that the client adds a PreCompact hook's plain text to
	// the instructions for the summary.
	Compaction bool
}

type shape int

const (
	plain    shape = iota // the text itself
	nested                // {"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}
	topLevel              // {"additionalContext":…}
	snake                 // {"additional_context":…}
)

var dialects = map[string]Dialect{
	"claude":  {Cap: 10_000, shape: plain, Compaction: true},
	"qwen":    {Cap: 10_000, shape: plain},
	"codex":   {Cap: 9_000, shape: nested},
	"gemini":  {Cap: 10_000, shape: nested},
	"copilot": {Cap: 10_000, shape: topLevel},
	"cursor":  {Cap: 10_000, shape: snake},
	// Ours is the plugin that takes the text, in full and in both places.
	"opencode": {Cap: 10_000, shape: plain, Compaction: true},
	"pi":       {Cap: 10_000, shape: plain, Compaction: true},
}

// DefaultAgent is the client that is assumed where none is named.
const DefaultAgent = "claude"

// DialectOf returns the dialect of a client. A client that is not known gets
// plain text.
func DialectOf(agent string) Dialect {
	if d, ok := dialects[agent]; ok {
		return d
	}
	return Dialect{Cap: 10_000, shape: plain}
}

// Agent says which client runs the hook: the one that the wiring names, except
// that Copilot runs a repository's Claude hooks as well and wants its own
// dialect.
func Agent(named string, getenv func(string) string) string {
	switch {
	case getenv("COPILOT_CLI") != "":
		return "copilot"
	case named != "":
		return named
	}
	return DefaultAgent
}

// Reply puts a text for the model into the client's form. An empty text is an
// empty reply in every dialect.
func (d Dialect) Reply(event, text string) string {
	if text == "" {
		return ""
	}
	var reply any
	switch d.shape {
	case plain:
		return text
	case nested:
		reply = map[string]any{"hookSpecificOutput": map[string]string{
			"hookEventName": event, "additionalContext": text,
		}}
	case topLevel:
		reply = map[string]string{"additionalContext": text}
	case snake:
		reply = map[string]string{"additional_context": text}
	}
	data, err := json.Marshal(reply)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(data) + "\n"
}

// Units is the length of s as a client counts it, in UTF-16 code units.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
