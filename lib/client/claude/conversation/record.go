package claude

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// record is what is read of one line. What not everybody asks for is left as it stands
// in the file, and is valid as long as the line's bytes are.
type record struct {
	raw        []byte // nil where only a part of the line is at hand
	Kind       string // user, assistant, attachment, system, custom-title, …
	id         value  // uuid: the same in the copy that a fork begins with
	session    value  // the id that the record says it belongs to
	forkedFrom value  // the session that it was copied from, where the client says
	Hidden     bool   // a subagent's, or put in by the client itself
	Sidechain  bool   // a subagent's
	meta       bool
	Compacted  bool // the client's summary of what was compacted
	APIError   bool
	cwd        value
	branch     value  // "HEAD" where there is none
	version    value  // of the client
	entrypoint value  // cli, or how it was run without a person: sdk-cli, sdk-ts, …
	title      value  // of a custom-title or an ai-title
	Timestamp  string // RFC 3339
	origin     value  // its kind is empty or human for what a person wrote
	Message    message
	attachment value
	result     value // toolUseResult
	snapshot   value
	params     value // of an api-request
	query      value // what an api-request is for: repl_main_thread, sdk, a subagent, a title
}

// message is what the API was told, or answered.
type message struct {
	id     value // one for all records of an answer
	model  value
	usage  value
	text   value   // the content, where that is a text
	blocks []block // the content, where that is a list
}

// block is an element of a message's content.
type block struct {
	Kind    string // text, thinking, tool_use, tool_result
	id      value  // of the call that a tool_use is
	name    value  // of the tool
	callID  value  // of the call that a tool_result belongs to
	Failed  bool
	text    value
	thought value
	content value
	input   value
}

// value is a value as it stands in the file. Most of a conversation are the results
// of tools, of which a summary needs nothing.
type value string

// String returns a text, "" of any other value.
func (v value) String() string {
	return gjson.Parse(string(v)).Str
}

// whole returns the value with all that is in it.
func (v value) whole() gjson.Result { return gjson.Parse(string(v)) }

// get returns what is at a path in the value, and reads no further than that.
func (v value) get(path string) gjson.Result { return gjson.Get(string(v), path) }

func (v value) isTrue() bool { return string(v) == "true" }

// members calls each for the members of an object, also of one that is no more than
// nearly JSON, or cut off.
func members(object string, each func(key string, v value)) {
	gjson.Parse(object).ForEach(func(key, v gjson.Result) bool { each(key.Str, value(v.Raw)); return true })
}

// parse reads a line in one pass. Of a line that is no record it makes an
// empty one, or one with what could be understood.
func parse(line []byte) record {
	rec := record{raw: line}
	if len(line) == 0 || line[0] != '{' {
		return rec
	}
	members(string(line), rec.take)
	return rec
}

// take takes in a member of a record.
func (rec *record) take(key string, v value) {
	switch key {
	case "type":
		rec.Kind = v.String()
	case "uuid":
		rec.id = v
	case "sessionId":
		rec.session = v
	case "forkedFrom":
		rec.forkedFrom = v
	case "isMeta":
		rec.meta = v.isTrue()
		rec.Hidden = rec.Hidden || rec.meta
	case "isSidechain":
		rec.Sidechain = v.isTrue()
		rec.Hidden = rec.Hidden || rec.Sidechain
	case "isCompactSummary":
		rec.Compacted = v.isTrue()
	case "isApiErrorMessage":
		rec.APIError = v.isTrue()
	case "cwd":
		rec.cwd = v
	case "gitBranch":
		rec.branch = v
	case "version":
		rec.version = v
	case "entrypoint":
		rec.entrypoint = v
	case "customTitle", "aiTitle":
		rec.title = v
	case "timestamp":
		rec.Timestamp = v.String()
	case "origin":
		rec.origin = v
	case "message":
		rec.Message = parseMessage(v)
	case "attachment":
		rec.attachment = v
	case "toolUseResult":
		rec.result = v
	case "snapshot":
		rec.snapshot = v
	case "params":
		rec.params = v
	case "querySource":
		rec.query = v
	}
}

// parseMessage reads a message in one pass.
func parseMessage(object value) message {
	var m message
	members(string(object), func(key string, v value) {
		switch key {
		case "id":
			m.id = v
		case "model":
			m.model = v
		case "usage":
			m.usage = v
		case "content":
			m.text, m.blocks = v, parseBlocks(v)
		}
	})
	return m
}

// parseBlocks reads the elements of a list.
func parseBlocks(list value) []block {
	if len(list) == 0 || list[0] != '[' {
		return nil
	}
	all := make([]block, 0, 1) // most have one
	list.whole().ForEach(func(_, b gjson.Result) bool {
		all = append(all, parseBlock(value(b.Raw)))
		return true
	})
	return all
}

// parseBlock reads a block in one pass.
func parseBlock(object value) block {
	var b block
	members(string(object), func(key string, v value) {
		switch key {
		case "type":
			b.Kind = v.String()
		case "id":
			b.id = v
		case "name":
			b.name = v
		case "tool_use_id":
			b.callID = v
		case "is_error":
			b.Failed = v.isTrue()
		case "text":
			b.text = v
		case "thinking":
			b.thought = v
		case "content":
			b.content = v
		case "input":
			b.input = v
		}
	})
	return b
}

// request is what a person wrote, with an empty text where they wrote nothing.
type request struct {
	Text string
	Time time.Time // zero where it is not known
	// Reply reports that it was not said of their own accord: it answers the
	// agent's question, or says why a tool was refused.
	Reply bool
}

// lineKind is what a line is by the look of its front.
type lineKind int

const (
	other    lineKind = iota
	asking            // it may hold what a person wrote, or a title
	bringing          // it brings a tool's result
)

var (
	userMessage = []byte(`{"role":"user"`)
	queued      = []byte(`{"type":"queued_command"`)
	titled      = []byte("-title")
	toolResult  = []byte(`[{"tool_use_id"`)
	toolResult2 = []byte(`[{"type":"tool_result"`)
)

// replies are how the results of tools begin that bring what a person said: to
// a refusal, and to a question of the agent's.
var replies = [][]byte{
	[]byte(`"The user doesn't want to proceed`),
	[]byte(`"Your questions have been answered`),
	[]byte(`"The user responded`),
	[]byte(`"User has answered your questions`),
}

// lookAt tells lines apart without reading them. It is right as long as the
// client writes a message's role before its content, and a tool's result under
// the first two keys that it has had so far; where that is no more so, a line
// is asking and read.
func lookAt(line []byte) lineKind {
	front := line[:min(len(line), 1024)]
	if i := bytes.Index(front, userMessage); i >= 0 {
		content := bytes.TrimPrefix(front[i+len(userMessage):], []byte(`,"content":`))
		if !bytes.HasPrefix(content, toolResult) && !bytes.HasPrefix(content, toolResult2) {
			return asking
		}
		for _, reply := range replies {
			if bytes.Contains(content[:min(len(content), 160)], reply) {
				return asking
			}
		}
		return bringing
	}
	if bytes.Contains(front, queued) || bytes.Contains(front[:min(len(front), 32)], titled) {
		return asking
	}
	return other
}

// parseEnds is the record in a line of which only both ends are at hand. It can be a
// prompt with a picture behind it; of any other it is empty.
func parseEnds(front, back []byte) record {
	i := bytes.Index(front, userMessage)
	if i < 0 || lookAt(front) != asking || bytes.Contains(back, []byte(`"isMeta":true`)) || bytes.Contains(front[:i], []byte(`"isSidechain":true`)) {
		return record{}
	}
	// What is cut off ends the message, and a text that is cut is none: half a
	// secret would not be known for one.
	rec := record{Kind: "user", Message: parseMessage(value(front[i:]))}
	if j := bytes.LastIndex(back, []byte(`,"timestamp":"`)); j >= 0 {
		rec.Timestamp = gjson.GetBytes(append([]byte("{"), back[j+1:]...), "timestamp").Str
	}
	return rec
}

// ownText returns the record as one of the conversation itself: in a subagent's
// transcript every record is marked as a subagent's.
func (rec record) ownText() record {
	if rec.Sidechain {
		rec.Sidechain, rec.Hidden = false, rec.meta
	}
	return rec
}

// summary is what the client kept of what it compacted, where the record is such
// a summary, without what the client puts around it.
func (rec record) summary() string { return kept(rec.Message.asked()) }

// isAsking says, by the look of its front, that a line may hold what a person
// wrote, or a title. Of every other line request is empty.
func isAsking(line []byte) bool { return lookAt(line) == asking }

// isBringing says, by the look of its front, that a line brings a tool's result, and
// nothing that a person said by it.
func isBringing(line []byte) bool { return lookAt(line) == bringing }

// request is what the person wrote in this record, with an empty text where
// it holds nothing of the kind.
func (rec record) request() request {
	var q request
	switch {
	case rec.Hidden || rec.Compacted || !byPerson(rec.origin.get("kind")):
	case rec.Kind == "user":
		if q.Text = rec.Message.asked(); q.Text == "" {
			q.Text, q.Reply = answered(rec), true
		}
	case rec.Kind == "attachment":
		// A prompt that was typed while the agent was at work.
		a := rec.attachment.whole()
		if a.Get("type").Str == "queued_command" && a.Get("commandMode").Str == "prompt" &&
			!a.Get("isMeta").Bool() && byPerson(a.Get("origin.kind")) {
			prompt := value(a.Get("prompt").Raw)
			q.Text = message{text: prompt, blocks: parseBlocks(prompt)}.asked()
		}
	}
	if q.Text == "" || rec.raw != nil && len(rec.raw) <= maxChecked && !gjson.ValidBytes(rec.raw) {
		return request{}
	}
	q.Time, _ = time.Parse(time.RFC3339, rec.Timestamp) // zero where it is none
	return q
}

// byPerson reports whether a record of that origin holds a person's words.
func byPerson(origin gjson.Result) bool { return origin.Str == "" || origin.Str == "human" }

// maxChecked is the longest line that is checked to be JSON as a whole before
// it is taken for a person's words.
const maxChecked = 64 << 10

// asked returns what a person wrote in a message: a text, or blocks of which the
// client puts in some itself.
func (m message) asked() string {
	if len(m.blocks) == 0 {
		return messageText(m.text.String())
	}
	var all []string
	for _, b := range m.blocks {
		if b.Kind == "text" {
			if s := messageText(b.text.String()); s != "" {
				all = append(all, s)
			}
		}
	}
	return strings.Join(all, "\n")
}

// wrappers are the tags in which the client hides its own words in a person's
// message.
var wrappers = []string{
	"local-command-stdout", "local-command-stderr", "local-command-caveat",
	"bash-input", "bash-stdout", "bash-stderr", "system-reminder", "user-prompt-submit-hook",
	"task-notification", "teammate-message", "agent-message", "cross-session-message", "tick",
	"ide_opened_file", "ide_selection", "ide_diagnostics", "session-start-hook", "new-diagnostics",
}

// messageText returns the person's words in a text: as they are, a slash command with
// its arguments on one line, and nothing for what asks the agent for nothing:
// what the client says in the person's name, and their own shell commands.
func messageText(s string) string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "[Request interrupted by user") || strings.HasPrefix(s, "[Image: source:") {
		return ""
	}
	if !strings.HasPrefix(s, "<") {
		return s
	}
	name := s[1:]
	if end := strings.IndexAny(name, "> \n"); end >= 0 {
		name = name[:end]
	}
	switch {
	case name == "command-name" || name == "command-message":
		command := strings.TrimSpace(inTag(s, "command-name"))
		if !strings.HasPrefix(command, "/") {
			command = "/" + command
		}
		if slices.Contains(ownCommands, command[1:]) {
			return ""
		}
		return strings.TrimSpace(command + " " + strings.TrimSpace(inTag(s, "command-args")))
	case slices.Contains(wrappers, name):
		// What the person wrote may stand behind it.
		if _, after, ok := strings.Cut(s, "</"+name+">"); ok {
			return messageText(after)
		}
		return ""
	}
	return s
}

// ownCommands are the slash commands that steer the client and ask the agent
// for nothing.
var ownCommands = []string{
	"", "add-dir", "agents", "bashes", "bug", "clear", "compact", "config", "context", "continue", "copy",
	"cost", "doctor", "effort", "exit", "export", "fast", "feedback", "help", "hooks", "ide", "keybindings",
	"login", "logout", "mcp", "memory", "model", "output-style", "permissions", "plugin", "quit",
	"release-notes", "reload-plugins", "rename", "resume", "rewind", "sandbox", "skills", "stats",
	"status", "statusline", "tasks", "terminal-setup", "theme", "todos", "upgrade", "usage", "vim",
}

func inTag(s, name string) string {
	_, s, ok := strings.Cut(s, "<"+name+">")
	if !ok {
		return ""
	}
	s, _, _ = strings.Cut(s, "</"+name+">")
	return s
}

// refused stands before what a person said when they refused a tool.
const refused = "To tell you how to proceed, the user said:\n"

// answered returns what a person said by way of a tool's result: why they
// refused it, or what they chose when the agent asked.
func answered(rec record) string {
	if strings.HasPrefix(string(rec.result), `{"questions"`) || strings.HasPrefix(string(rec.result), `{"answers"`) {
		result := rec.result.whole()
		var all []string
		result.Get("answers").ForEach(func(q, a gjson.Result) bool {
			all = append(all, q.Str+" "+a.String())
			return true
		})
		if free := result.Get("response").Str; free != "" {
			all = append(all, free)
		}
		return strings.Join(all, "\n")
	}
	// A refusal has no other result.
	if _, why, ok := strings.Cut(rec.result.String(), refused); ok {
		return strings.TrimSpace(why)
	}
	return ""
}

// result is the text of a tool's result.
func (b block) result() string {
	content := b.content.whole()
	if content.Type == gjson.String {
		return content.Str
	}
	var all []string
	content.ForEach(func(_, b gjson.Result) bool {
		all = append(all, b.Get("text").Str)
		return true
	})
	return strings.Join(all, "\n")
}

// kept takes out of a compaction's summary what the client puts around it.
func kept(s string) string {
	const preface = "The summary below covers the earlier portion of the conversation."
	if _, after, ok := strings.Cut(s, "\nSummary:\n"); ok {
		s = after
	} else if _, after, ok := strings.Cut(s, preface); ok {
		s = after
	}
	s, _, _ = strings.Cut(s, "\nIf you need specific details from before compaction")
	s, _, _ = strings.Cut(s, "\nPlease continue the conversation from where we left it off")
	return strings.TrimSpace(s)
}
