package hookfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

// Reader is the conversation.Reader of what hooks recorded of an agent's sessions.
type Reader struct{ Agent string }

// Client returns the agent's name, because these are its only conversations.
func (r Reader) Client() string { return r.Agent }

// Stores returns the agent's folder, if it exists.
func (r Reader) Stores(getenv func(string) string) []string {
	root, err := Root(getenv)
	if err != nil || Path(root, r.Agent, "s") == "" {
		return nil
	}
	dir := filepath.Join(root, "told", r.Agent)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil
	}
	return []string{dir}
}

func (r Reader) Find(store string, each func(conversation.File)) error {
	var lost conversation.ReadErrors
	for _, e := range lost.List(store) {
		name, ok := strings.CutSuffix(e.Name(), ext)
		id, err := session.ParseID(name)
		if !ok || err != nil {
			continue
		}
		f := conversation.File{Client: r.Agent, Store: store, Path: filepath.Join(store, e.Name()), ID: id}
		if lost.Stat(&f) {
			each(f)
		}
	}
	return lost.Err()
}

func (r Reader) Metadata(f conversation.File) (m conversation.Metadata, err error) {
	m.ID = f.ID
	_, err = lines(f.Path, 0, func(l Line, _ int64) bool {
		if m.Started.IsZero() {
			m.Started = l.Time
		}
		conversation.Keep(&m.CWD, l.CWD)
		if l.Kind == conversation.Prompt && m.Prompt == "" {
			m.Prompt = conversation.Excerpt(l.Text)
		}
		m.Last = l.Time
		return true
	})
	return m, err
}

// repeat is the time within which a second wiring of the same hook repeats an input.
const repeat = 5 * time.Second

// Read gives the entries. A line of a call gives the call and its result.
func (r Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	at := map[string]time.Time{} // the last time of each key
	return lines(f.Path, o.From, func(l Line, begin int64) bool {
		if last, there := at[l.Key]; there && l.Key != "" && l.Time.Sub(last) < repeat {
			return true
		}
		at[l.Key] = l.Time
		e := conversation.Entry{Kind: l.Kind, Time: l.Time, Text: l.Text, Tool: l.Tool, Target: l.Target, Offset: begin}
		switch l.Kind {
		case conversation.Prompt, conversation.Answer:
			return each(e)
		case conversation.Call:
			return each(e) && each(conversation.Entry{Kind: conversation.Result, Time: l.Time, Text: l.Result, Tool: l.Tool, Failed: l.Failed, Offset: begin})
		}
		return true
	})
}

func lines(path string, from int64, each func(l Line, at int64) bool) (int64, error) {
	return conversation.Lines(path, from, func(line []byte, at int64) bool {
		var l Line
		if json.Unmarshal(line, &l) != nil || l.Kind == "" {
			return true
		}
		return each(l, at)
	})
}
