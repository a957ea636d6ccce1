// Package claude reads the transcripts of Claude Code 2.1.197 and 2.1.329:
//
//	<store>/projects/<folder>/<id>.jsonl
//	<store>/projects/<folder>/<id>/subagents/agent-<id>.jsonl
//	<store>/projects/<folder>/<id>/subagents/workflows/<run>/agent-<id>.jsonl
//	<store>/projects/<folder>/agent-<id>.jsonl   a subagent's, of older versions
//
// The folder's name encodes the path in which the session began, and cannot be decoded. A
// renamed folder keeps its sessions under the old name. So the path is taken from the
// records.
package claude

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

type Reader struct{}

func (Reader) Client() string { return "claude" }

// History returns the prompts in history.jsonl, of which Claude Code removes none.
func (Reader) History(store string, each func(id session.ID, prompt string)) (path string, err error) {
	path = filepath.Join(store, "history.jsonl")
	_, err = conversation.Lines(path, 0, func(line []byte, _ int64) bool {
		r := conversation.ParseRecord(line)
		text := r.Get("display").Str
		r.Get("pastedContents").ForEach(func(_, pasted gjson.Result) bool {
			text += "\n" + pasted.Get("content").Str
			return true
		})
		if id := conversation.IDOf(r.Get("sessionId")); id != "" {
			each(id, text)
		}
		return true
	})
	return path, conversation.UnreadableError(path, err)
}

// Find lists the projects' folders in parallel: a year has thousands of files, and their
// stats are most of the cost of a list.
func (Reader) Find(store string, each func(conversation.File)) error {
	entries, err := conversation.List(filepath.Join(store, "projects"))
	if err != nil {
		return err
	}
	type project struct {
		dir   string
		files []conversation.File
		err   error
	}
	projects := make([]*project, len(entries))
	for i, e := range entries {
		projects[i] = &project{dir: filepath.Join(store, "projects", e.Name())}
	}
	cli.Parallel(projects, func(p *project) {
		found := conversation.NewFinding("claude", store, func(f conversation.File) { p.files = append(p.files, f) })
		for _, e := range found.List(p.dir) {
			if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
				found.GiveNamed(p.dir+string(filepath.Separator)+e.Name(), name, "")
			} else if parent, err := session.ParseID(e.Name()); err == nil && !e.Type().IsRegular() {
				findSubagents(found, filepath.Join(p.dir, e.Name(), "subagents"), parent, maxDepth)
			}
		}
		p.err = found.Err()
	})
	var lost conversation.ReadErrors
	for _, p := range projects {
		for _, f := range p.files {
			each(f)
		}
		lost.Add(p.err)
	}
	return lost.Err()
}

// maxDepth limits the folders below a session's subagents.
const maxDepth = 8

// findSubagents lists a session's subagents in a folder, and those in the folders below: a
// workflow's agents are in workflows/<run>, beside its journal.jsonl. So below the first folder
// only names that begin with agent- count.
func findSubagents(found *conversation.Finding, dir string, parent session.ID, depth int) {
	for _, e := range found.List(dir) {
		switch name, ok := strings.CutSuffix(e.Name(), ".jsonl"); {
		case ok && (depth == maxDepth || strings.HasPrefix(name, "agent-")):
			found.GiveNamed(filepath.Join(dir, e.Name()), name, parent)
		case !ok && depth > 0 && !e.Type().IsRegular():
			findSubagents(found, filepath.Join(dir, e.Name()), parent, depth-1)
		}
	}
}

// Metadata follows the client's own rule for titles: the person's, then the client's,
// then its older summary. What both ends of the file lack, it seeks from the front up to MaxFront.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	h := header{Metadata: conversation.Metadata{ID: f.ID, Parent: f.Parent}}
	h.unnamed = f.Parent == "" && strings.HasPrefix(string(f.ID), "agent-")
	err := conversation.Ends(f.Path, func(line []byte, whole bool) bool {
		h.addFromStart(parseRecord(line))
		return whole && !h.isComplete()
	}, h.addFromEnd)
	if err == nil && !h.hasModelToo() && f.Size > conversation.EndSize {
		_, err = conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
			if isAsking(line) || h.CWD == "" || h.FirstID == "" || bytes.Contains(line, []byte(`"model":`)) {
				h.addFromStart(parseRecord(line))
			}
			return !h.hasModelToo() && at < conversation.MaxFront
		})
	}
	if err != nil {
		return conversation.Metadata{}, err
	}
	return h.collectedMetadata(), nil
}

// header collects the metadata from the records at both ends of a file.
type header struct {
	conversation.Metadata           // from the front
	firstIsRoot           bool      // the record of FirstID follows no other one
	unnamed               bool      // a subagent's of a version that names its parent only in the records
	ownTime               time.Time // the time of a record that is never copied
	custom, generated     string    // the titles
	summary               string
	last                  struct{ branch, cwd, model string } // from the end
}

// isComplete reports whether no more of the front is needed, except for a model.
func (h *header) isComplete() bool { return h.Prompt != "" && h.CWD != "" && h.FirstID != "" }

func (h *header) hasModelToo() bool { return h.isComplete() && (h.last.model != "" || h.Model != "") }

// addFromStart adds a record from the front, in the file's order. What an earlier one has stays.
func (h *header) addFromStart(rec record) {
	if at := conversation.ParseTime(rec.Timestamp); !at.IsZero() {
		if rec.Kind == "queue-operation" && h.ownTime.IsZero() {
			h.ownTime = at
		}
		conversation.SetTimeIfZero(&h.Started, at)
	}
	// The first record of all follows no other one, but can be behind others (see ordering).
	if rec.id != "" && (h.FirstID == "" || !h.firstIsRoot && rec.parent == "") {
		h.FirstID, h.firstIsRoot = rec.id, rec.parent == ""
	}
	if h.ForkOf == "" && rec.forkedFrom != "" {
		h.ForkOf, _ = session.ParseID(rec.forkedFrom)
	}
	if h.unnamed && rec.Sidechain && h.Parent == "" {
		h.Parent, _ = session.ParseID(rec.session)
	}
	if rec.entrypoint != "" {
		h.Headless = strings.HasPrefix(rec.entrypoint, "sdk-")
	}
	conversation.SetIfEmpty(&h.CWD, rec.cwd)
	conversation.SetIfEmpty(&h.Version, rec.version)
	conversation.SetIfEmpty(&h.Branch, rec.branch)
	conversation.SetIfEmpty(&h.Model, modelOf(rec))
	if h.Parent != "" {
		rec = rec.ownText()
	}
	if q := rec.personRequest(); q.Text != "" && h.Prompt == "" && !q.Reply {
		h.Prompt = conversation.PromptExcerpt(q.Text)
	}
}

// addFromEnd adds a record from the end, the last one first. It parses only a line that can have
// what is still missing, and always wants more: any line can be a title.
func (h *header) addFromEnd(line []byte) bool {
	end := line[max(len(line)-1024, 0):] // where the client writes most of them
	has := func(key string) bool { return bytes.Contains(end, []byte(key)) || bytes.Contains(line, []byte(key)) }
	missing := h.last.branch == "" && has(`"gitBranch"`) || h.last.cwd == "" && has(`"cwd"`) ||
		h.last.model == "" && has(`"model"`) || h.Last.IsZero() && has(`"timestamp"`)
	if front := line[:min(len(line), 32)]; !missing && !bytes.Contains(front, titleMark) && !bytes.Contains(front, []byte(`"summary"`)) {
		return true
	}
	rec := parseRecord(line)
	switch rec.Kind {
	case "custom-title", "ai-title":
		if rec.isOfAnother(string(h.ID)) {
			return true
		}
	}
	switch rec.Kind {
	case "custom-title":
		conversation.SetIfEmpty(&h.custom, rec.title)
	case "ai-title":
		conversation.SetIfEmpty(&h.generated, rec.title)
	case "summary":
		conversation.SetIfEmpty(&h.summary, gjson.GetBytes(line, "summary").Str)
	}
	conversation.SetIfEmpty(&h.last.branch, rec.branch)
	conversation.SetIfEmpty(&h.last.cwd, rec.cwd)
	conversation.SetIfEmpty(&h.last.model, modelOf(rec))
	conversation.SetTimeIfZero(&h.Last, conversation.ParseTime(rec.Timestamp))
	return true
}

// collectedMetadata returns the collected metadata. The values from the end of the file win.
func (h *header) collectedMetadata() conversation.Metadata {
	m := h.Metadata
	// A fork's file begins with its own records, then has a copy with the old times.
	if h.ownTime.After(m.Started) {
		m.Started = h.ownTime
	}
	m.Branch, m.Model = cmp.Or(h.last.branch, m.Branch), cmp.Or(h.last.model, m.Model)
	if h.last.cwd != m.CWD {
		m.MovedTo = h.last.cwd
	}
	m.Branch = conversation.BranchOf(m.Branch)
	m.Title = conversation.Excerpt(cmp.Or(h.custom, h.generated, h.summary))
	return m
}

func modelOf(rec record) string {
	if rec.Kind != "assistant" || rec.Message.model == "<synthetic>" {
		return ""
	}
	return rec.Message.model
}

// Read gives the records in order, without what the person took back (/rewind) but for
// its tokens. At the end of a summary it gives the tasks, which are in files of their own.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	isSubagent := f.Parent != "" || strings.HasPrefix(string(f.ID), "agent-")
	var gone map[int64]bool
	if !isSubagent && !o.TokensOnly && !o.TooLongToSearch(f.Path) {
		var err error
		if gone, err = takenBackRecords(f.Path, o); err != nil {
			return o.From, err
		}
	}
	each = o.SkipTakenBack(func(at int64) bool { return gone[at] }, each)
	r := records{resultsDir: resultsFolder(f), id: string(f.ID), forSummary: o.ForSummary, tokensOnly: o.TokensOnly, Giver: conversation.Giver{Each: each}, given: map[uint64]bool{}}
	order := ordering{giveRecord: r.readRecord, isOrdered: o.TokensOnly || o.From > 0 && !o.ForSummary}
	var timedLine []byte // the last line with a time, for a cost-state, which has none
	line := func(line []byte, at int64) bool {
		if o.Skip != nil && order.inOrder() && !isAsking(line) && o.Skip(line) {
			return true
		}
		if o.TokensOnly && !hasTokens(line) {
			if bytes.Contains(line, []byte(`"timestamp"`)) {
				timedLine = append(timedLine[:0], line...)
			}
			return true
		}
		rec := parseRecord(line)
		if rec.Kind == "cost-state" { // it has no time
			rec.Timestamp = cmp.Or(rec.Timestamp, parseRecord(timedLine).Timestamp)
		}
		timedLine = timedLine[:0]
		if isSubagent {
			rec = rec.ownText()
		}
		return order.add(rec, at, len(line))
	}
	most, long := int64(conversation.MaxRecord), (func(front, back []byte, at int64) bool)(nil)
	if o.ForSummary {
		most = conversation.MaxHeld
		long = func(front, back []byte, at int64) bool {
			return order.add(recordOfEnds(front, back), at, len(front)+len(back))
		}
	}
	stopped := false
	next, err := conversation.LinesWithin(f.Path, o.From, most, func(data []byte, at int64) bool {
		stopped = !line(data, at)
		return !stopped
	}, long)
	if stopped || err != nil || !order.flush() || !o.ForSummary {
		return next, err
	}
	each(conversation.Entry{Kind: conversation.TodoList, Todos: &conversation.Todos{Scope: conversation.TaskFiles, Items: readTasks(f.Path)}, Offset: next})
	return next, nil
}

type records struct {
	resultsDir string          // the folder with large results
	id         string          // the session's, if it is known
	forSummary bool            // conversation.Options.ForSummary
	tokensOnly bool            // conversation.Options.TokensOnly
	given      map[uint64]bool // the keys of records, for some are written again
	folder     bool            // the Folder entry was given
	conversation.Giver
}

// readRecord gives the entries of a record at an offset, and reports whether more are wanted. It
// passes over a record that was given before.
func (r *records) readRecord(rec record, at int64) bool {
	if rec.id != "" {
		key := rec.contentHash()
		if r.given[key] {
			return true
		}
		r.given[key] = true
	}
	e := conversation.Entry{Time: conversation.ParseTime(rec.Timestamp), ID: rec.id, Offset: at}
	if r.forSummary {
		r.giveSummaryEntries(e, rec)
	}
	if rec.Kind == "user" || rec.Kind == "attachment" {
		for _, m := range rec.othersMessages() {
			r.giveText(e, conversation.Message, m.Text, m.From)
		}
	}
	switch {
	case rec.Sidechain:
		r.giveSidechain(e, rec)
	case rec.Hidden && rec.Kind != "assistant":
	case rec.Kind == "cost-state":
		r.giveCost(e, rec)
	case rec.Compacted:
		r.giveText(e, conversation.Summary, unwrapSummary(rec.Message.promptText()))
	case rec.Kind == "attachment":
		if q := rec.personRequest(); q.Text != "" {
			r.giveText(e, conversation.Prompt, q.Text)
		}
	case rec.Kind == "user":
		r.giveUser(e, rec)
	case rec.Kind == "assistant":
		r.giveAssistant(e, rec)
	}
	return !r.Stopped
}

func (r *records) giveText(e conversation.Entry, kind conversation.Kind, text string, from ...string) {
	e.Kind, e.Text, e.Tool = kind, text, strings.Join(from, " ")
	r.Give(e)
}

// giveUser gives what the person typed, or ran with "!", and the results of tools.
func (r *records) giveUser(e conversation.Entry, rec record) {
	// The command is one record and its output the next; the command's id is the CallID of both.
	if command, output := rec.Message.personCommand(); command != "" || output != "" {
		e.Kind, e.Tool, e.CallID, e.Text, e.Target = conversation.Call, "Bash", rec.id, command, command
		if command == "" {
			e.Kind, e.CallID, e.Text = conversation.Result, rec.parent, output
		}
		r.Give(e)
		return
	}
	if q := rec.personRequest(); q.Text != "" {
		kind := conversation.Prompt
		if q.Reply {
			kind = conversation.Reply
		}
		r.giveText(e, kind, q.Text)
	}
	for _, b := range rec.Message.blocks {
		if b.kind() == "tool_result" {
			r.giveResult(e, b)
		}
	}
}

// giveAssistant gives a message's tokens, and unless only those are wanted its text and calls.
func (r *records) giveAssistant(e conversation.Entry, rec record) {
	m := rec.Message
	e.Model = m.model
	switch {
	case e.Model != "<synthetic>":
		if r.giveUsage(e, rec); r.tokensOnly {
			return
		}
	case rec.APIError: // the person saw it
		e.Model, e.Failed = "", true
	default: // text of the client that fills a gap
		return
	}
	e.ID = cmp.Or(m.id, e.ID)
	if m.text != "" {
		r.giveText(e, conversation.Answer, m.text)
		return
	}
	for _, b := range m.blocks {
		switch b.kind() {
		case "text":
			r.giveText(e, conversation.Answer, b.Get("text").Str)
		case "thinking":
			if t := b.Get("thinking").Str; t != "" {
				r.giveText(e, conversation.Thought, t)
			}
		case "tool_use":
			r.giveCall(e, b)
		}
	}
}

// giveResult gives a tool's result. A summary needs the text only of one that is short or failed.
func (r *records) giveResult(e conversation.Entry, b block) {
	e.Kind, e.Text, e.CallID, e.Failed = conversation.Result, "", b.callID(), b.failed()
	if !r.forSummary || e.Failed || e.CallID == "" || len(b.Get("content").Raw) < shortResult {
		e.Text = fullResult(b.result(), r.resultsDir, r.forSummary)
		e.Rejected = e.Failed && strings.Contains(e.Text, rejectionText)
	}
	r.Give(e)
}

// shortResult is the size of a result that a command prints to say what came of it, in bytes.
const shortResult = 8 << 10

// rejectionText is in the result of every tool that the person refused or stopped.
const rejectionText = "The tool use was rejected"

// giveCall gives a tool call. A summary that has the changed file needs no other arguments,
// such as the file's content.
func (r *records) giveCall(e conversation.Entry, b block) {
	e.Kind, e.Text, e.Tool, e.CallID = conversation.Call, "", b.Get("name").Str, b.Get("id").Str
	input, changes := b.Get("input"), false
	switch e.Tool {
	case "Bash":
		e.Target = input.Get("command").Str
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		e.Target, changes = cmp.Or(input.Get("file_path").Str, input.Get("notebook_path").Str), true
	}
	if !r.forSummary || !changes || e.Target == "" {
		e.Text = conversation.Arguments(input)
	}
	if r.Give(e); r.forSummary && e.Tool == "TodoWrite" {
		r.giveTodoList(e, conversation.WholeList, input.Get("todos"))
	}
}

// giveSidechain gives what a subagent did, of which older versions wrote the records into the
// session's own file. It is no part of a summary.
func (r *records) giveSidechain(e conversation.Entry, rec record) {
	if r.forSummary {
		return
	}
	e.Aside = true
	m := rec.Message
	if rec.Kind == "assistant" && m.model != "<synthetic>" {
		e.Model = m.model
		r.giveUsage(e, rec)
		e.ID = cmp.Or(m.id, e.ID)
	}
	text := func(text string) {
		if text != "" && rec.Kind == "assistant" {
			r.giveText(e, conversation.Result, text)
		}
	}
	text(m.text)
	for _, b := range m.blocks {
		switch b.kind() {
		case "text":
			text(b.Get("text").Str)
		case "tool_use":
			r.giveCall(e, b)
		case "tool_result":
			r.giveResult(e, b)
		}
	}
}

// giveUsage gives a message's tokens. The client writes a record for each block of a message,
// each with the usage of the whole message, so the entry has the message's id. What another
// model did for the message, as an advisor, and a compaction by the server are not in the
// message's own usage.
func (r *records) giveUsage(e conversation.Entry, rec record) {
	m := rec.Message
	if !m.usage.IsObject() {
		return
	}
	e.Kind, e.ID, e.Usage, e.Origin = conversation.TokenUsage, cmp.Or(m.id, e.ID), usageOf(m.usage), conversation.Origin{CWD: rec.cwd, Branch: conversation.BranchOf(rec.branch)}
	if e.Request = rec.requestID; e.Request == "" {
		// A gateway or local server may give the same message id to many answers.
		e.Sum = fmt.Sprintf("%s.%d", e.ID, e.Usage.Input+e.Usage.CacheRead+e.Usage.CacheWrite)
	}
	r.Give(e)
	message := e.ID
	for i, part := range m.usage.Get("iterations").Array() {
		if kind := part.Get("type").Str; kind == "" || kind == "message" {
			continue
		}
		e.ID, e.Sum, e.Aside, e.Usage = fmt.Sprintf("%s.%d", message, i), "", true, usageOf(part)
		if e.Model = cmp.Or(part.Get("model").Str, m.model); e.Usage.HasTokens() {
			r.Give(e)
		}
	}
}

// maxCostState is more than a cost-state takes, which has some numbers for each model.
const maxCostState = 16 << 10

// hasTokens reports whether a line may state tokens or a cost.
func hasTokens(line []byte) bool {
	return bytes.Contains(line, []byte(`"usage"`)) || len(line) < maxCostState && bytes.Contains(line, []byte(`"totalCostUSD"`))
}

func usageOf(u gjson.Result) (used conversation.Usage) {
	u.ForEach(func(key, v gjson.Result) bool { // each Get would begin anew
		switch key.Str {
		case "input_tokens":
			used.Input = conversation.TokenCount(v)
		case "output_tokens":
			used.Output = conversation.TokenCount(v)
		case "cache_read_input_tokens":
			used.CacheRead = conversation.TokenCount(v)
		case "cache_creation_input_tokens":
			used.CacheWrite = conversation.TokenCount(v)
		case "cache_creation":
			used.CacheWrite1h = conversation.TokenCount(v.Get("ephemeral_1h_input_tokens"))
		case "speed":
			used.Fast = v.Str == "fast"
		}
		return true
	})
	return used
}

// giveCost gives the session's cost so far in dollars: of each model, and the rest without a model.
func (r *records) giveCost(e conversation.Entry, rec record) {
	if r.forSummary {
		return
	}
	give := func(model string, dollars float64) {
		if dollars <= 0 {
			return
		}
		e.Kind, e.ID, e.Aside = conversation.TokenUsage, "cost."+rec.session+"."+model, true
		e.Model, _, _ = strings.Cut(model, "[") // of its context window
		e.Usage = conversation.Usage{Cost: dollars}
		r.Give(e)
	}
	rest := rec.cost
	rec.models.ForEach(func(model, used gjson.Result) bool {
		dollars := used.Get("costUSD").Num
		rest -= dollars
		give(model.Str, dollars)
		return true
	})
	const rounding = 1e-6
	if rest >= rounding {
		give("", rest)
	}
}

// PlainText returns true: JSON.stringify escapes only what it must.
func (Reader) PlainText(conversation.File) bool { return true }

// IsSilent recognises the client's own records and its attachments for the model, which are
// most of a short transcript, and unless tools is set also the results of tools.
func (Reader) IsSilent(record []byte, tools bool) bool {
	front := record[:min(len(record), 512)]
	if kind, ok := bytes.CutPrefix(front, []byte(`{"type":"`)); ok {
		kind, _, _ = bytes.Cut(kind, []byte(`"`))
		return slices.Contains(ownTypes, string(kind))
	}
	if before, _, ok := bytes.Cut(front, []byte(`"attachment":{"type":"`)); ok {
		return !bytes.Contains(before, []byte(`"message":`)) && !isAsking(record)
	}
	return !tools && classifyLine(record) == resultLine
}

var ownTypes = []string{
	"api-request", "api-request-shape", "api-request-blob", "last-prompt", "queue-operation", "ai-title", "custom-title",
	"file-history-snapshot", "file-history-delta", "cost-state", "tools-used", "mode", "permission-mode",
}

// kinds are the types of records that Claude Code 2.1.197 to 2.1.332 can write. Most are its
// own notes.
const kinds = `
	agent-color agent-name agent-setting ai-title api-request api-request-blob api-request-resumed
	api-request-shape artifact-autoreact-ledger artifact-comment-monitor assistant atis-latch
	attachment attribution-snapshot bridge-session content-replacement continued-in cost-state
	custom-title data-flow-incomplete data-flow-records derived-from dev-mods ended-by-model
	file-history-delta file-history-snapshot fork-context-ref frame-link history-suppression
	host-row hybrid-organization isolation-latch last-prompt marble-origami-commit
	marble-origami-reset marble-origami-snapshot memory-mode mode observer-ref permission-mode
	pr-link progress queue-operation relocated repl-mode resume-head-vouch session-owner
	speculation-accept summary system tag tools-used user worktree-state
`

func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, strings.Fields(kinds), conversation.RecordType, each)
}

// LimitEnd returns when the last limit ends. The client writes it after the turn that the
// limit ended: "You've hit your session limit · resets 3pm (Europe/Berlin)".
func (Reader) LimitEnd(path string, after time.Time) (until time.Time) {
	conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		if !v.Get("isApiErrorMessage").Bool() {
			kind := v.Get("type").Str
			return false, kind == "assistant" || kind == "user"
		}
		at, err := time.Parse(time.RFC3339, v.Get("timestamp").Str)
		if err == nil {
			until = parseReset(v.Get("message.content.0.text").Str, at)
		}
		return true, false
	})
	return until
}

// forms are the client's formats of a time: within a day, in this year, in another year.
var forms = [...]struct {
	layout      string
	dated, full bool
}{
	{"3pm", false, false}, {"3:04pm", false, false},
	{"Jan 2, 3pm", true, false}, {"Jan 2, 3:04pm", true, false},
	{"Jan 2, 2006, 3pm", true, true}, {"Jan 2, 2006, 3:04pm", true, true},
}

// parseReset parses the end of a limit from a text that the client wrote at said, or returns
// the zero time.
func parseReset(text string, said time.Time) time.Time {
	_, rest, _ := strings.Cut(text, "resets ")
	when, zone, ok := strings.Cut(rest, " (")
	zone, _, closed := strings.Cut(zone, ")")
	place, err := time.LoadLocation(zone)
	if !ok || !closed || zone == "" || zone == "Local" || err != nil {
		return time.Time{}
	}
	when = strings.ToLower(strings.NewReplacer(" AM", "am", " PM", "pm", "\u202fAM", "am", "\u202fPM", "pm").Replace(when))
	said = said.In(place)
	for _, f := range forms {
		parsed, err := time.ParseInLocation(f.layout, when, place)
		switch {
		case err != nil:
			continue
		case f.full:
		case f.dated: // this year's day, or next year's if it is past
			if parsed = parsed.AddDate(said.Year(), 0, 0); parsed.Before(said.AddDate(0, 0, -1)) {
				parsed = parsed.AddDate(1, 0, 0)
			}
		default:
			parsed = time.Date(said.Year(), said.Month(), said.Day(), parsed.Hour(), parsed.Minute(), 0, 0, place)
			if !parsed.After(said) {
				parsed = parsed.AddDate(0, 0, 1)
			}
		}
		return parsed
	}
	return time.Time{}
}
