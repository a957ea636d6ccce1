package conversation

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// The phrases with which gt starts and continues sessions. Gas Town's first prompts begin
// with the same name.
const (
	// Beacon begins the first line of a beacon (lib/launch/beacon).
	Beacon = "[GAS TOWN] "
	// Continuation is the first prompt of a conversation that goes on in a new process.
	Continuation = "Context compacted. Continue your previous task."
	// Resumption is the first prompt of one whose turn was interrupted.
	Resumption = "You were interrupted. Continue your previous task."
	// Handoff and FromNote begin and end the first prompt after a hand-over outside a
	// town.
	Handoff  = "Handoff"
	FromNote = "Go on from the note."
	// AskNote precedes FromNote for a session that may have no hook to give it the note.
	AskNote = "If no note was told to you, run `gt-prime`."
	// HandoffCommand and HandoffArguments begin the prompt and the last line of the command
	// /handoff, which some clients record in place of what the person typed.
	HandoffCommand   = "The person asks you to hand this session's work over to a fresh session, now."
	HandoffArguments = "What the person adds, if anything: "
	// NoteCame and WorkWaits wake an agent that waits for a prompt.
	NoteCame  = "A note has come in: `gt-mail inbox` lists it."
	WorkWaits = "Work waits for this session: `gt-mail work claim` takes it."
	// HandoffElsewhere takes the arguments' place where the client gives them to the agent
	// by itself.
	HandoffElsewhere = "see the person's message."
)

// MaxSubject is how many characters of a note's subject such a prompt has. maxPrompt is
// the prompt's largest size in bytes.
const (
	MaxSubject = 120
	maxPrompt  = 1 << 10
)

// IsOpening reports whether gt or Gas Town, and not a person, wrote a prompt to start or
// continue a session. The clients record both alike.
func IsOpening(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	line, more, _ := strings.Cut(prompt, "\n")
	switch {
	case line == Continuation, line == Resumption, prompt == NoteCame, prompt == WorkWaits:
		return true
	case strings.HasPrefix(line, Beacon):
		return strings.Contains(line, " <- ") && strings.Count(line, " • ") >= 2
	}
	return more == "" && len(line) <= maxPrompt && isFromNote(line)
}

// isFromNote reports whether a line is the first prompt after a hand-over. It checks both
// ends, so that a person can write about such a prompt.
func isFromNote(line string) bool {
	subject, ends := strings.CutSuffix(line, " "+FromNote)
	subject, begins := strings.CutPrefix(subject, Handoff)
	if !begins || !ends || !strings.ContainsAny(subject[max(0, len(subject)-1):], ".!?") {
		return false
	}
	return subject == "." || subject == ". "+AskNote || strings.HasPrefix(subject, ": ")
}

// PromptExcerpt returns the Excerpt of a prompt for a list, or "" if it is an opening.
func PromptExcerpt(prompt string) string {
	if IsOpening(prompt) {
		return ""
	}
	return Excerpt(prompt)
}

// clientCommands are the slash commands that control the client and ask nothing of the
// agent. They are Claude Code's: no other client records its own.
var clientCommands = []string{
	"", "add-dir", "agents", "bashes", "bug", "clear", "compact", "config", "context", "continue", "copy",
	"cost", "doctor", "effort", "exit", "export", "fast", "feedback", "help", "hooks", "ide", "keybindings",
	"login", "logout", "mcp", "memory", "model", "output-style", "permissions", "plugin", "quit",
	"release-notes", "reload-plugins", "rename", "resume", "rewind", "sandbox", "skills", "stats",
	"status", "statusline", "tasks", "terminal-setup", "theme", "todos", "upgrade", "usage", "vim",
}

// IsClientCommand reports whether a slash command, without its slash, asks nothing of the
// agent.
func IsClientCommand(name string) bool { return slices.Contains(clientCommands, name) }

// TypedWords returns what the person typed in a prompt, or "" if that is nothing: the prompt is
// gt's own, or a command to the client. Of the command /handoff it returns what the person
// added. A sentence can begin as such a command: "/login returns 500 since Tuesday".
func TypedWords(prompt string) string {
	prompt = strings.TrimSpace(prompt)
	if IsOpening(prompt) {
		return ""
	}
	if strings.HasPrefix(prompt, HandoffCommand) {
		// The line ends behind the colon if the person added nothing.
		if _, added, ok := strings.Cut(prompt, strings.TrimSpace(HandoffArguments)); ok {
			return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(added), HandoffElsewhere))
		}
		return prompt
	}
	line, more, _ := strings.Cut(prompt, "\n")
	command, arguments, _ := strings.Cut(line, " ")
	switch {
	case command == "/handoff", command == "/gt:handoff", command == "$handoff":
		return strings.TrimSpace(arguments + "\n" + more)
	case strings.HasPrefix(command, "/") && IsClientCommand(command[1:]) && more == "" && len(strings.Fields(arguments)) < 3:
		return ""
	}
	return prompt
}

// maxTail limits how far StoppedAt searches from the end of a conversation. A client may
// write its whole history after the end of a turn, in one line.
const maxTail = 4 << 20

// StoppedAt returns when the last turn or prompt failed or was interrupted, or the zero time if it
// did not. It goes through the lines from the last one back to the first that is not later than
// after. For each, stops reports whether the line says that it stopped (stopped) or that the turn
// went on or ended well (over). It ignores lines without a "timestamp".
func StoppedAt(path string, after time.Time, stops func(line gjson.Result) (stopped, over bool)) time.Time {
	var at time.Time
	err := ReadTail(path, maxTail, func(tail []byte) (known bool) {
		at, known = stopInTail(tail, after, stops)
		return known
	})
	if err != nil {
		return time.Time{}
	}
	return at
}

// ReadTail calls each with longer and longer ends of a file, until it returns true or the end has
// most bytes or the whole file.
func ReadTail(path string, most int64, each func(tail []byte) (done bool)) error {
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return atomicfile.Error("read", path, err)
	}
	for reach := int64(64 << 10); ; reach *= 8 {
		tail := make([]byte, min(reach, most, info.Size()))
		n, err := f.ReadAt(tail, info.Size()-int64(len(tail)))
		if err != nil && err != io.EOF {
			return atomicfile.Error("read", path, err)
		}
		if each(tail[:n]) || reach >= most || int64(len(tail)) == info.Size() {
			return nil
		}
	}
}

// stopInTail is StoppedAt for the end of a file. known is false if it needs a longer end. It
// skips Gemini CLI's records without a time ({"$set": …), which can be long.
func stopInTail(tail []byte, after time.Time, stops func(line gjson.Result) (stopped, over bool)) (at time.Time, known bool) {
	for end := len(tail); end > 0; {
		begin := bytes.LastIndexByte(tail[:end-1], '\n') + 1
		line := bytes.Trim(tail[begin:end], "\x00\r\n") // a crash of the machine leaves NUL bytes
		end = begin
		if !bytes.HasPrefix(line, []byte(`{"`)) || bytes.HasPrefix(line, []byte(`{"$`)) || !gjson.ValidBytes(line) {
			continue // the first line may be cut off, the last one incomplete
		}
		v := gjson.ParseBytes(line)
		t, err := time.Parse(time.RFC3339, v.Get("timestamp").Str)
		if err != nil {
			continue
		}
		if !t.After(after) {
			return time.Time{}, true
		}
		switch stopped, over := stops(v); {
		case stopped:
			return t, true
		case over:
			return time.Time{}, true
		}
	}
	return time.Time{}, false
}
