// Package kimi reads the sessions of Kimi Code 2.1:
//
//	<store>/sessions/wd_<folder>_<digest>/<id>/state.json               its name and folder
//	<store>/sessions/wd_<folder>_<digest>/<id>/agents/main/wire.jsonl
//	<store>/sessions/wd_<folder>_<digest>/<id>/agents/<subagent>/wire.jsonl
//
// A fork begins with a copy of all records. The person can take back turns; their records
// stay, and a later one says which they are. The files do not name Kimi Code's version.
package kimi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/lazyregexp"
)

type Reader struct{}

func (Reader) Client() string { return "kimi" }

func (Reader) PlainText(conversation.File) bool { return true }

const (
	mainAgent = "main"
	wireFile  = "wire.jsonl"
	stateFile = "state.json"
)

// Path returns where Kimi Code keeps a session that began in cwd, which its hooks do not
// tell.
func Path(a conversation.ClientFolder, cwd, id string) string {
	if !filepath.IsAbs(a.Dir) {
		return ""
	}
	return wireOf(a.Dir, cwd, id)
}

func wireOf(root, cwd, id string) string {
	return filepath.Join(root, "sessions", Folder(cwd), id, "agents", mainAgent, wireFile)
}

var unusual = lazyregexp.New(`[^a-z0-9._-]+`)

// Folder returns Kimi Code's name of the folder with the sessions of a working folder.
func Folder(cwd string) string {
	cwd = strings.TrimRight(cwd, "/")
	const longest = 40
	name := strings.Trim(unusual().ReplaceAllString(strings.ToLower(cwd[strings.LastIndexByte(cwd, '/')+1:]), "-"), "-")
	if len(name) > longest {
		name = strings.Trim(name[:longest], "-")
	}
	if name == "" || name == "." || name == ".." {
		name = "workspace"
	}
	sum := sha256.Sum256([]byte(cwd))
	return "wd_" + name + "_" + hex.EncodeToString(sum[:6])
}

// Find lists the sessions' folders, in each first the session and then its subagents.
// Renaming a session changes only its state, so its time counts, too.
func (Reader) Find(store string, each func(conversation.File)) error {
	dir := filepath.Join(store, "sessions")
	folders, err := conversation.List(dir)
	if err != nil {
		return err
	}
	found := conversation.NewFinding("kimi", store, each)
	for _, folder := range folders {
		if !strings.HasPrefix(folder.Name(), "wd_") || folder.Type().IsRegular() {
			continue
		}
		below := filepath.Join(dir, folder.Name())
		for _, id := range conversation.SessionsIn(found.List(below)) {
			findAgents(found, filepath.Join(below, string(id)), id)
		}
	}
	return found.Err()
}

// findAgents gives a session's agents. A subagent's name is unique only within its session.
func findAgents(found *conversation.Finding, dir string, id session.ID) {
	for _, a := range found.List(filepath.Join(dir, "agents")) {
		f := conversation.File{Path: filepath.Join(dir, "agents", a.Name(), wireFile), ID: id}
		if a.Name() != mainAgent {
			own, err := session.ParseID(a.Name() + "." + strings.TrimPrefix(string(id), "session_"))
			if err != nil {
				continue
			}
			f.ID, f.Parent = own, id
		}
		found.GiveFile(f, filepath.Join(dir, stateFile))
	}
}

// maxState bounds a session's state, which names its subagents and tasks.
const maxState = 4 << 20

// Metadata takes the name, folder and origin from the session's state and the rest from
// the records. Without a person, Kimi Code gives a session no name.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	m := conversation.Metadata{ID: f.ID, Parent: f.Parent}
	folder := "" // as the model was told it, for a state that a crash cut off
	front := func(line []byte) (more bool) {
		r := conversation.ParseRecord(line)
		conversation.SetTimeIfZero(&m.Started, timeOf(r))
		if r.Get("type").Str == "profile.bind" {
			conversation.SetIfEmpty(&m.Model, r.Get("modelAlias").Str)
			conversation.SetIfEmpty(&folder, strings.Clone(r.Get("environmentDisclosure.cwd").Str))
		}
		if kind, text := personText(r); kind == conversation.Prompt {
			conversation.SetIfEmpty(&m.FirstID, strings.Clone(r.Get("message.id").Str))
			conversation.SetIfEmpty(&m.Prompt, conversation.PromptExcerpt(text))
		}
		return m.Prompt == ""
	}
	used := ""
	err := conversation.FrontAndBack(f, front, func(line []byte) bool {
		r := conversation.ParseRecord(line)
		conversation.SetTimeIfZero(&m.Last, timeOf(r))
		if r.Get("type").Str == "usage.record" {
			conversation.SetIfEmpty(&used, strings.Clone(r.Get("model").Str))
		}
		return true
	})
	if err != nil {
		return conversation.Metadata{}, err
	}
	if used != "" {
		m.Model = used
	}
	if m.FirstID == "" && m.Last.IsZero() {
		return conversation.Metadata{}, nil
	}
	s, err := conversation.ReadJSON(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(f.Path))), stateFile), maxState)
	m.CWD = cmp.Or(s.Get("cwd").Str, s.Get("workDir").Str, folder) // workDir in versions before 2.0
	if f.Parent == "" {
		m.ForkOf = conversation.IDOf(s.Get("forkedFrom"))
		at := s.Get("createdAt") // not that of the copy in a fork
		if at := cmp.Or(conversation.TimeOfMillis(at.Int()), conversation.ParseTime(at.Str)); !at.IsZero() {
			m.Started = at
		}
		if s.Get("titleKind").Str != "replaceable" { // else it is the first prompt
			m.Title = conversation.Excerpt(s.Get("title").Str)
		}
		m.Headless = m.FirstID != "" && s.IsObject() && !s.Get("title").Exists() && !s.Get("lastPrompt").Exists()
	}
	if m.Last.Before(m.Started) {
		m.Last = m.Started
	}
	return m, err
}

func timeOf(r gjson.Result) time.Time { return conversation.TimeOfMillis(r.Get("time").Int()) }

// Read leaves out the turns that the person took back, but for their tokens.
func (Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	if o.From > 0 {
		if more, err := conversation.HasMore(f.Path, o.From); err != nil || !more {
			return o.From, err
		}
	}
	undone, err := undoneTurns(f.Path)
	if err != nil {
		return o.From, err
	}
	undone.ReportEarlier(o)
	each = o.SkipTakenBack(undone.Contains, each)
	mayAsk := func(line []byte) bool { return bytes.Contains(line, []byte(`"context.append_message"`)) }
	return conversation.ReadRecords(f.Path, o, mayAsk, entriesOf, each)
}

// undoneTurns returns where the turns are that the person took back. Before 2.1, a record tells only
// how many of the last ones.
func undoneTurns(path string) (all conversation.TakenBackSpans, err error) {
	type turn struct{ id, at int64 }
	var turns []turn    // that are not taken back
	var prompts []int64 // the same of messages: context.undo, the record before 2.1, counts them
	_, err = conversation.Lines(path, 0, func(line []byte, at int64) bool {
		switch front := line[:min(len(line), 40)]; {
		case conversation.HasPair(front, "type", "turn.prompt"):
			turns = append(turns, turn{gjson.GetBytes(line, "turnId").Int(), at})
		case conversation.HasPair(front, "type", "context.undone"):
			from := gjson.GetBytes(line, "fromTurnId").Int()
			if first := slices.IndexFunc(turns, func(t turn) bool { return t.id == from }); first >= 0 {
				all = append(all, [2]int64{turns[first].at, at})
				turns = turns[:first]
			}
		case conversation.HasPair(front, "type", "context.append_message"):
			if kind, _ := personText(conversation.ParseRecord(line)); kind != "" {
				prompts = append(prompts, at)
			}
		case conversation.HasPair(front, "type", "context.apply_compaction"), conversation.HasPair(front, "type", "context.clear"):
			prompts = nil // an undo stops there
		case conversation.HasPair(front, "type", "context.undo"):
			count := min(len(prompts), int(max(0, gjson.GetBytes(line, "count").Int())))
			if count > 0 {
				all = append(all, [2]int64{prompts[len(prompts)-count], at})
				prompts = prompts[:len(prompts)-count]
			}
		}
		return true
	})
	return all, err
}

// personText returns what a record of the conversation says for the person: what they asked. All
// else in their name comes from the client and its hooks.
func personText(r gjson.Result) (conversation.Kind, string) {
	m := r.Get("message")
	if r.Get("type").Str != "context.append_message" || m.Get("role").Str != "user" {
		return "", ""
	}
	by := m.Get("origin.kind").Str
	if by == "user" || by == "" || by == "system_trigger" && m.Get("origin.name").Str == "subagent" { // "" is without a mark of the client
		return conversation.Prompt, conversation.ContentText(m.Get("content"))
	}
	return "", ""
}

// entriesOf returns a record's entries. Tokens that were not used in a turn are Aside.
func entriesOf(r gjson.Result) (all []conversation.Entry) {
	at := timeOf(r)
	give := func(e conversation.Entry) {
		e.Time, e.Text, e.Tool, e.ID, e.CallID = at, strings.Clone(e.Text), strings.Clone(e.Tool), strings.Clone(e.ID), strings.Clone(e.CallID)
		all = append(all, e)
	}
	switch r.Get("type").Str {
	case "context.append_message":
		if kind, text := personText(r); text != "" {
			give(conversation.Entry{Kind: kind, Text: text, ID: r.Get("message.id").Str})
		}
	case "context.append_loop_event":
		if e := eventOf(r.Get("event")); e.Kind != "" {
			give(e)
		}
	case "context.apply_compaction":
		give(conversation.Entry{Kind: conversation.Summary, Text: r.Get("summary").Str})
	case "usage.record":
		give(conversation.Entry{
			Kind: conversation.TokenUsage, Model: strings.Clone(r.Get("model").Str), ID: fmt.Sprint(conversation.UsageAt, at.UnixMilli()),
			Aside: r.Get("usageScope").Str != "turn",
			Usage: conversation.UsageOf(r.Get("usage"), "inputOther", "inputCacheRead", "inputCacheCreation", "output"),
		})
	}
	return all
}

// eventOf returns the entry of an event in the agent's turn, the zero Entry for one that has none.
func eventOf(event gjson.Result) conversation.Entry {
	switch event.Get("type").Str {
	case "content.part":
		part, id := event.Get("part"), event.Get("stepUuid").Str
		if text := part.Get("text").Str; part.Get("type").Str == "text" && text != "" {
			return conversation.Entry{Kind: conversation.Answer, Text: text, ID: id}
		}
		if text := part.Get("think").Str; part.Get("type").Str == "think" && text != "" {
			return conversation.Entry{Kind: conversation.Thought, Text: text, ID: id}
		}
	case "tool.call":
		return conversation.Entry{
			Kind: conversation.Call, Tool: event.Get("name").Str, Text: conversation.CallText(event.Get("args")),
			ID: event.Get("stepUuid").Str, CallID: event.Get("toolCallId").Str,
		}
	case "tool.result":
		result := event.Get("result")
		text, failed := conversation.ContentText(result.Get("output")), result.Get("isError").Bool()
		return conversation.Entry{
			Kind: conversation.Result, Text: text, Failed: failed, ID: event.Get("parentUuid").Str, CallID: event.Get("toolCallId").Str,
			Rejected: failed && strings.Contains(text, "was not run because the user rejected"),
		}
	}
	return conversation.Entry{}
}

// kinds are the types of records that Kimi Code 2.1.0 can write, and of the events in a turn.
const kinds = `
	agent.message.appended agent.switched agent.turn.ended agent.turn.started config.update
	context.append_loop_event.content.part context.append_loop_event.step.begin
	context.append_loop_event.step.end context.append_loop_event.tool.call
	context.append_loop_event.tool.result context.append_message context.apply_compaction
	context.clear context.undo context.undone cron.add cron.cursor cron.delete
	file_history.checkpoint file_history.tracked forked full_compaction.begin
	full_compaction.cancel full_compaction.complete goal.clear goal.create goal.update
	interaction.request interaction.resolved interruptionReminder.recorded llm.request
	llm.tools_snapshot mcp.tools_discovered metadata micro_compaction.apply
	permission.record_approval_result permission.set_mode plan.revision plan_mode.cancel
	plan_mode.enter plan_mode.exit plugin.session_start profile.bind prompt.aborted
	prompt.accepted prompt.completed prompt.steered runtime.set_binding staleGuard.cleared
	staleGuard.recorded subagent.cancelled subagent.completed subagent.failed subagent.spawned
	subagent.started swarm_mode.enter swarm_mode.exit task.started task.terminated
	task.waitDelivered token_counting.measured token_counting.rebased token_counting.truncated
	token_counting.turn_recorded tools.register_user_tool tools.reset_active_tools
	tools.set_active_tools tools.unregister_user_tool tools.update_store tower_mode.enter
	tower_mode.exit turn.cancel turn.ended turn.prompt turn.steer turn.step.interrupted
	turn.step.retrying usage.record
`

func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, strings.Fields(kinds), kindOf, each)
}

func kindOf(line []byte) string {
	kind := strings.TrimPrefix(conversation.RecordType(line), "human.") // of older versions
	if kind == "context.append_loop_event" {
		return kind + "." + gjson.GetBytes(line, "event.type").Str
	}
	return kind
}
