package cline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/client/account"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

// Writer is the conversation.Writer of Cline.
type Writer struct{}

func (Writer) Client() string { return "cline" }

// NewID returns the time and five letters, as Cline does.
func (Writer) NewID(now time.Time) session.ID {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	id := fmt.Appendf(nil, "%d_", now.UnixMilli())
	for range 5 {
		id = append(id, letters[rand.IntN(len(letters))])
	}
	return session.ID(id)
}

func (Writer) Place(getenv func(string) string, c *conversation.Copy) (path, folder string, err error) {
	for p := range account.Places("cline", getenv) {
		return filepath.Join(p.Dir, p.Folders[0], string(c.ID), string(c.ID)+messagesEnd), p.Dir, nil
	}
	return "", "", errors.New("HOME is not set")
}

// unknown is the model of a session that Cline has not continued yet, with its own.
const unknown = "unknown"

// Beside returns the session's state, without which Cline does not find the session.
func (Writer) Beside(path string, c *conversation.Copy) (file string, content []byte, err error) {
	at := c.Now.UTC().Format(timeFormat)
	content, err = json.MarshalIndent(manifest{
		Version: 1, ID: c.ID, Source: "cli", PID: 1, Started: at, Ended: at, Status: "completed", Interactive: true,
		Provider: unknown, Model: unknown, CWD: c.CWD, Root: c.CWD, Tools: true, Spawn: true,
		Metadata: object{"title": cmp.Or(c.Title, "from "+c.From)}, Messages: path,
	}, "", "  ")
	return strings.TrimSuffix(path, messagesEnd) + ".json", content, err
}

const timeFormat = "2006-01-02T15:04:05.000Z"

type object = map[string]any

type manifest struct {
	Version     int        `json:"version"`
	ID          session.ID `json:"session_id"`
	Source      string     `json:"source"`
	PID         int        `json:"pid"`
	Started     string     `json:"started_at"`
	Ended       string     `json:"ended_at"`
	Status      string     `json:"status"`
	Interactive bool       `json:"interactive"`
	Provider    string     `json:"provider"`
	Model       string     `json:"model"`
	CWD         string     `json:"cwd"`
	Root        string     `json:"workspace_root"`
	Tools       bool       `json:"enable_tools"`
	Spawn       bool       `json:"enable_spawn"`
	Metadata    object     `json:"metadata"`
	Messages    string     `json:"messages_path"`
}

type message struct {
	ID      string   `json:"id"`
	Role    string   `json:"role"`
	Content []object `json:"content"`
	Time    int64    `json:"ts"`
}

// Write writes a message for each prompt, answer and result.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	head, err := json.Marshal(c.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "{\n  \"version\": 1,\n  \"updated_at\": \"%s\",\n  \"agent\": \"lead\",\n  \"sessionId\": %s,\n  \"messages\": [", c.Now.UTC().Format(timeFormat), head)
	n, calls := 0, 0
	put := func(role string, at time.Time, content ...object) {
		if err != nil {
			return
		}
		if at.IsZero() {
			at = c.Now
		}
		n++
		var data []byte
		if data, err = json.Marshal(message{fmt.Sprintf("%s-%d", c.ID, n), role, content, at.UnixMilli()}); err == nil {
			comma := ","
			if n == 1 {
				comma = ""
			}
			_, err = fmt.Fprintf(w, "%s\n    %s", comma, data)
		}
	}
	for step, serr := range c.Steps() {
		if serr != nil {
			return serr
		}
		if e := step.Asked; e != nil {
			put("user", step.Time(), object{"type": "text", "text": `<user_input mode="act">` + e.Text + `</user_input>`})
			continue
		}
		var content []object
		for _, e := range step.Texts {
			content = append(content, object{"type": "text", "text": e.Text})
		}
		e := step.Call
		if e == nil {
			put("assistant", step.Time(), content...)
			continue
		}
		calls++
		call, name := fmt.Sprintf("call_%s_%d", strings.ReplaceAll(string(c.ID), "_", ""), calls), conversation.ToolName(e.Tool)
		put("assistant", step.Time(), append(content, object{"type": "tool_use", "id": call, "name": name, "input": conversation.ToolInput(*e)})...)
		if r := step.Result; r != nil {
			result := object{"type": "tool_result", "tool_use_id": call, "name": name, "content": r.Text}
			if r.Failed {
				result["is_error"] = true
			}
			put("user", r.Time, result)
		}
	}
	if err == nil {
		_, err = io.WriteString(w, "\n  ]\n}\n")
	}
	return err
}
