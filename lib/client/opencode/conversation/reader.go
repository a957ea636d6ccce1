// Package opencode reads the conversations of OpenCode 1.18,
//
//	<store>/opencode.db, opencode-<channel>.db    tables session, message, part
//
// of OpenCode 2, in the same database, which keeps a message and its parts in one row and was
// not tried,
//
//	tables session_v2, session_message
//
// and of versions before 1.2, whose files are beside the database that imported them, or
// alone:
//
//	<store>/storage/session/<project>/<session>.json
//	<store>/storage/message/<session>/<message>.json
//	<store>/storage/part/<message>/<part>.json
//
// A session has messages, and a message has parts. Files and tables have the same JSON. A
// fork copies the messages under new ids and does not name its origin. The times stay the
// same, and Entry.ID is made of them.
//
// The package reads no other tables, because they hold keys.
//
// Entry.Offset, and where a Read goes on, is the time of a message in milliseconds <<
// positionShift, plus the number of its entries that were read.
package opencode

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/sqlite"
)

type Reader struct {
	mu  sync.Mutex
	dbs map[string]*sqlite.DB // open databases, by path
}

const positionShift = 20

func (*Reader) Client() string { return "opencode" }

// databases returns the databases in a folder. Copies by a sync tool come last, because the first
// database that has a session counts.
func databases(dir string, lost *conversation.ReadErrors) (paths []string) {
	var copies []string
	for _, e := range lost.List(dir) {
		name, ok := strings.CutSuffix(e.Name(), ".db")
		if !ok || strings.HasPrefix(name, "._") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if _, copied := conversation.IDOfName(name); copied || strings.Contains(name, " ") {
			copies = append(copies, path)
		} else {
			paths = append(paths, path)
		}
	}
	return append(paths, copies...)
}

// Find reads the sessions of all databases, and lists the files of sessions in none.
func (c *Reader) Find(store string, each func(conversation.File)) error {
	seen := map[session.ID]bool{}
	var lost conversation.ReadErrors
	for _, path := range databases(store, &lost) {
		var files []conversation.File
		err := c.withDatabase(path, func(db *sqlite.DB) error {
			files = nil
			if sessionTables(db) == nil {
				return checkTables(path, db)
			}
			return eachSession(db, func(r sqlite.Row) {
				if id, err := session.ParseID(r.Text("id")); err == nil {
					parent, _ := session.ParseID(r.Text("parent_id"))
					files = append(files, conversation.File{Client: "opencode", Store: store, Path: path, ID: id, Parent: parent,
						Changed: r.Int("time_updated") * int64(time.Millisecond)})
				}
			})
		})
		if errors.Is(err, atomicfile.ErrNotRegular) {
			err = fmt.Errorf("%v", err) // a folder of that name; Add ignores ErrNotRegular
		}
		if lost.Add(err); err != nil {
			continue
		}
		for _, f := range files {
			if !seen[f.ID] {
				seen[f.ID] = true
				each(f)
			}
		}
	}
	projects := filepath.Join(store, "storage", "session")
	for _, p := range lost.List(projects) {
		for _, e := range lost.List(filepath.Join(projects, p.Name())) {
			name, ok := strings.CutSuffix(e.Name(), ".json")
			id, err := session.ParseID(name)
			if !ok || err != nil || seen[id] {
				continue
			}
			path := filepath.Join(projects, p.Name(), e.Name())
			if info, ok := lost.StatFile(path); ok {
				seen[id] = true
				each(conversation.File{Client: "opencode", Store: store, Path: path, ID: id, Changed: info.ModTime().UnixNano()})
			}
		}
	}
	return lost.Err()
}

// sessionTables returns the tables of sessions that a database has, none if it is another
// program's. OpenCode 2 copies the sessions of OpenCode 1 and goes on with its own, so the
// first table that has a session counts.
func sessionTables(db *sqlite.DB) (tables []string) {
	if db.Columns("session_v2") != nil && db.Columns("session_message") != nil {
		tables = append(tables, "session_v2")
	}
	if db.Columns("session") != nil && db.Columns("message") != nil && db.Columns("part") != nil {
		tables = append(tables, "session")
	}
	return tables
}

// checkTables returns an error if the database at path has OpenCode's sessions, but not in the tables that
// the reader knows: a newer version may keep them in others.
func checkTables(path string, db *sqlite.DB) error {
	if !slices.Contains(db.Columns("session"), "directory") || db.Columns("session_v2") != nil {
		return nil // another program's, or OpenCode 2
	}
	for _, table := range [...]struct{ name, link string }{{"message", "session_id"}, {"part", "message_id"}} {
		for _, column := range [...]string{"id", table.link, "data"} {
			if !slices.Contains(db.Columns(table.name), column) {
				return fmt.Errorf("cannot read '%s': table '%s' has no column '%s': it is of a version of OpenCode that this gt does not know", path, table.name, column)
			}
		}
	}
	return nil
}

// eachSession calls each with every session's row. A session that OpenCode 2 copied comes twice.
func eachSession(db *sqlite.DB, each func(sqlite.Row)) error {
	for _, table := range sessionTables(db) {
		err := db.Scan(table, func(r sqlite.Row) bool {
			each(r)
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// withDatabase calls read with the database (see sqlite's Do). The database stays open, because
// many reads follow.
func (c *Reader) withDatabase(path string, read func(*sqlite.DB) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	db := c.dbs[path]
	if db == nil {
		var err error
		if db, err = sqlite.Open(path); err != nil {
			return err
		}
		if c.dbs == nil {
			c.dbs = map[string]*sqlite.DB{}
		}
		c.dbs[path] = db
	}
	err := db.View(func() error { return read(db) })
	if err != nil {
		db.Close()
		delete(c.dbs, path)
	}
	return err
}

type sessionRow struct {
	parent, title, directory, version, model, permission string

	revert           string // the first message that was taken back
	created, updated int64  // in milliseconds
	isVersion2       bool   // OpenCode 2's
}

type message struct {
	id      string
	created int64
	seq     int64 // the order of OpenCode 2
	undone  bool  // the person took it back
}

// part is a part of a message, or the message itself, as JSON.
type part struct{ id, data string }

// readSession reads a session; it returns nil if the session is gone.
func (c *Reader) readSession(f conversation.File) (*sessionRow, error) {
	if !strings.HasSuffix(f.Path, ".db") {
		data, err := readFile(f.Path)
		if err != nil {
			return nil, err
		}
		p := gjson.ParseBytes(data)
		return &sessionRow{
			parent: p.Get("parentID").Str, title: p.Get("title").Str, directory: p.Get("directory").Str, version: p.Get("version").Str,
			revert: p.Get("revert.messageID").Str, created: conversation.TokenCount(p.Get("time.created")), updated: conversation.TokenCount(p.Get("time.updated")),
		}, nil
	}
	var s *sessionRow
	err := c.withDatabase(f.Path, func(db *sqlite.DB) error {
		s = nil
		if sessionTables(db) == nil {
			return checkTables(f.Path, db)
		}
		for _, table := range sessionTables(db) {
			err := db.SelectWhere(table, "id", string(f.ID), func(r sqlite.Row) bool {
				s = &sessionRow{
					parent: r.Text("parent_id"), title: r.Text("title"), directory: r.Text("directory"), version: r.Text("version"),
					model: gjson.Get(r.Text("model"), "id").Str, permission: r.Text("permission"), revert: gjson.Get(r.Text("revert"), "messageID").Str,
					created: r.Int("time_created"), updated: r.Int("time_updated"), isVersion2: table == "session_v2",
				}
				return false
			})
			if err != nil || s != nil {
				return err
			}
		}
		return nil
	})
	return s, err
}

// readMessages returns the messages of a session from a time on, in order. Those that the person
// took back are marked as undone.
func (c *Reader) readMessages(f conversation.File, s *sessionRow, from int64) (all []message, err error) {
	if strings.HasSuffix(f.Path, ".db") {
		err = c.withDatabase(f.Path, func(db *sqlite.DB) error {
			all = nil
			if err := checkTables(f.Path, db); err != nil {
				return err
			}
			return db.SelectWhere(s.messageTable(), "session_id", string(f.ID), func(r sqlite.Row) bool {
				all = append(all, message{id: r.Text("id"), created: r.Int("time_created"), seq: r.Int("seq")})
				return true
			})
		})
	} else {
		err = readFiles(filepath.Join(f.Store, "storage", "message", string(f.ID)), func(id string, data []byte) {
			all = append(all, message{id: id, created: conversation.TokenCount(gjson.GetBytes(data, "time.created"))})
		})
	}
	sort.Slice(all, func(i, j int) bool { // slices.SortFunc would add 20 KB to each program
		a, b := all[i], all[j]
		return cmp.Or(cmp.Compare(a.created, b.created), cmp.Compare(a.seq, b.seq), strings.Compare(a.id, b.id)) < 0
	})
	if i := slices.IndexFunc(all, func(m message) bool { return m.id == s.revert }); i >= 0 && s.revert != "" {
		for k := range all[i:] {
			all[i+k].undone = true
		}
	}
	return slices.DeleteFunc(all, func(m message) bool { return m.created < from }), err
}

func (s *sessionRow) messageTable() string {
	if s.isVersion2 {
		return "session_message"
	}
	return "message"
}

// readParts returns a message's JSON and its parts, by id. OpenCode 2 has both in one row; earlier
// versions have them in two tables or, before the database, in files.
func (c *Reader) readParts(f conversation.File, s *sessionRow, m message) (message string, all []part, err error) {
	if strings.HasSuffix(f.Path, ".db") {
		err = c.withDatabase(f.Path, func(db *sqlite.DB) error {
			message, all = "", nil
			err := db.SelectWhere(s.messageTable(), "id", m.id, func(r sqlite.Row) bool {
				if message = r.Text("data"); s.isVersion2 {
					message, all = splitMessage(r.Text("type"), message)
				}
				return false
			})
			if err != nil || s.isVersion2 {
				return err
			}
			return db.SelectWhere("part", "message_id", m.id, func(r sqlite.Row) bool {
				all = append(all, part{r.Text("id"), r.Text("data")})
				return true
			})
		})
	} else {
		var data []byte
		data, err = readFile(filepath.Join(f.Store, "storage", "message", string(f.ID), m.id+".json"))
		message = string(data)
	}
	if err == nil && len(all) == 0 && !s.isVersion2 { // also if the database imported the message without them
		err = readFiles(filepath.Join(f.Store, "storage", "part", m.id), func(id string, data []byte) {
			all = append(all, part{id, string(data)})
		})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].id < all[j].id })
	return message, all, err
}

// Skipped counts the rows of a conversation that are too long to be read.
func (c *Reader) Skipped(f conversation.File) (n int, err error) {
	if !strings.HasSuffix(f.Path, ".db") {
		return 0, nil
	}
	s, err := c.readSession(f)
	if err != nil {
		return 0, err
	}
	if s == nil { // gone, or too long itself
		s = &sessionRow{}
	}
	err = c.withDatabase(f.Path, func(db *sqlite.DB) error {
		messages, err := db.Skipped(s.messageTable(), "session_id", string(f.ID))
		if err != nil || s.isVersion2 {
			n = messages
			return err
		}
		parts, err := db.Skipped("part", "session_id", string(f.ID))
		n = messages + parts
		return err
	})
	return n, err
}

func readFile(path string) ([]byte, error) { return atomicfile.Read(path, conversation.MaxRecord) }

// readFiles calls each for the readable files of a folder, which need not exist.
func readFiles(dir string, each func(id string, data []byte)) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return atomicfile.Error("read", dir, err)
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if _, err := session.ParseID(id); !ok || err != nil {
			continue
		}
		if data, err := readFile(filepath.Join(dir, e.Name())); err == nil {
			each(id, data)
		}
	}
	return nil
}

// Metadata reads the session, and the messages up to the person's first prompt.
func (c *Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	s, err := c.readSession(f)
	if err != nil || s == nil {
		return conversation.Metadata{}, err
	}
	facts := conversation.Metadata{ID: f.ID, CWD: s.directory, Version: s.version, Model: s.model, Started: conversation.TimeOfMillis(s.created), Last: conversation.TimeOfMillis(s.updated)}
	facts.Parent, _ = session.ParseID(s.parent)
	if !strings.HasPrefix(s.title, "New session - ") && !strings.HasPrefix(s.title, "Child session - ") {
		facts.Title = conversation.Excerpt(s.title)
	}
	// Questions are allowed only if a person is present, and never for a subagent.
	for _, rule := range gjson.Parse(s.permission).Array() {
		if facts.Parent == "" && rule.Get("permission").Str == "question" && rule.Get("action").Str == "deny" {
			facts.Headless = true
		}
	}
	_, err = c.Read(f, conversation.Options{}, func(e conversation.Entry) bool {
		conversation.SetIfEmpty(&facts.FirstID, e.ID)
		if e.Kind == conversation.Prompt {
			conversation.SetIfEmpty(&facts.Prompt, conversation.PromptExcerpt(e.Text))
		}
		conversation.SetIfEmpty(&facts.Model, e.Model)
		return facts.Prompt == "" || facts.Model == ""
	})
	return facts, err
}

// Read gives the messages' parts. Of the last message it gives only what is complete: the
// next Read gives a text that is being written or a tool that is running. The first Read calls
// o.TakenBack for each prompt that was taken back, and a later one for the last entry of the Read
// before it, if that entry is gone.
func (c *Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	s, err := c.readSession(f)
	if err != nil || s == nil {
		return o.From, err
	}
	all, err := c.readMessages(f, s, o.From>>positionShift)
	if err != nil {
		return o.From, err
	}
	next := o.From
	isReported := o.From == 0 || o.TakenBack == nil // or if the entry before o.From is there, below
	sameTimeCount := int64(0)                       // entries of messages with the same time
	for i, m := range all {
		if i == 0 || m.created != all[i-1].created {
			sameTimeCount = 0
		}
		message, parts, err := c.readParts(f, s, m)
		if err != nil {
			return next, err
		}
		for _, e := range entriesOf(message, parts, i == len(all)-1) {
			e.Offset = m.created<<positionShift | sameTimeCount
			if m.undone { // only its tokens were spent
				if e.Kind == conversation.Prompt && o.From == 0 && o.TakenBack != nil {
					o.TakenBack(e)
				}
				if e.Aside = true; e.Kind != conversation.TokenUsage {
					continue
				}
			}
			sameTimeCount++
			isReported = isReported || e.Offset == o.From-1
			if e.Offset < o.From {
				continue
			}
			next = e.Offset + 1
			if !each(e) {
				return next, nil
			}
		}
	}
	if !isReported { // OpenCode removed it, or hides it
		o.TakenBack(conversation.Entry{Kind: conversation.Prompt, Offset: o.From - 1})
	}
	return next, nil
}

// entriesOf returns the entries of a message with its parts. open says that it is the last one of
// its session and may still grow: then entriesOf returns only those that will not change.
func entriesOf(message string, parts []part, open bool) (all []conversation.Entry) {
	m := gjson.Parse(message)
	role, created, completed := m.Get("role").Str, conversation.TokenCount(m.Get("time.created")), conversation.TokenCount(m.Get("time.completed"))
	if completed > 0 || m.Get("error").Exists() {
		open = false
	}
	id := fmt.Sprintf("%s.%d.%08x", role, created, textHash(parts))
	model := strings.Clone(cmp.Or(m.Get("modelID").Str, m.Get("model.modelID").Str))
	text := func(kind conversation.Kind, text string, at int64) {
		if text != "" {
			all = append(all, conversation.Entry{Kind: kind, Text: strings.Clone(text), ID: id, Time: conversation.TimeOfMillis(at)})
		}
	}
	if role == "user" {
		var asked []string
		for _, p := range parts {
			p := gjson.Parse(p.data)
			switch p.Get("type").Str {
			case "text":
				if !p.Get("synthetic").Bool() && !p.Get("ignored").Bool() {
					asked = append(asked, p.Get("text").Str)
				}
			case "file":
				if strings.HasPrefix(p.Get("mime").Str, "image/") {
					asked = append(asked, "[image]")
				}
			case "subtask": // a person's command that a subagent runs
				asked = append(asked, p.Get("prompt").Str)
			}
		}
		text(conversation.Prompt, strings.Join(asked, "\n"), created)
		return all
	}
	if role != "assistant" {
		return nil
	}
	answer := conversation.Answer
	if m.Get("summary").Bool() {
		answer = conversation.Summary
	}
	addTokens := func(tokens, cost gjson.Result, n int) {
		u := conversation.UsageOf(tokens, "input", "cache.read", "cache.write", "output")
		u.Output += conversation.TokenCount(tokens.Get("reasoning"))
		if cost.Num > 0 && cost.Num < 1e9 {
			u.Cost = cost.Num
		}
		if u != (conversation.Usage{}) {
			all = append(all, conversation.Entry{Kind: conversation.TokenUsage, Usage: u, Model: model, ID: fmt.Sprintf("%s.%d", id, n), Time: conversation.TimeOfMillis(created)})
		}
	}
	steps := 0
	for _, data := range parts {
		p := gjson.Parse(data.data)
		at, done := conversation.TokenCount(p.Get("time.start")), !open || p.Get("time.end").Exists()
		switch p.Get("type").Str {
		case "text":
			if !done {
				return all
			}
			if !p.Get("synthetic").Bool() && !p.Get("ignored").Bool() {
				text(answer, p.Get("text").Str, cmp.Or(at, created))
				if n := len(all); n > 0 && all[n-1].Kind == answer {
					all[n-1].Model = model
				}
			}
		case "reasoning":
			if !done {
				return all
			}
			text(conversation.Thought, p.Get("text").Str, cmp.Or(at, created))
		case "tool":
			state := p.Get("state")
			status := state.Get("status").Str
			if open && status == "pending" {
				return all // its arguments are incomplete
			}
			tool := strings.Clone(p.Get("tool").Str)
			all = append(all, conversation.Entry{Kind: conversation.Call, Tool: tool, Text: strings.Clone(conversation.CallText(state.Get("input"))), ID: id, Time: conversation.TimeOfMillis(cmp.Or(conversation.TokenCount(state.Get("time.start")), created))})
			kind := conversation.Result
			if tool == "question" {
				kind = conversation.Reply
			}
			result := conversation.Entry{Kind: kind, Tool: tool, ID: id, Time: conversation.TimeOfMillis(cmp.Or(conversation.TokenCount(state.Get("time.end")), created))}
			switch {
			case status == "completed":
				result.Text = strings.Clone(state.Get("output").Str)
				result.Failed = conversation.TokenCount(state.Get("metadata.exit")) > 0
			case status == "error":
				result.Text, result.Failed = strings.Clone(state.Get("error").Str), true
			case open:
				return all
			default:
				continue // the client ended before the tool
			}
			all = append(all, result)
		case "step-finish":
			addTokens(p.Get("tokens"), p.Get("cost"), steps)
			steps++
		}
	}
	if steps == 0 && !open { // early versions have the tokens only in the message
		addTokens(m.Get("tokens"), m.Get("cost"), 0)
	}
	return all
}

// splitMessage returns a message of OpenCode 2, of a type and with its data, as a message of OpenCode 1
// and its parts. What neither person nor agent said has no parts.
func splitMessage(kind, data string) (message string, parts []part) {
	parsed := gjson.Parse(data)
	converted := map[string]any{"role": kind, "time": parsed.Get("time").Value()}
	add := func(p map[string]any) {
		text, err := json.Marshal(p)
		if err == nil { // always: it comes from JSON
			parts = append(parts, part{fmt.Sprintf("%06d", len(parts)), string(text)})
		}
	}
	switch kind {
	case "user":
		add(map[string]any{"type": "text", "text": parsed.Get("text").Str})
		for _, f := range parsed.Get("files").Array() {
			add(map[string]any{"type": "file", "mime": f.Get("mime").Str})
		}
	case "assistant":
		converted["modelID"], converted["tokens"], converted["cost"] = parsed.Get("model.id").Str, parsed.Get("tokens").Value(), parsed.Get("cost").Value()
		if e := parsed.Get("error"); e.Exists() {
			converted["error"] = e.Value()
		}
		for _, p := range parsed.Get("content").Array() {
			if p.Get("type").Str != "tool" {
				if part, ok := p.Value().(map[string]any); ok {
					add(part)
				}
				continue
			}
			state, times := p.Get("state"), p.Get("time")
			var output []string
			for _, c := range state.Get("content").Array() {
				output = append(output, c.Get("text").Str)
			}
			add(map[string]any{"type": "tool", "tool": p.Get("name").Str, "callID": p.Get("id").Str, "state": map[string]any{
				"status": state.Get("status").Str, "input": state.Get("input").Value(), "output": strings.Join(output, "\n"),
				"error": state.Get("error.message").Str, "time": map[string]any{"start": times.Get("ran").Value(), "end": times.Get("completed").Value()},
			}})
		}
	case "compaction":
		at := parsed.Get("time.created").Value()
		converted["role"], converted["summary"], converted["time"] = "assistant", true, map[string]any{"created": at, "completed": at}
		add(map[string]any{"type": "text", "text": parsed.Get("summary").Str})
	case "shell": // a command of the person
		converted["role"] = "assistant"
		status := "running"
		if parsed.Get("time.completed").Exists() {
			status = "completed"
		}
		add(map[string]any{"type": "tool", "tool": "bash", "callID": parsed.Get("callID").Str, "state": map[string]any{
			"status": status, "input": map[string]any{"command": parsed.Get("command").Str}, "output": parsed.Get("output").Str,
		}})
	}
	text, err := json.Marshal(converted)
	if err != nil { // never: it comes from JSON
		return "", nil
	}
	return string(text), parts
}

// textHash tells messages of the same millisecond apart, such as those of several subagents.
// It hashes the first part with a text, which a fork does not change.
func textHash(parts []part) uint32 {
	h := fnv.New32a()
	for _, data := range parts {
		p := gjson.Parse(data.data)
		if says := cmp.Or(p.Get("text").Str, p.Get("callID").Str, p.Get("prompt").Str, p.Get("url").Str); says != "" {
			io.WriteString(h, says)
			break
		}
	}
	return h.Sum32()
}

// kinds are the types of the parts that OpenCode can write, and the roles of its messages.
var kinds = []string{
	"message.assistant", "message.user",
	"message.agent-switched", "message.location-switched", "message.model-switched", "message.synthetic", "message.system",
	"agent", "compaction", "file", "patch", "reasoning", "retry", "snapshot", "step-finish", "step-start", "subtask", "text", "tool",
}

// Unknown implements conversation.Classifier.
func (c *Reader) Unknown(f conversation.File, each func(kind string)) error {
	s, err := c.readSession(f)
	if err != nil || s == nil {
		return err
	}
	all, err := c.readMessages(f, s, 0)
	if err != nil {
		return err
	}
	for _, m := range all {
		message, parts, err := c.readParts(f, s, m)
		if err != nil {
			return err
		}
		found := []string{"message." + gjson.Get(message, "role").Str}
		for _, p := range parts {
			found = append(found, gjson.Get(p.data, "type").Str)
		}
		for _, kind := range found {
			if !slices.Contains(kinds, kind) {
				each(kind)
			}
		}
	}
	return nil
}
