package hook

import (
	"encoding/json"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"gt/lib/client"
)

// Dialect is the way a client takes what a hook tells the model. Each was seen
// with the real client: what one accepts, another drops or reports as a
// failure.
type Dialect struct {
	// Cap is how much the client takes whole, as Size counts it. Of a longer
	// text the model sees the first 2 KB, or of Codex its two ends.
	Cap   int
	shape shape
	bytes bool // it counts bytes of UTF-8, not UTF-16 code units
	// Compaction says that the client adds what a PreCompact hook says to the
	// instructions for the summary; and Keep, how much of it where that is less
	// than Cap.
	Compaction bool
	Keep       int
	// Exports says that the client gives the hook of a start a file, CLAUDE_ENV_FILE,
	// for what its commands are to have in their environment.
	Exports bool
	// Alone tells a run without a person, of which the client does not say when
	// it ends; nil where it does.
	Alone *Alone
	// Untold are the sources of a start whose text the client drops. It is told
	// with the prompt that follows.
	Untold []string
	// Full says when a client compacts that runs its hook before every request
	// to the model, in case it has to; nil for one that runs it when it does.
	Full *Full
	// Forgets says that what a start was told is no part of the conversation:
	// when that is resumed, the model has only what it is told then.
	Forgets bool
	// Overlaps says that the client runs the hooks of a start and of the prompt
	// that brought it about at one time.
	Overlaps bool
	// Served says that a server behind the client runs its sessions; see behind.
	Served bool
	// Person says that the client shows the person what a hook's answer has as its
	// systemMessage, and does not tell the model.
	Person bool
	// Other says that the client calls every regular end "other". Elsewhere it is
	// that of a signal.
	Other bool
	// EndWait is how long an end can wait for a busy home before the client stops
	// its hook; 0 where it lets it wait.
	EndWait time.Duration
}

type shape int

const (
	plain    shape = iota // the text itself
	nested                // {"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}
	topLevel              // {"additionalContext":…}
	snake                 // {"additional_context":…}
)

var dialects = map[string]Dialect{
	"claude": {Cap: 10_000, shape: plain, Compaction: true, Person: true, Exports: true},
	"qwen": {Cap: 10_000, shape: nested, Compaction: true, Keep: 4000, Person: true, Alone: &Alone{
		with: []string{"-p", "--prompt"}, without: []string{"-i", "--prompt-interactive", "--acp"},
		switches: []string{"-y", "--yolo", "-c", "--continue", "-d", "--debug", "-s", "--sandbox"},
	}},
	"codex": {
		Cap: 10_000, bytes: true, shape: nested, // 2,500 tokens, of four bytes each
		Person: true, Served: true, Other: true, EndWait: 2 * time.Second, // of three
	},
	"gemini": {Cap: 10_000, shape: nested, Person: true, Untold: []string{"clear", "resume"}, Full: &Full{
		tokens: 1 << 20, models: map[string]int64{"gemma-4-": 256_000}, share: 0.5,
		home: "GEMINI_CLI_HOME", settings: ".gemini/settings.json", key: "model.compressionThreshold",
	}},
	"copilot": {Cap: 10_000, shape: topLevel, Forgets: true, Overlaps: true},
	"cursor":  {Cap: 10_000, shape: snake, Overlaps: true},
	// Ours is the plugin that takes the text, in full and in both places.
	"opencode": {Cap: 10_000, shape: plain, Compaction: true},
	"pi":       {Cap: 10_000, shape: plain, Compaction: true},
}

// DefaultAgent is the client that is assumed where none is named.
const DefaultAgent = client.Default

// Speaks says whether there is a dialect of that name.
func Speaks(name string) bool {
	_, ok := dialects[name]
	return ok
}

// DialectOf returns the dialect of a client. A client that is not known gets
// plain text.
func DialectOf(agent string) Dialect {
	if d, ok := dialects[agent]; ok {
		return d
	}
	return Dialect{Cap: 10_000, shape: plain}
}

// Agent says which client runs the hook: the one that the wiring names, except
// that Copilot and Cursor run Claude Code's hooks as well and want their own
// dialects.
func Agent(named string, getenv func(string) string) string {
	switch {
	case named != "" && named != DefaultAgent:
		return named
	case copilotCalls(getenv), named == "" && getenv("COPILOT_CLI") != "" && getenv("CLAUDECODE") == "":
		return "copilot"
	case cursorCalls(getenv):
		return "cursor"
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

// Notice puts a text for the person into the client's form, so that the model is not
// told. It is empty where the client has no such form.
func (d Dialect) Notice(text string) string {
	if !d.Person || text == "" {
		return ""
	}
	data, err := json.Marshal(map[string]string{"systemMessage": text})
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(data) + "\n"
}

// Size is the length of s as the client counts it.
func (d Dialect) Size(s string) int {
	if !d.bytes {
		return Units(s)
	}
	n := 0
	for _, r := range s {
		n += utf8.RuneLen(r) // what is no character is sent as one
	}
	return n
}

// Units is the length of s as most clients count it, in UTF-16 code units.
func Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
