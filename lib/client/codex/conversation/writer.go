package codex

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

type Writer struct{}

func (Writer) Client() string { return "codex" }

func (Writer) NewID(time.Time) session.ID { return session.NewID() }

func (Writer) TranscriptPath(a conversation.ClientFolder, c *conversation.Copy) (path string, err error) {
	at := c.Now.Local()
	return filepath.Join(a.Dir, "sessions", at.Format("2006"), at.Format("01"), at.Format("02"),
		"rollout-"+at.Format("2006-01-02T15-04-05")+"-"+string(c.ID)+".jsonl"), nil
}

// versionWritten is the version of the format, which all later versions read.
const versionWritten = "0.94.0"

// Write writes the session's metadata, then each item for the model with its event for
// the screen.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	put := func(e conversation.Entry, kind string, payload map[string]any) error {
		return enc.Encode(conversation.Object{"timestamp", c.JSTimestamp(e.Time), "type", kind, "payload", payload})
	}
	meta := map[string]any{
		"id": c.ID, "timestamp": c.JSTimestamp(c.Now), "cwd": c.CWD, "originator": "codex_cli_rs", "cli_version": versionWritten, "source": "cli",
	}
	if c.Branch != "" {
		meta["git"] = map[string]any{"branch": c.Branch}
	}
	err := put(conversation.Entry{}, "session_meta", meta)
	item := func(e conversation.Entry, payload map[string]any) {
		if err == nil {
			err = put(e, "response_item", payload)
		}
	}
	shown := func(e conversation.Entry, payload map[string]any) {
		if err == nil {
			err = put(e, "event_msg", payload)
		}
	}
	message := func(role, kind, text string) map[string]any {
		return map[string]any{"type": "message", "role": role, "content": []any{map[string]any{"type": kind, "text": text}}}
	}
	for e, lost := range c.Entries {
		if lost != nil {
			return lost
		}
		call := fmt.Sprintf("call_%.8s_%s", c.ID, e.CallID)
		switch e.Kind {
		case conversation.Prompt:
			item(e, message("user", "input_text", e.Text))
			shown(e, map[string]any{"type": "user_message", "message": e.Text, "images": []any{}, "local_images": []any{}, "text_elements": []any{}})
		case conversation.Answer:
			shown(e, map[string]any{"type": "agent_message", "message": e.Text})
			item(e, message("assistant", "output_text", e.Text))
		case conversation.Call:
			arguments, merr := json.Marshal(conversation.ToolInput(e))
			if merr != nil {
				return merr
			}
			item(e, map[string]any{"type": "function_call", "name": conversation.ToolName(e.Tool), "arguments": string(arguments), "call_id": call})
		case conversation.Result:
			item(e, map[string]any{"type": "function_call_output", "call_id": call, "output": e.Text})
		}
	}
	return err
}
