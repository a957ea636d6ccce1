package history

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
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/client/account"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// gemini reads Gemini CLI's conversations, as 0.61.0 writes them and as older
// versions did:
//
//	<store>/tmp/<name>/chats/session-<minute>-<first of the id>.jsonl
//	<store>/tmp/<name>/chats/<id of the session>/<id>.jsonl    a subagent's
//	<store>/tmp/<hash>/chats/session-<minute>-<first of the id>.json
//
// name is short, and given out in <store>/projects.json; the hash is
// GeminiProject's.
type gemini struct{}

func (gemini) Client() string { return "gemini" }

// Stores are the folder that the environment names, and the usual one.
func (gemini) Stores(getenv func(string) string) []string {
	return account.Stores(account.Dirs(account.Places("gemini", getenv)), "tmp")
}

// Find lists the projects' folders.
func (gemini) Find(store string, each func(File)) error {
	return findGemini("gemini", store, each)
}

// findGemini lists what a client keeps as Gemini CLI does.
func findGemini(client, store string, each func(File)) error {
	projects, err := os.ReadDir(filepath.Join(store, "tmp"))
	if err != nil {
		return atomicfile.Error("read", filepath.Join(store, "tmp"), err)
	}
	// A client that gave a project a name copied what stood under its hash.
	slices.SortStableFunc(projects, func(a, b os.DirEntry) int {
		return cmp.Compare(len(a.Name())/hashLength, len(b.Name())/hashLength)
	})
	seen := map[string]bool{}
	var lost Unread
	for _, p := range projects {
		list := func(folder string, parent session.ID) (folders []string) {
			entries := lost.list(filepath.Join(store, "tmp", p.Name(), folder))
			for i, e := range entries {
				name, form := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())), filepath.Ext(e.Name())
				f := File{Client: client, Store: store, Path: filepath.Join(store, "tmp", p.Name(), folder, e.Name()), Parent: parent}
				if parent != "" {
					f.ID, _ = session.ParseID(name)
				}
				switch {
				case e.IsDir():
					folders = append(folders, e.Name())
				case form != ".json" && form != ".jsonl", parent == "" && !strings.HasPrefix(name, "session-"), parent != "" && f.ID == "":
				case i+1 < len(entries) && entries[i+1].Name() == e.Name()+"l":
					// What began as .json went on as .jsonl, with all that was in it.
				case len(p.Name()) != hashLength || !seen[folder+name]:
					seen[folder+name] = true
					geminiFile(f, &lost, each)
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
	return lost.Err()
}

// hashLength is how long a GeminiProject's name is.
const hashLength = 2 * sha256.Size

func geminiFile(f File, lost *Unread, each func(File)) {
	if info, ok := lost.file(f.Path); ok {
		f.Size, f.Changed = info.Size(), info.ModTime().UnixNano()
		each(f)
	}
}

// Look takes what the last records say where they say more than the first. A
// file in which nothing was said is one that the client leaves behind, beside
// the session's own, when it goes on without a person: it gives nothing.
func (gemini) Look(f File) (Facts, error) {
	l := geminiLook{facts: Facts{ID: f.ID, Parent: f.Parent}}
	var err error
	if strings.HasSuffix(f.Path, ".json") {
		err = l.document(f)
	} else {
		err = l.lines(f)
	}
	if err != nil || l.facts.ID == "" || !l.said && f.Size <= headMost {
		return Facts{}, err
	}
	facts := l.facts
	facts.Model = first(facts.Model, l.model)
	if facts.Last.IsZero() {
		facts.Last = time.Unix(0, f.Changed).UTC()
	}
	dir := filepath.Dir(filepath.Dir(f.Path))
	if f.Parent != "" {
		dir = filepath.Dir(dir)
	}
	var lost Unread
	if facts.CWD == "" {
		facts.CWD = geminiFolder(f.Store, dir, l.hash, l.paths, &lost)
	}
	facts.Headless = f.Parent == "" && !typed(dir, facts.ID, &lost)
	return facts, lost.Err()
}

// typed says whether a person typed something in a session: the client writes
// it into a file of its own, for the arrow key to bring it back.
func typed(dir string, id session.ID, lost *Unread) bool {
	logs, err := atomicfile.Read(filepath.Join(dir, "logs.json"), maxRecord)
	if lost.Add(err); err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return bytes.Contains(logs, []byte(`"`+string(id)+`"`))
}

// geminiLook is what Look found so far.
type geminiLook struct {
	facts Facts
	hash  string
	said  bool
	model string   // of the first answer
	paths []string // that were worked on, a few
}

// header takes what says something of the whole session. Where it stands again,
// the client went on.
func (l *geminiLook) header(v gjson.Result) {
	if id, err := session.ParseID(v.Get("sessionId").Str); err == nil && l.facts.ID == "" {
		l.facts.ID = session.ID(strings.Clone(string(id)))
	}
	keep(&l.hash, v.Get("projectHash").Str)
	if l.facts.Started.IsZero() {
		l.facts.Started = moment(v.Get("startTime").Str)
	}
	// A subagent's begin with the folders that it may work in.
	if dir := v.Get("directories.0").Str; l.facts.Parent != "" && filepath.IsAbs(dir) {
		keep(&l.facts.CWD, dir)
	}
}

// front takes a message from the beginning of a session.
func (l *geminiLook) front(m gjson.Result) {
	if l.facts.Started.IsZero() {
		l.facts.Started = moment(m.Get("timestamp").Str)
	}
	switch geminiKind(m.Get("type").Str) {
	case "user":
		if text := geminiAsked(m); text != "" && l.facts.Prompt == "" {
			l.said = true
			l.facts.Prompt, l.facts.First = beginning(text), strings.Clone(m.Get("id").Str)
		}
	case "gemini":
		l.said = true
		keep(&l.model, m.Get("model").Str)
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

// back takes a record from the end of a session, the last one first.
func (l *geminiLook) back(v gjson.Result) {
	set := v.Get("$set")
	if l.facts.Parent == "" { // a subagent's is what it came to
		keep(&l.facts.Title, beginning(first(set.Get("summary").Str, v.Get("summary").Str)))
	}
	for _, at := range []string{set.Get("lastUpdated").Str, v.Get("timestamp").Str} {
		if t := moment(at); t.After(l.facts.Last) {
			l.facts.Last = t
		}
	}
	if geminiKind(v.Get("type").Str) == "gemini" {
		l.said = true
		keep(&l.facts.Model, v.Get("model").Str)
	}
}

func (l *geminiLook) lines(f File) error {
	front := func(line []byte) {
		if !gjson.ValidBytes(line) {
			return
		}
		v := gjson.ParseBytes(line)
		if v.Get("id").Type == gjson.String {
			l.front(v)
			return
		}
		l.header(v)
		for _, list := range []gjson.Result{v.Get("messages"), v.Get("$set.messages")} {
			list.ForEach(func(_, m gjson.Result) bool {
				l.front(m)
				return true
			})
		}
	}
	begun := func() bool { return l.facts.Prompt != "" && l.facts.ID != "" }
	err := Ends(f.Path, func(line []byte, whole bool) bool {
		if whole {
			front(line)
		}
		return whole && (!begun() || l.model == "" || l.facts.CWD == "" && len(l.paths) == 0)
	}, func(line []byte) bool {
		if gjson.ValidBytes(line) {
			l.back(gjson.ParseBytes(line))
		}
		return true
	})
	if err == nil && !begun() && f.Size > end {
		_, err = Lines(f.Path, 0, func(line []byte, at int64) bool {
			front(line)
			return !begun() && at < headMost
		})
	}
	return err
}

// document looks at the form that is one JSON object: at all of it where it is
// small, else at its beginning, and at its end by its lines, which are as
// JavaScript indents them.
func (l *geminiLook) document(f File) error {
	last := gjson.Result{}
	err := geminiDocument(f.Path, maxRecord, func(key string, v gjson.Result) {
		switch key {
		case "summary":
			l.facts.Title = beginning(v.Str)
		case "lastUpdated":
			l.facts.Last = moment(v.Str)
		default:
			l.header(gjson.Parse(`{"` + key + `":` + v.Raw + `}`))
		}
	}, func(raw []byte, at int64) bool {
		m := gjson.ParseBytes(raw)
		l.front(m)
		if geminiKind(m.Get("type").Str) == "gemini" {
			last = gjson.Parse(strings.Clone(m.Raw))
		}
		return at < headMost
	})
	if err != nil {
		return err
	}
	keep(&l.facts.Model, last.Get("model").Str)
	if f.Size <= headMost {
		return nil
	}
	return Ends(f.Path, func([]byte, bool) bool { return false }, func(line []byte) bool {
		// A message's own keys are indented by six, the document's by two.
		switch depth := len(line) - len(bytes.TrimLeft(line, " ")); {
		case depth == 2:
			if v := gjson.Parse("{" + string(bytes.TrimRight(line, ",")) + "}").Get("summary"); v.Str != "" {
				l.facts.Title = beginning(v.Str)
			}
		case depth == 6 && bytes.HasPrefix(line[6:], []byte(`"model": "`)):
			l.facts.Model = strings.Clone(gjson.Parse("{" + string(bytes.TrimRight(line, ",")) + "}").Get("model").Str)
			return false
		}
		return true
	})
}

// GeminiProject returns what Gemini CLI calls a folder in its files: the SHA-256
// of its absolute path, in which links are resolved as far as it still exists.
func GeminiProject(dir string) (string, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; {
		if target, err := filepath.EvalSymlinks(at); err == nil {
			path = filepath.Join(target, rest)
			break
		}
		up := filepath.Dir(at)
		if up == at {
			break
		}
		at, rest = up, filepath.Join(filepath.Base(at), rest)
	}
	return geminiHash(path), nil
}

func geminiHash(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:])
}

// geminiFolder returns the folder that a session of a project works in: what
// the project's own file says, what the list of projects says, or else which of
// the paths that are known has the hash, of those that the session worked on
// and all above them. "" where nothing does.
func geminiFolder(store, dir, hash string, paths []string, lost *Unread) string {
	root, err := atomicfile.Read(filepath.Join(dir, ".project_root"), 16<<10)
	lost.Add(err)
	if path := strings.TrimSpace(string(root)); filepath.IsAbs(path) {
		return path
	}
	if hash == "" {
		hash = filepath.Base(dir)
	}
	folder := ""
	for _, place := range [][2]string{{"projects.json", "projects"}, {"trustedFolders.json", "@this"}} {
		file, key := place[0], place[1]
		data, err := atomicfile.Read(filepath.Join(store, file), 4<<20)
		if lost.Add(err); err != nil || !gjson.ValidBytes(data) {
			continue
		}
		gjson.GetBytes(data, key).ForEach(func(path, name gjson.Result) bool {
			if filepath.IsAbs(path.Str) && (key == "projects" && name.Str == filepath.Base(dir) || geminiHash(path.Str) == hash) {
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
			if geminiHash(path) == hash {
				return path
			}
		}
	}
	return ""
}

// Read gives the messages that the conversation has at its end: each once, in
// its last state, and without those that the person took back. What was
// compacted, or lost by the client when it went on, stays. Tokens were spent on
// what was taken back, too.
//
// It reads the file twice: first for where the messages are.
func (gemini) Read(f File, o Options, each func(Entry) bool) (int64, error) {
	log, err := geminiScan(f.Path, o.From)
	if err != nil {
		return o.From, err
	}
	file, err := atomicfile.Open(f.Path)
	if err != nil {
		return o.From, err
	}
	defer file.Close()

	var buf []byte
	load := func(p geminiPlace) gjson.Result {
		if p.size == 0 {
			return gjson.Result{}
		}
		buf = slices.Grow(buf[:0], int(p.size))[:p.size]
		if _, err := file.ReadAt(buf, p.at); err != nil || !gjson.ValidBytes(buf) {
			return gjson.Result{} // it was replaced meanwhile
		}
		return gjson.ParseBytes(buf)
	}
	// What a call came to stands with it, and again in the message that told
	// the model.
	calls := map[uint64]bool{}
	more := true
	for i, m := range log.messages {
		if m.state == geminiCopy {
			continue
		}
		if m.last.line < o.From {
			// The message before what is new tells of its calls.
			if i+1 < len(log.messages) && log.messages[i+1].last.line >= o.From {
				geminiEntries(load(m.last), m, calls, func(Entry) bool { return true })
			}
			continue
		}
		v := load(m.last)
		if o.Skip != nil && m.state != geminiGone && m.kind != "user" && o.Skip(buf) {
			continue
		}
		before := map[Entry]bool{}
		if m.old.size > 0 {
			raw := slices.Clone(buf)
			geminiEntries(load(m.old), m, map[uint64]bool{}, func(e Entry) bool {
				before[geminiSame(e)] = true
				return true
			})
			v = gjson.ParseBytes(raw)
		}
		geminiEntries(v, m, calls, func(e Entry) bool {
			if more && !before[geminiSame(e)] {
				more = each(e)
			}
			return more
		})
		if !more {
			// What is left was written elsewhere, perhaps before this one.
			next := log.next
			for _, m := range log.messages[i+1:] {
				switch {
				case m.state == geminiCopy || m.last.line < o.From:
				case m.first >= o.From:
					next = min(next, m.first)
				default:
					next = min(next, m.last.line)
				}
			}
			return next, nil
		}
	}
	return log.next, nil
}

// geminiSame is what makes two entries of a message the same.
func geminiSame(e Entry) Entry { return Entry{Kind: e.Kind, Text: e.Text, Tool: e.Tool} }

// geminiEntries calls each for what a message says.
func geminiEntries(m gjson.Result, info geminiMessage, calls map[uint64]bool, each func(Entry) bool) {
	e := Entry{Time: moment(m.Get("timestamp").Str), ID: strings.Clone(m.Get("id").Str), At: info.last.line}
	ok := true
	give := func(kind Kind, text string) {
		e.Kind, e.Text = kind, text
		if ok && (text != "" || kind == Call) {
			ok = each(e)
		}
	}
	parts := func(key string, do func(p gjson.Result)) {
		m.Get("content").ForEach(func(_, p gjson.Result) bool {
			if v := p.Get(key); v.Exists() {
				do(v)
			}
			return ok
		})
	}
	switch info.kind {
	case "user":
		if info.state == geminiGone {
			return
		}
		results := 0
		if m.Get("content").IsArray() {
			parts("functionResponse", func(r gjson.Result) {
				results++
				if id := r.Get("id").Str; !calls[geminiKey(id)] || id == "" {
					e.Tool = strings.Clone(r.Get("name").Str)
					give(Result, geminiOutput(r.Get("response")))
				}
			})
		}
		e.Tool = ""
		switch text := geminiAsked(m); {
		case info.summary:
			give(Summary, text)
		case results > 0:
			give(Reply, text)
		default:
			give(Prompt, text)
		}
	case "gemini":
		e.Model = strings.Clone(m.Get("model").Str)
		if t := m.Get("tokens"); t.IsObject() {
			e.Kind = Spent
			e.Usage = Usage{
				Input:     max(0, count(t.Get("input"))-count(t.Get("cached"))) + count(t.Get("tool")),
				CacheRead: count(t.Get("cached")),
				Output:    count(t.Get("output")) + count(t.Get("thoughts")),
			}
			ok = each(e)
			e.Usage = Usage{}
		}
		if info.state == geminiGone {
			return
		}
		m.Get("thoughts").ForEach(func(_, t gjson.Result) bool {
			give(Thought, strings.TrimSpace(t.Get("subject").Str+"\n"+t.Get("description").Str))
			return ok
		})
		give(Answer, strings.TrimSpace(geminiText(m.Get("content"))))
		list := m.Get("toolCalls")
		list.ForEach(func(_, c gjson.Result) bool {
			if at := moment(c.Get("timestamp").Str); !at.IsZero() {
				e.Time = at
			}
			e.Tool = strings.Clone(c.Get("name").Str)
			give(Call, arguments(c.Get("args")))
			results := c.Get("result")
			if results.Exists() && results.Type != gjson.Null {
				calls[geminiKey(c.Get("id").Str)] = true
			}
			e.Failed = c.Get("status").Str == "error"
			if results.Type == gjson.String {
				give(Result, results.Str)
			}
			for _, r := range results.Array() {
				give(Result, geminiOutput(r.Get("functionResponse.response")))
			}
			e.Failed = false
			return ok
		})
		if m.Get("content").IsArray() && len(list.Array()) == 0 {
			parts("functionCall", func(c gjson.Result) {
				e.Tool = strings.Clone(c.Get("name").Str)
				give(Call, arguments(c.Get("args")))
			})
		}
	}
}

// geminiOutput is what a tool answered.
func geminiOutput(response gjson.Result) string {
	text := ""
	if output := first(response.Get("output").String(), response.Get("error").String()); output != "" {
		text = output
	} else if response.IsObject() && len(response.Map()) > 0 {
		text = response.Raw
	}
	text = strings.TrimPrefix(text, "<untrusted_context>\n")
	return strings.TrimSuffix(text, "\n</untrusted_context>")
}

// geminiText is the words of a message's content, which is a text, a part or a
// list of either.
func geminiText(content gjson.Result) string {
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
				text := geminiText(p)
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

// geminiInjected is what the client says in the person's name.
var geminiInjected = []string{
	"<session_context>", "This is the Gemini CLI. We are setting up the context",
	"Here is the user's editor context", "Here is a summary of changes in the user's editor context",
	"System: Please continue.", "You have stopped calling tools without finishing.",
}

// geminiAsked is what the person said in a message: as they typed it, where the
// client put files in its place.
func geminiAsked(m gjson.Result) string {
	if text := strings.TrimSpace(geminiText(m.Get("displayContent"))); text != "" {
		return text
	}
	return geminiSaid(geminiText(m.Get("content")))
}

// geminiSaid is a text without what the client and its hooks put before and
// behind it.
func geminiSaid(text string) string {
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
	for _, own := range geminiInjected {
		if strings.HasPrefix(text, own) {
			return ""
		}
	}
	text, _, _ = strings.Cut(text, "\n--- Content from referenced files ---")
	return text
}
