package claude

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	claudehook "gt/lib/client/claude/hook"
	"gt/lib/conversation"
)

// record is a parsed line. A block of a message is parsed when it is used: most of a
// conversation is tool results, of which a summary needs little.
type record struct {
	Kind        string // user, assistant, attachment, system, custom-title, …
	id          string // uuid: the same in a fork's copy
	parent      string // the id of the record that it follows
	namesParent bool   // it says which one, or that it follows none
	typed       bool   // the client says that the person typed it
	session     string // the session id in the record
	forkedFrom  string // the session from which it was copied, if recorded
	Hidden      bool   // a subagent's, or inserted by the client
	Sidechain   bool   // a subagent's
	meta        bool
	Compacted   bool // a compaction's summary
	APIError    bool
	cwd         string
	branch      string // "HEAD" if there is none
	version     string // the client's
	entrypoint  string // cli, or the way it ran without a person: sdk-cli, sdk-ts, …
	title       string // of a custom-title or an ai-title
	Timestamp   string // RFC 3339
	origin      string // its kind: empty or human if a person wrote it
	Message     message
	attachment  gjson.Result
	result      gjson.Result // toolUseResult
	snapshot    gjson.Result
	params      gjson.Result // of an api-request
	requestID   string       // of an answer: the same in all of its records
	cost        float64      // of a cost-state: the session's so far, in US dollars
	models      gjson.Result // of a cost-state: the same by model
	query       string       // the purpose of an api-request: repl_main_thread, sdk, a subagent, a title
}

type message struct {
	id     string // the same in all records of an answer
	model  string
	usage  gjson.Result
	text   string  // the content, if it is a text
	blocks []block // the content, if it is a list
}

// block is an element of a message's content. Its type is text, thinking, tool_use or
// tool_result.
type block struct{ gjson.Result }

func (b block) kind() string { return b.Get("type").Str }

func (b block) callID() string { return b.Get("tool_use_id").Str }

func (b block) failed() bool { return b.Get("is_error").Type == gjson.True }

// parseRecord parses a line in one pass. If the line is not a record, the result is empty or
// has what could be parsed.
func parseRecord(line []byte) record {
	var rec record
	if n := len(line); n > 1 && line[0] == '{' && line[n-1] == '}' && (n > maxChecked || gjson.ValidBytes(line)) {
		gjson.ParseBytes(line).ForEach(rec.setField)
	}
	return rec
}

// setField takes one member of a record's JSON object.
func (rec *record) setField(key, v gjson.Result) bool {
	switch key.Str {
	case "type":
		rec.Kind = v.Str
	case "uuid":
		rec.id = v.Str
	case "parentUuid":
		rec.parent, rec.namesParent = cmp.Or(v.Str, rec.parent), true
	case "logicalParentUuid": // of a compaction, which begins anew for the model
		rec.parent = cmp.Or(rec.parent, v.Str)
	case "promptSource":
		rec.typed = v.Str == "typed"
	case "sessionId":
		rec.session = v.Str
	case "forkedFrom":
		rec.forkedFrom = v.Get("sessionId").Str
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
		rec.cwd = v.Str
	case "gitBranch":
		rec.branch = v.Str
	case "version":
		rec.version = v.Str
	case "entrypoint":
		rec.entrypoint = v.Str
	case "customTitle", "aiTitle":
		rec.title = v.Str
	case "timestamp":
		rec.Timestamp = v.Str
	case "origin":
		rec.origin = v.Get("kind").Str
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
		rec.query = v.Str
	case "requestId":
		rec.requestID = v.Str
	case "totalCostUSD":
		rec.cost = v.Num
	case "modelUsage":
		rec.models = v
	}
	return true
}

// parseMessage also parses a message that is cut off.
func parseMessage(object gjson.Result) message {
	var m message
	object.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "id":
			m.id = v.Str
		case "model":
			m.model = v.Str
		case "usage":
			m.usage = v
		case "content":
			m.text, m.blocks = v.Str, blocksOf(v)
		}
		return true
	})
	return m
}

func blocksOf(content gjson.Result) []block {
	if !content.IsArray() {
		return nil
	}
	all := make([]block, 0, 1) // most have one
	content.ForEach(func(_, b gjson.Result) bool {
		all = append(all, block{b})
		return true
	})
	return all
}

// request is what a person wrote; Text is empty if they wrote nothing.
type request struct {
	Text string
	Time time.Time // zero if unknown
	// Reply reports that it answers a question of the agent, or says why the person
	// refused a tool.
	Reply bool
}

// lineKind is the kind of a line, judged by its beginning.
type lineKind int

const (
	otherLine  lineKind = iota
	askingLine          // it may have a person's text or a title
	resultLine          // it has a tool's result
)

var (
	userMessage = []byte(`{"role":"user"`)
	queuedMark  = []byte(`{"type":"queued_command"`)
	titleMark   = []byte("-title")
	parentStart = []byte(`{"parentUuid":"`) // the client's records begin with one of these
	rootStart   = []byte(`{"parentUuid":null`)
	typeStart   = []byte(`{"type":"`)
	toolResult  = []byte(`[{"tool_use_id"`)
	toolResult2 = []byte(`[{"type":"tool_result"`)
)

// outcomeStarts begin the structured results of tools that have a person's text: answers to the
// agent's questions, and a text, as after a refusal.
var outcomeStarts = [][]byte{[]byte(`{"questions"`), []byte(`{"answers"`), []byte(`{"annotations"`), []byte(`"`)}

// classifyLine tells lines apart without parsing them. It relies on the client writing a
// message's role before its content, and a tool's result with either of two first keys.
// If the client changes that, or another program wrote the line, lines count as asking and
// are parsed.
func classifyLine(line []byte) lineKind {
	front := line[:min(len(line), 1024)]
	if _, after, ok := bytes.Cut(front, userMessage); ok {
		content := bytes.TrimPrefix(after, []byte(`,"content":`))
		if !bytes.HasPrefix(content, toolResult) && !bytes.HasPrefix(content, toolResult2) {
			return askingLine
		}
		if after := afterKey(line); slices.ContainsFunc(outcomeStarts, func(outcome []byte) bool { return bytes.HasPrefix(after, outcome) }) {
			return askingLine
		}
		return resultLine
	}
	begin := front[:min(len(front), 32)]
	if bytes.Contains(front, queuedMark) || bytes.Contains(begin, titleMark) || !bytes.HasPrefix(begin, parentStart) && !bytes.HasPrefix(begin, rootStart) && !bytes.HasPrefix(begin, typeStart) {
		return askingLine
	}
	return otherLine
}

// afterKey returns what follows the first "toolUseResult": in a line, nil if there is none.
// It looks for the end of the key, which begins with a rare character: bytes.Index is many
// times as fast then.
func afterKey(line []byte) []byte {
	for rest := line; ; {
		before, after, found := bytes.Cut(rest, []byte(`UseResult":`))
		if !found || bytes.HasSuffix(before, []byte(`"tool`)) {
			return after
		}
		rest = after
	}
}

// parseEnds returns the record of a line that is too long to be held; front and back are its ends.
// It is empty unless the line may be a person's prompt: a long text, or one with a picture.
func parseEnds(front, back []byte) record {
	i := bytes.Index(front, userMessage)
	if i < 0 || classifyLine(front) != askingLine || bytes.Contains(back, []byte(`"isMeta":true`)) || bytes.Contains(front[:i], []byte(`"isSidechain":true`)) {
		return record{}
	}
	rec := record{Kind: "user", Message: parseMessage(gjson.ParseBytes(front[i:]))}
	if rec.Message.text, _ = firstAndLastLines(front[i+len(userMessage):], back); rec.Message.text != "" {
		rec.Message.blocks = nil
	}
	if j := bytes.LastIndex(back, []byte(`,"timestamp":"`)); j >= 0 {
		rec.Timestamp = gjson.GetBytes(append([]byte("{"), back[j+1:]...), "timestamp").Str
	}
	return rec
}

// firstAndLastLines returns the first and the last lines of a prompt that is longer than front and
// back, the ends of its record. A line that is cut is left out, because half a secret is not
// recognized. ok is false for a prompt whose text ends in front, and for anything else.
func firstAndLastLines(front, back []byte) (text string, ok bool) {
	front, ok = bytes.CutPrefix(bytes.TrimPrefix(front, []byte(`,"content":`)), []byte(`"`))
	if !ok {
		if front, ok = bytes.CutPrefix(front, []byte(`[{"type":"text","text":"`)); !ok {
			return "", false
		}
	}
	if findUnescaped(front, `"`, bytes.Index) >= 0 { // the text ends here, and a picture follows
		return "", false
	}
	const feed = `\n`
	back = back[max(findUnescaped(back, feed, bytes.Index), 0):]
	end, last := findUnescaped(front, feed, bytes.LastIndex), findUnescaped(back, `"`, bytes.Index)
	if end < 0 {
		return "", false
	}
	whole := append([]byte(`"`), front[:end]...)
	whole = append(whole, feed+"[…]"...)
	if bytes.HasPrefix(back, []byte(feed)) {
		whole = append(whole, back[:max(last, 0)]...)
	}
	v := gjson.ParseBytes(append(whole, '"'))
	return v.Str, gjson.Valid(v.Raw)
}

// findUnescaped returns where a text of JSON has what without a backslash before it, or -1. index
// is bytes.Index for the first such place, or bytes.LastIndex for the last.
func findUnescaped(text []byte, what string, index func(text, what []byte) int) int {
	fromFront := index([]byte("aa"), []byte("a")) == 0 // index finds the first, and not the last
	for from, to := 0, len(text); ; {
		i := index(text[from:to], []byte(what))
		if i < 0 {
			return -1
		}
		i += from
		if slashes := i - len(bytes.TrimRight(text[:i], `\`)); slashes%2 == 0 {
			return i
		}
		if fromFront {
			from = i + 1
		} else {
			to = i
		}
	}
}

// ownText returns the record without a subagent's mark, which every record of a
// subagent's transcript has.
func (rec record) ownText() record {
	if rec.Sidechain {
		rec.Sidechain, rec.Hidden = false, rec.meta
	}
	return rec
}

// contentHash returns a hash of the record's id and the beginning of its content.
func (rec record) contentHash() uint64 {
	content := rec.attachment.Raw + rec.Message.text + rec.result.Raw
	if len(rec.Message.blocks) > 0 {
		content += rec.Message.blocks[0].Raw
	}
	h := fnv.New64a()
	h.Write([]byte(rec.id))
	h.Write([]byte(content[:min(len(content), 256)]))
	return h.Sum64()
}

// isOfAnother reports whether a title names another session than the file's. The client
// writes one here after a /resume.
func (rec record) isOfAnother(id string) bool {
	return rec.session != "" && len(rec.session) == len(id) && rec.session != id
}

// isAsking reports whether a line may have a person's text or a title. In the record of
// another line the person asks nothing.
func isAsking(line []byte) bool { return classifyLine(line) == askingLine }

// personRequest returns what a person wrote: a prompt, a reply, or a prompt that waited in the queue.
func (rec record) personRequest() request {
	var q request
	switch {
	case rec.Hidden || rec.Compacted || !byPerson(rec.origin):
	case rec.Kind == "user" && rec.typed && rec.Message.text != "" && !isCommand(rec.Message.text):
		q.Text = strings.TrimSpace(claudehook.Unpasted(rec.Message.text))
	case rec.Kind == "user":
		if q.Text = rec.Message.promptText(); q.Text == "" {
			q.Text, q.Reply = answerText(rec), true
		}
	case rec.Kind == "attachment":
		if m, meta, origin := rec.queuedPrompt(); !meta && byPerson(origin) {
			q.Text = m.promptText()
		}
	}
	if q.Text == "" {
		return request{}
	}
	q.Time, _ = time.Parse(time.RFC3339, rec.Timestamp) // zero if it is not a time
	return q
}

// queuedPrompt returns the prompt in an attachment: one that was sent while the agent worked.
func (rec record) queuedPrompt() (m message, meta bool, origin string) {
	a := rec.attachment
	if a.Get("type").Str != "queued_command" || a.Get("commandMode").Str != "prompt" {
		return message{}, false, ""
	}
	prompt := a.Get("prompt")
	return message{text: prompt.Str, blocks: blocksOf(prompt)}, a.Get("isMeta").Bool(), a.Get("origin.kind").Str
}

// othersMessages returns what others sent to the agent in a record that stands in the person's
// name: another agent, or who writes in a channel.
func (rec record) othersMessages() (all []claudehook.Message) {
	m, meta, origin := rec.Message, rec.meta, rec.origin
	if rec.Kind == "attachment" {
		m, meta, origin = rec.queuedPrompt()
	}
	sent := origin == "channel" || origin == "peer" // even if it is marked as the client's (meta)
	// Such a text is a subagent's or the client's own.
	if rec.Sidechain || rec.Compacted || meta && !sent || !sent && !byPerson(origin) {
		return nil
	}
	for _, text := range m.texts() {
		typed, found := claudehook.Split(text)
		if all = append(all, found...); sent && typed != "" {
			all = append(all, claudehook.Message{From: origin, Text: typed})
		}
	}
	return all
}

func byPerson(origin string) bool { return origin == "" || origin == "human" }

// maxChecked is the longest line that is checked to be valid JSON, which a torn one is not.
const maxChecked = 64 << 10

// texts returns the texts of a message, which may have blocks of the client.
func (m message) texts() (all []string) {
	if len(m.blocks) == 0 {
		return []string{m.text}
	}
	for _, b := range m.blocks {
		if b.kind() == "text" {
			all = append(all, b.Get("text").Str)
		}
	}
	return all
}

// promptText returns the person's text in a message, or "[image]" or "[document]" for one that has
// only that. A document after a tool's result does not count: it is what the tool read.
func (m message) promptText() string {
	var all []string
	for _, text := range m.texts() {
		if s := messageText(text); s != "" {
			all = append(all, s)
		}
	}
	if len(all) > 0 {
		return strings.Join(all, "\n")
	}
	shown, result := "", false
	for _, b := range m.blocks {
		switch kind := b.kind(); {
		case kind == "tool_result": // the client puts it first
			result = true
		case kind == "image" || kind == "document" && !result:
			shown = cmp.Or(shown, "["+kind+"]")
		case b.Get("text").Str != "": // the client's, as messageText found
			return ""
		}
	}
	return shown
}

// messageText returns the person's part of a text. A slash command is one line with its
// arguments. Text that the client or another agent wrote in the person's name, a command to the
// client, and the person's own shell commands give "".
func messageText(s string) string {
	s = claudehook.Typed(s)
	switch {
	case s == "[Request interrupted by user]", s == "[Request interrupted by user for tool use]",
		strings.HasPrefix(s, "[Image: source: ") && strings.HasSuffix(s, "]") && !strings.Contains(s, "\n"):
		return ""
	case strings.HasPrefix(s, "<command-name>"), strings.HasPrefix(s, "<command-message>"):
		name, ok := inTag(s, "command-name")
		if !ok {
			return s
		}
		command := strings.TrimSpace(name)
		if !strings.HasPrefix(command, "/") {
			command = "/" + command
		}
		if conversation.IsClientCommand(command[1:]) {
			return ""
		}
		arguments, _ := inTag(s, "command-args")
		return strings.TrimSpace(command + " " + claudehook.Typed(arguments))
	}
	return s
}

// isCommand reports whether the client has put a command into its own elements.
func isCommand(s string) bool {
	return strings.HasPrefix(s, "<command-") || strings.HasPrefix(s, "<bash-") || strings.HasPrefix(s, "<local-command-")
}

func inTag(s, name string) (text string, ok bool) {
	_, s, _ = strings.Cut(s, "<"+name+">")
	text, _, ok = strings.Cut(s, "</"+name+">")
	return text, ok
}

// personCommand returns the command that the person ran after a "!", or what it printed.
func (m message) personCommand() (command, output string) {
	text := strings.TrimSpace(m.text)
	if command, ok := inTag(text, "bash-input"); ok && strings.HasPrefix(text, "<bash-input>") {
		return command, ""
	} else if strings.HasPrefix(text, "<bash-stdout>") || strings.HasPrefix(text, "<bash-stderr>") {
		out, _ := inTag(text, "bash-stdout")
		failed, _ := inTag(text, "bash-stderr")
		output = strings.Trim(out+"\n"+failed, "\n")
	}
	return "", output
}

// refusalText precedes the person's text when they refused a tool.
const refusalText = "To tell you how to proceed, the user said:\n"

// answerText returns the person's text in a tool's result: why they refused the tool, or
// their answers to the agent's questions.
func answerText(rec record) string {
	key, _, _ := strings.Cut(strings.TrimLeft(rec.result.Raw, "{ "), ":")
	if key == `"questions"` || key == `"answers"` || key == `"annotations"` {
		var all []string
		notes := rec.result.Get("annotations").Map()
		rec.result.Get("answers").ForEach(func(q, a gjson.Result) bool {
			all = append(all, q.Str+" "+a.String())
			if note := notes[q.Str].Get("notes").Str; note != "" {
				all = append(all, note)
			}
			return true
		})
		if free := rec.result.Get("response").Str; free != "" {
			all = append(all, free)
		}
		return strings.Join(all, "\n")
	}
	// The result of a tool that the person refused is a text.
	if _, why, ok := strings.Cut(rec.result.Str, refusalText); ok {
		return strings.TrimSpace(why)
	}
	return ""
}

// result returns the text of a tool's result.
func (b block) result() string {
	content := b.Get("content")
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

// unwrapSummary removes what the client wraps around a compaction's summary.
func unwrapSummary(s string) string {
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
