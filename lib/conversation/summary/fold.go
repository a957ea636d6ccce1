package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/text/pasted"
	"gt/lib/text/term"
)

// Fold is an unfinished Summary. Its exported fields are saved in a file, and their texts
// are cleaned, then cut. Take cleans a text only once it is certain to stay; Seal cleans
// the rest.
type Fold struct {
	Named       string              `json:"named,omitempty"`     // the person's title
	Generated   string              `json:"generated,omitempty"` // the client's title
	CWD         string              `json:"cwd,omitempty"`       // from the conversation
	Began       string              `json:"began,omitempty"`     // by the session's record; see BeganIn
	First       Request             `json:"first,omitzero"`
	Origin      string              `json:"origin,omitempty"` // the first request, if First is cut
	Requests    []Request           `json:"requests,omitempty"`
	Answer      string              `json:"answer,omitempty"`
	Answered    bool                `json:"answered,omitempty"` // the agent's text is the last entry
	CalledTool  bool                `json:"worked,omitempty"`   // the agent called a tool since the last request
	HandingOver bool                `json:"leaving,omitempty"`  // the person asked for a hand-over, and for nothing since
	Last        time.Time           `json:"last,omitzero"`      // the time of the last entry
	Compacted   string              `json:"compacted,omitempty"`
	List        []conversation.Todo `json:"list,omitempty"`       // the last list that was written whole
	Tasks       []conversation.Todo `json:"tasks,omitempty"`      // tasks that change one by one
	TaskFiles   []conversation.Todo `json:"task_files,omitempty"` // from the client's own files, which take precedence

	Edited   []string   `json:"edited,omitempty"`  // the last one first
	Tracked  []string   `json:"tracked,omitempty"` // files that the client ever saw change
	Commands []Command  `json:"commands,omitempty"`
	Failures []Failure  `json:"failures,omitempty"` // oldest first
	Calls    []ToolCall `json:"calls,omitempty"`    // from the first call without a result on

	Model   string             `json:"model,omitempty"`
	Usage   conversation.Usage `json:"usage,omitzero"` // of the last answer
	Context Context            `json:"context,omitzero"`
	Prompts int                `json:"prompts,omitempty"`
	Answers int                `json:"answers,omitempty"`
	Tools   int                `json:"tools,omitempty"`

	// Typed are the person's messages since the fold was loaded, oldest first, with what
	// they pasted shortened. They are not saved with it: the thread keeps them.
	Typed []Request `json:"-"`
	// TakenBack are the messages that the person took back, as in Typed. If the fold was
	// loaded, it may have what belongs to them.
	TakenBack []Request `json:"-"`
	// Conclusions are the agent's last answers of the turns since the fold was loaded, RanCommands
	// the commands with what came of them. Both are oldest first, and the thread keeps them.
	Conclusions, RanCommands []Conclusion `json:"-"`

	clean        func(string) string
	lastAnswer   string    // the agent's last text, not cleaned
	saidAt       time.Time // the time of lastAnswer
	hasAnswer    bool      // TakeSkipped has an answer since the last message
	ranCalls     []ToolCall
	answerOffset int64  // where the record of lastAnswer begins
	answerID     string // the id of lastAnswer's message
	compaction   string // the last compaction's summary, not cleaned
	todoItems    []conversation.Todo
	trackedFiles string // the tracked files, not cleaned
}

// Conclusion is the last answer of a turn, or a command and what came of it.
type Conclusion struct {
	Text  string
	Time  time.Time
	Asked time.Time // of the request; zero if unknown
	Done  bool      // the agent called a tool before it answered
}

// Context is how full the conversation's context is, in tokens.
type Context struct {
	Used        int64 `json:"used,omitempty"` // in the last request; 0 if unknown, as after a compaction
	Peak        int64 `json:"peak,omitempty"` // the largest Used
	Size        int64 `json:"size,omitempty"` // the window, if the client records it
	ClientWarns bool  `json:"told,omitempty"` // the client itself tells the agent how full it is
	Compactions int   `json:"compactions,omitempty"`
}

// Window returns the size of the context window in tokens, or 0 if it is unknown. The
// window that the model's name tells does not count if the model was given more than that.
func (f *Fold) Window() int64 {
	if f.Context.Size > 0 {
		return f.Context.Size
	}
	if size := conversation.WindowOf(f.Model); size >= f.Context.Peak {
		return size
	}
	return 0
}

// Failure is a failed command or another error.
type Failure struct {
	Command string `json:"command,omitempty"` // the key of the command; empty if it was none
	Text    string `json:"text"`
}

// ToolCall is a tool call and its result.
type ToolCall struct {
	ID        string   `json:"id,omitempty"` // the call's id, if the client gives one
	Tool      string   `json:"tool,omitempty"`
	Command   string   `json:"command,omitempty"` // the shell's command, cut
	Key       string   `json:"key,omitempty"`     // the key of that command
	Files     []string `json:"files,omitempty"`   // the files that it changes
	HasResult bool     `json:"settled,omitempty"`
	Rejected  bool     `json:"rejected,omitempty"` // the person refused it
	Failed    string   `json:"failed,omitempty"`   // the error, cut
	Misused   bool     `json:"misused,omitempty"`  // the error is only that the tool was used wrongly

	command string // the command, not cleaned
	outcome string // the end of its result, not cleaned
	time    time.Time
}

const (
	// maxOpen limits the calls that wait for the result of an earlier one, which may
	// never come.
	maxOpen = 64
	// keptFailures is more than a Summary has, because a failure can be put right later.
	keptFailures = 4 * maxFailures
	// maxRan limits the commands of one turn of which is kept what came of them.
	maxRan   = 40
	maxTasks = 200
	// maxOutput limits how much of each end of a failure's text is cleaned. Far less is
	// kept.
	maxOutput = 4 << 10
	maxID     = 200
)

// SetClean sets the function that cleans texts. It is called before the first Take.
func (f *Fold) SetClean(clean func(string) string) {
	f.clean = func(s string) string { return term.CleanText(clean(s)) }
}

// Take adds the next entry. It always returns true, so that it can be given to a Reader's
// Read.
func (f *Fold) Take(e conversation.Entry) bool {
	if e.Time.After(f.Last) {
		f.Last = e.Time
	}
	if e.Aside && e.Kind != conversation.TokenUsage { // a subagent's call or result
		return true
	}
	switch e.Kind {
	case conversation.Prompt, conversation.Reply:
		f.Answered = false
		f.addRequest(Request{Text: e.Text, Time: e.Time, Reply: e.Kind == conversation.Reply})
	case conversation.Answer:
		f.addAnswer(e)
	case conversation.Summary:
		f.compaction = cmp.Or(strings.TrimSpace(e.Text), f.compaction)
		f.Context.Used = 0
		f.Context.Compactions++
	case conversation.Call:
		f.Answered = false
		f.addCall(e)
	case conversation.Result:
		f.Answered = false
		f.addResult(e)
	case conversation.TokenUsage:
		if !e.Usage.HasTokens() {
			break
		}
		f.Usage = e.Usage
		f.setModel(e.Model)
		if c := &f.Context; !e.Aside {
			c.Used = e.Usage.Input + e.Usage.CacheRead + e.Usage.CacheWrite
			c.Peak, c.Size = max(c.Peak, c.Used), cmp.Or(e.Size, c.Size)
		}
	case conversation.Window:
		f.Context.Size, f.Context.ClientWarns = e.Size, f.Context.ClientWarns || e.ClientWarns
	case conversation.Title:
		if e.Generated {
			f.Generated = f.cutEnd(e.Text, titleLength)
		} else {
			f.Named = f.cutEnd(e.Text, titleLength)
		}
	case conversation.Folder:
		if f.CWD == "" {
			f.CWD = f.cutPath(e.Text)
		}
	case conversation.Tracked:
		f.trackedFiles = cmp.Or(e.Text, f.trackedFiles)
	case conversation.TodoList:
		f.applyTodos(e.Todos)
	}
	return true
}

// LastRequest returns the person's last request that is no reply, the zero Request without one.
func (f *Fold) LastRequest() (last Request) {
	if i := lastPrompt(f.Requests, func(Request) bool { return true }); i >= 0 {
		last = f.Requests[i]
	}
	return last
}

// BeganIn sets where the session began by its record, for a conversation that does not tell it.
func (f *Fold) BeganIn(cwd string) { f.Began = f.cutPath(cwd) }

func (f *Fold) cutPath(path string) string            { return Cut(f.clean(path), pathLength) }
func (f *Fold) cutEnd(text string, length int) string { return cutEnd(f.clean(text), length) }
func (f *Fold) cleanLine(text string, length int) string {
	return cutEnd(term.OneLine(f.clean(text)), length)
}

func (f *Fold) setModel(name string) {
	if name != "" && name != f.Model {
		f.Model = f.cleanLine(name, maxID)
	}
}

// addRequest adds a person's message. gt's own prompts and client commands only end the turn. What
// the agent says after a command, such as /handoff, is not kept (HandingOver).
func (f *Fold) addRequest(request Request) {
	if conversation.IsOpening(request.Text) {
		f.endTurn()
		f.HandingOver = false
		return
	}
	said := conversation.TypedWords(f.clean(request.Text))
	if f.HandingOver = said == ""; f.HandingOver {
		f.endTurn()
		return
	}
	request.Text = CutRequest(said)
	f.addMessage(said, request)
	// A person repeats a request after an interruption.
	if n := len(f.Requests); n > 0 && f.Requests[n-1].Text == request.Text {
		f.Requests[n-1].Time = request.Time
		return
	}
	if request.Reply { // the turn goes on
		f.Requests = append(f.Requests, request)
		f.Requests = dropFirstBeyond(f.Requests, maxReplies, func(r Request) bool { return r.Reply })
		return
	}
	f.endTurn()
	f.CalledTool = false
	f.Prompts++
	if f.First.Text == "" {
		f.First = request
		if f.Origin = ""; request.Text != said {
			f.Origin = Cut(said, originLength)
		}
	}
	f.Requests = append(f.Requests, request)
	f.Requests = dropFirstBeyond(f.Requests, maxRequests, func(r Request) bool { return !r.Reply })
	for f.Requests[0].Reply { // replies to a request that is no longer in the list
		f.Requests = slices.Delete(f.Requests, 0, 1)
	}
}

// TakeSkipped takes an entry of a long conversation's front, which the summary skips. A message is
// only added to Typed. Of the answers between two messages, the last one counts as a conclusion.
func (f *Fold) TakeSkipped(e conversation.Entry) {
	if e.Kind == conversation.Answer {
		c := Conclusion{Text: Cut(f.clean(strings.TrimSpace(e.Text)), conclusionLength), Time: e.Time}
		if f.hasAnswer {
			f.Conclusions[len(f.Conclusions)-1] = c
		} else {
			f.Conclusions, f.hasAnswer = append(f.Conclusions, c), true
		}
		return
	}
	f.hasAnswer = f.hasAnswer && e.Kind == conversation.Reply
	f.addMessage(conversation.TypedWords(f.clean(e.Text)), Request{Time: e.Time, Reply: e.Kind == conversation.Reply})
}

// TakeBack adds a message to TakenBack.
func (f *Fold) TakeBack(e conversation.Entry) {
	f.TakenBack = append(f.TakenBack, Request{Text: pasted.Shorten(conversation.TypedWords(f.clean(e.Text))), Time: e.Time})
}

// TakeBackRemoved adds to TakenBack the last of had, an earlier fold's requests, if the person took
// them back since in a client that erases them. It compares the times, because had's texts are cut.
func (f *Fold) TakeBackRemoved(had []Request) {
	times := func(all []Request) (keys []string) {
		for _, q := range all {
			keys = append(keys, q.Time.String())
		}
		return keys
	}
	removed := conversation.ErasedPrompts(times(had), times(f.Typed))
	f.TakenBack = append(f.TakenBack, had[len(had)-len(removed):]...)
}

func (f *Fold) addMessage(said string, q Request) {
	if q.Text = pasted.Shorten(said); q.Text != "" {
		f.Typed = append(f.Typed, q)
	}
}

// dropFirstBeyond removes the first request that matches, if more than most of them do.
func dropFirstBeyond(all []Request, most int, matches func(Request) bool) []Request {
	n := 0
	for _, r := range all {
		if matches(r) {
			n++
		}
	}
	if i := slices.IndexFunc(all, matches); n > most {
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// addAnswer keeps the agent's last text of a turn. The texts of one record are joined.
func (f *Fold) addAnswer(e conversation.Entry) {
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return
	}
	f.Answered = !e.Failed
	switch {
	case e.Failed: // the client wrote it, not the agent
		f.addFailure("", "", f.failure(text))
		return
	case f.lastAnswer != "" && f.answerOffset == e.Offset && e.ID != "" && f.answerID == e.ID:
		f.lastAnswer += "\n" + text
	case f.HandingOver: // it speaks of the hand-over, and the answer before it is worth more
		f.Answers++
	default:
		f.Answers++
		f.lastAnswer, f.saidAt, f.answerOffset, f.answerID = text, e.Time, e.Offset, e.ID
	}
	f.setModel(e.Model)
}

// endTurn ends a turn: the agent's last text becomes the answer of its request.
func (f *Fold) endTurn() {
	if f.lastAnswer == "" {
		return
	}
	text := f.clean(f.lastAnswer)
	f.Answer, f.lastAnswer = Cut(text, answerLength), ""
	c := Conclusion{Text: Cut(text, conclusionLength), Time: f.saidAt, Done: f.CalledTool}
	if i := lastPrompt(f.Requests, func(Request) bool { return true }); i >= 0 {
		f.Requests[i].Answer = Cut(text, turnLength)
		c.Asked = f.Requests[i].Time
	}
	f.Conclusions = append(f.Conclusions, c)
}

// lastPrompt returns the index of the last request that is not a reply and matches, or -1 if
// there is none.
func lastPrompt(all []Request, matches func(Request) bool) int {
	for i, r := range slices.Backward(all) {
		if !r.Reply && matches(r) {
			return i
		}
	}
	return -1
}

// addCall adds a call, which waits for its result. Beyond maxOpen it commits the oldest.
func (f *Fold) addCall(e conversation.Entry) {
	f.Tools++
	f.CalledTool = true
	call := ToolCall{ID: hashKey(e.CallID), Tool: f.cleanLine(e.Tool, maxID)}
	for _, path := range Changes(e) {
		call.Files = append(call.Files, f.cutPath(path))
	}
	switch kindOf(e.Tool) {
	case shellTool:
		call.command = strings.Clone(strings.TrimSpace(commandOf(e)))
	case todoTool:
		if items := parsePlan(e.Text); len(items) > 0 {
			f.todoItems = items
		}
	}
	f.Calls = append(f.Calls, call)
	for len(f.Calls) > maxOpen {
		f.commitCall(f.Calls[0])
		f.Calls = slices.Delete(f.Calls, 0, 1)
	}
}

// addResult adds a result to the call with its id, or without an id to the first call of its tool
// that waits, else to any that waits. It then commits the calls up to the first that still waits.
func (f *Fold) addResult(e conversation.Entry) {
	id, tool := hashKey(e.CallID), f.cleanLine(e.Tool, maxID)
	i := slices.IndexFunc(f.Calls, func(d ToolCall) bool {
		return !d.HasResult && (id != "" && d.ID == id || id == "" && (tool == "" || d.Tool == tool))
	})
	if i < 0 && id == "" {
		i = slices.IndexFunc(f.Calls, func(d ToolCall) bool { return !d.HasResult })
	}
	if i < 0 {
		return
	}
	d := &f.Calls[i]
	d.HasResult, d.Rejected = true, e.Rejected
	isCommand := d.command != "" || d.Command != ""
	if isCommand {
		d.outcome, d.time = strings.Clone(e.Text[max(0, len(e.Text)-maxOutput):]), e.Time
	}
	code := 0
	if isCommand && !e.Failed {
		told := false
		// A result with an id has Failed if its command failed (see Entry.CallID). Of others, the
		// text has to say so.
		if code, told = clientsExitCode(e.Text); !told && id == "" {
			code = exitCode(e.Text)
		}
	}
	if e.Failed || code > 0 {
		bad := cmp.Or(strings.TrimSpace(e.Text), "failed")
		d.Failed, d.Misused = f.failure(bad), strings.HasPrefix(bad, "<tool_use_error>")
	}
	for len(f.Calls) > 0 && f.Calls[0].HasResult {
		f.commitCall(f.Calls[0])
		f.Calls = slices.Delete(f.Calls, 0, 1)
	}
}

// failure returns an error's text in one line, cleaned, cut, and without the client's own lines.
func (f *Fold) failure(bad string) string {
	if len(bad) > 2*maxOutput {
		bad = bad[:maxOutput] + "\n" + bad[len(bad)-maxOutput:]
	}
	return Cut(term.OneLine(f.clean(cmp.Or(printedText(bad), bad))), failureLength)
}

// commitCall adds a finished call to the lists, unless the person refused it. It takes calls in order.
func (f *Fold) commitCall(call ToolCall) {
	if call.Rejected {
		return
	}
	if call.Failed == "" {
		for _, path := range call.Files {
			f.Edited = slices.DeleteFunc(f.Edited, func(p string) bool { return p == path })
			f.Edited = slices.Insert(f.Edited, 0, path)
			f.Edited = f.Edited[:min(len(f.Edited), maxFiles)]
		}
	}
	if call.command == "" && call.Command == "" {
		if call.Failed != "" && !call.Misused {
			f.addFailure("", call.Tool, call.Failed)
		}
		return
	}
	f.sealCommand(&call)
	f.Commands = append(f.Commands, Command{call.Command, call.Failed != "", !call.HasResult})
	if n := len(f.Commands) - maxCommands; n > 0 {
		f.Commands = slices.Delete(f.Commands, 0, n)
	}
	// A successor needs no outcome of a command that only shows something, or of a gt program.
	if call.HasResult && !call.Misused && !onlyReads(call.Command) && !runsGT(call.Command) {
		f.ranCalls = append(f.ranCalls, call)
		f.ranCalls = f.ranCalls[max(0, len(f.ranCalls)-maxRan):]
	}
	if call.Failed != "" && !call.Misused {
		f.addFailure(call.Key, call.Command, call.Failed)
	} else if call.Failed == "" && call.HasResult {
		f.clearFailure(call.Key)
	}
}

// sealCommand cleans and cuts a call's command, so that the call can be saved.
func (f *Fold) sealCommand(call *ToolCall) {
	if call.command == "" {
		return
	}
	text := f.clean(call.command)
	call.Command, call.Key, call.command = cutEnd(term.OneLine(text), commandLength), hashKey(text), ""
}

// hashKey returns a hash of a text, or "" if the text is empty.
func hashKey(text string) string {
	if text == "" {
		return ""
	}
	// This is FNV-1a. hash/fnv would allocate for each call and each result.
	sum := uint64(14695981039346656037)
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * 1099511628211
	}
	return strconv.FormatUint(sum, 36)
}

// addFailure adds a failure, in place of the command's earlier one. key is "" if it is no command.
func (f *Fold) addFailure(key, what, bad string) {
	if key != "" {
		f.clearFailure(key)
	}
	if what != "" {
		bad = what + ": " + bad
	}
	f.Failures = append(f.Failures, Failure{key, bad})
	if n := len(f.Failures) - keptFailures; n > 0 {
		f.Failures = slices.Delete(f.Failures, 0, n)
	}
}

func (f *Fold) clearFailure(key string) {
	f.Failures = slices.DeleteFunc(f.Failures, func(x Failure) bool { return x.Command == key && key != "" })
}

// Seal ends the turn and cleans all texts that are not clean yet, so that the fold can be saved.
// The commands that have run since the last Seal go to RanCommands.
func (f *Fold) Seal() {
	f.endTurn()
	if f.compaction != "" {
		f.Compacted, f.compaction = Cut(cutSections(f.clean(f.compaction)), compactedLength), ""
	}
	if f.todoItems != nil {
		f.List, f.todoItems = f.cleanItems(f.todoItems), nil
	}
	if f.trackedFiles != "" {
		f.Tracked = nil
		for path := range strings.Lines(f.trackedFiles) {
			if len(f.Tracked) < 2*maxFiles { // half of them may be among the edited files
				f.Tracked = append(f.Tracked, f.cutPath(strings.TrimSuffix(path, "\n")))
			}
		}
		f.trackedFiles = ""
	}
	for i := range f.Calls {
		f.sealCommand(&f.Calls[i])
	}
	for _, d := range f.ranCalls {
		text := "`" + d.Command + "`"
		if d.Failed != "" {
			text += " failed: " + d.Failed
		} else if came := outcomeLine(d.Command, f.clean(d.outcome)); came != "" {
			text += ": " + came
		}
		f.RanCommands = append(f.RanCommands, Conclusion{Text: text, Time: d.time})
	}
	f.ranCalls = nil
}

// Summarize returns the summary so far. It is not a method, so that a program that only stores a
// Fold does not link it.
func Summarize(f *Fold) Summary {
	f.Seal()
	copied := *f
	copied.CWD = cmp.Or(f.CWD, f.Began)
	copied.Edited, copied.Commands, copied.Failures = slices.Clone(copied.Edited), slices.Clone(copied.Commands), slices.Clone(copied.Failures)
	var unfinished []string
	for _, d := range f.Calls {
		switch {
		case d.HasResult: // it waits behind a call without a result
			copied.commitCall(d)
		case d.Command != "":
			unfinished = append(unfinished, "`"+d.Command+"`")
		default:
			for _, path := range d.Files {
				unfinished = append(unfinished, "a change of "+copied.relative(path))
			}
		}
	}
	s := Summary{
		Title: cmp.Or(copied.Named, copied.Generated), CWD: copied.CWD, First: copied.First, Requests: slices.Clone(copied.Requests),
		Answer: copied.Answer, Answered: copied.Answered, Commands: copied.Commands, Compacted: copied.Compacted, Unfinished: unfinished,
	}
	// The last answer is in s.Answer, and need not stand twice.
	if i := lastPrompt(s.Requests, func(r Request) bool { return r.Answer != "" }); i >= 0 {
		s.Requests[i].Answer = ""
		s.AnswerIsEarlier = i < lastPrompt(s.Requests, func(Request) bool { return true })
	}
	for _, x := range copied.Failures[max(0, len(copied.Failures)-maxFailures):] {
		s.Failures = append(s.Failures, x.Text)
	}
	for _, path := range slices.Concat(copied.Edited, copied.Tracked) {
		if len(s.Files) == maxFiles {
			break
		}
		if path = copied.relative(path); !slices.Contains(s.Files, path) {
			s.Files = append(s.Files, path)
		}
	}
	for _, t := range copied.todoList() {
		switch {
		case t.Status == "completed":
			s.Done++
		case t.Status != "deleted" && len(s.Todos) < maxTodos:
			s.Todos = append(s.Todos, Todo{cmp.Or(t.Text, "task "+t.ID), cmp.Or(t.Status, "pending")})
		}
	}
	return s
}

func (f *Fold) relative(path string) string {
	if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(f.CWD, "/")+"/"); ok && f.CWD != "" {
		return rel
	}
	return path
}
