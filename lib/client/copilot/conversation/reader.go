// Package copilot reads the sessions of GitHub's Copilot CLI 1.0.45, 1.0.66 and 1.0.102:
//
//	<store>/session-state/<id>/events.jsonl
//	<store>/session-state/<id>/workspace.yaml   its name, folder and branch
//
// A fork begins with a copy of all events, with the same ids and times. Subagents write
// to their session's events, each with an agentId: Read gives their tokens but not their
// text.
//
// The package does not read the database of all sessions, nor the sessions of versions
// before 0.0.342 (history-session-state), which current versions do not read either.
package copilot

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

type Reader struct{}

func (Reader) Client() string { return "copilot" }

func (Reader) PlainText(conversation.File) bool { return true }

// Path returns where Copilot keeps a session's events, which its hooks do not tell before
// the end of a turn.
func Path(a conversation.ClientFolder, id string) string {
	if !filepath.IsAbs(a.Dir) {
		return ""
	}
	return filepath.Join(a.Dir, "session-state", id, "events.jsonl")
}

// Find lists the sessions' folders. Renaming a session changes only the workspace's file,
// so its time counts, too.
func (Reader) Find(store string, each func(conversation.File)) error {
	dir := filepath.Join(store, "session-state")
	entries, err := conversation.List(dir)
	if err != nil {
		return err
	}
	found := conversation.NewFinding("copilot", store, each)
	for _, id := range conversation.SessionsIn(entries) {
		f := conversation.File{Path: filepath.Join(dir, string(id), "events.jsonl"), ID: id}
		found.GiveFile(f, workspaceFile(f))
	}
	return found.Err()
}

func workspaceFile(f conversation.File) string {
	return filepath.Join(filepath.Dir(f.Path), "workspace.yaml")
}

type event struct {
	kind, id, time string
	bySubagent     bool // a subagent's
	data           gjson.Result
}

func parseEvent(line []byte) (e event) {
	conversation.ParseRecord(line).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "type":
			e.kind = v.Str
		case "id":
			e.id = strings.Clone(v.Str)
		case "timestamp":
			e.time = v.Str
		case "agentId":
			e.bySubagent = v.Str != ""
		case "data":
			e.data = v
		}
		return true
	})
	if e.data.IsObject() && e.data.Get("parentToolCallId").Str != "" { // of versions without an agentId
		e.bySubagent = true
	}
	return e
}

// Metadata takes the name from the workspace and the rest from the events.
func (Reader) Metadata(f conversation.File) (conversation.Metadata, error) {
	h := header{Metadata: conversation.Metadata{ID: f.ID}}
	if err := conversation.FrontAndBack(f, h.addFromStart, h.addFromEnd); err != nil {
		return conversation.Metadata{}, err
	}
	ws, err := readWorkspace(f)
	return h.collectedMetadata(ws), err
}

// header collects the metadata from the events at both ends of a file.
type header struct {
	conversation.Metadata                       // from the front, without folder and branch
	folder, branch        string                // from the front
	opening               string                // the first prompt, if the person did not write it
	instructed            bool                  // the model's instructions were read
	last                  conversation.Metadata // from the end
}

// addFromStart adds an event from the front, in order, and reports whether it needs more. The
// first prompt comes before the instructions in newer versions and after them in older
// ones. The answer follows both.
func (h *header) addFromStart(line []byte) (more bool) {
	e := parseEvent(line)
	conversation.SetTimeIfZero(&h.Started, conversation.ParseTime(e.time))
	switch e.kind {
	case "session.start":
		h.addStart(e.data)
	case "session.model_change":
		conversation.SetIfEmpty(&h.Model, e.data.Get("newModel").Str)
	case "session.info":
		conversation.SetIfEmpty((*string)(&h.ForkOf), string(forkOrigin(e.data, h.ID)))
	case "system.message":
		// Only this tells that no person was present.
		if s := e.data.Get("content").Str; !h.instructed && !e.bySubagent {
			h.instructed = true
			h.Headless = strings.Contains(s[:min(len(s), 400)], "running in non-interactive mode")
		}
	case "user.message":
		if text := personText(e); text != "" && h.Prompt == "" {
			if h.Prompt = conversation.PromptExcerpt(text); h.Prompt == "" {
				conversation.SetIfEmpty(&h.opening, conversation.Excerpt(text))
			}
			conversation.SetIfEmpty(&h.FirstID, e.id)
		}
	}
	return h.Prompt == "" || !bytes.Contains(line[:min(len(line), 60)], []byte(`"assistant.`))
}

// addStart adds what session.start says. Later events override its folder, branch and model.
func (h *header) addStart(data gjson.Result) {
	h.ID = cmp.Or(conversation.IDOf(data.Get("sessionId")), h.ID)
	h.Parent = conversation.IDOf(data.Get("detachedFromSpawningParentSessionId"))
	if at := conversation.ParseTime(data.Get("startTime").Str); !at.IsZero() { // a fork's own; the other times are copies
		h.Started = at
	}
	conversation.SetIfEmpty(&h.Version, data.Get("copilotVersion").Str)
	conversation.SetIfEmpty(&h.folder, data.Get("context.cwd").Str)
	conversation.SetIfEmpty(&h.branch, data.Get("context.branch").Str)
	conversation.SetIfEmpty(&h.Model, data.Get("selectedModel").Str)
}

// addFromEnd adds an event from the end, the last one first.
func (h *header) addFromEnd(line []byte) bool {
	e := parseEvent(line)
	conversation.SetTimeIfZero(&h.last.Last, conversation.ParseTime(e.time))
	if e.bySubagent {
		return true
	}
	switch e.kind {
	case "session.resume":
		conversation.SetIfEmpty(&h.last.CWD, e.data.Get("context.cwd").Str)
		conversation.SetIfEmpty(&h.last.Branch, e.data.Get("context.branch").Str)
	case "session.context_changed":
		conversation.SetIfEmpty(&h.last.CWD, e.data.Get("cwd").Str)
		conversation.SetIfEmpty(&h.last.Branch, e.data.Get("branch").Str)
	case "session.info":
		conversation.SetIfEmpty((*string)(&h.last.ForkOf), string(forkOrigin(e.data, h.ID)))
	case "session.model_change":
		conversation.SetIfEmpty(&h.last.Model, e.data.Get("newModel").Str)
	case "assistant.message":
		conversation.SetIfEmpty(&h.last.Model, e.data.Get("model").Str)
	}
	return true
}

// collectedMetadata joins the metadata of both ends, the end before the front, and the workspace's.
func (h *header) collectedMetadata(ws map[string]string) conversation.Metadata {
	m := h.Metadata
	m.Last, m.Model = h.last.Last, cmp.Or(h.last.Model, m.Model)
	conversation.SetIfEmpty((*string)(&m.ForkOf), string(h.last.ForkOf))
	m.CWD = cmp.Or(h.last.CWD, h.folder, ws["cwd"])
	m.Branch = cmp.Or(h.last.Branch, h.branch, ws["branch"])
	if name := conversation.Excerpt(cmp.Or(ws["name"], ws["summary"])); ws["user_named"] == "true" ||
		!strings.HasPrefix(m.Prompt, name) && !strings.HasPrefix(h.opening, name) { // a beginning of the first prompt is no title
		m.Title = name
	}
	return m
}

// forkOrigin returns the session that own is a fork of, or "". The message of a fork is
// Forked from "TITLE" (ID) as "TITLE" (OWN), and a title may contain parentheses too.
func forkOrigin(data gjson.Result, own session.ID) session.ID {
	message := data.Get("message").Str
	if data.Get("infoType").Str != "fork" || !strings.HasPrefix(message, "Forked from ") {
		return ""
	}
	for rest := message; ; {
		_, after, ok := strings.Cut(rest, "(")
		if !ok {
			return ""
		}
		rest = after
		word, _, _ := strings.Cut(rest, ")")
		const uuid = 36
		if id, err := session.ParseID(word); err == nil && len(word) == uuid && id != own {
			return session.ID(strings.Clone(word))
		}
	}
}

func readWorkspace(f conversation.File) (map[string]string, error) {
	data, err := atomicfile.Read(workspaceFile(f), 1<<20)
	if err != nil {
		return nil, conversation.UnreadableError(workspaceFile(f), err)
	}
	return flatYAML(string(data)), nil
}

// flatYAML returns the keys at the left edge of a YAML text whose values are one text:
// plain, quoted, or a block.
func flatYAML(text string) map[string]string {
	all := map[string]string{}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		key, value, ok := strings.Cut(strings.TrimSuffix(lines[i], "\r"), ":")
		if !ok || key == "" || strings.ContainsAny(key, " \t#-'\"") || value != "" && value[0] != ' ' && value[0] != '\t' {
			continue
		}
		value = strings.TrimSpace(value)
		switch {
		case strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">"):
			var block []string
			for i+1 < len(lines) && (strings.TrimSpace(lines[i+1]) == "" || lines[i+1][0] == ' ') {
				i++
				block = append(block, strings.TrimSpace(lines[i]))
			}
			between := "\n"
			if value[0] == '>' {
				between = " "
			}
			value = strings.TrimSpace(strings.Join(block, between))
		case len(value) > 1 && value[0] == '\'' && value[len(value)-1] == '\'':
			value = strings.ReplaceAll(value[1:len(value)-1], "''", "'")
		case len(value) > 1 && value[0] == '"':
			if s, err := strconv.Unquote(value); err == nil {
				value = s
			}
		case value == "null" || value == "~":
			value = ""
		}
		all[key] = value
	}
	return all
}

// sources are what Copilot's own messages in the person's name come from, as its SDK and stores
// name them. Of a person's the source is missing, "user", "command" or "immediate-prompt", and a
// source that gt does not know is theirs.
var sources = []string{"autopilot", "instruction-discovery", "jit-instruction", "skill", "snippy-blocking", "system", "thinking-exhausted-continuation"}

// personText returns the person's text in a user.message, which others write as well.
func personText(e event) string {
	source := e.data.Get("source").Str
	if e.bySubagent || slices.Contains(sources, source) || strings.HasPrefix(source, "agent-") || strings.HasPrefix(source, "skill-") ||
		e.data.Get("isAutopilotContinuation").Type == gjson.True {
		return ""
	}
	return e.data.Get("content").Str
}

type usedTokens map[string]conversation.Usage

// Read gives the events in order. Of what the person took back (/rewind) it gives only the
// tokens. Newer versions remove that from the file.
func (c Reader) Read(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	seen, err := idsBefore(f.Path, o.From) // a file that a sync tool merged has an event twice
	if err != nil {
		return o.From, err
	}
	totals := usedTokens{}
	// read calls each for the entries of a line, unless its event was seen before.
	read := func(line []byte, at int64, seen map[uint64]bool, each func(conversation.Entry) bool) bool {
		ev := parseEvent(line)
		id := conversation.HashID(ev.id)
		again := id != 0 && seen[id]
		seen[id] = true
		if again {
			return true
		}
		for _, e := range totals.entriesOf(ev) {
			if e.Offset = at; !each(e) {
				return false
			}
		}
		return true
	}
	if o.From > 0 && o.State == nil { // a summary (State) needs no totals of what is before From
		counted := map[uint64]bool{}
		_, err := conversation.Lines(f.Path, 0, func(line []byte, at int64) bool {
			if at < o.From && isTotal(line) {
				read(line, at, counted, func(conversation.Entry) bool { return true })
			}
			return at < o.From
		})
		if err != nil {
			return o.From, err
		}
	}
	var gone conversation.TakenBackSpans
	if !o.TooLongToSearch(f.Path) {
		if gone, err = rewoundEvents(f.Path); err != nil {
			return o.From, err
		}
	}
	gone.ReportEarlier(o)
	each = o.SkipTakenBack(gone.Contains, each)
	return conversation.Lines(f.Path, o.From, func(line []byte, at int64) bool {
		if o.Skip != nil && !isTotal(line) && !bytes.Contains(line, []byte(`"user.message"`)) && o.Skip(line) {
			return true
		}
		return read(line, at, seen, each)
	})
}

// idsBefore returns the hashes of the ids of the events before from, if the event at from is one of
// them again; otherwise none, as for most files, which have each event once.
func idsBefore(path string, from int64) (ids map[uint64]bool, err error) {
	ids = map[uint64]bool{}
	next := ""
	if from > 0 {
		_, err = conversation.Lines(path, from, func(line []byte, _ int64) bool {
			next = parseEvent(line).id
			return false
		})
	}
	if err != nil || next == "" {
		return ids, err
	}
	key, again := []byte(next), false
	_, err = conversation.Lines(path, 0, func(line []byte, at int64) bool {
		again = at < from && bytes.Contains(line, key) && parseEvent(line).id == next
		return at < from && !again
	})
	if err != nil || !again {
		return ids, err
	}
	_, err = conversation.Lines(path, 0, func(line []byte, at int64) bool {
		if at < from {
			ids[conversation.HashID(parseEvent(line).id)] = true
		}
		return at < from
	})
	return ids, err
}

// rewoundEvents returns the events that the person took back: those from the one that a rewind
// names up to the rewind.
func rewoundEvents(path string) (gone conversation.TakenBackSpans, err error) {
	var ids map[string]int64 // the events' offsets, by their ids
	anyRewind := false
	isRewind := func(line []byte) bool {
		return bytes.Contains(line[:min(len(line), 60)], []byte(`"session.snapshot_rewind"`))
	}
	if _, err = conversation.Lines(path, 0, func(line []byte, _ int64) bool {
		anyRewind = isRewind(line)
		return !anyRewind
	}); err != nil || !anyRewind {
		return nil, err
	}
	ids = map[string]int64{}
	_, err = conversation.Lines(path, 0, func(line []byte, at int64) bool {
		e := parseEvent(line)
		if begin, ok := ids[e.data.Get("upToEventId").Str]; ok && isRewind(line) {
			gone = append(gone, [2]int64{begin, at})
		}
		ids[e.id] = at
		return true
	})
	return gone, err
}

// isTotal reports whether an event has tokens that the totals of a later shutdown include. The
// client writes an event's type at its beginning.
func isTotal(line []byte) bool {
	front := line[:min(len(line), 60)]
	return bytes.Contains(front, []byte(`"session.usage_record"`)) || bytes.Contains(front, []byte(`"session.shutdown"`))
}

// entriesOf returns an event's entries, of a subagent's only tokens. It sums up all tokens in used.
func (used usedTokens) entriesOf(ev event) (all []conversation.Entry) {
	e := conversation.Entry{Time: conversation.ParseTime(ev.time), ID: ev.id}
	give := func(kind conversation.Kind, text string) {
		if e.Kind, e.Text = kind, text; text != "" || kind == conversation.Call || kind == conversation.Result {
			all = append(all, e)
		}
	}
	data := ev.data
	switch ev.kind { // tokens of everyone in the session
	case "session.usage_record":
		u := data.Get("usage")
		e.Kind, e.Model, e.Usage = conversation.TokenUsage, strings.Clone(u.Get("model").Str), usageOf(u)
		e.ID = strings.Clone(cmp.Or(u.Get("accounting.usageId").Str, u.Get("apiCallId").Str, ev.id))
		e.Aside = ev.bySubagent || u.Get("interactionType").Str != "conversation-agent"
		e.Size = conversation.TokenCount(u.Get("maxPromptTokens"))
		if used.addUsage(e.Model, e.Usage); e.Usage != (conversation.Usage{}) {
			all = append(all, e)
		}
	case "session.shutdown":
		return used.shutdownTotals(e, data)
	}
	if ev.bySubagent {
		return all
	}
	switch ev.kind {
	case "user.message":
		give(conversation.Prompt, personText(ev))
	case "assistant.message":
		e.Model = strings.Clone(data.Get("model").Str)
		give(conversation.Thought, data.Get("reasoningText").Str)
		give(conversation.Answer, data.Get("content").Str)
		e.Model = ""
		for _, call := range data.Get("toolRequests").Array() {
			if e.Tool = strings.Clone(call.Get("name").Str); e.Tool != "" {
				give(conversation.Call, conversation.CallText(call.Get("arguments")))
			}
		}
	case "tool.user_requested": // the person's own command
		e.Tool = strings.Clone(data.Get("toolName").Str)
		give(conversation.Call, conversation.CallText(data.Get("arguments")))
	case "tool.execution_complete":
		text := cmp.Or(data.Get("result.content").Str, data.Get("error.message").Str)
		e.Failed = data.Get("success").Type == gjson.False
		give(conversation.Result, text)
	case "human_response.recorded":
		give(conversation.Reply, conversation.Arguments(data.Get("response.content")))
	case "user_input.completed":
		give(conversation.Reply, data.Get("answer").Str)
	case "session.compaction_complete":
		if u := data.Get("compactionTokensUsed"); u.IsObject() && usageOf(u) != (conversation.Usage{}) {
			s := e
			s.Kind, s.Model, s.Usage, s.Aside = conversation.TokenUsage, strings.Clone(u.Get("model").Str), usageOf(u), true
			all = append(all, s)
		}
		give(conversation.Summary, data.Get("summaryContent").Str)
	}
	return all
}

// shutdownTotals returns the tokens at the end of a run, for versions that do not report each
// request. Older versions report the totals of that run, newer ones (with AI credits)
// those of the whole session, from which it subtracts what was used before.
func (used usedTokens) shutdownTotals(e conversation.Entry, data gjson.Result) (all []conversation.Entry) {
	isSessionTotal := data.Get("totalNanoAiu").Exists()
	data.Get("modelMetrics").ForEach(func(model, m gjson.Result) bool {
		u := usageOf(m.Get("usage"))
		if isSessionTotal {
			soFar := used[model.Str]
			u = conversation.Usage{
				Input: max(0, u.Input-soFar.Input), CacheRead: max(0, u.CacheRead-soFar.CacheRead),
				CacheWrite: max(0, u.CacheWrite-soFar.CacheWrite), Output: max(0, u.Output-soFar.Output),
			}
		}
		s := e
		s.Kind, s.Model, s.Usage, s.ID, s.Aside = conversation.TokenUsage, strings.Clone(model.Str), u, e.ID+"."+model.Str, true
		if used.addUsage(s.Model, u); u != (conversation.Usage{}) {
			all = append(all, s)
		}
		return true
	})
	return all
}

func (used usedTokens) addUsage(model string, u conversation.Usage) {
	sum := used[model]
	sum.Add(u)
	used[model] = sum
}

// usageOf parses token counts. The client's input includes what came from the cache or
// went into it.
func usageOf(u gjson.Result) conversation.Usage {
	used := conversation.UsageOf(u, "inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
	used.Input = max(0, used.Input-used.CacheRead-used.CacheWrite)
	return used
}

// PromptDropped looks for a failed submission. While a prompt is pending, Copilot 1.0.102
// appends the next one to it, and drops one that names a file with @: "Submission failed:
// Error: data did not match any variant of untagged enum Attachment".
func (Reader) PromptDropped(path string, after time.Time) time.Time {
	return conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		return v.Get("type").Str == "session.error" && strings.HasPrefix(v.Get("data.message").Str, "Submission failed"), false
	})
}

// TurnStopped looks for the event "abort", which 1.0.102 writes when the person presses Esc,
// denies permission or stops a tool.
func (Reader) TurnStopped(path string, after time.Time) (time.Time, activity.Reason) {
	return conversation.StoppedAt(path, after, func(v gjson.Result) (stopped, over bool) {
		kind := v.Get("type").Str
		return kind == "abort", strings.HasPrefix(kind, "assistant.") || kind == "user.message"
	}), activity.Done
}

// kinds are the types of events in the schema that comes with Copilot CLI 1.0.102, and those
// of older versions. Some are never kept.
const kinds = `
	abort agent.interrupted assistant.fusion_phase_activity assistant.fusion_phase_completed
	assistant.fusion_phase_failed assistant.fusion_phase_started assistant.idle assistant.intent
	assistant.message assistant.message_delta assistant.message_start assistant.reasoning
	assistant.reasoning_delta assistant.server_tool_progress assistant.streaming_delta
	assistant.tool_call_delta assistant.turn_end assistant.turn_retry assistant.turn_start
	assistant.usage auto_mode_switch.completed auto_mode_switch.requested capabilities.changed
	command.completed command.execute command.queued commands.changed elicitation.completed
	elicitation.requested exit_plan_mode.completed exit_plan_mode.requested
	external_tool.completed external_tool.requested hook.end hook.progress hook.start
	human_response.recorded mcp.headers_refresh_completed mcp.headers_refresh_required
	mcp.oauth_completed mcp.oauth_recovery_completed mcp.oauth_required mcp.prompts.list_changed
	mcp.resources.list_changed mcp.tools.list_changed mcp_app.tool_call_complete
	model.call_failure model.call_final_result model.call_finished model.call_start model.message
	model.messages_snapshot model.model_call_started model.model_call_success model.response
	model.turn_ended model.turn_started pending_messages.modified permission.assentDetected
	permission.carriedForward permission.completed permission.contextualAuthorization
	permission.messageAuthorization permission.messageAuthorizationDegraded
	permission.messageAuthorizationRead permission.requested prompt_cache_break sampling.completed
	sampling.requested sandbox.decision session.auto_mode_resolved
	session.auto_tier_recommendation session.auto_tier_switch_failed
	session.autopilot_objective_changed session.autopilot_stopped session.background_tasks_changed
	session.binary_asset session.canvas.closed session.canvas.opened session.canvas.recorded
	session.canvas.registry_changed session.canvas.removed session.canvas.unavailable
	session.compaction_complete session.compaction_start session.completion_receipt
	session.context_changed session.context_cleared session.custom_agents_updated
	session.custom_notification session.error session.extensions.attachments_pushed
	session.extensions_loaded session.fusion_change_checkpoint session.fusion_commit_started
	session.fusion_completed session.fusion_handoff session.fusion_resolved
	session.fusion_route_failed session.fusion_route_started session.handoff session.idle
	session.indexed_search session.info session.managed_plugin_progress
	session.managed_settings_enforced session.managed_settings_resolved
	session.mcp_server_needs_reconnect session.mcp_server_removed
	session.mcp_server_status_changed session.mcp_server_tools_loaded session.mcp_servers_loaded
	session.memory_changed session.mode_changed session.mode_notice_delivered session.model_change
	session.model_deselected session.permission_recovery session.permissions_changed
	session.plan_changed session.quota_observation session.remote_steerable_changed
	session.request_body_compression_disabled session.resume session.schedule_cancelled
	session.schedule_created session.schedule_rearmed session.session_limits_changed
	session.shutdown session.skills_loaded session.snapshot_rewind session.start
	session.task_complete session.title_changed session.todos_changed session.tools_updated
	session.truncation session.usage_checkpoint session.usage_info session.usage_record
	session.warning session.workspace_file_changed session_limits_exhausted.completed
	session_limits_exhausted.requested skill.context_delivered skill.context_delivered_ref
	skill.invoked skill.invoked_ref subagent.completed subagent.configured subagent.deselected
	subagent.failed subagent.selected subagent.started system.message system.notification
	tool.execution_complete tool.execution_partial_result tool.execution_progress
	tool.execution_start tool.shell_output tool.user_requested tool_search.activated
	ui.ephemeral_query user.message user_input.completed user_input.requested workflow.run_settled
	workflow.run_started workflow.run_updated
`

func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, strings.Fields(kinds), conversation.RecordType, each)
}
