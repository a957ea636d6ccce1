package opencode

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/sqlite"
)

// Writer is the conversation.Writer of OpenCode. It writes the format of the client's
// export, which the client imports into its database.
type Writer struct{}

func (Writer) Client() string { return "opencode" }

func (Writer) TranscriptPath(conversation.ClientFolder, *conversation.Copy) (path string, err error) {
	return "", nil
}

// Import runs without plugins, so that nothing but the import happens.
func (Writer) Import(file string) []string { return []string{"import", "--pure", file} }

func (Writer) Models() []string { return []string{"models", "--pure"} }

// Model returns the model of the session that was active last, or else of the settings.
func (Writer) Model(stores []string, config string) (model string) {
	r := new(Reader)
	last := int64(0)
	for _, store := range stores {
		var lost conversation.ReadErrors
		for _, path := range databases(store, &lost) {
			_ = r.withDatabase(path, func(db *sqlite.DB) error { // ignore unreadable databases
				return eachSession(db, func(row sqlite.Row) {
					m := row.Text("model")
					name := gjson.Get(m, "providerID").Str + "/" + gjson.Get(m, "id").Str
					if at := row.Int("time_updated"); at > last && !strings.HasPrefix(name, "/") && !strings.HasSuffix(name, "/") {
						last, model = at, strings.Clone(name)
					}
				})
			})
		}
	}
	return cmp.Or(model, configuredModel(config))
}

// configuredModel returns the model of the person's settings, as provider/model, or "".
func configuredModel(config string) string {
	for _, name := range []string{"opencode.json", "opencode.jsonc"} {
		data, err := atomicfile.Read(filepath.Join(config, "opencode", name), atomicfile.MaxSize)
		if model := gjson.GetBytes(data, "model"); err == nil && model.Type == gjson.String && strings.Contains(model.Str, "/") {
			return strings.Clone(model.Str)
		}
	}
	return ""
}

// NewID returns an id. As in the client, later ids sort before earlier ones.
func (Writer) NewID(now time.Time) session.ID {
	return session.ID(newID("ses_", ^(uint64(now.UnixMilli()) << countShift)))
}

// countShift is the position of the milliseconds in an id. The bits below count the ids
// of a millisecond.
const countShift = 12

// newID returns an id in the client's form: the time and fourteen letters.
func newID(prefix string, at uint64) string {
	const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var random [14]byte
	rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = letters[int(b)%len(letters)]
	}
	return fmt.Sprintf("%s%012x%s", prefix, at&(1<<48-1), random[:])
}

const versionWritten = "1.18.33"

type object = map[string]any

// Write writes one JSON object, message by message. The client sorts messages by time, so
// each is later than the one before, and all are before now.
func (Writer) Write(w io.Writer, c *conversation.Copy) error {
	out := bufio.NewWriter(w)
	first := true
	put := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // maps and texts
		}
		if !first {
			out.WriteString(",\n")
		}
		first = false
		out.Write(data)
	}
	info, err := json.Marshal(object{
		"id": c.ID, "slug": "from-" + c.FromClient, "projectID": "global", "directory": c.CWD, "title": cmp.Or(c.Title, "From "+c.FromClient), "version": versionWritten,
		"time": object{"created": c.Now.UnixMilli(), "updated": c.Now.UnixMilli()},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `{"info":%s,"messages":[`+"\n", info)

	// A prompt names the model that goes on, an answer the one that wrote it.
	provider, used, _ := strings.Cut(cmp.Or(c.Model, c.FromClient+"/"+c.FromClient), "/")
	last, left := int64(0), int64(c.MaxEntries)
	asked := ""
	for step, err := range c.Steps() {
		if err != nil {
			return err
		}
		at := c.TimeOrNow(step.Time()).UnixMilli()
		at = max(last+1, min(at, c.Now.UnixMilli()-left)) // a millisecond is left for each later step
		last, left = at, left-1
		n := uint64(0)
		// id returns an id of the step's time. Each call gives a later one.
		id := func(prefix string) string {
			n++
			return newID(prefix, uint64(at)<<countShift+n)
		}
		message := id("msg_")
		part := func(kind string, more object) object {
			p := object{"id": id("prt_"), "sessionID": c.ID, "messageID": message, "type": kind}
			maps.Copy(p, more)
			return p
		}
		model := cmp.Or(step.Model(), c.FromClient)
		if e := step.Prompt; e != nil {
			asked = message
			put(object{
				"info": object{"id": message, "sessionID": c.ID, "role": "user", "time": object{"created": at}, "agent": "build",
					"model": object{"providerID": provider, "modelID": used}},
				"parts": []object{part("text", object{"text": e.Text})},
			})
			continue
		}
		none := object{"input": 0, "output": 0, "reasoning": 0, "cache": object{"read": 0, "write": 0}}
		parts := []object{part("step-start", nil)}
		for _, e := range step.Texts {
			parts = append(parts, part("text", object{"text": e.Text, "time": object{"start": at, "end": at}}))
		}
		finish := "stop"
		if step.Call != nil {
			finish = "tool-calls"
			state := object{"status": "completed", "input": conversation.ToolInput(*step.Call), "time": object{"start": at, "end": at}}
			if step.Result.Failed {
				state["status"], state["error"] = "error", step.Result.Text
			} else {
				state["output"], state["title"], state["metadata"] = step.Result.Text, conversation.ToolName(step.Call.Tool), object{}
			}
			parts = append(parts, part("tool", object{
				"tool": conversation.ToolName(step.Call.Tool), "callID": fmt.Sprintf("call_%.12s_%s", string(c.ID)[len("ses_"):], step.Call.CallID), "state": state,
			}))
		}
		parts = append(parts, part("step-finish", object{"reason": finish, "tokens": none, "cost": 0}))
		put(object{
			"info": object{
				"id": message, "sessionID": c.ID, "role": "assistant", "parentID": asked, "mode": "build", "agent": "build",
				"path": object{"cwd": c.CWD, "root": c.CWD}, "cost": 0, "tokens": none, "modelID": model, "providerID": c.FromClient,
				"time": object{"created": at, "completed": at}, "finish": finish,
			},
			"parts": parts,
		})
	}
	out.WriteString("\n]}\n")
	return out.Flush()
}
