// Package hookfile records the input of hooks of a client that keeps no conversation: the
// person's prompts, the agent's answers, and its tool calls with their results. gt-record
// reads it as the client's own file.
//
//	${AGENT_HOME:-~/.agent}/told/<agent>/<session id>.jsonl   one entry a line
package hookfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Root returns the folder of this user's records: AGENT_HOME, or ~/.agent.
func Root(getenv func(string) string) (string, error) {
	root := getenv("AGENT_HOME")
	switch home := getenv("HOME"); {
	case root == "" && filepath.IsAbs(home):
		root = filepath.Join(home, ".agent")
	case root == "":
		return "", errors.New("HOME is not set, so there is no place for records")
	case !filepath.IsAbs(root):
		return "", fmt.Errorf("AGENT_HOME has to be an absolute path, not '%s'", root)
	}
	return root, nil
}

// Line is the input of one hook.
type Line struct {
	Kind   conversation.Kind `json:"kind"` // Prompt, Answer or Call
	Time   time.Time         `json:"ts"`
	CWD    string            `json:"cwd,omitempty"`
	Text   string            `json:"text,omitempty"` // of a Call, its arguments
	Tool   string            `json:"tool,omitempty"`
	Target string            `json:"target,omitempty"` // see conversation.Entry
	Result string            `json:"result,omitempty"` // of a Call
	Failed bool              `json:"failed,omitempty"`
	// Key identifies the hook's input, if it has one. A hook that is wired twice records
	// the same key.
	Key string `json:"key,omitempty"`
}

// Redact removes secrets from a line.
func (l *Line) Redact(redact func(string) string) {
	for _, s := range []*string{&l.CWD, &l.Text, &l.Tool, &l.Result} {
		*s = redact(strings.ToValidUTF8(*s, "\uFFFD"))
	}
}

// EncodeUnwritten encodes a line for another process, which redacts and appends it. The result
// follows unescaped, because escaping takes as long as a hook may run.
func (l Line) EncodeUnwritten() (string, error) {
	result := l.Result
	l.Result = ""
	data, err := json.Marshal(l)
	return string(data) + "\n" + result, err
}

// ParseUnwritten decodes what EncodeUnwritten returned.
func ParseUnwritten(data []byte) (l Line, err error) {
	head, result, found := bytes.Cut(data, []byte("\n"))
	if !found {
		return l, errors.New("a line that was handed over ends early")
	}
	err = json.Unmarshal(head, &l)
	l.Result = string(result)
	return l, err
}

const ext = ".jsonl"

// Path returns the file of a session, or "" if the agent's name cannot be a file name.
func Path(root, agent string, id session.ID) string {
	if agent == "" || agent[0] == '.' || strings.Trim(agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" || id == "" {
		return ""
	}
	return filepath.Join(root, "told", agent, string(id)+ext)
}

// Append appends a line, which the caller has redacted. It first ends an incomplete line
// that a kill left, which the reader skips.
func Append(root, agent string, id session.ID, l Line) error {
	path := Path(root, agent, id)
	if path == "" {
		return fmt.Errorf("invalid name of an agent '%.40s'", agent)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := atomicfile.EnsurePrivateDir(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = atomicfile.CheckPrivate(info)
	}
	if err != nil {
		return atomicfile.Error("use", path, err)
	}
	return atomicfile.AppendLines(f, append(data, '\n'))
}

// Remove removes the file of a session, if there is a root.
func Remove(root, agent string, id session.ID) error {
	path := Path(root, agent, id)
	if root == "" || path == "" {
		return nil
	}
	return atomicfile.Remove(path)
}

// Agents returns the agents that have such files, as far as they can be read.
func Agents(root string) []string {
	names, _ := atomicfile.Folders(filepath.Join(root, "told"))
	return slices.DeleteFunc(names, func(name string) bool { return Path(root, name, "s") == "" })
}

type Reader struct{ Agent string }

// Client returns the agent's name, because these are its only conversations.
func (r Reader) Client() string { return r.Agent }

// Stores returns the agent's folder below Root, if it exists.
func (r Reader) Stores(root string) []string {
	path := Path(root, r.Agent, "s")
	if path == "" || !atomicfile.IsFolder(filepath.Dir(path)) {
		return nil
	}
	return []string{filepath.Dir(path)}
}

// Find calls each for the sessions' files in a store. Files with other names are left out.
func (r Reader) Find(store string, each func(conversation.File)) error {
	var lost conversation.ReadErrors
	for _, e := range lost.List(store) {
		name, ok := strings.CutSuffix(e.Name(), ext)
		id, err := session.ParseID(name)
		if !ok || err != nil {
			continue
		}
		f := conversation.File{Client: r.Agent, Store: store, Path: filepath.Join(store, e.Name()), ID: id}
		if lost.SetStat(&f) {
			each(f)
		}
	}
	return lost.Err()
}

// Metadata reads the whole file: the last line has the time of the last entry.
func (r Reader) Metadata(f conversation.File) (m conversation.Metadata, err error) {
	m.ID = f.ID
	_, err = forEachLine(f.Path, 0, func(l Line, _ int64) bool {
		if m.Started.IsZero() {
			m.Started = l.Time
		}
		conversation.SetIfEmpty(&m.CWD, l.CWD)
		if l.Kind == conversation.Prompt && m.Prompt == "" {
			m.Prompt = conversation.Excerpt(l.Text)
		}
		m.Last = l.Time
		return true
	})
	return m, err
}

// repeatWindow is the time within which a second wiring of the same hook repeats an input.
const repeatWindow = 5 * time.Second

// Read gives the entries, once each (see repeatWindow). A line of a call gives it and its result.
func (r Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	at := map[string]time.Time{} // the last time of each key
	return forEachLine(f.Path, o.From, func(l Line, begin int64) bool {
		if last, there := at[l.Key]; there && l.Key != "" && l.Time.Sub(last) < repeatWindow {
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

// forEachLine is conversation.Lines for a file of hooks. It skips what it cannot read.
func forEachLine(path string, from int64, each func(l Line, at int64) bool) (int64, error) {
	return conversation.Lines(path, from, func(line []byte, at int64) bool {
		var l Line
		if json.Unmarshal(line, &l) != nil || l.Kind == "" {
			return true
		}
		return each(l, at)
	})
}
