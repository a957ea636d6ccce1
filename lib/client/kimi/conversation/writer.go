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

func (Writer) Place(a conversation.Account, c *conversation.Copy) (path string, err error) {
	return wireOf(a.Dir, c.CWD, string(c.ID)), nil
}

// CompanionFile returns the session's state, without which Kimi Code does not find the session.
func (Writer) CompanionFile(path string, c *conversation.Copy) (file string, content []byte, err error) {
	content, err = json.Marshal(struct {
		ID      session.ID `json:"id"`
		Version int        `json:"version"`
		CWD     string     `json:"cwd"`
		Created int64      `json:"createdAt"`
		Updated int64      `json:"updatedAt"`
		Title   string     `json:"title"`
		Kind    string     `json:"titleKind"`
	}{c.ID, 2, c.CWD, c.Now.UnixMilli(), c.Now.UnixMilli(), c.Title, "generated"})
	return filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(path))), stateFile), content, err
}

type object = map[string]any

// Write writes a record for each prompt, and for each step of an answer those that Kimi
// Code reads. It writes no model, so that Kimi Code uses its current one.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	if err := enc.Encode(metadata{"metadata", "1.5", c.Now.UnixMilli()}); err != nil {
		return err
	}
	turn, steps, calls := -1, 0, 0
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.TimeOf(step.Time())
		if e := step.Asked; e != nil {
			turn, steps = turn+1, 0
			id := fmt.Sprintf("msg_%.8s_%d", c.ID[len("session_"):], turn)
			content, origin := []any{object{"type": "text", "text": e.Text}}, object{"kind": "user"}
			if err := errors.Join(
				enc.Encode(prompt{"turn.prompt", mainAgent, content, origin, id, turn, at.UnixMilli()}),
				enc.Encode(appended{"context.append_message", mainAgent, message{"user", content, id, []any{}, origin}, at.UnixMilli()}),
			); err != nil {
				return err
			}
			continue
		}
		steps++
		id := fmt.Sprintf("%.8s-%d-%d", c.ID[len("session_"):], turn, steps)
		put := func(at time.Time, kind string, more object) error {
			event := object{"type": kind, "turnId": fmt.Sprint(max(turn, 0)), "step": steps}
			maps.Copy(event, more)
			return enc.Encode(happened{"context.append_loop_event", mainAgent, event, at.UnixMilli()})
		}
		err := put(at, "step.begin", object{"uuid": id})
		for i, e := range step.Texts {
			err = errors.Join(err, put(at, "content.part", object{
				"uuid": fmt.Sprintf("%s-%d", id, i), "stepUuid": id, "part": object{"type": "text", "text": e.Text},
			}))
		}
		reason := "end_turn"
		if e := step.Call; e != nil {
			calls++
			reason = "tool_use"
			call := fmt.Sprintf("call_%.8s_%d", c.ID[len("session_"):], calls)
			err = errors.Join(err, put(at, "tool.call", object{
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
				err = errors.Join(err, put(at, "tool.result", object{"parentUuid": id + "-call", "toolCallId": call, "result": result}))
			}
		}
		if err := errors.Join(err, put(at, "step.end", object{"uuid": id, "finishReason": reason})); err != nil {
			return err
		}
	}
	return nil
}

type metadata struct {
	Kind    string `json:"type"`
	Version string `json:"protocol_version"`
	Created int64  `json:"created_at"`
}

type prompt struct {
	Kind   string `json:"type"`
	Agent  string `json:"agentId"`
	Input  []any  `json:"input"`
	Origin object `json:"origin"`
	ID     string `json:"promptId"`
	Turn   int    `json:"turnId"`
	Time   int64  `json:"time"`
}

type appended struct {
	Kind    string  `json:"type"`
	Agent   string  `json:"agentId"`
	Message message `json:"message"`
	Time    int64   `json:"time"`
}

type message struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
	ID      string `json:"id"`
	Calls   []any  `json:"toolCalls"`
	Origin  object `json:"origin"`
}

type happened struct {
	Kind  string `json:"type"`
	Agent string `json:"agentId"`
	Event object `json:"event"`
	Time  int64  `json:"time"`
}
