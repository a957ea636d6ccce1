// Package pi reads the sessions of pi 0.74 and 1.5, and of the older format versions 1
// and 2:
//
//	<store>/sessions/--<folder>--/<time>_<id>.jsonl
//	<store>/<time>_<id>.jsonl                        in a folder that a person chose
//
// A person who returns to an earlier point of a session continues in the same file. Each
// record names the one that it follows, and the conversation is the path to the last
// record. Records on other branches are not part of it, but their tokens count. A fork
// has a file of its own, which begins with copies of the records and names the original
// file.
//
// The files have neither pi's version nor whether a person was present.
package pi

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

type Reader struct{}

func (Reader) Client() string { return "pi" }

func (Reader) PlainText(conversation.File) bool { return true }

// Find gives the files of both layouts. One of the two folders may be missing.
func (Reader) Find(store string, each func(conversation.File)) error {
	found := conversation.NewFinding("pi", store, each)
	dir := filepath.Join(store, "sessions")
	folders, err := conversation.List(dir)
	found.Add(err)
	findBelow(found, dir, folders, maxDepth)
	flat, failed := conversation.List(store)
	if err != nil && failed != nil {
		return failed
	}
	found.Add(failed)
	findIn(found, store, flat)
	return found.Err()
}

// maxDepth limits the folders below sessions: extensions keep those of forks and of
// subagents' runs in folders of their own.
const maxDepth = 8

func findBelow(found *conversation.Finding, dir string, entries []os.DirEntry, depth int) {
	for _, e := range entries {
		if e.Type().IsRegular() || depth == 0 {
			continue
		}
		folder := filepath.Join(dir, e.Name())
		all := found.List(folder)
		findIn(found, folder, all)
		findBelow(found, folder, all, depth-1)
	}
}

func findIn(found *conversation.Finding, dir string, entries []os.DirEntry) {
	for _, e := range entries {
		id, copied := idOf(e.Name())
		if id != "" || e.Name() == "session.jsonl" { // whose header has the id
			found.GiveFile(conversation.File{Path: filepath.Join(dir, e.Name()), ID: id, IsSyncCopy: copied})
		}
	}
}

// idOf returns the id in a file's name, or "" if it is not a session's, and whether a sync tool
// made the file.
func idOf(name string) (id session.ID, isCopy bool) {
	name, ok := strings.CutSuffix(name, ".jsonl")
	stamp, rest, named := strings.Cut(name, "_")
	if !ok || !named || len(stamp) < 10 || stamp[0] < '0' || stamp[0] > '9' {
		return "", false
	}
	return conversation.IDOfName(rest)
}

// wholeSize is the largest file that Metadata reads completely, because a name can be
// anywhere in it.
const wholeSize = 1 << 20

// Metadata reads the header and the records, of a large file those at both ends.
func (c Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	h := header{Metadata: conversation.Metadata{ID: f.ID}}
	read := h.readEnds
	if f.Size <= wholeSize {
		read = h.readAllRecords
	}
	if err := read(f.Path); err != nil {
		return conversation.Metadata{}, err
	}
	if !h.copied {
		h.ForkOf = "" // it names its origin but has no copies
	}
	return h.Metadata, nil
}

type header struct {
	conversation.Metadata
	copied bool // it has records older than itself
	named  bool // the last name was found, which can be empty
}

// addFromStart adds a record, the first one first. A fork has copied those older than its header.
func (h *header) addFromStart(r gjson.Result) {
	at := conversation.ParseTime(r.Get("timestamp").Str)
	switch r.Get("type").Str {
	case "session":
		if !h.Started.IsZero() {
			return
		}
		h.Started = at
		h.ID = cmp.Or(conversation.IDOf(r.Get("id")), h.ID)
		conversation.SetIfEmpty(&h.CWD, r.Get("cwd").Str)
		of, _ := idOf(filepath.Base(strings.Clone(r.Get("parentSession").Str)))
		h.ForkOf = of
		return
	case "message":
		if m := r.Get("message"); m.Get("role").Str == "user" {
			conversation.SetIfEmpty(&h.FirstID, entryID(r))
			conversation.SetIfEmpty(&h.Prompt, conversation.PromptExcerpt(conversation.ContentText(m.Get("content"))))
		}
	}
	h.copied = h.copied || at.Before(h.Started) && !at.IsZero()
}

// addFromEnd adds a record, the last one first.
func (h *header) addFromEnd(r gjson.Result) {
	conversation.SetTimeIfZero(&h.Last, conversation.ParseTime(r.Get("timestamp").Str))
	switch r.Get("type").Str {
	case "session_info":
		if !h.named {
			h.named, h.Title = true, conversation.Excerpt(r.Get("name").String())
		}
	case "model_change":
		conversation.SetIfEmpty(&h.Model, r.Get("modelId").Str)
	case "message":
		conversation.SetIfEmpty(&h.Model, r.Get("message.model").Str)
	}
}

// readAllRecords adds all records of a file. The last name and model count, wherever they are.
func (h *header) readAllRecords(path string) error {
	var late []string // the records that addFromEnd reads, which are short but for one
	_, err := conversation.Lines(path, 0, func(line []byte, _ int64) bool {
		r := conversation.ParseRecord(line)
		h.addFromStart(r)
		kind := r.Get("type").Str
		if kind == "session_info" || kind == "model_change" || r.Get("message.model").Str != "" {
			late = append(late, string(line))
		}
		if at := conversation.ParseTime(r.Get("timestamp").Str); !at.IsZero() {
			h.Last = at
		}
		return true
	})
	for _, line := range slices.Backward(late) {
		h.addFromEnd(gjson.Parse(line))
	}
	return err
}

// readEnds adds the records at both ends of a file. A name and a model at the front count if
// the end has none.
func (h *header) readEnds(path string) error {
	var name, model string
	err := conversation.Ends(path, func(line []byte, whole bool) bool {
		if !whole {
			return false
		}
		r := conversation.ParseRecord(line)
		h.addFromStart(r)
		if r.Get("type").Str == "session_info" {
			name = conversation.Excerpt(r.Get("name").String())
		}
		if chosen := cmp.Or(r.Get("modelId").Str, r.Get("message.model").Str); chosen != "" {
			model = strings.Clone(chosen)
		}
		return true
	}, func(line []byte) bool {
		h.addFromEnd(conversation.ParseRecord(line))
		return true
	})
	if err == nil && h.Prompt == "" {
		_, err = conversation.Lines(path, 0, func(line []byte, at int64) bool {
			h.addFromStart(conversation.ParseRecord(line))
			return h.Prompt == "" && at < conversation.MaxFront
		})
	}
	if !h.named {
		h.Title = name
	}
	conversation.SetIfEmpty(&h.Model, model)
	return err
}

// entryID returns an id that is unique across sessions, unlike the record's own eight
// digits. A fork's copy has the same one.
func entryID(r gjson.Result) string {
	return fmt.Sprintf("%s.%s", r.Get("id").Str, r.Get("timestamp").Str)
}

// Read gives the records on the path to the last one, in the file's order, and the tokens
// of the others.
func (c Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	if o.From > 0 {
		if more, err := conversation.HasMore(f.Path, o.From); err != nil || !more {
			return o.From, err
		}
	}
	gone, model, err := takenBackRecords(f.Path, o)
	if err != nil {
		return o.From, err
	}
	each = o.SkipTakenBack(func(at int64) bool { return gone[at] }, each)
	mayAsk := func(line []byte) bool { return conversation.HasPair(line, "role", "user") }
	entries := func(r gjson.Result) []conversation.Entry { return entriesOf(r, &model) }
	return conversation.ReadRecords(f.Path, o, mayAsk, entries, each)
}

// takenBackRecords returns the offsets of the records that are not on the path to the last one, and the
// model chosen before o.From.
func takenBackRecords(path string, o conversation.Options) (gone map[int64]bool, model string, err error) {
	gone, err = conversation.ReadTakenBack(path, o, func(line []byte, at int64) (l conversation.Link, ok bool) {
		kind, id := gjson.GetBytes(line, "type").Str, gjson.GetBytes(line, "id").Str
		if kind == "session" || kind == "" || id == "" {
			return l, false
		}
		if kind == "model_change" && at < o.From {
			model = strings.Clone(gjson.GetBytes(line, "modelId").Str)
		}
		return conversation.Link{Offset: at, ID: conversation.HashID(id), Parent: conversation.HashID(gjson.GetBytes(line, "parentId").Str), Retractable: true}, true
	})
	return gone, model, err
}

// entriesOf returns the entries of a record. model is the chosen model, which the record
// can change.
func entriesOf(r gjson.Result, model *string) []conversation.Entry {
	e := entries{id: entryID(r), at: conversation.ParseTime(r.Get("timestamp").Str)}
	switch r.Get("type").Str {
	case "model_change":
		*model = strings.Clone(r.Get("modelId").Str)
	case "compaction", "branch_summary":
		e.addEntry(conversation.Summary, "", r.Get("summary").Str)
		e.addTokens(r.Get("usage"), *model)
	case "usage":
		e.addTokens(r.Get("usage"), r.Get("model").Str)
	case "message":
		e.addMessage(r.Get("message"), *model)
	}
	return e.all
}

type entries struct {
	id  string
	at  time.Time
	all []conversation.Entry
}

func (e *entries) addEntry(kind conversation.Kind, tool, text string) {
	if text != "" || kind == conversation.Call || kind == conversation.Result {
		e.all = append(e.all, conversation.Entry{Kind: kind, Tool: strings.Clone(tool), Text: strings.Clone(text), ID: e.id, Time: e.at})
	}
}

func (e *entries) addResult(tool, text string, failed bool) {
	e.addEntry(conversation.Result, tool, text)
	e.all[len(e.all)-1].Failed = failed
}

func (e *entries) addTokens(usage gjson.Result, model string) {
	u := conversation.UsageOf(usage, "input", "cacheRead", "cacheWrite", "output")
	if cost := usage.Get("cost.total").Num; cost > 0 && cost < 1e9 {
		u.Cost = cost
	}
	if u != (conversation.Usage{}) {
		e.all = append(e.all, conversation.Entry{Kind: conversation.TokenUsage, Usage: u, Model: strings.Clone(model), ID: e.id, Time: e.at})
	}
}

// addMessage adds the entries of a message. chosen is the model of an answer that names none.
func (e *entries) addMessage(m gjson.Result, chosen string) {
	switch m.Get("role").Str {
	case "user":
		e.addEntry(conversation.Prompt, "", conversation.ContentText(m.Get("content")))
	case "assistant":
		model := strings.Clone(cmp.Or(m.Get("model").Str, chosen))
		e.addAnswer(m.Get("content"))
		for i := range e.all {
			if e.all[i].Kind == conversation.Answer {
				e.all[i].Model = model
			}
		}
		e.addTokens(m.Get("usage"), model)
	case "toolResult":
		e.addResult(m.Get("toolName").Str, conversation.ContentText(m.Get("content")), m.Get("isError").Bool())
	case "bashExecution": // a command that the person gave, after a "!"
		e.addEntry(conversation.Call, "bash", m.Get("command").Str)
		e.addResult("bash", m.Get("output").Str, conversation.TokenCount(m.Get("exitCode")) > 0)
	}
}

func (e *entries) addAnswer(content gjson.Result) {
	if content.Type == gjson.String {
		e.addEntry(conversation.Answer, "", content.Str)
		return
	}
	for _, part := range content.Array() {
		switch part.Get("type").Str {
		case "text":
			e.addEntry(conversation.Answer, "", part.Get("text").Str)
		case "thinking":
			e.addEntry(conversation.Thought, "", part.Get("thinking").Str)
		case "toolCall":
			e.addEntry(conversation.Call, part.Get("name").Str, conversation.CallText(part.Get("arguments")))
		}
	}
}

// kinds are the types of records that pi 0.74 to 1.5 can write, and the roles of messages.
const kinds = `
	branch_summary compaction context_edit custom custom_message label message.assistant
	message.bashExecution message.branchSummary message.compactionSummary message.custom
	message.hookMessage message.system message.toolResult message.user model_change session
	session_info thinking_level_change usage
`

func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, strings.Fields(kinds), kindOf, each)
}

func kindOf(line []byte) string {
	kind := conversation.RecordType(line)
	if kind == "message" {
		return kind + "." + gjson.GetBytes(line, "message.role").Str
	}
	return kind
}
