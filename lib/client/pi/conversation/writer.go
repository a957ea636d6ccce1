package pi

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

type Writer struct{}

func (Writer) Client() string { return "pi" }

func (Writer) NewID(time.Time) session.ID { return session.NewID() }

// Place returns a file in the folder that the person chose for sessions, or else in the
// project's.
func (Writer) Place(a conversation.Account, c *conversation.Copy) (path string, err error) {
	name := strings.NewReplacer(":", "-", ".", "-").Replace(c.Stamp(c.Now)) + "_" + string(c.ID) + ".jsonl"
	if a.Sessions != "" {
		return filepath.Join(a.Sessions, name), nil
	}
	return filepath.Join(a.Dir, "sessions", folderName(atomicfile.ResolveLinks(c.CWD)), name), nil
}

func folderName(cwd string) string {
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(cwd, "/")) + "--"
}

type written struct {
	Kind    string  `json:"type"`
	ID      string  `json:"id"`
	Parent  *string `json:"parentId"`
	Time    string  `json:"timestamp"`
	Message any     `json:"message"`
}

type asked struct {
	Role    string `json:"role"`
	Content []any  `json:"content"`
	Time    int64  `json:"timestamp"`
}

type message struct {
	Role     string `json:"role"`
	Content  []any  `json:"content"`
	API      string `json:"api"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Usage    usage  `json:"usage"`
	Stop     string `json:"stopReason"`
	Time     int64  `json:"timestamp"`
}

type usage struct {
	Input      int  `json:"input"`
	Output     int  `json:"output"`
	CacheRead  int  `json:"cacheRead"`
	CacheWrite int  `json:"cacheWrite"`
	Total      int  `json:"totalTokens"`
	Cost       cost `json:"cost"`
}

type cost struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
	Total      int `json:"total"`
}

type result struct {
	Role    string `json:"role"`
	CallID  string `json:"toolCallId"`
	Tool    string `json:"toolName"`
	Content []any  `json:"content"`
	Failed  bool   `json:"isError"`
	Time    int64  `json:"timestamp"`
}

type text struct {
	Kind string `json:"type"`
	Text string `json:"text"`
}

type call struct {
	Kind string            `json:"type"`
	ID   string            `json:"id"`
	Name string            `json:"name"`
	Args map[string]string `json:"arguments"`
}

// Write writes the header and a record for each message, which names the one before. It
// writes no model, so that pi uses its current one.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	if err := enc.Encode(struct {
		Kind    string     `json:"type"`
		Version int        `json:"version"`
		ID      session.ID `json:"id"`
		Time    string     `json:"timestamp"`
		CWD     string     `json:"cwd"`
	}{"session", 3, c.ID, c.Stamp(c.Now), atomicfile.ResolveLinks(c.CWD)}); err != nil {
		return err
	}
	n := 0
	var before *string
	put := func(at time.Time, message any) error {
		n++
		id := fmt.Sprintf("%08x", n)
		rec := written{"message", id, before, c.Stamp(at), message}
		before = &id
		return enc.Encode(rec)
	}
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.TimeOf(step.Time())
		if e := step.Asked; e != nil {
			if err := put(at, asked{"user", []any{text{"text", e.Text}}, at.UnixMilli()}); err != nil {
				return err
			}
			continue
		}
		m := message{Role: "assistant", API: c.From, Provider: c.From, Model: cmp.Or(step.Model(), c.From), Stop: "stop", Time: at.UnixMilli()}
		for _, e := range step.Texts {
			m.Content = append(m.Content, text{"text", e.Text})
		}
		id := ""
		if e := step.Call; e != nil {
			id = fmt.Sprintf("call_%.8s_%s", c.ID, e.CallID)
			m.Content, m.Stop = append(m.Content, call{"toolCall", id, conversation.ToolName(e.Tool), conversation.ToolInput(*e)}), "toolUse"
		}
		if err := put(at, m); err != nil {
			return err
		}
		if e := step.Result; e != nil {
			at := c.TimeOf(e.Time)
			r := result{"toolResult", id, conversation.ToolName(e.Tool), []any{text{"text", e.Text}}, e.Failed, at.UnixMilli()}
			if err := put(at, r); err != nil {
				return err
			}
		}
	}
	return nil
}
