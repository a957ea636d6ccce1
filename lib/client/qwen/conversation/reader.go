// Package qwen reads the conversations of Qwen Code 0.15.10 and 0.24.4, and of its first
// versions, which have Gemini CLI's format:
//
//	<store>/projects/<folder>/chats/<id>.jsonl
//	<store>/projects/<folder>/subagents/<id of the session>/agent-<name>.jsonl
//	<store>/tmp/<hash>/chats/session-<minute>-<first of the id>.json
package qwen

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	gemini "gt/lib/client/gemini/conversation"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

type Reader struct{}

func (Reader) Client() string { return "qwen" }

// Find also gives the first versions' conversations. It fails if there is no projects and no tmp.
func (Reader) Find(store string, each func(conversation.File)) error {
	found := conversation.NewFinding("qwen", store, each)
	old := gemini.FindIn("qwen", store, each)
	dir := filepath.Join(store, "projects")
	projects, err := conversation.List(dir)
	if err != nil && old != nil && atomicfile.IsAbsent(old) {
		return err
	}
	found.Add(old)
	found.Add(err)
	for _, p := range projects {
		dir := filepath.Join(store, "projects", p.Name())
		// Archived conversations are still the person's.
		for _, chats := range []string{filepath.Join(dir, "chats"), filepath.Join(dir, "chats", "archive")} {
			findIn(found, chats, "")
		}
		for _, e := range found.List(filepath.Join(dir, "subagents")) {
			if parent, err := session.ParseID(e.Name()); err == nil {
				findIn(found, filepath.Join(dir, "subagents", e.Name()), parent)
			}
		}
	}
	return found.Err()
}

func findIn(found *conversation.Finding, dir string, parent session.ID) {
	for _, e := range found.List(dir) {
		if name, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			found.GiveNamed(filepath.Join(dir, e.Name()), name, parent)
		}
	}
}

func (Reader) isOldFormat(f conversation.File) bool {
	return strings.HasPrefix(f.Path, filepath.Join(f.Store, "tmp")+string(filepath.Separator))
}

// Metadata reads both ends of the file. The client writes the title repeatedly, so that the
// last one is near the end.
func (q Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	if q.isOldFormat(f) {
		return gemini.Reader{}.Metadata(f)
	}
	h := header{Metadata: conversation.Metadata{ID: f.ID, Parent: f.Parent}}
	err := conversation.Ends(f.Path, func(line []byte, whole bool) bool {
		if whole {
			h.addFromStart(line)
		}
		return whole && (!h.isComplete() || h.model == "")
	}, h.addFromEnd)
	if err == nil && !h.isComplete() && f.Size > conversation.EndSize {
		most := int64(conversation.MaxFront)
		if h.ForkOf != "" { // the copy comes first, however long it is
			most = f.Size
		}
		_, err = conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
			if h.Prompt == "" || !bytes.Contains(line, []byte(`"forkedFrom"`)) {
				h.addFromStart(line)
			}
			return !h.isComplete() && at < most
		})
	}
	if err != nil {
		return conversation.Metadata{}, err
	}
	if !h.hasMessages && h.Title == "" && f.Size <= conversation.MaxFront {
		return conversation.Metadata{}, nil
	}
	var lost conversation.ReadErrors
	facts := h.collectedMetadata(q.subagentModel(f, &lost))
	facts.Headless = facts.Parent == "" && h.root != "" &&
		!gemini.HasTyped(filepath.Join(f.Store, "tmp", gemini.HashPath(h.root)), facts.ID, &lost)
	return facts, lost.Err()
}

// header collects the metadata from the records at both ends of a file.
type header struct {
	conversation.Metadata
	root, branch, model string // from the front
	hasMessages         bool   // the conversation has text
}

func (h *header) isComplete() bool { return h.Prompt != "" && h.Version != "" && !h.Started.IsZero() }

// addFromStart adds a record from the front. One with forkedFrom is a copy from another session,
// whose time is not when this one started.
func (h *header) addFromStart(line []byte) {
	if !gjson.ValidBytes(line) {
		return
	}
	v := gjson.ParseBytes(line)
	if id := conversation.IDOf(v.Get("forkedFrom.sessionId")); id != "" {
		h.ForkOf = cmp.Or(h.ForkOf, id)
	} else if h.Started.IsZero() {
		h.Started = conversation.ParseTime(v.Get("timestamp").Str)
	}
	conversation.SetIfEmpty(&h.root, v.Get("cwd").Str)
	conversation.SetIfEmpty(&h.branch, v.Get("gitBranch").Str)
	conversation.SetIfEmpty(&h.Version, v.Get("version").Str)
	switch v.Get("type").Str {
	case "user":
		if kind, text := personText(v); kind == conversation.Prompt && h.Prompt == "" {
			h.Prompt = conversation.PromptExcerpt(text)
			conversation.SetIfEmpty(&h.FirstID, v.Get("uuid").Str)
		}
		h.hasMessages = true
	case "assistant":
		h.hasMessages = true
		conversation.SetIfEmpty(&h.model, v.Get("model").Str)
	case "system":
		if v.Get("subtype").Str == "parent_session" {
			h.Parent = cmp.Or(h.Parent, conversation.IDOf(v.Get("systemPayload.parentSessionId")))
		}
	}
}

// addFromEnd adds a record from the end, the last one first.
func (h *header) addFromEnd(line []byte) bool {
	if !gjson.ValidBytes(line) {
		return true
	}
	v := gjson.ParseBytes(line)
	conversation.SetIfEmpty(&h.CWD, v.Get("cwd").Str)
	conversation.SetIfEmpty(&h.Branch, v.Get("gitBranch").Str)
	conversation.SetTimeIfZero(&h.Last, conversation.ParseTime(v.Get("timestamp").Str))
	switch {
	case v.Get("type").Str == "assistant":
		conversation.SetIfEmpty(&h.Model, v.Get("model").Str)
		h.hasMessages = true
	case v.Get("subtype").Str == "custom_title":
		conversation.SetIfEmpty(&h.Title, conversation.Excerpt(v.Get("systemPayload.customTitle").Str))
	}
	return true
}

// collectedMetadata returns the metadata that was collected, with what is missing from the header.
// model is used if no record names one.
func (h *header) collectedMetadata(model string) conversation.Metadata {
	m := h.Metadata
	conversation.SetTimeIfZero(&m.Started, m.Last) // of a fork with only copied records yet
	m.CWD = cmp.Or(m.CWD, h.root)
	m.Model = cmp.Or(m.Model, h.model, model)
	m.Branch = conversation.BranchOf(cmp.Or(m.Branch, h.branch))
	return m
}

// subagentModel returns the model of a subagent, which is in a file beside the transcript and not
// in the records.
func (Reader) subagentModel(f conversation.File, lost *conversation.ReadErrors) string {
	path, ok := strings.CutSuffix(f.Path, ".jsonl")
	if f.Parent == "" || !ok {
		return ""
	}
	meta, err := conversation.ReadJSON(path+".meta.json", 1<<20)
	lost.Add(err)
	return strings.Clone(meta.Get("model").Str)
}

// Read gives the records in order, without those that the person took back. It still
// counts the tokens of those.
func (q Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	if q.isOldFormat(f) {
		return gemini.Reader{}.Read(f, o, each)
	}
	model := q.subagentModel(f, new(conversation.ReadErrors))
	var gone map[int64]bool
	if !o.TooLongToSearch(f.Path) {
		var err error
		if gone, err = takenBackRecords(f.Path, o); err != nil {
			return o.From, err
		}
	}
	each = o.SkipTakenBack(func(at int64) bool { return gone[at] }, each)
	return conversation.Lines(f.Path, o.From, func(line []byte, at int64) bool {
		if o.Skip != nil && !conversation.HasPair(line, "type", "user") && o.Skip(line) || !gjson.ValidBytes(line) {
			return true
		}
		for _, e := range entriesOf(gjson.ParseBytes(line)) {
			if e.Kind == conversation.TokenUsage || e.Kind == conversation.Answer {
				e.Model = cmp.Or(e.Model, model)
			}
			if e.Offset = at; !each(e) {
				return false
			}
		}
		return true
	})
}

// Skipped differs only for older versions, which had Gemini CLI's format.
func (q Reader) Skipped(f conversation.File) (int, error) {
	if q.isOldFormat(f) {
		return gemini.Reader{}.Skipped(f)
	}
	return conversation.Skipped(f.Path)
}

// takenBackRecords returns the offsets of the records that are not on the path to the last one. The
// client resumes from there: a rewind is a record with an earlier parent, and of two processes
// that go on with one session, the last one to write wins.
func takenBackRecords(path string, o conversation.Options) (gone map[int64]bool, err error) {
	return conversation.ReadTakenBack(path, o, func(line []byte, at int64) (l conversation.Link, ok bool) {
		get := func(key string) string { return gjson.GetBytes(line, key).Str }
		id, kind, subtype := get("uuid"), get("type"), get("subtype")
		switch {
		case id == "", subtype == "session_sources_snapshot", strings.HasPrefix(subtype, "session_artifact_"), strings.HasPrefix(subtype, "managed_session_"):
			return l, false
		}
		begins := kind == "system" && subtype == "rewind"
		if kind == "user" {
			what, text := personText(gjson.ParseBytes(line))
			begins = text != "" && what == conversation.Prompt
		}
		return conversation.Link{Offset: at, ID: conversation.HashID(id), Parent: conversation.HashID(get("parentUuid")), Retractable: begins}, true
	})
}

// entriesOf returns a record's entries: those of its parts, after one for the tokens, if any.
func entriesOf(v gjson.Result) (all []conversation.Entry) {
	e := conversation.Entry{Time: conversation.ParseTime(v.Get("timestamp").Str), ID: strings.Clone(v.Get("uuid").Str)}
	give := func(kind conversation.Kind, text string) {
		if e.Kind, e.Text = kind, text; text != "" || kind == conversation.Call {
			all = append(all, e)
		}
	}
	switch v.Get("type").Str {
	case "user":
		give(personText(v))
	case "assistant":
		e.Model = strings.Clone(v.Get("model").Str)
		if u := v.Get("usageMetadata"); u.IsObject() {
			in, cached := conversation.TokenCount(u.Get("promptTokenCount")), conversation.TokenCount(u.Get("cachedContentTokenCount"))
			e.Kind = conversation.TokenUsage
			e.Usage = conversation.Usage{
				Input: max(0, in-cached), CacheRead: cached,
				// Some providers count thoughts as part of the output, others separately.
				// The total tells which.
				Output: max(conversation.TokenCount(u.Get("candidatesTokenCount")), conversation.TokenCount(u.Get("totalTokenCount"))-in),
			}
			e.Origin = conversation.Origin{CWD: strings.Clone(v.Get("cwd").Str), Branch: conversation.BranchOf(strings.Clone(v.Get("gitBranch").Str))}
			all = append(all, e)
			e.Usage, e.Origin = conversation.Usage{}, conversation.Origin{}
		}
		v.Get("message.parts").ForEach(func(_, p gjson.Result) bool {
			text := p.Get("text").Str
			switch call := p.Get("functionCall"); {
			case call.IsObject():
				e.Tool = strings.Clone(call.Get("name").Str)
				give(conversation.Call, conversation.Arguments(call.Get("args")))
				e.Tool = ""
			case p.Get("thought").Bool():
				give(conversation.Thought, text)
			case strings.TrimSpace(text) != "":
				give(conversation.Answer, text)
			}
			return true
		})
	case "tool_result":
		v.Get("message.parts").ForEach(func(_, p gjson.Result) bool {
			if r := p.Get("functionResponse"); r.IsObject() {
				e.Tool = strings.Clone(r.Get("name").Str)
				e.Failed = r.Get("response.error").Exists()
				give(conversation.Result, gemini.ResponseText(r.Get("response")))
			}
			return true
		})
	case "system":
		if v.Get("subtype").Str == "chat_compression" {
			text := ""
			// The summary is the text with the tag, or without one the first text.
			v.Get("systemPayload.compressedHistory").ForEach(func(_, m gjson.Result) bool {
				said := gemini.PartsText(m.Get("parts"))
				summary := strings.Contains(said, "<state_snapshot>")
				if summary || text == "" {
					text = said
				}
				return !summary
			})
			give(conversation.Summary, strings.TrimSpace(text))
		}
	}
	return all
}

// personText returns the person's text in a record and its kind, or "" if the client wrote it:
// about a finished agent, or at a timer.
func personText(v gjson.Result) (conversation.Kind, string) {
	kind := conversation.Prompt
	switch v.Get("subtype").Str {
	case "", "realtime_message":
	case "mid_turn_user_message":
		kind = conversation.Reply
	default:
		return "", ""
	}
	if p := v.Get("provenance").Str; p != "" && p != "real_user" {
		return "", ""
	}
	text := ""
	if shown := v.Get("systemPayload.displayText"); shown.Exists() {
		text = strings.TrimSpace(shown.Str)
	} else {
		text = gemini.StripInjected(gemini.PartsText(v.Get("message.parts")))
	}
	if text == "" {
		return "", ""
	}
	return kind, text
}

// kinds are the types and subtypes of records that Qwen Code 0.15 to 0.24 can write.
const kinds = `
	assistant system tool_result user agent_bootstrap agent_launch_prompt agent_retry
	agent_session_ready at_command attribution_snapshot background_task_completed
	branch_checkpoint chat_compression cron custom_title file_history_snapshot goal_runtime
	goal_state goal_turn_end managed_session_commit_v1 managed_session_event_v1
	managed_session_header_v1 mid_turn_user_message notification omni_recall parent_session
	realtime_message rewind session_artifact_event session_artifact_snapshot session_model
	session_source session_sources_snapshot slash_command turn_result ui_telemetry
	user_text_elements
`

func (q Reader) Unknown(f conversation.File, each func(kind string)) error {
	if q.isOldFormat(f) {
		return gemini.Reader{}.Unknown(f, each)
	}
	return conversation.UnknownLines(f.Path, strings.Fields(kinds), kindOf, each)
}

// kindOf returns what a record's reading depends on: its subtype, or else its type.
func kindOf(line []byte) string {
	both := gjson.GetManyBytes(line, "subtype", "type")
	return cmp.Or(both[0].Str, both[1].Str)
}
