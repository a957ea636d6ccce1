package kimi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

type Writer struct{}

func (Writer) Client() string { return "kimi" }

func (Writer) NewID(time.Time) session.ID { return "session_" + session.NewID() }

func (Writer) TranscriptPath(a conversation.ClientFolder, c *conversation.Copy) (path string, err error) {
	return wireOf(a.Dir, c.CWD, string(c.ID)), nil
}

// CompanionFile returns the session's state, without which Kimi Code does not find the session.
func (Writer) CompanionFile(path string, c *conversation.Copy) (file string, content []byte, err error) {
	now := c.Now.UnixMilli()
	content, err = json.Marshal(conversation.Object{
		"id", c.ID, "version", 2, "cwd", c.CWD, "createdAt", now, "updatedAt", now, "title", c.Title, "titleKind", "generated",
	})
	return filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), stateFile), content, err
}

type object = map[string]any

// Write writes a record for each prompt, and for each step of an answer those that Kimi
// Code reads. It writes no model, so that Kimi Code uses its current one.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	if err := enc.Encode(conversation.Object{"type", "metadata", "protocol_version", "1.5", "created_at", c.Now.UnixMilli()}); err != nil {
		return err
	}
	// put writes a record of the session's own agent.
	put := func(kind string, at time.Time, members ...any) error {
		rec := append(conversation.Object{"type", kind, "agentId", mainAgent}, members...)
		return enc.Encode(append(rec, "time", at.UnixMilli()))
	}
	turn, steps, calls := -1, 0, 0
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.TimeOrNow(step.Time())
		if e := step.Prompt; e != nil {
			turn, steps = turn+1, 0
			id := fmt.Sprintf("msg_%.8s_%d", c.ID[len("session_"):], turn)
			content, origin := []any{object{"type": "text", "text": e.Text}}, object{"kind": "user"}
			if err := errors.Join(
				put("turn.prompt", at, "input", content, "origin", origin, "promptId", id, "turnId", turn),
				put("context.append_message", at, "message",
					conversation.Object{"role", "user", "content", content, "id", id, "toolCalls", []any{}, "origin", origin}),
			); err != nil {
				return err
			}
			continue
		}
		steps++
		id := fmt.Sprintf("%.8s-%d-%d", c.ID[len("session_"):], turn, steps)
		event := func(at time.Time, kind string, more object) error {
			event := object{"type": kind, "turnId": fmt.Sprint(max(turn, 0)), "step": steps}
			maps.Copy(event, more)
			return put("context.append_loop_event", at, "event", event)
		}
		err := event(at, "step.begin", object{"uuid": id})
		for i, e := range step.Texts {
			err = errors.Join(err, event(at, "content.part", object{
				"uuid": fmt.Sprintf("%s-%d", id, i), "stepUuid": id, "part": object{"type": "text", "text": e.Text},
			}))
		}
		reason := "end_turn"
		if e := step.Call; e != nil {
			calls++
			reason = "tool_use"
			call := fmt.Sprintf("call_%.8s_%d", c.ID[len("session_"):], calls)
			err = errors.Join(err, event(at, "tool.call", object{
				"uuid": id + "-call", "stepUuid": id, "toolCallId": call, "name": conversation.ToolName(e.Tool), "args": conversation.ToolInput(*e),
			}))
			if r := step.Result; r != nil {
				result := object{"output": r.Text}
				if r.Failed {
					result["isError"] = true
				}
				if !r.Time.IsZero() {
					at = r.Time
				}
				err = errors.Join(err, event(at, "tool.result", object{"parentUuid": id + "-call", "toolCallId": call, "result": result}))
			}
		}
		if err := errors.Join(err, event(at, "step.end", object{"uuid": id, "finishReason": reason})); err != nil {
			return err
		}
	}
	return nil
}
