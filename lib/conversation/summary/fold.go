package summary

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"gt/lib/conversation"
	"gt/lib/text/standing"
	"gt/lib/text/term"
)

// Fold is a Summary in the making. Its exported fields are what is kept of it in a
// file: texts that were cleaned, then cut, and no others. What comes in is cleaned
// when it is certain to stay, or at the latest by Seal.
type Fold struct {
	Named     string    `json:"named,omitempty"`     // the title that the person gave
	Generated string    `json:"generated,omitempty"` // the title that the client made up
	CWD       string    `json:"cwd,omitempty"`       // as the conversation says it
	Began     string    `json:"began,omitempty"`     // as others do
	First     Request   `json:"first,omitzero"`
	Origin    string    `json:"origin,omitempty"` // the first request, where First is cut
	Requests  []Request `json:"requests,omitempty"`
	Answer    string    `json:"answer,omitempty"`
	Answered  bool      `json:"answered,omitempty"` // the agent's words are the last thing
	Compacted string    `json:"compacted,omitempty"`
	// Standing are the standing instructions, the oldest first, and what took some back.
	Standing []standing.Instruction `json:"standing,omitempty"`

	List      []conversation.Todo `json:"list,omitempty"`       // the last list that was written whole
	Tasks     []conversation.Todo `json:"tasks,omitempty"`      // those that are changed one by one
	TaskFiles []conversation.Todo `json:"task_files,omitempty"` // what the client's own files say, which holds

	Edited   []string  `json:"edited,omitempty"`  // the last one first
	Tracked  []string  `json:"tracked,omitempty"` // files that changed at any time, as the client counts them
	Commands []Command `json:"commands,omitempty"`
	Failures []Failure `json:"failures,omitempty"` // the oldest first
	Calls    []Deed    `json:"calls,omitempty"`    // from the first on that has no result yet

	Model   string             `json:"model,omitempty"`
	Usage   conversation.Usage `json:"usage,omitzero"` // of the last answer
	Context Context            `json:"context,omitzero"`
	Prompts int                `json:"prompts,omitempty"`
	Answers int                `json:"answers,omitempty"`
	Tools   int                `json:"tools,omitempty"`

	clean      func(string) string
	lastAnswer string // the last text of the agent, as it came
	at         int64  // where its record begins
	message    string // the id of that
	kept       string // the last compaction's summary, as it came
	list       []conversation.Todo
	changed    string // the tracked files, as they came
}

// Context is how full the context of the conversation is, in tokens.
type Context struct {
	Used        int64 `json:"used,omitempty"` // given to the model last; 0 where that is not known, as after a compaction
	Peak        int64 `json:"peak,omitempty"` // the most that it was ever given
	Size        int64 `json:"size,omitempty"` // how many it can have, as the client records it
	ClientWarns bool  `json:"told,omitempty"` // the client itself tells the agent how full it is
	// Compactions counts those that were read.
	Compactions int `json:"compactions,omitempty"`
}

// Window is how many tokens the context can have, 0 where that is not known. What the
// model's name tells is wrong where the model was given more.
func (f *Fold) Window() int64 {
	if f.Context.Size > 0 {
		return f.Context.Size
	}
	if size := conversation.WindowOf(f.Model); size >= f.Context.Peak {
		return size
	}
	return 0
}

// Failure is something that went wrong.
type Failure struct {
	Command string `json:"command,omitempty"` // tells the command apart; empty where it was none
	Text    string `json:"text"`
}

// Deed is what the agent did with a tool.
type Deed struct {
	ID       string   `json:"id,omitempty"` // tells the call apart, where the client does
	Tool     string   `json:"tool,omitempty"`
	Command  string   `json:"command,omitempty"` // in a shell, cut
	Key      string   `json:"key,omitempty"`     // tells that command apart
	Files    []string `json:"files,omitempty"`   // that it changes
	Settled  bool     `json:"settled,omitempty"`
	Rejected bool     `json:"rejected,omitempty"` // the person did not let it happen
	Failed   string   `json:"failed,omitempty"`   // what went wrong, cut
	Misused  bool     `json:"misused,omitempty"`  // it only found itself misused

	command string // as it came
}

const (
	// maxOpen bounds the calls that are kept because one before them has no
	// result; some never get one.
	maxOpen = 64
	// keptFailures are more than are told: one of them may be put right yet.
	keptFailures = 4 * maxFailures
	// maxTasks bounds how many items of a list are looked at.
	maxTasks = 200
	// maxOutput bounds what is looked at of each end of a failure's text, of which
	// far less is kept.
	maxOutput = 4 << 10
	// maxID bounds what a client calls a tool or a model.
	maxID = 200
)

// With says how texts are cleaned, before the first Take.
func (f *Fold) With(clean func(string) string) { f.clean = cleaned(clean) }

// Take takes in the next entry. It has the form of what a Reader's Read calls.
func (f *Fold) Take(e conversation.Entry) bool {
	switch e.Kind {
	case conversation.Prompt, conversation.Reply:
		f.Answered = false
		f.ask(Request{Text: e.Text, Time: e.Time, Reply: e.Kind == conversation.Reply})
	case conversation.Answer:
		f.say(e)
	case conversation.Summary:
		f.kept = cmp.Or(strings.TrimSpace(e.Text), f.kept)
		f.Context.Used = 0
		f.Context.Compactions++
	case conversation.Call:
		f.Answered = false
		f.call(e)
	case conversation.Result:
		f.Answered = false
		f.result(e)
	case conversation.TokenUsage:
		f.Usage = e.Usage
		f.model(e.Model)
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
			f.CWD = f.cut(e.Text, pathLength)
		}
	case conversation.Tracked:
		f.changed = cmp.Or(e.Text, f.changed)
	case conversation.TodoList:
		f.todos(e.Todos)
	}
	return true
}

// BeganIn notes where the session began as far as others know it, which counts where
// the conversation does not say it.
func (f *Fold) BeganIn(cwd string) { f.Began = f.cut(cwd, pathLength) }

func (f *Fold) cut(text string, length int) string    { return Cut(f.clean(text), length) }
func (f *Fold) cutEnd(text string, length int) string { return cutEnd(f.clean(text), length) }
func (f *Fold) line(text string, length int) string {
	return cutEnd(term.OneLine(f.clean(text)), length)
}

func (f *Fold) model(name string) {
	if name != "" && name != f.Model {
		f.Model = f.line(name, maxID)
	}
}

// ask notes a request. What is said from here on belongs to it.
func (f *Fold) ask(q Request) {
	if conversation.IsOpening(q.Text) {
		f.turn()
		return
	}
	said := f.clean(q.Text)
	if q.Text = Cut(said, requestLength); q.Text == "" {
		return
	}
	f.Standing = standing.Merge(f.Standing, standing.Find(said), maxStanding)
	// Said again after an interruption, it is one request.
	if n := len(f.Requests); n > 0 && f.Requests[n-1].Text == q.Text {
		f.Requests[n-1].Time = q.Time
		return
	}
	if q.Reply { // the turn goes on across it
		f.Requests = append(f.Requests, q)
		f.Requests = withoutFirst(f.Requests, maxReplies, func(r Request) bool { return r.Reply })
		return
	}
	f.turn()
	f.Prompts++
	if f.First.Text == "" {
		f.First = q
		if f.Origin = ""; q.Text != said {
			f.Origin = Cut(said, originLength)
		}
	}
	f.Requests = append(f.Requests, q)
	f.Requests = withoutFirst(f.Requests, maxRequests, func(r Request) bool { return !r.Reply })
	for f.Requests[0].Reply { // to a request that is no longer there
		f.Requests = slices.Delete(f.Requests, 0, 1)
	}
}

// withoutFirst leaves out the first of those that are so, where there are more than
// most.
func withoutFirst(all []Request, most int, so func(Request) bool) []Request {
	n := 0
	for _, r := range all {
		if so(r) {
			n++
		}
	}
	if i := slices.IndexFunc(all, so); n > most {
		all = slices.Delete(all, i, i+1)
	}
	return all
}

// say notes what the agent said last in a turn: the texts of one record are one.
func (f *Fold) say(e conversation.Entry) {
	text := strings.TrimSpace(e.Text)
	if text == "" {
		return
	}
	f.Answered = !e.Failed
	switch {
	case e.Failed: // the client says it in the agent's place
		f.fail("", "", f.failure(text))
		return
	case f.lastAnswer != "" && f.at == e.Offset && e.ID != "" && f.message == e.ID:
		f.lastAnswer += "\n" + text
	default:
		f.Answers++
		f.lastAnswer, f.at, f.message = text, e.Offset, e.ID
	}
	f.model(e.Model)
}

// turn gives what was said last to the request that it answers.
func (f *Fold) turn() {
	if f.lastAnswer == "" {
		return
	}
	text := f.clean(f.lastAnswer)
	f.Answer, f.lastAnswer = Cut(text, answerLength), ""
	if i := lastPrompt(f.Requests, func(Request) bool { return true }); i >= 0 {
		f.Requests[i].Answer = Cut(text, turnLength)
	}
}

// lastPrompt is the last request that is no reply and is so, -1 without one.
func lastPrompt(all []Request, so func(Request) bool) int {
	for i, r := range slices.Backward(all) {
		if !r.Reply && so(r) {
			return i
		}
	}
	return -1
}

// call notes what a tool was called for.
func (f *Fold) call(e conversation.Entry) {
	f.Tools++
	d := Deed{ID: key(e.CallID), Tool: f.line(e.Tool, maxID)}
	for _, path := range changes(e) {
		d.Files = append(d.Files, f.cut(path, pathLength))
	}
	switch kindOf(e.Tool) {
	case command:
		d.command = strings.Clone(strings.TrimSpace(commandOf(e)))
	case list:
		if items := plan(e.Text); len(items) > 0 {
			f.list = items
		}
	}
	f.Calls = append(f.Calls, d)
	for len(f.Calls) > maxOpen {
		f.commit(f.Calls[0])
		f.Calls = slices.Delete(f.Calls, 0, 1)
	}
}

// result gives what came of a call to the one that it names, or else to the first
// that it can belong to.
func (f *Fold) result(e conversation.Entry) {
	id, tool := key(e.CallID), f.line(e.Tool, maxID)
	i := slices.IndexFunc(f.Calls, func(d Deed) bool {
		return !d.Settled && (id != "" && d.ID == id || id == "" && (tool == "" || d.Tool == tool))
	})
	if i < 0 && id == "" {
		i = slices.IndexFunc(f.Calls, func(d Deed) bool { return !d.Settled })
	}
	if i < 0 {
		return
	}
	d := &f.Calls[i]
	d.Settled, d.Rejected = true, e.Rejected
	isCommand := d.command != "" || d.Command != ""
	if e.Failed || id == "" && isCommand && exitCode(e.Text) > 0 {
		bad := cmp.Or(strings.TrimSpace(e.Text), "failed")
		d.Failed, d.Misused = f.failure(bad), strings.HasPrefix(bad, "<tool_use_error>")
	}
	for len(f.Calls) > 0 && f.Calls[0].Settled {
		f.commit(f.Calls[0])
		f.Calls = slices.Delete(f.Calls, 0, 1)
	}
}

// failure is what is kept of what went wrong.
func (f *Fold) failure(bad string) string {
	if len(bad) > 2*maxOutput {
		bad = bad[:maxOutput] + "\n" + bad[len(bad)-maxOutput:]
	}
	return Cut(term.OneLine(f.clean(bad)), failureLength)
}

// commit takes in what was done, in the order in which it was.
func (f *Fold) commit(d Deed) {
	if d.Rejected {
		return
	}
	if d.Failed == "" {
		for _, path := range d.Files {
			f.Edited = slices.DeleteFunc(f.Edited, func(p string) bool { return p == path })
			f.Edited = slices.Insert(f.Edited, 0, path)
			f.Edited = f.Edited[:min(len(f.Edited), maxFiles)]
		}
	}
	if d.command == "" && d.Command == "" {
		if d.Failed != "" && !d.Misused {
			f.fail("", d.Tool, d.Failed)
		}
		return
	}
	f.seal(&d)
	f.Commands = append(f.Commands, Command{d.Command, d.Failed != "", !d.Settled})
	if n := len(f.Commands) - maxCommands; n > 0 {
		f.Commands = slices.Delete(f.Commands, 0, n)
	}
	if d.Failed != "" && !d.Misused {
		f.fail(d.Key, d.Command, d.Failed)
	} else if d.Failed == "" && d.Settled {
		f.succeed(d.Key)
	}
}

// seal cleans and cuts a deed's command.
func (f *Fold) seal(d *Deed) {
	if d.command == "" {
		return
	}
	text := f.clean(d.command)
	d.Command, d.Key, d.command = cutEnd(term.OneLine(text), commandLength), key(text), ""
}

// key tells texts apart, and is empty of an empty one.
func key(text string) string {
	if text == "" {
		return ""
	}
	// FNV-1a, as hash/fnv has it, which would allocate for each call and each result.
	sum := uint64(14695981039346656037)
	for i := range len(text) {
		sum = (sum ^ uint64(text[i])) * 1099511628211
	}
	return strconv.FormatUint(sum, 36)
}

// fail notes a failure. That a command failed before is no news then.
func (f *Fold) fail(key, what, bad string) {
	if key != "" {
		f.succeed(key)
	}
	if what != "" {
		bad = what + ": " + bad
	}
	f.Failures = append(f.Failures, Failure{key, bad})
	if n := len(f.Failures) - keptFailures; n > 0 {
		f.Failures = slices.Delete(f.Failures, 0, n)
	}
}

// succeed takes back what a command failed with before.
func (f *Fold) succeed(key string) {
	f.Failures = slices.DeleteFunc(f.Failures, func(x Failure) bool { return x.Command == key && key != "" })
}

// Seal cleans what is not clean yet, so that the fold can be kept.
func (f *Fold) Seal() {
	f.turn()
	if f.kept != "" {
		f.Compacted, f.kept = Cut(sections(f.clean(f.kept)), compactedLength), ""
	}
	if f.list != nil {
		f.List, f.list = f.items(f.list), nil
	}
	if f.changed != "" {
		f.Tracked = nil
		for path := range strings.Lines(f.changed) {
			if len(f.Tracked) < 2*maxFiles { // half of them may be among the edited
				f.Tracked = append(f.Tracked, f.cut(strings.TrimSuffix(path, "\n"), pathLength))
			}
		}
		f.changed = ""
	}
	for i := range f.Calls {
		f.seal(&f.Calls[i])
	}
}

// Of returns what was folded until now. (It is no method: a program that only keeps a
// Fold would link those.)
func Of(f *Fold) Summary {
	f.Seal()
	g := *f
	g.CWD = cmp.Or(f.CWD, f.Began)
	// Calls without a result count as well, and may get one yet.
	g.Edited, g.Commands, g.Failures = slices.Clone(g.Edited), slices.Clone(g.Commands), slices.Clone(g.Failures)
	for _, d := range f.Calls {
		g.commit(d)
	}
	s := Summary{
		Title: cmp.Or(g.Named, g.Generated), CWD: g.CWD, First: g.First, Requests: slices.Clone(g.Requests),
		Answer: g.Answer, Answered: g.Answered, Commands: g.Commands, Compacted: g.Compacted, Standing: standing.Holding(g.Standing),
	}
	if i := lastPrompt(s.Requests, func(r Request) bool { return r.Answer != "" }); i >= 0 {
		s.Requests[i].Answer = ""
	}
	for _, x := range g.Failures[max(0, len(g.Failures)-maxFailures):] {
		s.Failures = append(s.Failures, x.Text)
	}
	for _, path := range slices.Concat(g.Edited, g.Tracked) {
		if len(s.Files) == maxFiles {
			break
		}
		if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(g.CWD, "/")+"/"); ok && g.CWD != "" {
			path = rel
		}
		if !slices.Contains(s.Files, path) {
			s.Files = append(s.Files, path)
		}
	}
	for _, t := range g.todoList() {
		switch {
		case t.Status == "completed":
			s.Done++
		case t.Status != "deleted" && len(s.Todos) < maxTodos:
			s.Todos = append(s.Todos, Todo{cmp.Or(t.Text, "task "+t.ID), cmp.Or(t.Status, "pending")})
		}
	}
	return s
}
