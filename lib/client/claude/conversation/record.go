package claude

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// record is what is read of one line. Fields that cost nothing until they are
// looked at are left as they stand in the file, and are valid as long as its
// bytes are.
type record struct {
	raw        []byte // nil where only a part of the line is at hand
	Kind       string // user, assistant, attachment, system, custom-title, …
	ID         string // uuid: the same in the copy that a fork begins with
	Session    string // the id that the record says it belongs to
	ForkedFrom string // the session that it was copied from, where the client says
	Hidden     bool   // a subagent's, or put in by the client itself
	Sidechain  bool   // a subagent's
	meta       bool
	Compacted  bool // the client's summary of what was compacted
	APIError   bool
	CWD        string
	Branch     string // "HEAD" where there is none
	Version    string // of the client
	Entrypoint string // cli, or how it was run without a person: sdk-cli, sdk-ts, …
	Title      string // of a custom-title or an ai-title
	Timestamp  string // RFC 3339
	origin     string // empty or human for what a person wrote
	Message    gjson.Result
	Attachment gjson.Result
	Result     gjson.Result // toolUseResult
	Snapshot   gjson.Result
}

// parse reads a line in one pass. Of a line that is no record it makes an
// empty one, or one with what could be understood.
func parse(line []byte) record {
	rec := record{raw: line}
	if len(line) == 0 || line[0] != '{' {
		return rec
	}
	gjson.ParseBytes(line).ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "type":
			rec.Kind = v.Str
		case "uuid":
			rec.ID = v.Str
		case "sessionId":
			rec.Session = v.Str
		case "forkedFrom":
			rec.ForkedFrom = v.Get("sessionId").Str
		case "isMeta":
			rec.meta = v.Type == gjson.True
			rec.Hidden = rec.Hidden || rec.meta
		case "isSidechain":
			rec.Sidechain = v.Type == gjson.True
			rec.Hidden = rec.Hidden || rec.Sidechain
		case "isCompactSummary":
			rec.Compacted = v.Type == gjson.True
		case "isApiErrorMessage":
			rec.APIError = v.Type == gjson.True
		case "cwd":
			rec.CWD = v.Str
		case "gitBranch":
			rec.Branch = v.Str
		case "version":
			rec.Version = v.Str
		case "entrypoint":
			rec.Entrypoint = v.Str
		case "customTitle", "aiTitle":
			rec.Title = v.Str
		case "timestamp":
			rec.Timestamp = v.Str
		case "origin":
			rec.origin = v.Get("kind").Str
		case "message":
			rec.Message = v
		case "attachment":
			rec.Attachment = v
		case "toolUseResult":
			rec.Result = v
		case "snapshot":
			rec.Snapshot = v
		}
		return true
	})
	return rec
}

// request is what a person wrote, with an empty text where they wrote nothing.
type request struct {
	Text string
	Time time.Time // zero where it is not known
	// Reply reports that it was not said of their own accord: it answers the
	// agent's question, or says why a tool was refused.
	Reply bool
}

// look is what a line is by the look of its front.
type look int

const (
	other    look = iota
	asking        // it may hold what a person wrote, or a title
	bringing      // it brings a tool's result
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
func lookAt(line []byte) look {
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
	// What is cut off ends the message for gjson, and a text that is cut is none:
	// half a secret would not be known for one.
	rec := record{Kind: "user", Message: gjson.ParseBytes(front[i:])}
	if j := bytes.LastIndex(back, []byte(`,"timestamp":"`)); j >= 0 {
		rec.Timestamp = gjson.GetBytes(append([]byte("{"), back[j+1:]...), "timestamp").Str
	}
	return rec
}

// own returns the record as one of the conversation itself: in a subagent's
// transcript every record is marked as a subagent's.
func (rec record) own() record {
	if rec.Sidechain {
		rec.Sidechain, rec.Hidden = false, rec.meta
	}
	return rec
}

// summary is what the client kept of what it compacted, where the record is such
// a summary, without what the client puts around it.
func (rec record) summary() string { return kept(askedFor(rec.Message.Get("content"))) }

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
	case rec.Hidden || rec.Compacted || rec.origin != "" && rec.origin != "human":
	case rec.Kind == "user":
		if q.Text = askedFor(rec.Message.Get("content")); q.Text == "" {
			q.Text, q.Reply = answered(rec), true
		}
	case rec.Kind == "attachment":
		// A prompt that was typed while the agent was at work.
		a := rec.Attachment
		kind := a.Get("origin.kind").Str
		if a.Get("type").Str == "queued_command" && a.Get("commandMode").Str == "prompt" &&
			!a.Get("isMeta").Bool() && (kind == "" || kind == "human") {
			q.Text = askedFor(a.Get("prompt"))
		}
	}
	if q.Text == "" || rec.raw != nil && len(rec.raw) <= maxChecked && !gjson.ValidBytes(rec.raw) {
		return request{}
	}
	q.Time, _ = time.Parse(time.RFC3339, rec.Timestamp) // zero where it is none
	return q
}

// maxChecked is the longest line that is checked to be JSON as a whole before
// it is taken for a person's words.
const maxChecked = 64 << 10

// askedFor returns what a person wrote, of a message's content: a text, or blocks
// of which the client puts in some itself.
func askedFor(content gjson.Result) string {
	if content.Type == gjson.String {
		return said(content.Str)
	}
	var all []string
	if content.IsArray() {
		content.ForEach(func(_, b gjson.Result) bool {
			if b.Get("type").Str == "text" {
				if s := said(b.Get("text").Str); s != "" {
					all = append(all, s)
				}
			}
			return true
		})
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

// said returns the person's words in a text: as they are, a slash command with
// its arguments on one line, and nothing for what asks the agent for nothing:
// what the client says in the person's name, and their own shell commands.
func said(s string) string {
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
			return said(after)
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
	if strings.HasPrefix(rec.Result.Raw, `{"questions"`) || strings.HasPrefix(rec.Result.Raw, `{"answers"`) {
		var all []string
		rec.Result.Get("answers").ForEach(func(q, a gjson.Result) bool {
			all = append(all, q.Str+" "+a.String())
			return true
		})
		if free := rec.Result.Get("response").Str; free != "" {
			all = append(all, free)
		}
		return strings.Join(all, "\n")
	}
	if rec.Result.Type != gjson.String { // a refusal has no other result
		return ""
	}
	if _, why, ok := strings.Cut(rec.Result.Str, refused); ok {
		return strings.TrimSpace(why)
	}
	return ""
}

// flat is the text of a tool's result.
func flat(content gjson.Result) string {
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
