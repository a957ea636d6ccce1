package history

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/client/account"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// pi reads pi's sessions, as 0.74 and 1.5 write them, and their older versions 1
// and 2:
//
//	<store>/sessions/--<folder>--/<time>_<id>.jsonl
//	<store>/<time>_<id>.jsonl                        where a person chose the folder
//
// Who goes back to an earlier point of a session goes on in the same file: each
// record names the one that it follows, and the conversation is what leads to the
// last. What was said on the way that was left is not part of it, but was paid
// for. A fork has a file of its own, that begins with copies of the records, and
// names its origin's file.
//
// The files say nothing of pi's version, nor whether a person sat in front of it.
type pi struct{}

func (pi) Client() string { return "pi" }

func (pi) plain(File) bool { return true }

// Stores are pi's folders by the environment, where they usually are, and what
// the person's settings there name.
func (pi) Stores(getenv func(string) string) []string {
	var places, chosen []string
	for p := range account.Places("pi", getenv) {
		if p.Folders[0] == "." {
			chosen = append(chosen, p.Dir)
		} else {
			places = append(places, p.Dir)
		}
	}
	found := account.Stores(places, "sessions")
	for _, dir := range account.Stores(chosen, ".") {
		// Who chooses the folder in which they lie anyway has it once.
		if !slices.ContainsFunc(found, func(of string) bool { return dir == filepath.Join(of, "sessions") }) {
			found = append(found, dir)
		}
	}
	return found
}

// Find lists the folders' folders.
func (c pi) Find(store string, each func(File)) error {
	dir := filepath.Join(store, "sessions")
	var lost Unread
	folders, err := os.ReadDir(dir)
	lost.Add(atomicfile.Error("read", dir, err))
	for _, folder := range folders {
		if !folder.Type().IsRegular() {
			below := filepath.Join(dir, folder.Name())
			c.list(store, below, lost.list(below), &lost, each)
		}
	}
	flat, failed := os.ReadDir(store)
	if err != nil && failed != nil {
		return atomicfile.Error("read", store, failed)
	}
	lost.Add(atomicfile.Error("read", store, failed))
	c.list(store, store, flat, &lost, each)
	return lost.Err()
}

func (pi) list(store, dir string, entries []os.DirEntry, lost *Unread, each func(File)) {
	for _, e := range entries {
		id := piID(e.Name())
		if id == "" {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if info, ok := lost.file(path); ok {
			each(File{Client: "pi", Store: store, Path: path, ID: id, Size: info.Size(), Changed: info.ModTime().UnixNano()})
		}
	}
}

// piID is the id in a file's name; empty where it is no session's.
func piID(name string) session.ID {
	name, ok := strings.CutSuffix(name, ".jsonl")
	stamp, id, named := strings.Cut(name, "_")
	if !ok || !named || len(stamp) < 10 || stamp[0] < '0' || stamp[0] > '9' {
		return ""
	}
	checked, err := session.ParseID(id)
	if err != nil {
		return ""
	}
	return checked
}

// piWhole is up to which size all of a file is looked at: a name can have been
// given anywhere in it.
const piWhole = 1 << 20

// Look takes the facts from the header and the records, of a large file from
// those at its ends.
func (c pi) Look(f File) (Facts, error) {
	facts := Facts{ID: f.ID}
	copied := false
	front := func(r gjson.Result) {
		at := moment(r.Get("timestamp").Str)
		switch r.Get("type").Str {
		case "session":
			if !facts.Started.IsZero() {
				return
			}
			facts.Started = at
			if id, err := session.ParseID(r.Get("id").Str); err == nil {
				facts.ID = session.ID(strings.Clone(string(id)))
			}
			keep(&facts.CWD, r.Get("cwd").Str)
			facts.ForkOf = session.ID(strings.Clone(string(piID(filepath.Base(r.Get("parentSession").Str)))))
			return
		case "message":
			if m := r.Get("message"); m.Get("role").Str == "user" {
				keep(&facts.First, piEntryID(r))
				keep(&facts.Prompt, beginning(piText(m.Get("content"))))
			}
		}
		copied = copied || at.Before(facts.Started) && !at.IsZero()
	}
	var named bool
	var title, model string
	back := func(r gjson.Result) {
		if facts.Last.IsZero() {
			facts.Last = moment(r.Get("timestamp").Str)
		}
		switch r.Get("type").Str {
		case "session_info":
			if !named {
				named, title = true, beginning(r.Get("name").String())
			}
		case "model_change":
			keep(&model, r.Get("modelId").Str)
		case "message":
			keep(&model, r.Get("message.model").Str)
		}
	}

	var early, chosen string // a name and a model at the front of a large file
	var err error
	if f.Size <= piWhole {
		var all []string // the records that back is about; they are short, but for one
		_, err = Lines(f.Path, 0, func(line []byte, _ int64) bool {
			r := gjson.ParseBytes(line)
			front(r)
			back := r.Get("type").Str
			if back == "session_info" || back == "model_change" || r.Get("message.model").Str != "" {
				all = append(all, string(line))
			}
			if at := moment(r.Get("timestamp").Str); !at.IsZero() {
				facts.Last = at
			}
			return true
		})
		for _, line := range slices.Backward(all) {
			back(gjson.Parse(line))
		}
	} else {
		err = Ends(f.Path, func(line []byte, whole bool) bool {
			if whole {
				r := gjson.ParseBytes(line)
				front(r)
				if r.Get("type").Str == "session_info" {
					early = beginning(r.Get("name").String())
				}
				if model := first(r.Get("modelId").Str, r.Get("message.model").Str); model != "" {
					chosen = strings.Clone(model)
				}
			}
			return whole
		}, func(line []byte) bool {
			back(gjson.ParseBytes(line))
			return true
		})
		if err == nil && facts.Prompt == "" {
			_, err = Lines(f.Path, 0, func(line []byte, at int64) bool {
				front(gjson.ParseBytes(line))
				return facts.Prompt == "" && at < headMost
			})
		}
	}
	if err != nil {
		return Facts{}, err
	}
	if !named {
		title = early
	}
	facts.Title, facts.Model = title, first(model, chosen)
	if !copied {
		facts.ForkOf = "" // it names where it came from, and began anew
	}
	return facts, nil
}

// piEntryID is a record's id in a form that is no other session's: its own is of
// eight digits. A fork's copy has it too.
func piEntryID(r gjson.Result) string {
	return fmt.Sprintf("%s.%s", r.Get("id").Str, r.Get("timestamp").Str)
}

// piText is what a content says: a text, or parts of which some are.
func piText(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.Str
	}
	var parts []string
	for _, part := range content.Array() {
		switch part.Get("type").Str {
		case "text":
			parts = append(parts, part.Get("text").Str)
		case "image":
			parts = append(parts, "[image]")
		}
	}
	return strings.Join(parts, "\n")
}

// Read gives the records that lead to the last one, in the order of the file, and
// of the others what they cost.
func (c pi) Read(f File, o Options, each func(Entry) bool) (int64, error) {
	if o.From > 0 { // who follows asks often, and mostly there is nothing
		more := false
		if next, err := Lines(f.Path, o.From, func([]byte, int64) bool { more = true; return false }); err != nil || !more {
			return next, err
		}
	}
	left, model, err := piTree(f.Path, o.From)
	if err != nil {
		return o.From, err
	}
	return Lines(f.Path, o.From, func(line []byte, at int64) bool {
		if o.Skip != nil && !bytes.Contains(line, []byte(`"role":"user"`)) && o.Skip(line) {
			return true
		}
		r := gjson.ParseBytes(line)
		for _, e := range piEntries(r, &model) {
			if e.At = at; left[r.Get("id").Str] && e.Kind != Spent {
				continue
			}
			if !each(e) {
				return false
			}
		}
		return true
	})
}

// piTree finds the records that do not lead to the last one, and the model that
// was chosen before an offset.
func piTree(path string, from int64) (left map[string]bool, model string, err error) {
	parents := map[string]string{}
	last := ""
	_, err = Lines(path, 0, func(line []byte, at int64) bool {
		kind, id := gjson.GetBytes(line, "type").Str, gjson.GetBytes(line, "id").Str
		if kind == "session" || kind == "" || id == "" {
			return true
		}
		last = strings.Clone(id)
		parents[last] = strings.Clone(gjson.GetBytes(line, "parentId").Str)
		if kind == "model_change" && at < from {
			model = strings.Clone(gjson.GetBytes(line, "modelId").Str)
		}
		return true
	})
	for id, ok := last, true; ok; { // each is taken once, so that a circle ends
		parent, known := parents[id]
		delete(parents, id)
		id, ok = parent, known
	}
	left = map[string]bool{}
	for id := range parents {
		left[id] = true
	}
	return left, model, err
}

// piEntries is what a record says.
func piEntries(r gjson.Result, model *string) (all []Entry) {
	id := piEntryID(r)
	at := moment(r.Get("timestamp").Str)
	give := func(kind Kind, tool, text string) {
		if text != "" || kind == Call || kind == Result {
			all = append(all, Entry{Kind: kind, Tool: strings.Clone(tool), Text: strings.Clone(text), ID: id, Time: at})
		}
	}
	failed := func(bad bool) { all[len(all)-1].Failed = bad }
	spend := func(usage gjson.Result, model string) {
		u := Usage{
			Input: count(usage.Get("input")), Output: count(usage.Get("output")),
			CacheRead: count(usage.Get("cacheRead")), CacheWrite: count(usage.Get("cacheWrite")),
		}
		if cost := usage.Get("cost.total").Num; cost > 0 && cost < 1e9 {
			u.Cost = cost
		}
		if u != (Usage{}) {
			all = append(all, Entry{Kind: Spent, Usage: u, Model: strings.Clone(model), ID: id, Time: at})
		}
	}
	switch r.Get("type").Str {
	case "model_change":
		*model = strings.Clone(r.Get("modelId").Str)
	case "compaction", "branch_summary":
		give(Summary, "", r.Get("summary").Str)
		spend(r.Get("usage"), *model)
	case "usage":
		spend(r.Get("usage"), r.Get("model").Str)
	case "message":
		m := r.Get("message")
		switch m.Get("role").Str {
		case "user":
			give(Prompt, "", piText(m.Get("content")))
		case "assistant":
			own := strings.Clone(first(m.Get("model").Str, *model))
			if content := m.Get("content"); content.Type == gjson.String {
				give(Answer, "", content.Str)
			} else {
				for _, part := range content.Array() {
					switch part.Get("type").Str {
					case "text":
						give(Answer, "", part.Get("text").Str)
					case "thinking":
						give(Thought, "", part.Get("thinking").Str)
					case "toolCall":
						give(Call, part.Get("name").Str, piCall(part.Get("arguments")))
					}
				}
			}
			for i := range all {
				if all[i].Kind == Answer {
					all[i].Model = own
				}
			}
			spend(m.Get("usage"), own)
		case "toolResult":
			give(Result, m.Get("toolName").Str, piText(m.Get("content")))
			failed(m.Get("isError").Bool())
		case "bashExecution": // a command that the person gave, after a "!"
			give(Call, "bash", m.Get("command").Str)
			give(Result, "bash", m.Get("output").Str)
			failed(count(m.Get("exitCode")) > 0)
		}
	}
	return all
}

// piCall is what a tool was called with; of a shell only the command is of
// interest.
func piCall(input gjson.Result) string {
	if command := input.Get("command"); command.Type == gjson.String {
		return command.Str
	}
	return arguments(input)
}
