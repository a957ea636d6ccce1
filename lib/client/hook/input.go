// Package hook is the contract with an agent's client: what it hands to a hook
// on standard input, and the shape in which it takes an answer.
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
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/text/openjson"
)

// MaxInput bounds what is kept of a hook's input: 4 MiB. A client sends a
// tool's whole result, which can be larger; the rest is read and dropped, for
// a client that cannot write its input reports the hook as failed. What we use
// stands at the front.
const MaxInput = 4 << 20

// Deadline is how long Read waits for a client that neither sends nor closes.
const Deadline = 500 * time.Millisecond

// inputWaitSeconds is how many deadlines Read waits for a client that goes on sending.
const inputWaitSeconds = 10

// bom is the mark that some programs begin UTF-8 with.
var bom = []byte("\xef\xbb\xbf")

// Input is what a client says on standard input, of all its events the fields
// that gt uses, whatever that client calls them. Unknown fields are no error; a
// field of the wrong type counts as absent.
type Input struct {
	Event      string // hook_event_name, in the client's own word; see Kind
	SessionID  string // of the session, also where a subagent of it speaks
	Transcript string // transcript_path
	CWD        string
	Source     string // SessionStart: startup, resume, clear, compact, fork
	Trigger    string // PreCompact: manual, auto
	Reason     string // SessionEnd: clear, resume, logout, prompt_input_exit, other
	ToolName   string // PostToolUse
	AgentID    string // set only inside a subagent
	LastAnswer string // Stop: last_assistant_message
	// ContextTokens is how much of a conversation that is resumed the model is given, 0
	// where the client does not say it.
	ContextTokens int64
	Mode          string // what the agent may do without asking, in the client's own word
	Prompt        string // UserPromptSubmit

	Notice      string // Notification: what it is about, in the client's word
	Failure     string // StopFailure, PostToolUseFailure: why, in the client's words
	Interrupted bool   // PostToolUseFailure: the person stopped the tool

	background, crons string // Stop: what runs and what will wake the session, as JSON
	asked, answered   string // PostToolUse: what the tool was called with, and gave, as JSON

	// Key tells this input from any other; empty where there was none, or a
	// long one.
	Key string
	// Problem says what was wrong with the input; empty where nothing was.
	Problem string
}

// Read takes a hook's input from r. It never fails and waits at most for the
// deadline, or ten where more keeps coming: no input, a terminal, something
// that is no JSON object and a client that keeps the pipe open all give what
// was understood, which may be nothing. A whole object is answered at once,
// also when the pipe stays open.
func Read(r io.Reader, deadline time.Duration) Input {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return Input{} // a terminal or /dev/null: nobody sends anything
		}
	}
	data, whole, problem := collect(r, deadline)
	data = bytes.TrimSpace(bytes.TrimPrefix(data, bom))
	if len(data) == 0 {
		return Input{Problem: problem}
	}
	in, at := parse(data)
	switch {
	case problem != "":
		in.Problem = problem
	case data[0] != '{' || !whole && !openjson.Valid(data):
		return Input{Problem: "the hook's input is no JSON object"}
	}
	said := data
	if at != "" && in.SessionID != "" {
		said = []byte(in.Kind() + " " + in.SessionID + " " + at)
	}
	if len(said) <= maxKeyed {
		sum := sha256.Sum256(said)
		in.Key = hex.EncodeToString(sum[:8])
	}
	return in
}

// moment is the time of the event in Unix milliseconds, where the client says
// it. Copilot says one event in two ways, by the name that its hook was wired
// under: with the time as a number, or as a text.
func moment(at gjson.Result) string {
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

// maxKeyed is how long an input may be to get a key. What is acted on once, a
// start or a compaction, has some hundred bytes; a tool's result can be huge.
const maxKeyed = 64 << 10

// pipe is how much a pipe holds, and so how much is read at a time.
const pipe = 64 << 10

// collect reads until the end, a whole object (which it says), or the deadline.
func collect(r io.Reader, deadline time.Duration) (data []byte, whole bool, problem string) {
	sofar := make(chan []byte)
	done := make(chan struct{})
	defer close(done)
	reader := cli.Go(func() {
		defer close(sofar)
		pour(r, sofar, done)
	})
	timeout, last, late := time.NewTimer(deadline), time.Now().Add(inputWaitSeconds*deadline), false
	defer timeout.Stop()
	for {
		select {
		case all, more := <-sofar:
			if !more {
				reader.Wait()
				return data, false, problem
			}
			// Something came, so the client is alive: wait for the rest.
			timeout.Reset(min(deadline, time.Until(last)))
			late = false
			if len(all) > MaxInput {
				all, problem = all[:MaxInput], "the hook's input is over 4 MiB, only the front was read"
			}
			chunk := all[min(len(data), len(all)):]
			data = all
			if problem == "" && ends(data, chunk) {
				return data, true, ""
			}
		case <-timeout.C:
			if !late {
				// On a busy machine this process may have had no turn until now, and all of
				// the input may be there: only now is the reader given the time to read it.
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

// pour reads r, and sends all that came whenever more came, until the end or until done is
// closed. What was sent is not written again: pour reads on behind it.
func pour(r io.Reader, sofar chan<- []byte, done <-chan struct{}) {
	for all := make([]byte, 0, pipe); ; {
		n, err := r.Read(all[len(all):min(cap(all), len(all)+pipe)])
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
			all = all[:MaxInput+1] // the rest is read and forgotten
		}
		if cap(all)-len(all) < pipe && n == pipe || cap(all) == len(all) {
			// Not slices.Grow, which would clear what is not filled yet.
			all = append(make([]byte, 0, len(all)+max(8*pipe, len(all))), all...)
		}
	}
}

// ends reports whether data is one JSON value. Only a chunk that ends like an
// object's last line is worth the look.
func ends(data, chunk []byte) bool {
	end := bytes.TrimRight(chunk, " \t\r\n")
	if len(end) == 0 || end[len(end)-1] != '}' || len(chunk) >= pipe {
		return false
	}
	return openjson.Valid(bytes.TrimPrefix(data, bom))
}

// OutputLines returns the lines that begin so and that the input shows as what commands of
// gt's printed, where it tells of a tool that ran such commands. There is nothing in
// kind that JSON writes another way.
func (in Input) OutputLines(kind string) []string {
	if in.Kind() != "PostToolUse" {
		return nil
	}
	return outputLines(in.answered, kind, runsOurs(in.asked))
}

// Kind is the event in Claude Code's words, which others have their own for.
func (in Input) Kind() string { return registry.Kind(in.Event) }

// Call is a digest that tells the call of a tool from any other, "" where no tool is
// named. Of a tool that asks the person it is that of the name alone, for the client adds
// the answer to what the tool was called with.
func (in Input) Call() string {
	if in.ToolName == "" {
		return ""
	}
	call := in.ToolName
	if _, ok := registry.Prompting(in.ToolName); !ok {
		call += "\x00" + in.asked
	}
	sum := sha256.Sum256([]byte(call))
	return hex.EncodeToString(sum[:8])
}

// text is where a field goes that is a text, nil for any other.
func (in *Input) text(f contract.Field, parent *string) *string {
	switch f {
	case contract.Event:
		return &in.Event
	case contract.SessionID:
		return &in.SessionID
	case contract.Transcript:
		return &in.Transcript
	case contract.CWD:
		return &in.CWD
	case contract.Source:
		return &in.Source
	case contract.Trigger:
		return &in.Trigger
	case contract.Reason:
		return &in.Reason
	case contract.ToolName:
		return &in.ToolName
	case contract.AgentID:
		return &in.AgentID
	case contract.ParentAgentID:
		return parent
	case contract.LastAnswer:
		return &in.LastAnswer
	case contract.Mode:
		return &in.Mode
	case contract.Prompt:
		return &in.Prompt
	case contract.Notice:
		return &in.Notice
	case contract.Failure:
		return &in.Failure
	}
	return nil
}

// parse reads what clients call the same by several names; their folders say by
// which (lib/client/<agent>/hook). at is the moment of the event.
func parse(data []byte) (in Input, at string) {
	var parent, root, implied string
	var found [contract.NumFields]bool
	gjson.ParseBytes(data).ForEach(func(key, value gjson.Result) bool {
		name := key.Str
		field := registry.Field(name)
		switch field {
		case contract.NoField:
		case contract.ContextTokens:
			in.ContextTokens = value.Int()
		case contract.Interrupted:
			in.Interrupted = value.Bool()
		case contract.Background:
			in.background = value.Raw
		case contract.Crons:
			in.crons = value.Raw
		case contract.ToolInput:
			in.asked = value.Raw
		case contract.ToolOutput:
			in.answered = value.Raw
		case contract.Moment:
			at = cmp.Or(at, moment(value))
		case contract.Roots:
			root = value.Get("0").Str
		default:
			if to := in.text(field, &parent); to != nil && !found[field] {
				found[field] = true // of two, the first counts
				if field == contract.Failure && value.IsObject() {
					value = value.Get("message")
				}
				if value.Type == gjson.String {
					*to = value.Str
				}
			}
		}
		implied = cmp.Or(registry.Implied(name), implied)
		return true
	})
	if in.SessionID != "" && in.SessionID == in.AgentID && parent != "" {
		in.SessionID = parent // the id of a subagent is given for the session's
	}
	if filepath.IsAbs(root) {
		in.CWD = root // where a client names the folders, cwd is a tool's
	}
	if in.Event == "" && in.SessionID != "" {
		in.Event = implied
	}
	return in, at
}
