package contract

import (
	"encoding/json"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Dialect is how a client takes what a hook tells the model, and how it behaves
// around a hook. Each was seen with the real client: what one accepts, another
// drops or reports as a failure. An agent of the person's own can have that of a
// known client.
type Dialect struct {
	// MaxContext is how much the client takes whole, as Size counts it. Of a
	// longer text the model sees the first 2 KB, or of Codex its two ends.
	MaxContext int
	// Shape is the form of the answer.
	Shape Shape
	// CountsBytes reports that it counts bytes of UTF-8, not UTF-16 code units.
	CountsBytes bool

	// Compaction reports that the client adds what a PreCompact hook says to the
	// instructions for the summary; and Keep, how much of it where that is less
	// than MaxContext.
	Compaction bool
	Keep       int
	// ShowsCompaction reports that it shows the person the same text.
	ShowsCompaction bool

	// EnvFile is the variable that names the hook of a start a file, for what the
	// client's commands are to have in their environment.
	EnvFile string

	// ForkFlag is the argument with which the client runs a copy of a session; its
	// start can then give the id of the session that was copied.
	ForkFlag string

	// Headless reports whether a client with these arguments runs without a
	// person, and does not say when it ends; nil for one that says so.
	Headless func(args []string) bool

	// DroppedSources are the sources of a start whose text the client drops. It is
	// told with the prompt that follows.
	DroppedSources []string

	// CompactionPolicy reports whether a conversation in dir is so long by now that
	// the client compacts it, by the client's own rule; nil for a client that runs
	// its hook when it compacts, and not before every request to the model in case
	// it has to. What cannot be read is not long.
	CompactionPolicy func(transcript, dir string, getenv func(string) string) (full bool, err error)

	// DropsStartContext reports that what a start was told is no part of the
	// conversation: when that is resumed, the model has only what it is told then.
	DropsStartContext bool

	// DropsPromptContext reports that the client takes no text for the model from the hook
	// of a prompt.
	DropsPromptContext bool

	// Overlaps reports that the client runs the hooks of a start and of the prompt
	// that brought it about at one time.
	Overlaps bool

	// NotesStatus reports that the client notes in a file what each of its sessions does
	// now (conversation.Registry), so that an answer of the person's is seen that no hook
	// tells of.
	NotesStatus bool

	// SharedServer is the server that runs the client's sessions, nil where the
	// client does so itself.
	SharedServer *SharedServer

	// SystemMessage reports that the client shows the person what a hook's answer
	// has as its systemMessage, and does not tell the model.
	SystemMessage bool

	// Killed reports whether a session was ended from outside; nil is Killed.
	Killed func(End) bool

	// ClearReason is the reason that the client gives for the end of a session
	// which the next one replaces, where that is not "clear".
	ClearReason string

	// EndWait is how long an end can wait for a busy home before the client stops
	// its hook; 0 where it lets it wait.
	EndWait time.Duration
}

// Shape is the form of an answer.
type Shape int

// The forms that clients take.
const (
	Plain    Shape = iota // the text itself
	Nested                // {"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}
	TopLevel              // {"additionalContext":…}
	Snake                 // {"additional_context":…}
)

// Reply puts a text for the model into the client's form. An empty text is an
// empty reply in every dialect.
func (d Dialect) Reply(event, text string) string {
	if text == "" {
		return ""
	}
	var reply any
	switch d.Shape {
	case Plain:
		return text
	case Nested:
		reply = map[string]any{"hookSpecificOutput": map[string]string{
			"hookEventName": event, "additionalContext": text,
		}}
	case TopLevel:
		reply = map[string]string{"additionalContext": text}
	case Snake:
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
	if !d.SystemMessage || text == "" {
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
	if !d.CountsBytes {
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
