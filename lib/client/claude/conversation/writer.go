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

// Place returns the file by Claude Code's own rule.
func (Writer) Place(a conversation.Account, c *conversation.Copy) (path string, err error) {
	return Path(a, c.CWD, string(c.ID)), nil
}

type written struct {
	Parent    *session.ID `json:"parentUuid"`
	Sidechain bool        `json:"isSidechain"`
	UserType  string      `json:"userType"`
	CWD       string      `json:"cwd"`
	Session   session.ID  `json:"sessionId"`
	Version   string      `json:"version"`
	Branch    string      `json:"gitBranch"`
	Kind      string      `json:"type"`
	Message   any         `json:"message"`
	ID        session.ID  `json:"uuid"`
	Time      string      `json:"timestamp"`
}

type userWords struct {
	Role    string `json:"role"`
	Content any    `json:"content"`
}

type agentWords struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	Role       string         `json:"role"`
	Model      string         `json:"model"`
	Content    []any          `json:"content"`
	StopReason string         `json:"stop_reason"`
	Usage      map[string]int `json:"usage"`
}

const versionWritten = "2.1.197"

// Write writes a record for each entry. Each names the one before.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	var before *session.ID
	i := 0
	for e, err := range c.Entries {
		if err != nil {
			return err
		}
		i++
		rec := written{
			Parent: before, UserType: "external", CWD: c.CWD, Session: c.ID, Version: versionWritten, Branch: c.Branch,
			Kind: "user", ID: session.NewID(), Time: c.Stamp(e.Time),
		}
		call := fmt.Sprintf("toolu_%.8s_%s", c.ID, e.CallID)
		agent := func(block map[string]any, stop string) {
			rec.Kind = "assistant"
			rec.Message = agentWords{
				ID: fmt.Sprintf("msg_%.8s_%d", c.ID, i), Type: "message", Role: "assistant", Model: cmp.Or(e.Model, c.From), Content: []any{block},
				StopReason: stop, Usage: map[string]int{"input_tokens": 0, "output_tokens": 0},
			}
		}
		switch e.Kind {
		case conversation.Prompt:
			rec.Message = userWords{"user", e.Text}
		case conversation.Answer:
			agent(map[string]any{"type": "text", "text": e.Text}, "end_turn")
		case conversation.Call:
			agent(map[string]any{"type": "tool_use", "id": call, "name": conversation.ToolName(e.Tool), "input": conversation.ToolInput(e)}, "tool_use")
		case conversation.Result:
			block := map[string]any{"tool_use_id": call, "type": "tool_result", "content": e.Text}
			if e.Failed {
				block["is_error"] = true
			}
			rec.Message = userWords{"user", []any{block}}
		default:
			continue
		}
		if err := enc.Encode(rec); err != nil {
			return err
		}
		id := rec.ID // a copy: a pointer into rec would keep all of it in memory
		before = &id
	}
	return nil
}
