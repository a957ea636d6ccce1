package claude

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

type Writer struct{}

func (Writer) Client() string { return "claude" }

func (Writer) NewID(time.Time) session.ID { return session.NewID() }

// TranscriptPath returns the file by Claude Code's own rule.
func (Writer) TranscriptPath(a conversation.ClientFolder, c *conversation.Copy) (path string, err error) {
	return Path(a, c.CWD, string(c.ID)), nil
}

const versionWritten = "2.1.197"

// Write writes a record for each entry. Each names the one before.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	var before any // the id of the record before, or nil
	i := 0
	for e, err := range c.Entries {
		if err != nil {
			return err
		}
		i++
		kind, id := "user", session.NewID()
		var message conversation.Object
		call := fmt.Sprintf("toolu_%.8s_%s", c.ID, e.CallID)
		// agent makes the record a message of the agent with one block.
		agent := func(block map[string]any, stop string) {
			kind = "assistant"
			message = conversation.Object{
				"id", fmt.Sprintf("msg_%.8s_%d", c.ID, i), "type", "message", "role", "assistant", "model", cmp.Or(e.Model, c.FromClient), "content", []any{block},
				"stop_reason", stop, "usage", map[string]int{"input_tokens": 0, "output_tokens": 0},
			}
		}
		switch e.Kind {
		case conversation.Prompt:
			message = conversation.Object{"role", "user", "content", e.Text}
		case conversation.Answer:
			agent(map[string]any{"type": "text", "text": e.Text}, "end_turn")
		case conversation.Call:
			agent(map[string]any{"type": "tool_use", "id": call, "name": conversation.ToolName(e.Tool), "input": conversation.ToolInput(e)}, "tool_use")
		case conversation.Result:
			block := map[string]any{"tool_use_id": call, "type": "tool_result", "content": e.Text}
			if e.Failed {
				block["is_error"] = true
			}
			message = conversation.Object{"role", "user", "content", []any{block}}
		default:
			continue
		}
		if err := enc.Encode(conversation.Object{
			"parentUuid", before, "isSidechain", false, "userType", "external", "cwd", c.CWD, "sessionId", c.ID, "version", versionWritten, "gitBranch", c.Branch,
			"type", kind, "message", message, "uuid", id, "timestamp", c.JSTimestamp(e.Time),
		}); err != nil {
			return err
		}
		before = id
	}
	return nil
}
