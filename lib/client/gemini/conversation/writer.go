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

// Place returns a file in the project's folder. A project that has no name yet gets the
// hash of older versions: at its first start in the project, the client adopts the files
// there.
func (Writer) Place(a conversation.Account, c *conversation.Copy) (path string, err error) {
	root, err := Root(c.CWD)
	if err != nil {
		return "", err
	}
	return filepath.Join(a.Dir, "tmp", projectName(a.Dir, root), "chats",
		"session-"+c.Now.UTC().Format("2006-01-02T15-04")+"-"+string(c.ID)[:8]+".jsonl"), nil
}

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
	return Hash(root)
}

type words struct {
	ID      session.ID `json:"id"`
	Time    string     `json:"timestamp"`
	Kind    string     `json:"type"`
	Content []part     `json:"content"`
	Model   string     `json:"model,omitempty"`
	Calls   []toolCall `json:"toolCalls,omitempty"`
}

type part struct {
	Text     string    `json:"text,omitempty"`
	Response *Response `json:"functionResponse,omitempty"`
}

// Response is a call's result, in the format of Gemini's API.
type Response struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type toolCall struct {
	ID     string            `json:"id"`
	Name   string            `json:"name"`
	Args   map[string]string `json:"args"`
	Result []part            `json:"result"`
	Status string            `json:"status"`
	Time   string            `json:"timestamp"`
}

// Write writes a record for each step. The model's record includes the call and its
// result.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	root, err := Root(c.CWD)
	if err != nil {
		return err
	}
	now := c.Stamp(c.Now)
	if err := enc.Encode(struct {
		ID      session.ID `json:"sessionId"`
		Project string     `json:"projectHash"`
		Start   string     `json:"startTime"`
		Updated string     `json:"lastUpdated"` // it deletes sessions after thirty days without an update
		Kind    string     `json:"kind"`
	}{c.ID, Hash(root), now, now, "main"}); err != nil {
		return err
	}
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.Stamp(step.Time())
		m := words{ID: session.NewID(), Time: at, Kind: "gemini", Content: []part{}, Model: step.Model()}
		if e := step.Asked; e != nil {
			m.Kind, m.Model = "user", ""
			m.Content = append(m.Content, part{Text: Plain(e.Text)})
		}
		for _, e := range step.Texts {
			m.Content = append(m.Content, part{Text: e.Text})
		}
		if step.Call != nil {
			r := ResponseOf(c, step)
			call := toolCall{ID: r.ID, Name: r.Name, Args: conversation.ToolInput(*step.Call), Result: []part{{Response: &r}}, Status: "success", Time: at}
			if step.Result.Failed {
				call.Status = "error"
			}
			m.Calls = []toolCall{call}
		}
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

// ResponseOf returns the result of a step's call. Its ID is the call's.
func ResponseOf(c *conversation.Copy, step *conversation.Step) Response {
	key := "output"
	if step.Result.Failed {
		key = "error"
	}
	return Response{
		ID: fmt.Sprintf("call_%.8s_%s", c.ID, step.Call.CallID), Name: conversation.ToolName(step.Call.Tool),
		Response: map[string]string{key: step.Result.Text},
	}
}

// Plain marks a prompt that begins like a command or text of the client, so that the
// client takes it for the person's.
func Plain(text string) string {
	trimmed := strings.TrimSpace(text)
	for _, own := range [...]string{"/", "?", "<session_context>", "<hook_context>"} {
		if strings.HasPrefix(trimmed, own) {
			return "[as it was typed]\n" + text
		}
	}
	return text
}
