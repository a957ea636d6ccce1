// Package antigravity reads the transcripts of Antigravity CLI 1.1:
//
//	<store>/brain/<id>/.system_generated/logs/transcript_full.jsonl
//	<store>/brain/<id>/.system_generated/logs/transcript.jsonl   the same, its tools' arguments encoded twice
//	<store>/brain/<id>/.system_generated/subagents/<id>.json     the subagents that it started
//	<store>/history.jsonl, <store>/cache/last_conversations.json conversations and their folders
//
// The client goes on from a database beside it (conversations/<id>.db), whose protobuf nobody
// has documented: gt does not read it and writes no conversation for this client.
//
// Sources: specstory 2.5.0 (docs/ANTIGRAVITY-FORMAT.md, 1.1.5), pond PR 225
// (docs/adapters/agy.md, 1.2.0), inspect_scout PR 580 (1.1.14 to 1.1.19), kangentic PR 294
// (1.1.13), ai-devkit PR 133. No record names the client's version.
package antigravity

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/lazyregexp"
)

type Reader struct {
	mu      sync.Mutex
	folders map[string]*storeFolders // by store
}

func (*Reader) Client() string { return "antigravity" }

const (
	generated = ".system_generated"
	full      = "transcript_full.jsonl"
	short     = "transcript.jsonl"
)

// Find lists the conversations. A subagent's is a conversation like any other.
func (*Reader) Find(store string, each func(conversation.File)) error {
	dir := filepath.Join(store, "brain")
	entries, err := conversation.List(dir)
	if err != nil {
		return err
	}
	found := conversation.NewFinding("antigravity", store, each)
	parents := map[session.ID]session.ID{}
	ids := conversation.SessionsIn(entries)
	for _, id := range ids {
		for _, e := range found.List(filepath.Join(dir, string(id), generated, "subagents")) {
			if child, err := session.ParseID(strings.TrimSuffix(e.Name(), ".json")); err == nil && child != id {
				parents[child] = id
			}
		}
	}
	for _, id := range ids {
		for _, name := range []string{full, short} {
			path := filepath.Join(dir, string(id), generated, "logs", name)
			if found.GiveFile(conversation.File{Path: path, ID: id, Parent: parents[id]}) {
				break
			}
		}
	}
	return found.Err()
}

// Metadata takes the folder from the client's lists, which lack that of a conversation
// without a person and of one with a single prompt.
func (a *Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	m := conversation.Metadata{ID: f.ID, Parent: f.Parent}
	front := func(line []byte) (more bool) {
		r := conversation.ParseRecord(line)
		conversation.SetTimeIfZero(&m.Started, timeOf(r))
		if text, ok := personText(r, f.Parent != ""); ok {
			conversation.SetIfEmpty(&m.Prompt, conversation.PromptExcerpt(text))
		}
		conversation.SetIfEmpty(&m.Model, modelOf(r))
		return m.Prompt == ""
	}
	chosen := ""
	err := conversation.FrontAndBack(f, front, func(line []byte) bool {
		r := conversation.ParseRecord(line)
		conversation.SetTimeIfZero(&m.Last, timeOf(r))
		conversation.SetIfEmpty(&chosen, modelOf(r))
		return true
	})
	if err != nil || m.Started.IsZero() && m.Last.IsZero() {
		return conversation.Metadata{}, err
	}
	if chosen != "" {
		m.Model = chosen
	}
	if m.Last.Before(m.Started) {
		m.Last = m.Started
	}
	folders, err := a.foldersOf(f.Store)
	m.CWD = folders[f.ID]
	return m, err
}

type storeFolders struct {
	size    int64
	changed time.Time
	byID    map[session.ID]string
}

// maxCache bounds the list of the last conversation of each folder, in bytes.
const maxCache = 4 << 20

// foldersOf returns the folders of a store's conversations. It reads the client's two lists again
// only if they have changed. In them the first entry of a conversation counts.
func (a *Reader) foldersOf(store string) (map[session.ID]string, error) {
	path := filepath.Join(store, "history.jsonl")
	cache := filepath.Join(store, "cache", "last_conversations.json")
	current := storeFolders{byID: map[session.ID]string{}}
	for _, path := range []string{path, cache} {
		if info, err := os.Stat(path); err == nil {
			current.size += info.Size()
			if info.ModTime().After(current.changed) {
				current.changed = info.ModTime()
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.folders[store]; known != nil && known.size == current.size && known.changed.Equal(current.changed) {
		return known.byID, nil
	}
	addFolder := func(v gjson.Result, dir string) {
		id := conversation.IDOf(v)
		if _, have := current.byID[id]; id != "" && !have && filepath.IsAbs(dir) {
			current.byID[id] = strings.Clone(dir)
		}
	}
	_, err := conversation.Lines(path, 0, func(line []byte, _ int64) bool {
		r := conversation.ParseRecord(line)
		addFolder(r.Get("conversationId"), r.Get("workspace").Str)
		return true
	})
	last, cerr := conversation.ReadJSON(cache, maxCache)
	last.ForEach(func(dir, id gjson.Result) bool {
		addFolder(id, dir.Str)
		return true
	})
	if a.folders == nil {
		a.folders = map[string]*storeFolders{}
	}
	if err = errors.Join(conversation.UnreadableError(path, err), cerr); err == nil {
		a.folders[store] = &current
	}
	return current.byID, err
}

func timeOf(r gjson.Result) time.Time { return conversation.ParseTime(r.Get("created_at").Str) }

// Read gives the steps in the order of the file.
func (*Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	twice := filepath.Base(f.Path) == short
	mayAsk := func(line []byte) bool {
		return bytes.Contains(line, []byte(userInput)) || bytes.Contains(line, []byte(byUser))
	}
	entries := func(r gjson.Result) []conversation.Entry { return entriesOf(r, f.Parent != "", twice) }
	return conversation.ReadRecords(f.Path, o, mayAsk, entries, each)
}

const (
	userInput = "USER_INPUT"
	byUser    = "USER_EXPLICIT"
)

// personText returns what a step has of the person or, in a subagent's conversation, of the agent
// that started it, without what hooks and the client add in their name. Such a step has the source
// of a person and the type USER_INPUT or none; for a subagent, USER_INPUT is enough.
func personText(r gjson.Result, subagent bool) (text string, ok bool) {
	if kind := r.Get("type").Str; kind != "" && kind != userInput || !subagent && r.Get("source").Str != byUser || kind == "" && r.Get("source").Str != byUser {
		return "", false
	}
	text = r.Get("content").Str
	if _, after, ok := strings.Cut(text, "<USER_REQUEST>"); ok {
		text, _, _ = strings.Cut(after, "</USER_REQUEST>")
	}
	for _, added := range []string{"<ADDITIONAL_METADATA>", "<USER_SETTINGS_CHANGE>"} {
		text, _, _ = strings.Cut(text, "\n"+added)
	}
	text = strings.TrimSpace(text)
	return text, text != ""
}

var modelChange = lazyregexp.New("The user changed setting `Model Selection` (?:from .+? )?to (.+?)\\.(?:\\s|$)")

// modelOf returns the model that the person has changed to, as this prompt's text says, or "".
func modelOf(r gjson.Result) string {
	if r.Get("type").Str != userInput {
		return ""
	}
	_, change, _ := strings.Cut(r.Get("content").Str, "<USER_SETTINGS_CHANGE>")
	if found := modelChange().FindStringSubmatch(change); found != nil {
		return conversation.Excerpt(found[1])
	}
	return ""
}

// entriesOf returns the entries of a step. A tool's result is the step after its call, and
// nothing else links them. encodedTwice reports that it is a step of transcript.jsonl.
func entriesOf(r gjson.Result, subagent, encodedTwice bool) (all []conversation.Entry) {
	kind, source, content := r.Get("type").Str, r.Get("source").Str, r.Get("content").Str
	give := func(e conversation.Entry) {
		if e.Text == "" && e.Kind != conversation.Call && e.Kind != conversation.Result {
			return
		}
		e.Time, e.ID = timeOf(r), "step "+strconv.FormatInt(r.Get("step_index").Int(), 10)
		e.Text, e.Tool, e.Target = strings.Clone(e.Text), strings.Clone(e.Tool), strings.Clone(e.Target)
		all = append(all, e)
	}
	switch {
	case kind == userInput, kind == "" && source == byUser:
		text, _ := personText(r, subagent)
		give(conversation.Entry{Kind: conversation.Prompt, Text: text})
	case kind == "PLANNER_RESPONSE":
		give(conversation.Entry{Kind: conversation.Thought, Text: r.Get("thinking").Str})
		give(conversation.Entry{Kind: conversation.Answer, Text: content})
		for _, call := range r.Get("tool_calls").Array() {
			args := ownArguments(call.Get("args"), encodedTwice)
			e := conversation.Entry{Kind: conversation.Call, Tool: call.Get("name").Str, Text: conversation.Arguments(args)}
			switch e.Tool {
			case "run_command":
				e.Target = args.Get("CommandLine").Str
			case "write_to_file", "replace_file_content", "multi_replace_file_content":
				e.Target = args.Get("TargetFile").Str
			}
			give(e)
		}
	case kind == "CHECKPOINT":
		// Only one that replaces earlier steps is a compaction.
		if strings.Contains(content, "have been truncated") {
			give(conversation.Entry{Kind: conversation.Summary, Text: content})
		}
	case kind == "ERROR_MESSAGE":
		content = cmp.Or(content, r.Get("error").Str)
		give(conversation.Entry{Kind: conversation.Result, Text: content, Failed: true})
	case source == fromModel && kind != "": // any other type is that of a tool's result
		give(conversation.Entry{
			Kind: conversation.Result, Text: content,
			Failed: r.Get("status").Str == "ERROR" || kind == "RUN_COMMAND" && strings.Contains(content, "The command failed with exit code: "),
		})
	}
	return all
}

// ownArguments returns a call's arguments without the two that only describe the call. With
// encodedTwice, each value is a string that contains JSON.
func ownArguments(args gjson.Result, encodedTwice bool) gjson.Result {
	if !args.IsObject() {
		return args
	}
	var b strings.Builder
	b.WriteByte('{')
	args.ForEach(func(key, v gjson.Result) bool {
		if key.Str == "toolAction" || key.Str == "toolSummary" {
			return true
		}
		raw := v.Raw
		if encodedTwice && gjson.Valid(v.Str) {
			raw = v.Str
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(key.Raw + ":" + raw)
		return true
	})
	b.WriteByte('}')
	return gjson.Parse(b.String())
}

const fromModel = "MODEL"

// kinds are the types of steps that others found in transcripts, and the source of the
// model's own: each tool can have its result's type.
var kinds = []string{userInput, fromModel, "CHECKPOINT", "CONVERSATION_HISTORY", "EPHEMERAL_MESSAGE", "ERROR_MESSAGE", "SYSTEM_MESSAGE"}

func (*Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, kindOf, each)
}

func kindOf(line []byte) string {
	if kind := conversation.RecordType(line); kind == "" || gjson.GetBytes(line, "source").Str != fromModel {
		return kind
	}
	return fromModel
}
