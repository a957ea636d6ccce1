// Package hook is the contract with an agent's client: the input that a hook gets on
// standard input, and the form of its answer.
package hook

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/text/openjson"
)

// MaxInput is how much of a hook's input is kept: 4 MiB. A client sends a tool's whole
// result, which can be larger. Read discards the rest but reads it, because a client that
// cannot write all of its input reports a failed hook. The fields that gt uses come
// first.
const MaxInput = 4 << 20

// Deadline is how long a hook waits for a client that neither writes nor closes the pipe. On
// a busy machine a client may not run for a second after it has started the hook, and a hook
// without its input is about a wrong session. Codex ends some hooks after three seconds, which
// is the least of all clients.
const Deadline = 2 * time.Second

// maxDeadlines is how many deadlines Read waits for a client that goes on writing.
const maxDeadlines = 2

var bom = []byte("\xef\xbb\xbf")

// Input holds the fields of a hook's input that gt uses, for all events and whatever the
// client calls them. Unknown fields are ignored; a field of the wrong type counts as
// absent.
type Input struct {
	Event      string // hook_event_name, the client's own word; see Kind
	SessionID  string // of the session, also in a subagent
	Transcript string // transcript_path
	CWD        string
	Source     string // SessionStart: startup, resume, clear, compact, fork
	Trigger    string // PreCompact: manual, auto
	Reason     string // SessionEnd: clear, resume, logout, prompt_input_exit, other
	ToolName   string // PostToolUse
	AgentID    string // set only inside a subagent
	LastAnswer string // Stop: last_assistant_message
	// ContextTokens is how many tokens of a resumed conversation the model gets; 0 if the
	// client does not tell.
	ContextTokens int64
	Mode          string // what the agent may do without asking, in the client's own word
	Prompt        string // UserPromptSubmit

	Notice      string // Notification: its kind, in the client's word
	Failure     string // StopFailure, PostToolUseFailure: the reason, in the client's words
	Interrupted bool   // PostToolUseFailure: the person stopped the tool
	Headless    bool   // no person sees the run; see Invocation.Headless

	background, crons     string // Stop: what runs and what will wake the session, as JSON
	toolInput, toolOutput string // PostToolUse: the tool's arguments and result, as JSON
	runsMore              bool   // Stop: something runs in the background

	// Key identifies this input; empty if there was none or a long one.
	Key string
	// Problem says what is wrong with the input; empty if nothing is.
	Problem string
}

// Read reads a hook's input from r. It never fails. It waits at most for the deadline, or
// two of them while more data comes. If there is no input, or it is not a JSON object, or
// r is a terminal, it returns what it understood, which may be nothing. It returns as
// soon as the object is complete, even if the pipe stays open.
func Read(r io.Reader, deadline time.Duration) Input {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return Input{} // a terminal or /dev/null: no input will come
		}
	}
	data, whole, problem := readInput(r, deadline)
	data = bytes.TrimSpace(bytes.TrimPrefix(data, bom))
	if len(data) == 0 {
		return Input{Problem: problem}
	}
	in, at := parseInput(data)
	switch {
	case problem != "":
		in.Problem = problem
	case data[0] != '{' || !whole && !openjson.Valid(data):
		return Input{Problem: "the hook's input is no JSON object"}
	}
	keyed := data
	if at != "" && in.SessionID != "" {
		keyed = []byte(in.Kind() + " " + in.SessionID + " " + at)
	}
	if len(keyed) <= maxKeyed {
		sum := sha256.Sum256(keyed)
		in.Key = hex.EncodeToString(sum[:8])
	}
	return in
}

// eventTime returns the event's time in Unix milliseconds, or "" if the client does not tell
// it. Copilot runs a hook with either of two inputs, by the name under which it was
// wired: the time is a number or a text.
func eventTime(at gjson.Result) string {
	switch at.Type {
	case gjson.Number:
		return strconv.FormatInt(at.Int(), 10)
	case gjson.String:
		if t, err := time.Parse(time.RFC3339, at.Str); err == nil {
			return strconv.FormatInt(t.UnixMilli(), 10)
		}
	}
	return ""
}

// maxKeyed is the longest input that gets a key, in bytes. Events that must be handled
// once, such as a start or a compaction, have some hundred bytes; a tool's result can be
// huge.
const maxKeyed = 64 << 10

// pipeSize is the capacity of a pipe, and so the size of a read.
const pipeSize = 64 << 10

// readInput reads until the end, a complete object (whole is then true), or the deadline. problem
// says why data may lack its end, or is "".
func readInput(r io.Reader, deadline time.Duration) (data []byte, whole bool, problem string) {
	sofar := make(chan []byte)
	done := make(chan struct{})
	defer close(done)
	reader := cli.Go(func() {
		defer close(sofar)
		sendAll(r, sofar, done)
	})
	timeout, last, late := time.NewTimer(deadline), time.Now().Add(maxDeadlines*deadline), false
	defer timeout.Stop()
	for {
		select {
		case all, more := <-sofar:
			if !more {
				reader.Wait()
				return data, false, problem
			}
			// The client is alive: wait for the rest.
			timeout.Reset(min(deadline, time.Until(last)))
			late = false
			if len(all) > MaxInput {
				all, problem = all[:MaxInput], "the hook's input is over 4 MiB, only the front was read"
			}
			chunk := all[min(len(data), len(all)):]
			data = all
			if problem == "" && isWhole(data, chunk) {
				return data, true, ""
			}
		case <-timeout.C:
			if !late {
				// On a busy machine this process may not have run until now, and all of
				// the input may be there. Give the reader time to read it.
				late = true
				timeout.Reset(deadline / 10)
				continue
			}
			if problem == "" && !openjson.Valid(bytes.TrimPrefix(data, bom)) {
				problem = "the hook's input did not end in time"
			}
			return data, false, problem
		}
	}
}

// sendAll reads r until the end or until done is closed. After each read it sends all data
// so far. It never changes bytes that it has sent.
func sendAll(r io.Reader, sofar chan<- []byte, done <-chan struct{}) {
	for all := make([]byte, 0, pipeSize); ; {
		n, err := r.Read(all[len(all):min(cap(all), len(all)+pipeSize)])
		if n > 0 {
			all = all[:len(all)+n]
			select {
			case sofar <- all:
			case <-done:
				return
			}
		}
		if err != nil {
			return
		}
		if len(all) > MaxInput {
			all = all[:MaxInput+1] // the rest is read and discarded
		}
		if cap(all)-len(all) < pipeSize && n == pipeSize || cap(all) == len(all) {
			// Not slices.Grow, which would clear the unused part.
			all = append(make([]byte, 0, len(all)+max(8*pipeSize, len(all))), all...)
		}
	}
}

// isWhole reports whether data is one JSON value. It parses only if the chunk can be an
// object's end.
func isWhole(data, chunk []byte) bool {
	end := bytes.TrimRight(chunk, " \t\r\n")
	if len(end) == 0 || end[len(end)-1] != '}' || len(chunk) >= pipeSize {
		return false
	}
	return openjson.Valid(bytes.TrimPrefix(data, bom))
}

// OutputLines returns the lines with this prefix that gt's commands printed, if the input
// is a tool's result and the tool ran such commands. kind must not have characters that
// JSON escapes.
func (in Input) OutputLines(kind string) []string {
	if in.Kind() != "PostToolUse" {
		return nil
	}
	return outputLines(in.toolOutput, kind, countRequests(in.toolInput))
}

// Kind returns the event in Claude Code's words.
func (in Input) Kind() string { return registry.Kind(in.Event) }

// CallDigest returns a digest that identifies a tool call, or "" if the input has no tool. For
// a tool that asks the person, it is the digest of the name alone, because the client
// adds the answer to the arguments.
func (in Input) CallDigest() string {
	if in.ToolName == "" {
		return ""
	}
	call := in.ToolName
	if _, ok := registry.Prompting(in.ToolName); !ok {
		call += "\x00" + in.toolInput
	}
	sum := sha256.Sum256([]byte(call))
	return hex.EncodeToString(sum[:8])
}

// textFields returns where the value of each field goes that is text or raw JSON; nil for other
// fields. parent gets the id of the session in which a subagent runs.
func (in *Input) textFields(parent *string) [contract.NumFields]*string {
	return [contract.NumFields]*string{
		contract.Event: &in.Event, contract.SessionID: &in.SessionID, contract.Transcript: &in.Transcript,
		contract.CWD: &in.CWD, contract.Source: &in.Source, contract.Trigger: &in.Trigger, contract.Reason: &in.Reason,
		contract.ToolName: &in.ToolName, contract.AgentID: &in.AgentID, contract.ParentAgentID: parent,
		contract.LastAnswer: &in.LastAnswer, contract.Mode: &in.Mode, contract.Prompt: &in.Prompt,
		contract.Notice: &in.Notice, contract.Failure: &in.Failure,
		contract.Background: &in.background, contract.Crons: &in.crons, contract.ToolInput: &in.toolInput, contract.ToolOutput: &in.toolOutput,
	}
}

// parseInput reads the fields by any client's names for them (lib/client/<agent>/hook).
// happenedAt is the time of the event, or "" (see eventTime).
func parseInput(data []byte) (in Input, happenedAt string) {
	var parent, root, implied, other string
	texts := in.textFields(&parent)
	gjson.ParseBytes(data).ForEach(func(key, value gjson.Result) bool {
		name := key.Str
		field := registry.Field(name)
		switch field {
		case contract.NoField:
		case contract.ContextTokens:
			in.ContextTokens = value.Int()
		case contract.Interrupted:
			in.Interrupted = value.Bool()
		case contract.Headless:
			in.Headless = value.Bool()
		case contract.Background, contract.Crons, contract.ToolInput, contract.ToolOutput:
			*texts[field] = value.Raw
		case contract.Moment:
			happenedAt = cmp.Or(happenedAt, eventTime(value))
		case contract.FullyIdle:
			in.runsMore = value.Type == gjson.False
		case contract.Roots:
			root = value.Get("0").Str
		default:
			if to := texts[field]; to != nil {
				texts[field] = nil // if two have the same meaning, the first counts
				if field == contract.Failure && value.IsObject() {
					value = value.Get("message")
				}
				switch {
				case value.Type == gjson.String:
					*to = value.Str
				case field == contract.Prompt && value.IsArray():
					*to = joinTexts(value)
				}
			}
		}
		event := registry.Implied(name) // what the field says of an input without an event
		implied = cmp.Or(event.Kind, implied)
		if value.Num > 0 || value.Str != "" { // see contract.ImpliedEvent
			other = cmp.Or(event.Other, other)
		}
		return true
	})
	if in.SessionID != "" && in.SessionID == in.AgentID && parent != "" {
		in.SessionID = parent // the client gave the subagent's id in place of the session's
	}
	if registry.IsMainAgent(in.AgentID) {
		in.AgentID = ""
	}
	if filepath.IsAbs(root) {
		in.CWD = root // if a client names the working folders, cwd is a tool's
	}
	if in.Event == "" && in.SessionID != "" {
		in.Event = cmp.Or(other, implied)
	}
	return in, happenedAt
}

func joinTexts(parts gjson.Result) string {
	var texts []string
	for _, text := range parts.Get("#.text").Array() {
		texts = append(texts, text.String())
	}
	return strings.Join(texts, "\n")
}
