package transcript

import (
	"bytes"
	"slices"
	"strings"

	"gt/lib/text/term"

	"github.com/tidwall/gjson"
)

// reader gathers a Summary from lines that come the last one first, so its
// lists are in that order.
type reader struct {
	clean func(string) string

	first             Request
	cwd               string
	custom, generated string // titles
	requests          []Request
	prompts, replies  int // how many of requests are which
	answer            string
	turn              string // what the agent said last to the request that comes next, if that is not answer
	spoken            bool   // one of the two is known
	files             []string
	tracked           []string // files that changed at any time, as the client counts them
	commands          []Command
	failures          []string
	compacted         string

	results map[string]string // of tool uses that come next: what went wrong, empty for nothing
	passed  []string          // commands that succeeded, each later than what comes next
	seen    int               // bytes read record by record
	looked  int               // bytes only looked at

	todoList
}

// line takes in the next line and says whether more are wanted.
func (r *reader) line(line []byte) bool {
	if r.seen < detailMost && (r.seen < detail || r.prompts < 2 || len(r.commands) < maxCommands) {
		r.seen += len(line) + 1
		r.record(Parse(line), true)
		return true
	}
	// From here on a look at the front of a line has to do.
	switch lookAt(line) {
	case asking:
		r.record(Parse(line), false)
	case other:
		if !r.spoken && r.prompts < maxRequests ||
			!r.any() && len(line) < maxChecked && bytes.Contains(line, todoWrite) {
			r.record(Parse(line), false)
		}
	}
	r.looked += len(line) + 1
	return r.prompts < maxRequests || r.answer == "" || r.compacted == "" && r.looked < compactedReach
}

// long takes in a line of which only both ends are at hand. It can be a prompt
// with a picture behind it.
func (r *reader) long(front, back []byte) bool {
	i := bytes.Index(front, userMessage)
	if i < 0 || lookAt(front) != asking || bytes.Contains(back, []byte(`"isMeta":true`)) || bytes.Contains(front[:i], []byte(`"isSidechain":true`)) {
		return true
	}
	// What is cut off ends the message for gjson, and a text that is cut is none:
	// half a secret would not be known for one.
	rec := Record{Kind: "user", Message: gjson.ParseBytes(front[i:])}
	if j := bytes.LastIndex(back, []byte(`,"timestamp":"`)); j >= 0 {
		rec.Timestamp = gjson.GetBytes(append([]byte("{"), back[j+1:]...), "timestamp").Str
	}
	r.ask(rec.Request())
	return true
}

func (r *reader) title(rec Record) {
	switch {
	case rec.Kind == "custom-title" && r.custom == "":
		r.custom = rec.Title
	case rec.Kind == "ai-title" && r.generated == "":
		r.generated = rec.Title
	}
}

// ask notes a request. What comes next belongs to the one before it.
func (r *reader) ask(q Request) {
	if q.Text == "" {
		return
	}
	// Said again after an interruption, it is one request.
	if n := len(r.requests); n > 0 && r.requests[n-1].Text == q.Text {
		return
	}
	if q.Reply {
		// The turn goes on across it.
		if r.replies < maxReplies {
			r.replies++
			r.requests = append(r.requests, q)
		}
		return
	}
	if r.prompts < maxRequests {
		r.prompts++
		q.Answer = r.turn
		r.requests = append(r.requests, q)
	}
	r.turn, r.spoken = "", false
}

// say notes what the agent said last in a turn.
func (r *reader) say(text string) {
	switch {
	case text == "" || r.spoken:
		return
	case r.answer == "":
		r.answer = text
	default:
		r.turn = text
	}
	r.spoken = true
}

// record takes in a record; only what was said where all is false.
func (r *reader) record(rec Record, all bool) {
	switch {
	case rec.Kind == "custom-title" || rec.Kind == "ai-title":
		r.title(rec)
	case rec.Kind == "file-history-snapshot":
		r.changed(rec.snapshot)
	case rec.Hidden:
	case rec.Kind == "attachment":
		r.ask(rec.Request())
		r.reminder(rec.attachment)
	case rec.Compacted:
		if r.compacted == "" {
			r.compacted = rec.Summary()
		}
	case rec.Kind == "user":
		if all {
			r.outcomes(rec)
		}
		if lookAt(rec.raw) == asking {
			r.ask(rec.Request())
		}
	case rec.APIError:
		r.fail("", rec.Texts())
	case rec.Kind == "assistant" && rec.Message.Get("model").Str != "<synthetic>":
		r.say(rec.Texts())
		r.uses(rec.Message.Get("content"), all)
	}
}

// outcomes notes what came of tool uses, which stand further to the front.
func (r *reader) outcomes(rec Record) {
	content := rec.Message.Get("content")
	if !content.IsArray() {
		return
	}
	content.ForEach(func(_, b gjson.Result) bool {
		id := strings.Clone(b.Get("tool_use_id").Str)
		if id == "" {
			return true
		}
		bad := ""
		if b.Get("is_error").Type == gjson.True {
			bad = firstOf(Flat(b.Get("content")), "failed")
		} else {
			r.task(rec.Result)
		}
		if r.results == nil {
			r.results = map[string]string{}
		}
		r.results[id] = bad
		return true
	})
}

// Flat is the text of a tool's result.
func Flat(content gjson.Result) string {
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

// uses notes which tools a message used, the last one first.
func (r *reader) uses(content gjson.Result, all bool) {
	if !content.IsArray() {
		return
	}
	blocks := content.Array()
	slices.Reverse(blocks)
	for _, b := range blocks {
		if b.Get("type").Str != "tool_use" {
			continue
		}
		name, input := b.Get("name").Str, b.Get("input")
		if name == "TodoWrite" {
			r.written(input.Get("todos"))
		}
		if !all {
			continue
		}
		id := b.Get("id").Str
		bad, answered := r.results[id]
		delete(r.results, id)
		if strings.Contains(bad, rejected) {
			continue // the person did not let it happen
		}
		switch name {
		case "Edit", "MultiEdit", "Write", "NotebookEdit":
			path := firstOf(input.Get("file_path").Str, input.Get("notebook_path").Str)
			if path != "" && bad == "" && len(r.files) < maxFiles && !slices.Contains(r.files, path) {
				r.files = append(r.files, strings.Clone(path))
			}
		case "Bash":
			r.command(input.Get("command").Str, bad, answered)
		default:
			r.fail(name, bad)
		}
	}
}

// rejected is in the result of every tool that the person refused or stopped.
const rejected = "The tool use was rejected"

// changed notes the files that the client has seen changed since the session
// began, which it says in a snapshot. The last snapshot has them all.
func (r *reader) changed(snapshot gjson.Result) {
	files := snapshot.Get("trackedFileBackups")
	if len(r.tracked) > 0 || !files.IsObject() {
		return
	}
	files.ForEach(func(path, _ gjson.Result) bool {
		r.tracked = append(r.tracked, strings.Clone(path.Str))
		return true
	})
	slices.Reverse(r.tracked)
}

// command notes a shell command and what went wrong with it.
func (r *reader) command(text, bad string, answered bool) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if len(r.commands) < maxCommands {
		r.commands = append(r.commands, Command{cutEnd(term.OneLine(r.clean(text)), commandLength), bad != ""})
	}
	switch {
	case bad != "" && !slices.Contains(r.passed, text):
		r.fail(cutEnd(term.OneLine(r.clean(text)), commandLength), bad)
		r.passed = append(r.passed, strings.Clone(text)) // that it failed before is no news
	case bad == "" && answered:
		r.passed = append(r.passed, strings.Clone(text))
	}
}

// maxOutput bounds what is looked at of each end of a failure's text, of which
// far less is kept.
const maxOutput = 4 << 10

// fail notes a failure, unless the tool only found itself misused, which says
// something of the agent and nothing of the work.
func (r *reader) fail(what, bad string) {
	if bad = strings.TrimSpace(bad); bad == "" || len(r.failures) == maxFailures || strings.HasPrefix(bad, "<tool_use_error>") {
		return
	}
	if len(bad) > 2*maxOutput {
		bad = bad[:maxOutput] + "\n" + bad[len(bad)-maxOutput:]
	}
	if what != "" {
		what += ": "
	}
	r.failures = append(r.failures, what+Cut(term.OneLine(r.clean(bad)), failureLength))
}
