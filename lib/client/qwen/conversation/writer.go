package qwen

import (
	"io"
	"path/filepath"
	"time"

	gemini "gt/lib/client/gemini/conversation"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

type Writer struct{}

func (Writer) Client() string { return "qwen" }

func (Writer) NewID(time.Time) session.ID { return session.NewID() }

// TranscriptPath returns the file by Qwen Code's own rule.
func (Writer) TranscriptPath(a conversation.ClientFolder, c *conversation.Copy) (path string, err error) {
	root, err := gemini.RealPath(c.CWD)
	if err != nil {
		return "", err
	}
	return filepath.Join(a.Dir, "projects", folderName(root), "chats", string(c.ID)+".jsonl"), nil
}

// folderName returns the client's name for a project's folder: every UTF-16 code unit
// that is not an ASCII letter or digit becomes '-'.
func folderName(root string) string {
	var name []byte
	for _, r := range root {
		switch {
		case r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z':
			name = append(name, byte(r))
		case r > 0xffff:
			name = append(name, '-', '-')
		default:
			name = append(name, '-')
		}
	}
	return string(name)
}

const versionWritten = "0.24.4"

type object = conversation.Object

// Write writes a record for each prompt, each step of the model and each result. Each
// record names the one before.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	root, err := gemini.RealPath(c.CWD)
	if err != nil {
		return err
	}
	var before any // the id of the record before, or nil
	put := func(at time.Time, kind, by, model, role string, parts []object, more ...any) error {
		id := session.NewID()
		rec := object{
			"uuid", id, "parentUuid", before, "sessionId", c.ID, "timestamp", c.JSTimestamp(at), "type", kind, "provenance", by,
			"cwd", root, "version", versionWritten,
		}
		if before = id; c.Branch != "" {
			rec = append(rec, "gitBranch", c.Branch)
		}
		if model != "" {
			rec = append(rec, "model", model)
		}
		rec = append(rec, "message", object{"role", role, "parts", parts})
		return enc.Encode(append(rec, more...))
	}
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		if e := step.Prompt; e != nil {
			if err := put(e.Time, "user", "real_user", "", "user", []object{{"text", e.Text}}); err != nil {
				return err
			}
			continue
		}
		var parts []object
		for _, e := range step.Texts {
			parts = append(parts, object{"text", e.Text})
		}
		var id string
		var response object
		if e := step.Call; e != nil {
			id, response = gemini.ResponseOf(c, step)
			parts = append(parts, object{"functionCall", object{"id", id, "name", conversation.ToolName(e.Tool), "args", conversation.ToolInput(*e)}})
		}
		if err := put(step.Time(), "assistant", "assistant_output", step.Model(), "model", parts); err != nil {
			return err
		}
		if step.Call == nil {
			continue
		}
		status := "success"
		if step.Result.Failed {
			status = "error"
		}
		if err := put(step.Result.Time, "tool_result", "tool_result", "", "user", []object{{"functionResponse", response}},
			"toolCallResult", object{"callId", id, "status", status, "resultDisplay", step.Result.Text}); err != nil {
			return err
		}
	}
	return nil
}
