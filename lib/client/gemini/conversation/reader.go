// Package gemini reads the conversations of Gemini CLI 0.61.0 and older versions:
//
//	<store>/tmp/<name>/chats/session-<minute>-<first of the id>.jsonl
//	<store>/tmp/<name>/chats/<id of the session>/<id>.jsonl    a subagent's
//	<store>/tmp/<hash>/chats/session-<minute>-<first of the id>.json
//
// name is short and assigned in <store>/projects.json; the hash is Project's.
package gemini

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

type Reader struct{}

func (Reader) Client() string { return "gemini" }

func (Reader) Find(store string, each func(conversation.File)) error {
	return FindIn("gemini", store, each)
}

// FindIn is Find for any client that uses Gemini CLI's format.
func FindIn(client, store string, each func(conversation.File)) error {
	projects, err := conversation.List(filepath.Join(store, "tmp"))
	if err != nil {
		return err
	}
	// When the client gave a project a name, it copied the files under its hash. Names are shorter:
	// they come first, and a file under a hash that was seen under a name is left out.
	sort.SliceStable(projects, func(i, j int) bool {
		return len(projects[i].Name())/hashLength < len(projects[j].Name())/hashLength
	})
	seen := map[string]bool{}
	found := conversation.NewFinding(client, store, each)
	for _, p := range projects {
		// list gives the conversations in a folder of the project, and returns its subfolders.
		list := func(folder string, parent session.ID) (folders []string) {
			dir := filepath.Join(store, "tmp", p.Name(), folder)
			entries := found.List(dir)
			for i, e := range entries {
				name, form := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
				f := conversation.File{Path: filepath.Join(dir, e.Name()), Parent: parent}
				if parent != "" {
					f.ID, _ = session.ParseID(name)
				}
				switch {
				case e.IsDir():
					folders = append(folders, e.Name())
				case form != ".json" && form != ".jsonl", parent == "" && !strings.HasPrefix(name, "session-"), parent != "" && f.ID == "":
				case i+1 < len(entries) && entries[i+1].Name() == e.Name()+"l":
					// The client converted .json to .jsonl, with all its content.
				case len(p.Name()) != hashLength || !seen[folder+name]:
					seen[folder+name] = true
					found.GiveFile(f)
				}
			}
			return folders
		}
		for _, name := range list("chats", "") {
			if parent, err := session.ParseID(name); err == nil {
				list(filepath.Join("chats", name), parent)
			}
		}
	}
	return found.Err()
}

const hashLength = 2 * sha256.Size

// Metadata prefers the last records to the first. A file without messages is one that the
// client leaves beside the session's own when it resumes without a person; Metadata
// returns nothing for it.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	reader := metadataReader{facts: conversation.Metadata{ID: f.ID, Parent: f.Parent}}
	var err error
	if strings.HasSuffix(f.Path, ".json") {
		err = reader.readDocument(f)
	} else {
		err = reader.readLines(f)
	}
	if err != nil || reader.facts.ID == "" || !reader.hasMessages && f.Size <= conversation.MaxFront {
		return conversation.Metadata{}, err
	}
	facts := reader.facts
	facts.Model = cmp.Or(facts.Model, reader.model)
	conversation.SetTimeIfZero(&facts.Last, time.Unix(0, f.Changed).UTC())
	dir := filepath.Dir(filepath.Dir(f.Path))
	if f.Parent != "" {
		dir = filepath.Dir(dir)
	}
	var lost conversation.ReadErrors
	if facts.CWD == "" {
		facts.CWD = folderOf(f.Store, dir, reader.hash, reader.paths, &lost)
	}
	facts.Headless = f.Parent == "" && !HasTyped(dir, facts.ID, &lost)
	return facts, lost.Err()
}

// HasTyped reports whether a person typed something in a session. The client records that in a
// separate file, for its arrow-key history. If that is there but cannot be read, it returns true.
func HasTyped(dir string, id session.ID, lost *conversation.ReadErrors) bool {
	logs, err := atomicfile.Read(filepath.Join(dir, "logs.json"), conversation.MaxRecord)
	if lost.Add(err); err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return bytes.Contains(logs, []byte(`"`+string(id)+`"`))
}

type metadataReader struct {
	facts       conversation.Metadata
	hash        string
	hasMessages bool
	model       string   // of the first answer
	paths       []string // some paths that the session worked on
}

// addHeader adds a record about the whole session. The client writes another one when it
// resumes.
func (l *metadataReader) addHeader(v gjson.Result) {
	l.facts.ID = cmp.Or(l.facts.ID, conversation.IDOf(v.Get("sessionId")))
	conversation.SetIfEmpty(&l.hash, v.Get("projectHash").Str)
	conversation.SetTimeIfZero(&l.facts.Started, conversation.ParseTime(v.Get("startTime").Str))
	// A subagent's header has the folders that it may work in.
	if dir := v.Get("directories.0").Str; l.facts.Parent != "" && filepath.IsAbs(dir) {
		conversation.SetIfEmpty(&l.facts.CWD, dir)
	}
}

// addFromStart adds a message from the front, in order: what begins the session, and some paths.
func (l *metadataReader) addFromStart(m gjson.Result) {
	conversation.SetTimeIfZero(&l.facts.Started, conversation.ParseTime(m.Get("timestamp").Str))
	switch kindOf(m.Get("type").Str) {
	case "user":
		if text := personText(m); text != "" && l.facts.Prompt == "" {
			l.hasMessages = true
			l.facts.Prompt = conversation.PromptExcerpt(text)
			conversation.SetIfEmpty(&l.facts.FirstID, m.Get("id").Str)
		}
	case "gemini":
		l.hasMessages = true
		conversation.SetIfEmpty(&l.model, m.Get("model").Str)
	}
	if len(l.paths) < 64 {
		m.Get("toolCalls").ForEach(func(_, c gjson.Result) bool {
			c.Get("args").ForEach(func(_, v gjson.Result) bool {
				if v.Type == gjson.String && filepath.IsAbs(v.Str) && len(v.Str) < 4096 {
					l.paths = append(l.paths, strings.Clone(v.Str))
				}
				return len(l.paths) < 64
			})
			return len(l.paths) < 64
		})
	}
}

// addFromEnd adds a record from the end of a session, the last one first.
func (l *metadataReader) addFromEnd(v gjson.Result) {
	set := v.Get("$set")
	if l.facts.Parent == "" { // a subagent's summary is its result
		conversation.SetIfEmpty(&l.facts.Title, conversation.Excerpt(cmp.Or(set.Get("summary").Str, v.Get("summary").Str)))
	}
	for _, at := range []string{set.Get("lastUpdated").Str, v.Get("timestamp").Str} {
		if t := conversation.ParseTime(at); t.After(l.facts.Last) {
			l.facts.Last = t
		}
	}
	if kindOf(v.Get("type").Str) == "gemini" {
		l.hasMessages = true
		conversation.SetIfEmpty(&l.facts.Model, v.Get("model").Str)
	}
}

// readLines reads both ends of a file, and more of its front until it has the first prompt.
func (l *metadataReader) readLines(f conversation.File) error {
	front := func(line []byte) {
		if !gjson.ValidBytes(line) {
			return
		}
		v := gjson.ParseBytes(line)
		if v.Get("id").Type == gjson.String {
			l.addFromStart(v)
			return
		}
		l.addHeader(v)
		for _, list := range []gjson.Result{v.Get("messages"), v.Get("$set.messages")} {
			list.ForEach(func(_, m gjson.Result) bool {
				l.addFromStart(m)
				return true
			})
		}
	}
	begun := func() bool { return l.facts.Prompt != "" && l.facts.ID != "" }
	err := conversation.Ends(f.Path, func(line []byte, whole bool) bool {
		if whole {
			front(line)
		}
		return whole && (!begun() || l.model == "" || l.facts.CWD == "" && len(l.paths) == 0)
	}, func(line []byte) bool {
		if gjson.ValidBytes(line) {
			l.addFromEnd(gjson.ParseBytes(line))
		}
		return true
	})
	if err == nil && !begun() && f.Size > conversation.EndSize {
		_, err = conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
			front(line)
			return !begun() && at < conversation.MaxFront
		})
	}
	return err
}

// readDocument reads the format that is one JSON object: all of a small file, else its
// beginning and, at its end, lines as JavaScript indents them.
func (l *metadataReader) readDocument(f conversation.File) error {
	last := gjson.Result{}
	err := conversation.ReadDocument(f.Path, conversation.MaxRecord, func(key string, v gjson.Result) {
		switch key {
		case "summary":
			l.facts.Title = conversation.Excerpt(v.Str)
		case "lastUpdated":
			l.facts.Last = conversation.ParseTime(v.Str)
		default:
			l.addHeader(gjson.Parse(`{"` + key + `":` + v.Raw + `}`))
		}
	}, func(raw []byte, at int64) bool {
		m := gjson.ParseBytes(raw) // raw is nil for one that is too long
		l.addFromStart(m)
		if kindOf(m.Get("type").Str) == "gemini" {
			last = gjson.Parse(strings.Clone(m.Raw))
		}
		return at < conversation.MaxFront
	})
	if err != nil {
		return err
	}
	conversation.SetIfEmpty(&l.facts.Model, last.Get("model").Str)
	if f.Size <= conversation.MaxFront {
		return nil
	}
	return conversation.Ends(f.Path, func([]byte, bool) bool { return false }, func(line []byte) bool {
		// A message's own keys are indented by six, the document's by two.
		switch depth := len(line) - len(bytes.TrimLeft(line, " ")); {
		case depth == 2:
			if v := gjson.Parse("{" + string(bytes.TrimRight(line, ",")) + "}").Get("summary"); v.Str != "" {
				l.facts.Title = conversation.Excerpt(v.Str)
			}
		case depth == 6 && bytes.HasPrefix(line[6:], []byte(`"model": "`)):
			l.facts.Model = strings.Clone(gjson.Parse("{" + string(bytes.TrimRight(line, ",")) + "}").Get("model").Str)
			return false
		}
		return true
	})
}

// Project returns Gemini CLI's name for a folder in its files: the hash of its real path.
func Project(dir string) (string, error) {
	root, err := RealPath(dir)
	if err != nil {
		return "", err
	}
	return HashPath(root), nil
}

// RealPath returns the absolute path of a folder, without links as far as it exists.
func RealPath(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return place.Real(path), nil
}

// FolderFinder compares the folders' hashes with the name of the conversation's folder.
func (Reader) FolderFinder(dirs []string) func(conversation.File) string {
	dirByHash := map[string]string{}
	for _, dir := range dirs {
		if hash, err := Project(dir); err == nil {
			dirByHash[hash] = dir
		}
	}
	return func(f conversation.File) string {
		dir := filepath.Dir(filepath.Dir(f.Path))
		if f.Parent != "" {
			dir = filepath.Dir(dir)
		}
		return dirByHash[filepath.Base(dir)]
	}
}

func HashPath(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:])
}

// folderOf returns the working folder of a project's session: from the project's own
// file, from the list of projects, or else the known path that has the hash. The known
// paths are those that the session worked on and their parents. It returns "" if there is
// none.
func folderOf(store, dir, hash string, paths []string, lost *conversation.ReadErrors) string {
	root, err := atomicfile.Read(filepath.Join(dir, ".project_root"), 16<<10)
	lost.Add(err)
	if path := strings.TrimSpace(string(root)); filepath.IsAbs(path) {
		return path
	}
	hash = cmp.Or(hash, filepath.Base(dir))
	folder := ""
	for _, place := range [][2]string{{"projects.json", "projects"}, {"trustedFolders.json", "@this"}} {
		file, key := place[0], place[1]
		all, err := conversation.ReadJSON(filepath.Join(store, file), 4<<20)
		lost.Add(err)
		all.Get(key).ForEach(func(path, name gjson.Result) bool {
			if filepath.IsAbs(path.Str) && (key == "projects" && name.Str == filepath.Base(dir) || HashPath(path.Str) == hash) {
				folder = path.Str
			}
			return folder == ""
		})
		if folder != "" {
			return strings.Clone(folder)
		}
	}
	for _, path := range paths {
		for path = filepath.Clean(path); len(path) > 1; path = filepath.Dir(path) {
			if HashPath(path) == hash {
				return path
			}
		}
	}
	return ""
}

// Read gives the messages that the conversation has at its end, each once in its last
// version, without those that the person took back. Messages that were compacted, or that
// the client lost when it resumed, stay. The tokens of messages that were taken back
// count.
//
// It reads the file twice, first to find the messages.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	log, err := scanFile(f.Path, o.From)
	if err != nil {
		return o.From, err
	}
	file, err := atomicfile.Open(f.Path)
	if err != nil {
		return o.From, err
	}
	defer file.Close()

	messages := messageFile{file: file}
	// A call's result is in the call, and again in the message that gave it to the model.
	calls := map[uint64]bool{}
	for i, m := range log.messages {
		if m.state == duplicate {
			continue
		}
		if m.state == takenBack && m.kind == "user" && o.TakenBack != nil && (m.last.line >= o.From || m.goneAt >= o.From) {
			v := messages.load(m.last)
			if text := personText(v); text != "" {
				o.TakenBack(conversation.Entry{Kind: conversation.Prompt, Text: text, ID: strings.Clone(v.Get("id").Str), Offset: m.last.line})
			}
		}
		if m.last.line < o.From {
			// Only notes the calls with a result: the first new message repeats these results.
			if i+1 < len(log.messages) && log.messages[i+1].last.line >= o.From {
				entriesOf(messages.load(m.last), m, calls)
			}
			continue
		}
		v := messages.load(m.last)
		if o.Skip != nil && m.state != takenBack && m.kind != "user" && o.Skip(messages.buf) {
			continue
		}
		before := map[conversation.Entry]bool{}
		if m.old.size > 0 { // an earlier Read gave the entries of the version before
			for _, e := range entriesOf(messages.load(m.old), m, map[uint64]bool{}) {
				before[sameEntry(e)] = true
			}
			v = messages.load(m.last)
		}
		for _, e := range entriesOf(v, m, calls) {
			if !before[sameEntry(e)] && !each(e) {
				return log.nextUnread(i + 1), nil
			}
		}
	}
	return log.next, nil
}

// Skipped counts the messages that are too long, and those after MaxMessages.
func (Reader) Skipped(f conversation.File) (int, error) {
	log, err := scanFile(f.Path, 0)
	return log.skipped, err
}

// nextUnread returns where the next Read begins if the messages from i on were not read: at the
// first of their records that this Read should have given, which may come before message i.
func (l *log) nextUnread(i int) int64 {
	next := l.next
	for _, m := range l.messages[i:] {
		switch {
		case m.state == duplicate || m.last.line < l.from:
		case m.first >= l.from:
			next = min(next, m.first)
		default:
			next = min(next, m.last.line)
		}
	}
	return next
}

type messageFile struct {
	file *os.File
	buf  []byte // the last message
}

// load returns a message, which is valid until the next call.
func (f *messageFile) load(p position) gjson.Result {
	if p.size == 0 {
		return gjson.Result{}
	}
	f.buf = slices.Grow(f.buf[:0], int(p.size))[:p.size]
	if _, err := f.file.ReadAt(f.buf, p.at); err != nil || !gjson.ValidBytes(f.buf) {
		return gjson.Result{} // the file was replaced meanwhile
	}
	return gjson.ParseBytes(f.buf)
}

// sameEntry returns the fields that identify an entry within its message.
func sameEntry(e conversation.Entry) conversation.Entry {
	return conversation.Entry{Kind: e.Kind, Text: e.Text, Tool: e.Tool}
}

// entriesOf returns the entries of a message. It adds to calls those whose result it has.
func entriesOf(m gjson.Result, info message, calls map[uint64]bool) []conversation.Entry {
	g := giver{
		entry: conversation.Entry{Time: conversation.ParseTime(m.Get("timestamp").Str), ID: strings.Clone(m.Get("id").Str), Offset: info.last.line},
		calls: calls,
	}
	switch {
	case info.kind == "user" && info.state != takenBack:
		g.giveUser(m, info.summary)
	case info.kind == "gemini":
		g.entry.Model = strings.Clone(m.Get("model").Str)
		g.giveUsage(m.Get("tokens"))
		if info.state != takenBack {
			g.giveAnswers(m)
		}
	}
	return g.all
}

type giver struct {
	entry conversation.Entry // the fields of the next entry
	calls map[uint64]bool    // calls whose result was given
	all   []conversation.Entry
}

func (g *giver) giveEntry(kind conversation.Kind, text string) {
	g.entry.Kind, g.entry.Text = kind, text
	if text != "" || kind == conversation.Call {
		g.all = append(g.all, g.entry)
	}
}

// eachPart calls do with the values of a key in a message's parts.
func (g *giver) eachPart(m gjson.Result, key string, do func(gjson.Result)) {
	m.Get("content").ForEach(func(_, p gjson.Result) bool {
		if v := p.Get(key); v.Exists() {
			do(v)
		}
		return true
	})
}

// giveUser gives a user message. Results of calls come in one, too; a text beside them is a Reply.
func (g *giver) giveUser(m gjson.Result, summary bool) {
	results := 0
	if m.Get("content").IsArray() {
		g.eachPart(m, "functionResponse", func(r gjson.Result) {
			results++
			if id := r.Get("id").Str; !g.calls[conversation.HashID(id)] || id == "" {
				g.entry.Tool = strings.Clone(r.Get("name").Str)
				g.giveEntry(conversation.Result, ResponseText(r.Get("response")))
			}
		})
	}
	g.entry.Tool = ""
	switch text := personText(m); {
	case summary:
		g.giveEntry(conversation.Summary, text)
	case results > 0:
		g.giveEntry(conversation.Reply, text)
	default:
		g.giveEntry(conversation.Prompt, text)
	}
}

// giveUsage gives a request's tokens. Cached ones are in its input; tool and thoughts are apart.
func (g *giver) giveUsage(tokens gjson.Result) {
	if !tokens.IsObject() {
		return
	}
	count := func(key string) int64 { return conversation.TokenCount(tokens.Get(key)) }
	e := g.entry
	e.Kind = conversation.TokenUsage
	e.Usage = conversation.Usage{
		Input:     max(0, count("input")-count("cached")) + count("tool"),
		CacheRead: count("cached"),
		Output:    count("output") + count("thoughts"),
	}
	g.all = append(g.all, e)
}

// giveAnswers gives what the model said in a message: thoughts, text, and calls with their results.
func (g *giver) giveAnswers(m gjson.Result) {
	m.Get("thoughts").ForEach(func(_, t gjson.Result) bool {
		g.giveEntry(conversation.Thought, strings.TrimSpace(t.Get("subject").Str+"\n"+t.Get("description").Str))
		return true
	})
	g.giveEntry(conversation.Answer, strings.TrimSpace(PartsText(m.Get("content"))))
	list := m.Get("toolCalls")
	list.ForEach(func(_, c gjson.Result) bool {
		g.giveCall(c)
		return true
	})
	// Without toolCalls, the calls are in the content.
	if m.Get("content").IsArray() && len(list.Array()) == 0 {
		g.eachPart(m, "functionCall", func(c gjson.Result) {
			g.entry.Tool = strings.Clone(c.Get("name").Str)
			g.giveEntry(conversation.Call, conversation.Arguments(c.Get("args")))
		})
	}
}

// giveCall gives a call with its results, and notes its id: the next user message repeats them.
func (g *giver) giveCall(c gjson.Result) {
	if at := conversation.ParseTime(c.Get("timestamp").Str); !at.IsZero() {
		g.entry.Time = at
	}
	g.entry.Tool = strings.Clone(c.Get("name").Str)
	g.giveEntry(conversation.Call, conversation.Arguments(c.Get("args")))
	results := c.Get("result")
	if results.Exists() && results.Type != gjson.Null {
		g.calls[conversation.HashID(c.Get("id").Str)] = true
	}
	g.entry.Failed = c.Get("status").Str == "error"
	if results.Type == gjson.String {
		g.giveEntry(conversation.Result, results.Str)
	}
	for _, r := range results.Array() {
		g.giveEntry(conversation.Result, ResponseText(r.Get("functionResponse.response")))
	}
	g.entry.Failed = false
}

// ResponseText returns the text of a tool's response.
func ResponseText(response gjson.Result) string {
	text := ""
	if output := cmp.Or(response.Get("output").String(), response.Get("error").String()); output != "" {
		text = output
	} else if response.IsObject() && len(response.Map()) > 0 {
		text = response.Raw
	}
	text = strings.TrimPrefix(text, "<untrusted_context>\n")
	return strings.TrimSuffix(text, "\n</untrusted_context>")
}

// PartsText returns the text of a message's content, which is a text, a part or a list of
// either.
func PartsText(content gjson.Result) string {
	switch {
	case content.Type == gjson.String:
		return content.Str
	case content.IsObject():
		if content.Get("thought").Bool() {
			return ""
		}
		return content.Get("text").Str
	case content.IsArray():
		var b strings.Builder
		content.ForEach(func(_, p gjson.Result) bool {
			if p.Type == gjson.String || p.IsObject() {
				text := PartsText(p) // not a hook's, unless it is all (see StripInjected)
				if !strings.HasPrefix(strings.TrimSpace(text), "<hook_context>") || content.Get("#").Int() == 1 {
					b.WriteString(text)
				}
			}
			return true
		})
		return b.String()
	}
	return ""
}

var injected = []string{
	"<session_context>", "This is the Gemini CLI. We are setting up the context",
	"Here is the user's editor context", "Here is a summary of changes in the user's editor context",
	"System: Please continue.", "You have stopped calling tools without finishing.",
}

// personText returns the person's text in a message: what they typed, if the client inserted
// files into it.
func personText(m gjson.Result) string {
	if text := strings.TrimSpace(PartsText(m.Get("displayContent"))); text != "" {
		return text
	}
	return StripInjected(PartsText(m.Get("content")))
}

// StripInjected removes what the client and its hooks put before and after the person's
// text.
func StripInjected(text string) string {
	text = strings.TrimSpace(text)
	for _, tag := range []string{"hook_context", "system-reminder"} {
		for strings.HasPrefix(text, "<"+tag+">") {
			_, after, found := strings.Cut(text, "</"+tag+">")
			if !found {
				return ""
			}
			text = strings.TrimSpace(after)
		}
	}
	if slices.ContainsFunc(injected, func(own string) bool { return strings.HasPrefix(text, own) }) {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n--- Content from referenced files ---")
	return text
}

// TurnStopped looks for what Gemini CLI 0.61 writes when the person presses Esc or denies
// permission: "Request cancelled.", or a cancelled call once its hook has ended.
func (Reader) TurnStopped(path string, after time.Time) (time.Time, activity.Reason) {
	return conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		stopped = v.Get("type").Str == "info" && v.Get("content").Str == "Request cancelled." ||
			v.Get(`toolCalls.#(status=="cancelled")`).Exists() ||
			strings.HasPrefix(v.Get("content.0.functionResponse.response.error").Str, "[Operation Cancelled]")
		return stopped, v.Get("type").Str == "gemini"
	}), activity.Done
}

// kinds are the types of messages that Gemini CLI and the first versions of Qwen Code can
// write, and the first keys of the other records.
var kinds = []string{"$rewindTo", "$set", "error", "gemini", "info", "kind", "qwen", "sessionId", "user", "warning"}

func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	if !strings.HasSuffix(f.Path, ".json") {
		return conversation.UnknownLines(f.Path, kinds, typeOf, each)
	}
	return conversation.ReadDocument(f.Path, 0, nil, func(raw []byte, _ int64) bool {
		if kind := typeOf(raw); raw != nil && !slices.Contains(kinds, kind) {
			each(kind)
		}
		return true
	})
}

// typeOf returns a record's type. One without a type, such as {"$set": …}, is named by its first key.
func typeOf(record []byte) (kind string) {
	v := gjson.ParseBytes(record)
	if kind = v.Get("type").Str; kind == "" {
		v.ForEach(func(key, _ gjson.Result) bool {
			kind = key.Str
			return false
		})
	}
	return kind
}
