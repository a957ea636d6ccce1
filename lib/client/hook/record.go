package hook

import (
	"cmp"
	"errors"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/record/hookfile"
	"gt/lib/record/secretfile"
	"gt/lib/record/stop"
	"gt/lib/sys/process"
)

const (
	TurnEnded    = "turn" // or the conversation so far will be compacted
	SessionEnded = "end"
)

// KeepConversation starts gt-record to update the session's record, if the wiring says
// that the person wants one. It does not wait. If the start fails, it notes that recording has
// stopped, for TellStopped.
func (c *Invocation) KeepConversation(f Flags, why string) error {
	if f.Record != "on" || c.ID == "" {
		return nil
	}
	args := []string{process.SiblingBinary("gt-record"), "sync", "--hook", "--agent", c.readerClient(f), "--why", why}
	if why == SessionEnded && c.Input.Reason != "" {
		const most = 40
		args = append(args, "--reason="+c.env.Line(c.Input.Reason, most))
	}
	err := process.Detach(c.Home.Runtime(), append(args, string(c.ID)), c.env.Environ, "")
	if err != nil {
		err = errors.Join(err, stop.Note(c.state(), c.env.Redact(err.Error()), c.env.Now()))
	}
	return err
}

// TellStopped tells the person once, and not the model, that recording has stopped
// although the wiring asks for it. For a client that cannot tell the person alone, only
// gt-hooks status shows it.
func (c *Invocation) TellStopped(f Flags) error {
	if f.Record != "on" || !c.Dialect.SystemMessage {
		return nil
	}
	unreported := stop.Untold(c.state())
	if unreported == nil {
		return nil
	}
	const most = 500
	text := "gt has stopped recording conversations: " + c.env.Line(unreported.Why, most) + " (gt-hooks status says more)"
	if _, err := io.WriteString(c.env.Stdout, c.Dialect.Notice(text)); err != nil {
		return err
	}
	return stop.MarkReported(c.state())
}

func (c *Invocation) state() place.State { return place.StateOf(c.env.Getenv) }

// readerClient returns the client whose reader reads the conversation. For a variant of a
// client, that is the client itself.
func (c *Invocation) readerClient(f Flags) string {
	if !registry.HasReader(c.Agent) && registry.HasReader(f.Dialect) {
		return f.Dialect
	}
	return c.Agent
}

// RecordInput records what this hook's input says of the conversation, if the person wants a
// record and gt has no reader for the client, or one that finds less than the hooks tell: then the
// hooks' inputs are the conversation. A large input is left to another process (gt-record told).
func (c *Invocation) RecordInput(f Flags) error {
	if f.Record != "on" || c.ID == "" || c.Input.AgentID != "" || !registry.RecordsHooks(c.readerClient(f)) {
		return nil
	}
	line := hookfile.Line{Time: c.env.Now().UTC(), CWD: c.Dir, Key: c.Input.Key}
	switch kind := c.Input.Kind(); {
	case kind == "UserPromptSubmit":
		line.Kind, line.Text = conversation.Prompt, c.Input.Prompt
	case c.Input.LastAnswer != "":
		line.Kind, line.Text = conversation.Answer, c.Input.LastAnswer
	case kind == "PostToolUse", kind == "PostToolUseFailure":
		called := conversation.Entry{Kind: conversation.Call, Text: conversation.CallText(parseNested(c.Input.toolInput))}
		line.Kind, line.Tool, line.Text, line.Failed = called.Kind, c.Input.ToolName, called.Text, kind == "PostToolUseFailure"
		if secretfile.FindInCall(called) != "" { // mutant never: . TestScripts/record_told
			break // the record says why there is no result
		}
		line.Result = cmp.Or(conversation.Arguments(parseNested(c.Input.toolOutput)), c.Input.Failure)
	}
	if line.Kind == "" || line.Text == "" && line.Tool == "" {
		return nil
	}
	root, err := hookfile.Root(c.env.Getenv)
	if err != nil {
		return err
	}
	const much = 16 << 10 // redacting more takes longer than starting a program
	if len(line.Text)+len(line.Result) > much {
		if input, err := line.EncodeUnwritten(); err == nil {
			args := []string{process.SiblingBinary("gt-record"), "told", "--agent", c.Agent, "--", string(c.ID)}
			if process.Detach(c.Home.Runtime(), args, c.env.Environ, input) == nil {
				return nil
			}
		}
	}
	line.Redact(c.env.Redact)
	return hookfile.Append(root, c.Agent, c.ID, line)
}

// parseNested parses a JSON value, which may be JSON in a string.
func parseNested(data string) gjson.Result {
	v := gjson.Parse(data)
	if v.Type == gjson.String && strings.HasPrefix(v.Str, "{") && gjson.Valid(v.Str) {
		return gjson.Parse(v.Str)
	}
	return v
}
