// Package cursor reads the transcripts of Cursor's agent, of its command and of its editor:
//
//	<store>/projects/<folder>/agent-transcripts/<id>/<id>.jsonl
//	<store>/projects/<folder>/agent-transcripts/<id>.jsonl                     of older versions
//	<store>/projects/<folder>/agent-transcripts/<id>/transcript.jsonl          of some versions
//	<store>/projects/<folder>/agent-transcripts/<id>/subagents/<subagent>.jsonl
//
// A line has a role and Anthropic's parts of a message, and neither an id, a model, a time, tokens
// nor a tool's result. The databases that Cursor goes on from (chats/*/*/store.db, state.vscdb)
// change their form often: gt does not read them and writes no conversation for this client.
//
// Sources: lines of Cursor 3.20 and cursor-agent 2026.07 that other projects have as tests, among
// them jolli, crow and a token tracker for macOS. No line names the client's version.
package cursor

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/lazyregexp"
)

type Reader struct{}

func (Reader) Client() string { return "cursor" }

func (Reader) PlainText(conversation.File) bool { return true }

const (
	transcripts = "agent-transcripts"
	ending      = ".jsonl"
)

// Find lists the sessions, each followed by its subagents.
func (Reader) Find(store string, each func(conversation.File)) error {
	dir := filepath.Join(store, "projects")
	projects, err := conversation.List(dir)
	if err != nil {
		return err
	}
	found := conversation.NewFinding("cursor", store, each)
	for _, p := range projects {
		if p.Type().IsRegular() {
			continue
		}
		below := filepath.Join(dir, p.Name(), transcripts)
		for _, e := range found.List(below) {
			path := filepath.Join(below, e.Name())
			if name, ok := strings.CutSuffix(e.Name(), ending); ok {
				found.GiveNamed(path, name, "")
				continue
			}
			id, err := session.ParseID(e.Name())
			if err != nil || e.Type().IsRegular() {
				continue
			}
			for _, own := range [...]string{e.Name() + ending, "transcript" + ending} {
				found.GiveNamed(filepath.Join(path, own), e.Name(), "")
			}
			for _, sub := range found.List(filepath.Join(path, "subagents")) {
				if name, ok := strings.CutSuffix(sub.Name(), ending); ok {
					found.GiveNamed(filepath.Join(path, "subagents", sub.Name()), name, id)
				}
			}
		}
	}
	return found.Err()
}

// Metadata takes the times from the prompts that have one, else from the file, and the folder
// from the commands, else from the name of the project's folder, if such a folder exists.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	m := conversation.Metadata{ID: f.ID, Parent: f.Parent}
	known := false
	front := func(line []byte) (more bool) {
		for _, e := range entriesOf(conversation.ParseRecord(line)) {
			known = true
			if e.Kind == conversation.Prompt {
				conversation.SetIfEmpty(&m.Prompt, conversation.PromptExcerpt(e.Text))
			}
			conversation.SetTimeIfZero(&m.Started, e.Time)
		}
		conversation.SetIfEmpty(&m.CWD, folderIn(line))
		return m.Prompt == "" || m.CWD == ""
	}
	err := conversation.FrontAndBack(f, front, func(line []byte) bool {
		for _, e := range entriesOf(conversation.ParseRecord(line)) {
			known = true
			if !e.Time.IsZero() {
				m.Last = e.Time
			}
		}
		conversation.SetIfEmpty(&m.MovedTo, folderIn(line))
		return m.Last.IsZero()
	})
	if err != nil || !known {
		return conversation.Metadata{}, err
	}
	if conversation.SetIfEmpty(&m.CWD, folderOf(f.Path)); m.MovedTo == m.CWD {
		m.MovedTo = ""
	}
	if changed := time.Unix(0, f.Changed).UTC(); f.Changed > 0 && changed.After(m.Last) {
		m.Last = changed
	}
	conversation.SetTimeIfZero(&m.Started, m.Last)
	if m.Last.Before(m.Started) {
		m.Last = m.Started
	}
	return m, nil
}

// folderIn returns the folder of a command in a line, or "".
func folderIn(line []byte) string {
	if !bytes.Contains(line, []byte(`"working_directory"`)) {
		return ""
	}
	for _, part := range conversation.ParseRecord(line).Get("message.content").Array() {
		if dir := part.Get("input.working_directory").Str; filepath.IsAbs(dir) {
			return filepath.Clean(dir)
		}
	}
	return ""
}

var unusual = lazyregexp.New(`[^A-Za-z0-9]+`)

// folderName returns a name as Cursor writes it into that of a project's folder.
func folderName(name string) string { return unusual().ReplaceAllString(name, "-") }

// folderOf returns the folder that a transcript's project is named after, if it is here.
func folderOf(transcript string) string {
	before, _, ok := strings.Cut(transcript, string(filepath.Separator)+transcripts+string(filepath.Separator))
	if !ok {
		return ""
	}
	limit := 1000 // folders: a name can mean many
	// find returns the folder below dir whose path was written as rest, or "".
	var find func(dir, rest string) string
	find = func(dir, rest string) string {
		if rest == "" {
			return dir
		}
		if limit--; limit < 0 {
			return ""
		}
		entries, _ := os.ReadDir(dir) // what cannot be read is no project here
		for _, e := range entries {
			name := strings.Trim(folderName(e.Name()), "-")
			after, ok := strings.CutPrefix(rest, name)
			if name == "" || !ok || after != "" && after[0] != '-' || e.Type().IsRegular() {
				continue
			}
			if found := find(filepath.Join(dir, e.Name()), strings.TrimPrefix(after, "-")); found != "" {
				return found
			}
		}
		return ""
	}
	name := filepath.Base(before)
	if name == "" || name == "empty-window" {
		return ""
	}
	return find("/", name)
}

// Read gives the messages in the order of the file. Only a prompt has a time.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	mayAsk := func(line []byte) bool { return conversation.HasPair(line[:min(len(line), 64)], "role", "user") }
	return conversation.ReadRecords(f.Path, o, mayAsk, entriesOf, each)
}

// entriesOf returns the entries of a line. Their texts are copies and do not keep it in memory.
func entriesOf(r gjson.Result) (all []conversation.Entry) {
	content := r.Get("message.content")
	if !content.Exists() { // as in some versions
		content = r.Get("content")
	}
	switch cmp.Or(r.Get("role").Str, r.Get("message.role").Str) {
	case "user":
		text := conversation.ContentText(content)
		e := conversation.Entry{Kind: conversation.Prompt, Text: strings.Clone(personText(text)), Time: timeIn(text)}
		if text == "" && content.Get(`#(type=="image")`).Exists() {
			e.Text = "[image]"
		}
		if e.Text != "" {
			all = append(all, e)
		}
	case "assistant":
		if content.Type == gjson.String {
			return appendAnswer(nil, conversation.Answer, content.Str)
		}
		for _, part := range content.Array() {
			switch part.Get("type").Str {
			case "text":
				all = appendAnswer(all, conversation.Answer, part.Get("text").Str)
			case "thinking":
				all = appendAnswer(all, conversation.Thought, part.Get("thinking").Str)
			case "tool_use":
				input := part.Get("input")
				e := conversation.Entry{Kind: conversation.Call, Tool: strings.Clone(part.Get("name").Str), Text: strings.Clone(conversation.Arguments(input))}
				switch e.Tool {
				case "Shell":
					e.Target = strings.Clone(input.Get("command").Str)
				case "Write", "StrReplace", "Delete", "EditNotebook":
					e.Target = strings.Clone(input.Get("path").Str)
				}
				all = append(all, e)
			}
		}
	}
	return all
}

// redacted stands where Cursor leaves out what the model thought.
const redacted = "[REDACTED]"

func appendAnswer(all []conversation.Entry, kind conversation.Kind, text string) []conversation.Entry {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), redacted))
	if text == "" {
		return all
	}
	return append(all, conversation.Entry{Kind: kind, Text: strings.Clone(text)})
}

const (
	queryTag = "user_query"
	timeTag  = "timestamp"
	whenForm = "Jan 2, 2006, 3:04 PM"
)

// personText returns what the person typed. What the client adds stands in elements before and behind
// it; a message of nothing else is the client's.
func personText(text string) string {
	var all []string
	for rest := text; ; {
		typed, after, ok := element(rest, queryTag)
		if !ok {
			break
		}
		all, rest = append(all, strings.TrimSpace(typed)), after
	}
	if len(all) > 0 {
		return strings.Join(all, "\n")
	}
	if _, after, ok := element(text, timeTag); ok {
		text = after
	}
	if text = strings.TrimSpace(text); wrapped().MatchString(text) {
		return ""
	}
	return text
}

var wrapped = lazyregexp.New(`(?s)^<[a-z]+_[a-z_]+[^>]*>.*</[a-z]+_[a-z_]+>$`)

// element returns what the first element of that name has, and what follows it.
func element(text, name string) (inside, after string, ok bool) {
	_, text, ok = strings.Cut(text, "<"+name+">")
	if !ok {
		return "", "", false
	}
	if inside, after, ok = strings.Cut(text, "</"+name+">"); !ok {
		return text, "", true // it was cut off
	}
	return inside, after, true
}

// timeIn returns when a prompt was written, as "Friday, Sep 4, 2026, 2:21 AM (UTC+8)" has it.
// Without a zone it is a time here.
func timeIn(text string) time.Time {
	written, _, _ := element(text, timeTag)
	_, written, _ = strings.Cut(written, ", ")
	when, zone, _ := strings.Cut(written, " (")
	place := time.Local
	if hours, minutes, ok := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(zone, "UTC"), ")")+":", ":"); ok && strings.HasPrefix(zone, "UTC") {
		h, _ := strconv.Atoi(hours) // UTC itself has none
		m, _ := strconv.Atoi(strings.TrimSuffix(minutes, ":"))
		if h < 0 {
			m = -m
		}
		place = time.FixedZone("", (h*60+m)*60)
	}
	t, err := time.ParseInLocation(whenForm, strings.TrimSpace(when), place)
	if err != nil {
		return time.Time{}
	}
	return conversation.ParseTime(t.UTC().Format(time.RFC3339))
}

// kinds are the roles of lines, and the types of those that have none.
var kinds = []string{"user", "assistant", "turn_ended"}

// Unknown calls each with the role, or else the type, of each line whose kind is not in kinds.
func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, func(line []byte) string {
		if role := gjson.GetBytes(line, "role").Str; role != "" {
			return role
		}
		return conversation.RecordType(line)
	}, each)
}
