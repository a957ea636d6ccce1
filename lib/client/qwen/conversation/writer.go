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

// Place returns the file by Qwen Code's own rule.
func (Writer) Place(a conversation.Account, c *conversation.Copy) (path string, err error) {
	root, err := gemini.Root(c.CWD)
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

type written struct {
	ID      session.ID  `json:"uuid"`
	Parent  *session.ID `json:"parentUuid"`
	Session session.ID  `json:"sessionId"`
	Time    string      `json:"timestamp"`
	Kind    string      `json:"type"`
	By      string      `json:"provenance"`
	CWD     string      `json:"cwd"`
	Version string      `json:"version"`
	Branch  string      `json:"gitBranch,omitempty"`
	Model   string      `json:"model,omitempty"`
	Message message     `json:"message"`
	Result  *outcome    `json:"toolCallResult,omitempty"`
}

type message struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text     string           `json:"text,omitempty"`
	Call     *call            `json:"functionCall,omitempty"`
	Response *gemini.Response `json:"functionResponse,omitempty"`
}

type call struct {
	ID   string            `json:"id"`
	Name string            `json:"name"`
	Args map[string]string `json:"args"`
}

type outcome struct {
	CallID  string `json:"callId"`
	Status  string `json:"status"`
	Display string `json:"resultDisplay"`
}

// Write writes a record for each prompt, each step of the model and each result. Each
// record names the one before.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	root, err := gemini.Root(c.CWD)
	if err != nil {
		return err
	}
	var before *session.ID
	put := func(at time.Time, kind, by, model string, m message, result *outcome) error {
		rec := written{
			ID: session.NewID(), Parent: before, Session: c.ID, Time: c.Stamp(at), Kind: kind, By: by,
			CWD: root, Version: versionWritten, Branch: c.Branch, Model: model, Message: m, Result: result,
		}
		id := rec.ID // a copy: a pointer into rec would keep all of it in memory
		before = &id
		return enc.Encode(rec)
	}
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		if e := step.Asked; e != nil {
			if err := put(e.Time, "user", "real_user", "", message{"user", []part{{Text: e.Text}}}, nil); err != nil {
				return err
			}
			continue
		}
		m := message{Role: "model"}
		for _, e := range step.Texts {
			m.Parts = append(m.Parts, part{Text: e.Text})
		}
		if step.Call == nil {
			if err := put(step.Time(), "assistant", "assistant_output", step.Model(), m, nil); err != nil {
				return err
			}
			continue
		}
		r := gemini.ResponseOf(c, step)
		m.Parts = append(m.Parts, part{Call: &call{r.ID, r.Name, conversation.ToolInput(*step.Call)}})
		if err := put(step.Time(), "assistant", "assistant_output", step.Model(), m, nil); err != nil {
			return err
		}
		o := &outcome{r.ID, "success", step.Result.Text}
		if step.Result.Failed {
			o.Status = "error"
		}
		if err := put(step.Result.Time, "tool_result", "tool_result", "", message{"user", []part{{Response: &r}}}, o); err != nil {
			return err
		}
	}
	return nil
}
