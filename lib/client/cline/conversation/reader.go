// Package cline reads the sessions of Cline CLI 3:
//
//	<data>/sessions/<id>/<id>.json                     its folder, model, name and state
//	<data>/sessions/<id>/<id>.messages.json            one JSON object with all messages
//	<data>/sessions/<id>/<subagent>.messages.json
//
// Cline writes the messages anew after each one, with the same bytes for the earlier ones.
// A compaction changes none of them: what the model then gets is in a file beside.
package cline

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
)

type Reader struct{}

func (Reader) Client() string { return "cline" }

// findSessions returns the folder with a store's sessions. The environment can name that folder
// itself, or the one above.
func findSessions(store string) string {
	for _, folder := range []string{"data/sessions", "sessions"} {
		if dir := filepath.Join(store, folder); folderExists(dir) {
			return dir
		}
	}
	return store
}

func folderExists(dir string) bool {
	_, err := os.Stat(dir)
	return !atomicfile.IsAbsent(err)
}

const messagesEnd = ".messages.json"

// Find lists the sessions' folders, in each first the session and then its subagents.
func (Reader) Find(store string, each func(conversation.File)) error {
	at := findSessions(store)
	entries, err := conversation.List(at)
	if err != nil {
		return err
	}
	found := conversation.NewFinding("cline", store, each)
	for _, id := range conversation.SessionsIn(entries) {
		findAgents(found, filepath.Join(at, string(id)), id)
	}
	return found.Err()
}

// findAgents gives a folder's session, then its subagents, whose files have the ends of their ids.
// A file is as new as its session's state file, if that is newer: renaming changes only the latter.
func findAgents(found *conversation.Finding, dir string, id session.ID) {
	state := filepath.Join(dir, string(id)+".json")
	var subagents []conversation.File
	for _, e := range found.List(dir) {
		path := filepath.Join(dir, e.Name())
		if name, ok := strings.CutSuffix(e.Name(), messagesEnd); ok && name == string(id) {
			found.GiveFile(conversation.File{Path: path, ID: id}, state)
		} else if own, err := session.ParseID(string(id) + "__" + name); ok && err == nil {
			subagents = append(subagents, conversation.File{Path: path, ID: own, Parent: id})
		}
	}
	for _, f := range subagents {
		found.GiveFile(f, state)
	}
}

// isSubagent reports whether the file is a subagent's, which has not the session's name.
func isSubagent(path string) bool {
	return filepath.Base(path) != filepath.Base(filepath.Dir(path))+messagesEnd
}

// maxState bounds a session's state, which has the system prompt.
const maxState = 4 << 20

// Metadata takes the name, folder and origin from the session's state and the rest from
// the messages.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	m := conversation.Metadata{ID: f.ID, Parent: f.Parent}
	err := conversation.ReadDocument(f.Path, 0, func(key string, v gjson.Result) {
		switch key {
		case "updated_at":
			m.Last = conversation.ParseTime(v.Str)
		case "origin":
			conversation.SetIfEmpty(&m.Version, v.Get("version").Str)
		}
	}, func(raw []byte, at int64) bool {
		r := gjson.ParseBytes(raw) // none of one that is too long
		conversation.SetTimeIfZero(&m.Started, timeOf(r))
		conversation.SetIfEmpty(&m.FirstID, r.Get("id").Str)
		conversation.SetIfEmpty(&m.Model, r.Get("modelInfo.id").Str)
		for _, e := range entriesOf(r, isSubagent(f.Path)) {
			if e.Kind == conversation.Prompt {
				conversation.SetIfEmpty(&m.Prompt, conversation.PromptExcerpt(e.Text))
			}
		}
		return (m.Prompt == "" || m.Model == "") && at < conversation.MaxFront
	})
	if err != nil {
		return conversation.Metadata{}, err
	}
	if m.FirstID == "" {
		return conversation.Metadata{}, nil
	}
	dir := filepath.Dir(f.Path)
	s, err := conversation.ReadJSON(filepath.Join(dir, filepath.Base(dir)+".json"), maxState)
	conversation.SetIfEmpty(&m.CWD, s.Get("cwd").Str)
	if f.Parent == "" {
		m.ForkOf = conversation.IDOf(s.Get("metadata.fork.forkedFromSessionId"))
		if at := conversation.ParseTime(s.Get("started_at").Str); !at.IsZero() { // not that of the copy in a fork
			m.Started = at
		}
		conversation.SetIfEmpty(&m.Model, s.Get("model").Str)
		if title := s.Get("metadata.title").Str; !strings.HasPrefix(typedText(s.Get("prompt").Str), title) { // else it is made of the prompt
			m.Title = conversation.Excerpt(title)
		}
		m.Headless = s.Get("interactive").Type == gjson.False
	}
	if m.Last.Before(m.Started) {
		m.Last = m.Started
	}
	return m, err
}

func timeOf(r gjson.Result) time.Time { return conversation.TimeOfMillis(r.Get("ts").Int()) }

// Read begins at a message's offset. What follows the last message changes with the next
// one, and what comes before the first one has always the same length.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	next := o.From
	err := conversation.ReadDocument(f.Path, 0, nil, func(raw []byte, at int64) bool {
		if at < o.From {
			return true
		}
		if next = at + max(int64(len(raw)), 1); raw == nil { // too long
			return true
		}
		if o.Skip != nil && gjson.GetBytes(raw, "role").Str != "user" && o.Skip(raw) {
			return true
		}
		for _, e := range entriesOf(gjson.ParseBytes(raw), isSubagent(f.Path)) {
			if e.Offset = at; !each(e) {
				return false
			}
		}
		return true
	})
	return next, err
}

// Skipped counts the messages that are too long.
func (Reader) Skipped(f conversation.File) (n int, err error) {
	err = conversation.ReadDocument(f.Path, 0, nil, func(raw []byte, _ int64) bool {
		if raw == nil {
			n++
		}
		return true
	})
	return n, err
}

var userInput = lazyregexp.New(`(?s)<user_input[^>]*>(.*)</user_input>`)

// Cline keeps the returns of a terminal's paste of five lines or more.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func typedText(text string) string {
	if m := userInput().FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	return lineEnds.Replace(text)
}

// isUnmarked reports whether a text has no mark of Cline's, so that it may be the person's:
// its own texts begin with an element, a title or a word in brackets.
func isUnmarked(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && !strings.ContainsAny(text[:1], "<[#")
}

// entriesOf returns a message's entries. What stands in the person's name and is not marked
// as their input comes from Cline, but for a subagent's task.
func entriesOf(r gjson.Result, subagent bool) (all []conversation.Entry) {
	at, id, model := timeOf(r), strings.Clone(r.Get("id").Str), strings.Clone(r.Get("modelInfo.id").Str)
	give := func(e conversation.Entry) {
		e.Time, e.ID = at, id
		e.Text, e.Tool, e.CallID = strings.Clone(e.Text), strings.Clone(e.Tool), strings.Clone(e.CallID)
		all = append(all, e)
	}
	user := r.Get("role").Str == "user"
	content := r.Get("content").Array()
	if text := r.Get("content"); text.Type == gjson.String {
		content = []gjson.Result{gjson.Parse(`{"type":"text","text":` + text.Raw + `}`)}
	}
	var prompt []string
	for _, part := range content {
		text := part.Get("text").Str
		switch part.Get("type").Str {
		case "text":
			switch {
			case user && (subagent || userInput().MatchString(text) || len(content) == 1 && isUnmarked(text)):
				prompt = append(prompt, typedText(text))
			case !user && text != "":
				give(conversation.Entry{Kind: conversation.Answer, Text: text, Model: model, Failed: r.Get("metadata.displayRole").Str == "error"})
			}
		case "image":
			if user && len(prompt) > 0 {
				prompt = append(prompt, "[image]")
			}
		case "thinking":
			if text := part.Get("thinking").Str; text != "" {
				give(conversation.Entry{Kind: conversation.Thought, Text: text})
			}
		case "tool_use":
			give(callOf(part))
		case "tool_result":
			give(resultOf(part))
		}
	}
	if text := strings.Join(prompt, "\n"); text != "" && r.Get("metadata.displayRole").Str != "system" {
		give(conversation.Entry{Kind: conversation.Prompt, Text: text})
	}
	if m := r.Get("metrics"); m.IsObject() {
		u := conversation.UsageOf(m, "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
		u.Input = max(0, u.Input-u.CacheRead-u.CacheWrite) // Cline counts them in
		give(conversation.Entry{Kind: conversation.TokenUsage, Model: model, Usage: u})
	}
	return all
}

// callOf returns a tool's call. The commands of run_commands are strings or have arguments apart.
func callOf(part gjson.Result) conversation.Entry {
	e := conversation.Entry{
		Kind: conversation.Call, Tool: part.Get("name").Str, Text: conversation.CallText(part.Get("input")), CallID: part.Get("id").Str,
	}
	if commands := part.Get("input.commands"); e.Tool == "run_commands" && commands.IsArray() {
		var lines []string
		for _, c := range commands.Array() {
			line := c.Str
			if c.IsObject() {
				line = c.Get("command").Str
				for _, arg := range c.Get("args").Array() {
					line += " " + arg.Str
				}
			}
			lines = append(lines, line)
		}
		e.Text = strings.Join(lines, "\n")
	}
	return e
}

// resultOf returns a tool's result: a text, a list of texts, or what each part of a call
// gave.
func resultOf(part gjson.Result) conversation.Entry {
	e := conversation.Entry{
		Kind: conversation.Result, Tool: part.Get("name").Str, CallID: part.Get("tool_use_id").Str, Failed: part.Get("is_error").Bool(),
	}
	var texts []string
	content := part.Get("content")
	switch {
	case content.Type == gjson.String:
		texts = append(texts, content.Str)
	case content.IsArray():
		for _, c := range content.Array() {
			switch {
			case c.Get("type").Str == "text":
				texts = append(texts, c.Get("text").Str)
			case c.Get("type").Str == "image":
				texts = append(texts, "[image]")
			default:
				texts = append(texts, resultText(c))
				e.Failed = e.Failed || c.Get("success").Type == gjson.False
			}
		}
	case content.IsObject():
		texts = append(texts, resultText(content))
	}
	e.Text = strings.Join(texts, "\n")
	return e
}

// resultText returns what a part of a call gave, also an error, or the JSON of any other form.
func resultText(c gjson.Result) string {
	var texts []string
	for _, key := range []string{"result", "error", "text"} {
		if v := c.Get(key); v.Type == gjson.String && v.Str != "" {
			texts = append(texts, v.Str)
		}
	}
	if len(texts) == 0 {
		return c.String()
	}
	return strings.Join(texts, "\n")
}

// kinds are the types of the parts of messages that Cline 3.0.65 can write.
var kinds = []string{"file", "image", "media", "redacted_thinking", "text", "thinking", "tool_result", "tool_use"}

func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.ReadDocument(f.Path, 0, nil, func(raw []byte, _ int64) bool {
		gjson.GetBytes(raw, "content.#.type").ForEach(func(_, kind gjson.Result) bool {
			if !slices.Contains(kinds, kind.Str) {
				each(kind.Str)
			}
			return true
		})
		return true
	})
}
