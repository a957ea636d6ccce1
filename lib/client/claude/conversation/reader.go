// Package claude reads Claude Code's transcripts, as 2.1.197 and 2.1.329 write them:
//
//	<store>/projects/<folder>/<id>.jsonl
//	<store>/projects/<folder>/<id>/subagents/agent-<id>.jsonl
//	<store>/projects/<folder>/agent-<id>.jsonl   a subagent's, of older versions
//
// The folder's name is made from the path that the session began in, and cannot
// be turned back; a folder that was renamed keeps its sessions under its old
// name. So the path is read from the records.
package claude

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Reader is the conversation.Reader of Claude Code.
type Reader struct{}

func (Reader) Client() string { return "claude" }

// Stores are the config folder of the environment, the usual one, and those of
// other accounts, which people keep beside it.
func (Reader) Stores(getenv func(string) string) []string {
	return account.Stores(account.Dirs(account.Places("claude", getenv)), "projects")
}

// Find lists the projects' folders, on every processor: a year of sessions are
// thousands of files, and the kernel's word on each is most of what a list costs.
func (c Reader) Find(store string, each func(conversation.File)) error {
	entries, err := os.ReadDir(filepath.Join(store, "projects"))
	if err != nil {
		return atomicfile.Error("read", filepath.Join(store, "projects"), err)
	}
	type project struct {
		dir   string
		files []conversation.File
		lost  conversation.ReadErrors
	}
	projects := make([]*project, len(entries))
	for i, e := range entries {
		projects[i] = &project{dir: filepath.Join(store, "projects", e.Name())}
	}
	cli.Parallel(projects, func(p *project) {
		add := func(f conversation.File) { p.files = append(p.files, f) }
		for _, e := range p.lost.List(p.dir) {
			if id, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
				c.file(store, filepath.Join(p.dir, e.Name()), id, "", &p.lost, add)
			} else if e.IsDir() {
				c.subagents(store, filepath.Join(p.dir, e.Name(), "subagents"), e.Name(), &p.lost, add)
			}
		}
	})
	var lost conversation.ReadErrors
	for _, p := range projects {
		for _, f := range p.files {
			each(f)
		}
		lost.Add(p.lost.Err())
	}
	return lost.Err()
}

// subagents lists the folder of one session's.
func (c Reader) subagents(store, dir, parent string, lost *conversation.ReadErrors, each func(conversation.File)) {
	id, err := session.ParseID(parent)
	if err != nil {
		return
	}
	for _, e := range lost.List(dir) {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			c.file(store, filepath.Join(dir, e.Name()), name, id, lost, each)
		}
	}
}

func (Reader) file(store, path, name string, parent session.ID, lost *conversation.ReadErrors, each func(conversation.File)) {
	id, err := session.ParseID(name)
	if err != nil {
		return
	}
	info, ok := lost.File(path)
	if !ok {
		return
	}
	each(conversation.File{
		Client: "claude", Store: store, Path: path, ID: id, Parent: parent,
		Size: info.Size(), Changed: info.ModTime().UnixNano(),
	})
}

// Metadata follows the client's own rule for titles: the person's, then the
// client's, then its older summary.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	h := header{Metadata: conversation.Metadata{ID: f.ID, Parent: f.Parent}}
	h.unnamed = f.Parent == "" && strings.HasPrefix(string(f.ID), "agent-")
	err := conversation.Ends(f.Path, func(line []byte, whole bool) bool {
		h.front(parse(line))
		return whole && !h.begun()
	}, h.back)
	if err == nil && !h.complete() && f.Size > conversation.EndSize {
		_, err = conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
			if isAsking(line) || h.CWD == "" || h.First == "" || h.last.model == "" {
				h.front(parse(line))
			}
			return !h.complete() && at < conversation.MaxFront
		})
	}
	if err != nil {
		return conversation.Metadata{}, err
	}
	return h.whole(), nil
}

// A header is what the records at the ends of a file tell of its conversation.
type header struct {
	conversation.Metadata           // as the front has it
	unnamed               bool      // it is a subagent's of a version that names its parent in the records only
	own                   time.Time // of a record that is never copied
	custom, generated     string    // the titles
	summary               string
	last                  struct{ branch, cwd, model string } // as the end has them
}

// begun reports whether the front told what it has to.
func (h *header) begun() bool { return h.Prompt != "" && h.CWD != "" && h.First != "" }

// complete is begun for a conversation whose model is known as well.
func (h *header) complete() bool { return h.begun() && (h.last.model != "" || h.Model != "") }

// front takes what a record tells that follows those before it.
func (h *header) front(rec record) {
	if at := conversation.ParseTime(rec.Timestamp); !at.IsZero() {
		if rec.Kind == "queue-operation" && h.own.IsZero() {
			h.own = at
		}
		if h.Started.IsZero() {
			h.Started = at
		}
	}
	if h.First == "" {
		h.First = rec.id.String()
	}
	if h.ForkOf == "" && rec.forkedFrom != "" {
		if id, err := session.ParseID(rec.forkedFrom.get("sessionId").Str); err == nil {
			h.ForkOf = id
		}
	}
	if h.unnamed && rec.Sidechain && h.Parent == "" {
		if id, err := session.ParseID(rec.session.String()); err == nil {
			h.Parent = id
		}
	}
	if entry := rec.entrypoint.String(); entry != "" {
		h.Headless = strings.HasPrefix(entry, "sdk-")
	}
	conversation.Keep(&h.CWD, rec.cwd.String())
	conversation.Keep(&h.Version, rec.version.String())
	conversation.Keep(&h.Branch, rec.branch.String())
	conversation.Keep(&h.Model, model(rec))
	if h.Parent != "" {
		rec = rec.ownText()
	}
	if q := rec.request(); q.Text != "" && h.Prompt == "" && !q.Reply {
		h.Prompt = conversation.Asked(q.Text)
	}
}

// back takes what a record tells that stands before those that it took.
func (h *header) back(line []byte) bool {
	rec := parse(line)
	switch rec.Kind {
	case "custom-title":
		conversation.Keep(&h.custom, rec.title.String())
	case "ai-title":
		conversation.Keep(&h.generated, rec.title.String())
	case "summary":
		conversation.Keep(&h.summary, gjson.GetBytes(line, "summary").Str)
	}
	conversation.Keep(&h.last.branch, rec.branch.String())
	conversation.Keep(&h.last.cwd, rec.cwd.String())
	conversation.Keep(&h.last.model, model(rec))
	if h.Last.IsZero() {
		h.Last = conversation.ParseTime(rec.Timestamp)
	}
	return true
}

// whole returns the metadata when all was taken. What was said last holds, where the end of
// the file says anything.
func (h *header) whole() conversation.Metadata {
	m := h.Metadata
	// A fork begins with a copy, times and all, behind what is its own.
	if h.own.After(m.Started) {
		m.Started = h.own
	}
	m.Branch, m.Model = cmp.Or(h.last.branch, m.Branch), cmp.Or(h.last.model, m.Model)
	if h.last.cwd != m.CWD {
		m.Moved = h.last.cwd
	}
	if m.Branch == "HEAD" { // in no repository
		m.Branch = ""
	}
	m.Title = conversation.Excerpt(cmp.Or(h.custom, h.generated, h.summary))
	return m
}

// model is the model that wrote an answer.
func model(rec record) string {
	if rec.Kind != "assistant" {
		return ""
	}
	if m := rec.Message.model.String(); m != "<synthetic>" {
		return m
	}
	return ""
}

// Read gives the records of the file in their order. What a person took back
// (/rewind) stands in it all the same.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	side := f.Parent != "" || strings.HasPrefix(string(f.ID), "agent-")
	r := records{summary: o.ForSummary, each: each}
	line := func(line []byte, at int64) bool {
		if o.Skip != nil && !isAsking(line) && o.Skip(line) {
			return true
		}
		rec := parse(line)
		if side {
			rec = rec.ownText()
		}
		return r.take(rec, at)
	}
	if !o.ForSummary {
		return conversation.Lines(f.Path, o.From, line)
	}
	stopped := false
	next, err := conversation.LinesWithin(f.Path, o.From, conversation.MaxHeld, func(data []byte, at int64) bool {
		stopped = !line(data, at)
		return !stopped
	}, func(front, back []byte, at int64) bool {
		stopped = !r.take(parseEnds(front, back), at)
		return !stopped
	})
	if err == nil && !stopped {
		todos := conversation.Todos{Scope: conversation.TaskFiles, Items: readTasks(f.Path)}
		each(conversation.Entry{Kind: conversation.TodoList, Todos: &todos, Offset: next})
	}
	return next, err
}

// records gives the entries of records.
type records struct {
	summary bool // see conversation.Options
	folder  bool // it was given
	each    func(conversation.Entry) bool
}

// take gives what a record says.
func (r *records) take(rec record, at int64) bool {
	e := conversation.Entry{Time: conversation.ParseTime(rec.Timestamp), ID: rec.id.String(), Offset: at}
	if r.summary && !r.aside(e, rec) {
		return false
	}
	switch {
	case rec.Hidden && rec.Kind != "assistant", rec.Sidechain:
		return true
	case rec.Compacted:
		return r.text(e, conversation.Summary, rec.summary())
	case rec.Kind == "attachment":
		if q := rec.request(); q.Text != "" {
			return r.text(e, conversation.Prompt, q.Text)
		}
	case rec.Kind == "user":
		return r.user(e, rec)
	case rec.Kind == "assistant":
		return r.assistant(e, rec)
	}
	return true
}

func (r *records) text(e conversation.Entry, kind conversation.Kind, text string) bool {
	e.Kind, e.Text = kind, text
	return r.each(e)
}

// user gives what the person asked, and what tools answered.
func (r *records) user(e conversation.Entry, rec record) bool {
	if q := rec.request(); q.Text != "" {
		kind := conversation.Prompt
		if q.Reply {
			kind = conversation.Reply
		}
		if !r.text(e, kind, q.Text) {
			return false
		}
	}
	for _, b := range rec.Message.blocks {
		if b.Kind == "tool_result" && !r.result(e, b) {
			return false
		}
	}
	return true
}

// assistant gives what the model said and called, and what that cost.
func (r *records) assistant(e conversation.Entry, rec record) bool {
	m := rec.Message
	e.Model = m.model.String()
	switch {
	case e.Model != "<synthetic>":
		if !spent(e, m, r.each) {
			return false
		}
	case rec.APIError: // which the person was told
		e.Model, e.Failed = "", true
	default: // the client's own words, to fill a gap
		return true
	}
	e.ID = cmp.Or(m.id.String(), e.ID)
	if t := m.text.String(); t != "" {
		return r.text(e, conversation.Answer, t)
	}
	for _, b := range m.blocks {
		if !r.block(e, b) {
			return false
		}
	}
	return true
}

// block gives a part of an answer.
func (r *records) block(e conversation.Entry, b block) bool {
	switch b.Kind {
	case "text":
		return r.text(e, conversation.Answer, b.text.String())
	case "thinking":
		if t := b.thought.String(); t != "" {
			return r.text(e, conversation.Thought, t)
		}
	case "tool_use":
		return r.call(e, b)
	}
	return true
}

// result gives what a tool answered. Of one that worked a summary needs no text.
func (r *records) result(e conversation.Entry, b block) bool {
	e.Kind, e.Text, e.CallID, e.Failed = conversation.Result, "", b.callID.String(), b.Failed
	if !r.summary || e.Failed || e.CallID == "" {
		e.Text = b.result()
		e.Rejected = e.Failed && strings.Contains(e.Text, rejected)
	}
	return r.each(e)
}

// rejected is in the result of every tool that the person refused or stopped.
const rejected = "The tool use was rejected"

// call gives a call of a tool. A summary that knows which file it changes needs none
// of its other arguments, the file's content among them.
func (r *records) call(e conversation.Entry, b block) bool {
	e.Kind, e.Text, e.Tool, e.CallID = conversation.Call, "", b.name.String(), b.id.String()
	changes := false
	switch e.Tool {
	case "Bash":
		e.Target = b.input.get("command").Str
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		e.Target, changes = cmp.Or(b.input.get("file_path").Str, b.input.get("notebook_path").Str), true
	}
	if !r.summary || !changes || e.Target == "" {
		e.Text = conversation.Arguments(b.input.whole())
	}
	if !r.each(e) {
		return false
	}
	if r.summary && e.Tool == "TodoWrite" {
		return r.todos(e, conversation.WholeList, b.input.get("todos"))
	}
	return true
}

// spent gives what a message cost. The client writes a record for each block of
// a message and the whole message's usage into every one, so it is counted by
// the message's id.
func spent(e conversation.Entry, m message, each func(conversation.Entry) bool) bool {
	u := m.usage.whole()
	if !u.IsObject() {
		return true
	}
	e.Kind, e.ID = conversation.TokenUsage, cmp.Or(m.id.String(), e.ID)
	e.Usage = conversation.Usage{
		Input: conversation.TokenCount(u.Get("input_tokens")), Output: conversation.TokenCount(u.Get("output_tokens")),
		CacheRead: conversation.TokenCount(u.Get("cache_read_input_tokens")), CacheWrite: conversation.TokenCount(u.Get("cache_creation_input_tokens")),
	}
	return each(e)
}

// plain: JSON.stringify escapes nothing that it need not.
func (Reader) PlainText(conversation.File) bool { return true }

// quiet knows what the client writes for itself, and what it attaches to tell the
// model: most of a short transcript.
func (Reader) Quiet(record []byte, tools bool) bool {
	front := record[:min(len(record), 512)]
	if kind, ok := bytes.CutPrefix(front, []byte(`{"type":"`)); ok {
		kind, _, _ = bytes.Cut(kind, []byte(`"`))
		return slices.Contains(noted, string(kind))
	}
	if i := bytes.Index(front, []byte(`"attachment":{"type":"`)); i >= 0 {
		return !bytes.Contains(front[:i], []byte(`"message":`)) && !isAsking(record)
	}
	return !tools && isBringing(record)
}

// noted are the kinds of records that the client writes for itself.
var noted = []string{
	"api-request", "api-request-shape", "api-request-blob", "last-prompt", "queue-operation", "ai-title", "custom-title",
	"file-history-snapshot", "file-history-delta", "cost-state", "tools-used", "mode", "permission-mode",
}
