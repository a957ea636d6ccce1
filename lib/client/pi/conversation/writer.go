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

// TranscriptPath returns a file in the folder that the person chose for sessions, or else in the
// project's.
func (Writer) TranscriptPath(a conversation.ClientFolder, c *conversation.Copy) (path string, err error) {
	name := strings.NewReplacer(":", "-", ".", "-").Replace(c.JSTimestamp(c.Now)) + "_" + string(c.ID) + ".jsonl"
	if a.Sessions != "" {
		return filepath.Join(a.Sessions, name), nil
	}
	return filepath.Join(a.Dir, "sessions", folderName(atomicfile.ResolveLinks(c.CWD)), name), nil
}

func folderName(cwd string) string {
	return "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimPrefix(cwd, "/")) + "--"
}

type object = conversation.Object

// Write writes the header and a record for each message, which names the one before. It
// writes no model, so that pi uses its current one.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	enc := conversation.NewEncoder(w)
	header := object{"type", "session", "version", 3, "id", c.ID, "timestamp", c.JSTimestamp(c.Now), "cwd", atomicfile.ResolveLinks(c.CWD)}
	if err := enc.Encode(header); err != nil {
		return err
	}
	n := 0
	var before any // the id of the record before, or nil
	put := func(at time.Time, message object) error {
		n++
		id := fmt.Sprintf("%08x", n)
		rec := object{"type", "message", "id", id, "parentId", before, "timestamp", c.JSTimestamp(at), "message", message}
		before = id
		return enc.Encode(rec)
	}
	text := func(text string) object { return object{"type", "text", "text", text} }
	usage := object{
		"input", 0, "output", 0, "cacheRead", 0, "cacheWrite", 0, "totalTokens", 0,
		"cost", object{"input", 0, "output", 0, "cacheRead", 0, "cacheWrite", 0, "total", 0},
	}
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.TimeOrNow(step.Time())
		if e := step.Prompt; e != nil {
			asked := object{"role", "user", "content", []object{text(e.Text)}, "timestamp", at.UnixMilli()}
			if err := put(at, asked); err != nil {
				return err
			}
			continue
		}
		var content []object
		for _, e := range step.Texts {
			content = append(content, text(e.Text))
		}
		id, stop := "", "stop"
		if e := step.Call; e != nil {
			id, stop = fmt.Sprintf("call_%.8s_%s", c.ID, e.CallID), "toolUse"
			content = append(content, object{"type", "toolCall", "id", id, "name", conversation.ToolName(e.Tool), "arguments", conversation.ToolInput(*e)})
		}
		if err := put(at, object{
			"role", "assistant", "content", content, "api", c.FromClient, "provider", c.FromClient, "model", cmp.Or(step.Model(), c.FromClient),
			"usage", usage, "stopReason", stop, "timestamp", at.UnixMilli(),
		}); err != nil {
			return err
		}
		if e := step.Result; e != nil {
			at := c.TimeOrNow(e.Time)
			if err := put(at, object{
				"role", "toolResult", "toolCallId", id, "toolName", conversation.ToolName(e.Tool),
				"content", []object{text(e.Text)}, "isError", e.Failed, "timestamp", at.UnixMilli(),
			}); err != nil {
				return err
			}
		}
	}
	return nil
}
