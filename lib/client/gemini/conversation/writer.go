package gemini

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

type Writer struct{}

func (Writer) Client() string { return "gemini" }

func (Writer) NewID(time.Time) session.ID { return session.NewID() }

// TranscriptPath returns a file in the project's folder. A project that has no name yet gets the
// hash of older versions: at its first start in the project, the client adopts the files
// there.
func (Writer) TranscriptPath(a conversation.ClientFolder, c *conversation.Copy) (path string, err error) {
	root, err := RealPath(c.CWD)
	if err != nil {
		return "", err
	}
	return filepath.Join(a.Dir, "tmp", projectName(a.Dir, root), "chats",
		"session-"+c.Now.UTC().Format("2006-01-02T15-04")+"-"+string(c.ID)[:8]+".jsonl"), nil
}

// projectName returns the folder in tmp whose .project_root has root, or root's hash if none has.
func projectName(folder, root string) string {
	owns := func(name string) bool {
		owner, err := atomicfile.Read(filepath.Join(folder, "tmp", name, ".project_root"), 16<<10)
		return err == nil && strings.TrimSpace(string(owner)) == root
	}
	if data, err := atomicfile.Read(filepath.Join(folder, "projects.json"), atomicfile.MaxSize); err == nil && gjson.ValidBytes(data) {
		if name := gjson.GetBytes(data, "projects").Map()[root].Str; name != "" && name == filepath.Base(name) && owns(name) {
			return name
		}
	}
	projects, _ := os.ReadDir(filepath.Join(folder, "tmp"))
	for _, p := range projects {
		if owns(p.Name()) {
			return p.Name()
		}
	}
	return HashPath(root)
}

// Write writes a record for each step. The model's record includes the call and its
// result.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	root, err := RealPath(c.CWD)
	if err != nil {
		return err
	}
	now := c.JSTimestamp(c.Now)
	if err := enc.Encode(conversation.Object{
		"sessionId", c.ID, "projectHash", HashPath(root), "startTime", now,
		"lastUpdated", now, // the client deletes sessions after thirty days without an update
		"kind", "main",
	}); err != nil {
		return err
	}
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.JSTimestamp(step.Time())
		kind, content := "gemini", []conversation.Object{}
		if e := step.Prompt; e != nil {
			kind, content = "user", append(content, conversation.Object{"text", MarkTyped(e.Text)})
		}
		for _, e := range step.Texts {
			content = append(content, conversation.Object{"text", e.Text})
		}
		m := conversation.Object{"id", session.NewID(), "timestamp", at, "type", kind, "content", content}
		if model := step.Model(); model != "" && step.Prompt == nil {
			m = append(m, "model", model)
		}
		if step.Call != nil {
			status := "success"
			if step.Result.Failed {
				status = "error"
			}
			id, response := ResponseOf(c, step)
			m = append(m, "toolCalls", []conversation.Object{{
				"id", id, "name", conversation.ToolName(step.Call.Tool), "args", conversation.ToolInput(*step.Call),
				"result", []conversation.Object{{"functionResponse", response}}, "status", status, "timestamp", at,
			}})
		}
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

// ResponseOf returns the id of a step's call and its result, in the format of Gemini's API.
func ResponseOf(c *conversation.Copy, step *conversation.Step) (id string, response conversation.Object) {
	key := "output"
	if step.Result.Failed {
		key = "error"
	}
	id = fmt.Sprintf("call_%.8s_%s", c.ID, step.Call.CallID)
	return id, conversation.Object{"id", id, "name", conversation.ToolName(step.Call.Tool), "response", map[string]string{key: step.Result.Text}}
}

// MarkTyped marks a prompt that begins like a command or text of the client, so that the
// client takes it for the person's.
func MarkTyped(text string) string {
	trimmed := strings.TrimSpace(text)
	for _, own := range [...]string{"/", "?", "<session_context>", "<hook_context>"} {
		if strings.HasPrefix(trimmed, own) {
			return "[as it was typed]\n" + text
		}
	}
	return text
}
