package contract

import (
	"encoding/json"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// Dialect is the form in which a client takes a hook's answer, and how it behaves around
// hooks. Each was tested with the real client: what one client accepts, another drops or
// reports as a failure. A person's own agent can have the dialect of a known client.
type Dialect struct {
	// MaxContext is the longest text that the client takes whole, as Size counts it. Of a
	// longer one the model sees the first 2 KB, in Codex both ends.
	MaxContext int
	Shape      Shape
	// CountsBytes reports that the client counts UTF-8 bytes, not UTF-16 code units.
	CountsBytes bool

	// Compaction reports that the client adds a PreCompact hook's answer to the
	// instructions for the summary. MaxCompaction is the longest such answer, if that is less
	// than MaxContext.
	Compaction    bool
	MaxCompaction int
	// ShowsCompaction reports that it also shows that answer to the person.
	ShowsCompaction bool

	// EnvFile is the variable that names a file in which a SessionStart hook sets
	// variables for the client's commands.
	EnvFile string

	// ForkFlag is the argument that runs a copy of a session. The copy's start can then
	// have the id of the original.
	ForkFlag string

	// Headless reports whether no person sees a run; nil if the client does not tell.
	Headless func(Run) bool
	// EndsSilently reports that a headless run can end without the hook of an end.
	EndsSilently bool

	// DroppedSources are the sources of a start for which the client drops the hook's
	// answer. gt gives the text with the next prompt.
	DroppedSources []string

	// CompactionPolicy reports whether a conversation in dir is so long that the client
	// compacts it, by the client's own rule and the settings in its account's folder. It is for
	// a client that runs its compaction hook before every request, and nil for one that runs it
	// only when it compacts. A conversation that cannot be read is not too long.
	CompactionPolicy func(transcript, dir, account string) (full bool, err error)

	// DropsStartContext reports that the answer to a start is not part of the
	// conversation: after a resume, the model has only the new answer.
	DropsStartContext bool

	// ForgetsContext reports that the model has the answer of a prompt's hook for one
	// request only. gt gives the text of a start with each request of the turn.
	ForgetsContext bool

	// TypedPrompt returns a prompt as the person typed it, without the tags that the client puts
	// around what they pasted; nil if it adds none.
	TypedPrompt func(prompt string) string

	// DropsPromptContext reports that the client ignores the answer of a prompt's hook.
	DropsPromptContext bool

	// Overlaps reports that the client runs the hooks of a start and of the prompt that
	// caused it at the same time.
	Overlaps bool

	// NotesStatus reports that the client writes what each session does into a file
	// (conversation.Registry), which also shows answers of the person that call no hook.
	NotesStatus bool

	// SharedServer is the server that runs the client's sessions; nil if the client runs
	// them itself.
	SharedServer *SharedServer

	// HooksInHelper reports that the client runs its hooks in a process of its own: the
	// client is the parent of a hook's parent.
	HooksInHelper bool

	// SystemMessage reports that the client shows the answer's systemMessage to the
	// person and not to the model.
	SystemMessage bool

	// Killed reports whether a session was ended from outside; nil is contract.Killed.
	Killed func(SessionEnd) bool

	// ClearReason is the client's reason for the end of a session that the next one
	// replaces; "" is "clear".
	ClearReason string

	// EndWait is how long the hook of an end can wait for a busy home before the client
	// stops it; 0 is no limit.
	EndWait time.Duration
}

// Shape is the form of an answer.
type Shape int

const (
	Plain    Shape = iota // the text itself
	Nested                // {"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}
	TopLevel              // {"additionalContext":…}
	Snake                 // {"additional_context":…}
	Steps                 // {"injectSteps":[{"ephemeralMessage":…}]}
)

// Reply returns a text for the model in the client's form. An empty text is an empty
// reply.
func (d Dialect) Reply(event, text string) string { return d.ReplyWith(event, text, "") }

// Notice returns a text that the client shows only to the person, or "" if it has no form
// for that.
func (d Dialect) Notice(text string) string { return d.ReplyWith("", "", text) }

// ReplyWith is Reply together with Notice.
func (d Dialect) ReplyWith(event, text, notice string) string {
	reply, shape := map[string]any{}, d.Shape
	if notice != "" && d.SystemMessage {
		reply["systemMessage"] = notice
		if shape == Plain { // a text beside the notice has the other form of the same clients
			shape = Nested
		}
	}
	switch {
	case text == "":
	case shape == Plain:
		return text
	case shape == Nested:
		reply["hookSpecificOutput"] = map[string]string{"hookEventName": event, "additionalContext": text}
	case shape == TopLevel:
		reply["additionalContext"] = text
	case shape == Snake:
		reply["additional_context"] = text
	case shape == Steps:
		reply["injectSteps"] = []map[string]string{{"ephemeralMessage": text}}
	}
	if len(reply) == 0 {
		return ""
	}
	data, err := json.Marshal(reply)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(data) + "\n"
}

// Size returns the length of s as the client counts it.
func (d Dialect) Size(s string) int {
	if !d.CountsBytes {
		return UTF16Units(s)
	}
	n := 0
	for _, r := range s {
		n += utf8.RuneLen(r) // an invalid byte is sent as a character
	}
	return n
}

// UTF16Units returns the length of s in UTF-16 code units, as most clients count it.
func UTF16Units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}
