package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/internal/testenv"
)

// fact is something that the predecessor knew. What it says holds marker, a
// word that stands nowhere else.
type fact struct{ kind, marker string }

// facts makes up facts and remembers them.
type facts []fact

// plant returns a word for a sentence about something of that kind.
func (f *facts) plant(kind string) string {
	n := 1
	for _, o := range *f {
		if o.kind == kind {
			n++
		}
	}
	marker := fmt.Sprintf("%s-heron%d", strings.NewReplacer(" ", "", ",", "", "-", "", "'", "").Replace(kind), n)
	*f = append(*f, fact{kind, marker})
	return marker
}

// The kinds of facts, in the order of the table.
const (
	task        = "original task"
	lastRequest = "last request"
	doingNow    = "doing now"
	openTodos   = "open to-dos"
	failure     = "failing command"
	decisions   = "decisions, last turns"
	requests    = "requests, last turns"
	choices     = "person's choices"
	changed     = "uncommitted files"
	commits     = "commits"
	branch      = "branch"
	touched     = "files edited"
	unread      = "unread note"
	hooked      = "given work"
	compacted   = "kept by compaction"
	halfway     = "decided halfway"
)

var kinds = []string{
	task, lastRequest, doingNow, openTodos, failure, decisions, requests, choices,
	changed, commits, branch, touched, unread, hooked, compacted, halfway,
}

// forms are the two forms of an agent's to-do list.
type form int

const (
	tasks     form = iota // TaskCreate and TaskUpdate, and files beside the transcript
	todoWrite             // TodoWrite, which takes the whole list each time
)

// writer writes a transcript as Claude Code 2.1.197 does.
type writer struct {
	w       *bufio.Writer
	size    int
	rand    *rand.Rand
	session string
	cwd     string
	branch  string
	now     time.Time
	parent  string
	uses    int
	tracked []string
}

// The records of the client, in its own order of keys: a message's type stands
// behind the message, a person's before it.
type (
	common struct {
		UUID       string `json:"uuid"`
		Timestamp  string `json:"timestamp"`
		UserType   string `json:"userType"`
		Entrypoint string `json:"entrypoint"`
		CWD        string `json:"cwd"`
		SessionID  string `json:"sessionId"`
		Version    string `json:"version"`
		GitBranch  string `json:"gitBranch"`
	}
	userRecord struct {
		ParentUUID  string  `json:"parentUuid"`
		IsSidechain bool    `json:"isSidechain"`
		PromptID    string  `json:"promptId"`
		Type        string  `json:"type"`
		Message     content `json:"message"`
		Compact     bool    `json:"isCompactSummary,omitempty"`
		Meta        bool    `json:"isMeta,omitempty"`
		Origin      any     `json:"origin,omitempty"`
		Result      any     `json:"toolUseResult,omitempty"`
		common
	}
	content struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	assistantRecord struct {
		ParentUUID  string  `json:"parentUuid"`
		IsSidechain bool    `json:"isSidechain"`
		Message     message `json:"message"`
		Type        string  `json:"type"`
		common
	}
	message struct {
		Model   string         `json:"model"`
		ID      string         `json:"id"`
		Type    string         `json:"type"`
		Role    string         `json:"role"`
		Content []object       `json:"content"`
		Stop    string         `json:"stop_reason"`
		Usage   map[string]int `json:"usage"`
	}
	object = map[string]any
)

func (w *writer) put(v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.w.Write(data)
	w.w.WriteByte('\n')
	w.size += len(data) + 1
}

func (w *writer) uuid() string {
	var b [16]byte
	for i := range b {
		b[i] = byte(w.rand.IntN(256))
	}
	return fmt.Sprintf("%x-%x-4%x-8%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (w *writer) common() common {
	w.now = w.now.Add(time.Duration(500+w.rand.IntN(4000)) * time.Millisecond)
	c := common{w.uuid(), w.now.UTC().Format("2006-01-02T15:04:05.000Z"), "external", "cli", w.cwd, w.session, "2.1.197", w.branch}
	w.parent = c.UUID
	return c
}

func (w *writer) user(r userRecord) {
	r.ParentUUID, r.Type, r.Message.Role = w.parent, "user", "user"
	r.common = w.common()
	w.put(r)
}

// asks writes a person's prompt and what the client notes with it.
func (w *writer) asks(text string) {
	w.user(userRecord{Message: content{Content: text}, Origin: object{"kind": "human"}})
	backups := object{}
	for _, p := range w.tracked {
		backups[p] = object{"version": 1}
	}
	w.put(object{"type": "file-history-snapshot", "messageId": w.parent, "snapshot": object{"messageId": w.parent, "trackedFileBackups": backups}, "isSnapshotUpdate": false})
}

func (w *writer) assistant(block object, stop string) {
	r := assistantRecord{
		ParentUUID: w.parent,
		Message: message{
			"claude", "msg_" + w.uuid()[:8], "message", "assistant", []object{block}, stop,
			map[string]int{"input_tokens": 3, "cache_read_input_tokens": 90_000, "output_tokens": 120},
		},
		Type: "assistant",
	}
	r.common = w.common()
	w.put(r)
}

func (w *writer) says(text, stop string) { w.assistant(object{"type": "text", "text": text}, stop) }

// uses writes a tool's call and its result.
func (w *writer) use(name string, input object, result string, failed bool, structured any) {
	w.uses++
	id := fmt.Sprintf("toolu_%06d", w.uses)
	w.assistant(object{"type": "tool_use", "id": id, "name": name, "input": input}, "tool_use")
	block := object{"tool_use_id": id, "type": "tool_result", "content": result}
	if failed {
		block["is_error"] = true
		if structured == nil {
			structured = "Error: " + result
		}
	}
	w.user(userRecord{Message: content{Content: []object{block}}, Result: structured})
}

func (w *writer) edit(path string) {
	text := w.code(5 + w.rand.IntN(30))
	w.use("Edit", object{"file_path": filepath.Join(w.cwd, path), "old_string": text[:len(text)/2], "new_string": text},
		"The file "+filepath.Join(w.cwd, path)+" has been updated successfully.", false,
		object{"filePath": filepath.Join(w.cwd, path), "oldString": text[:len(text)/2], "newString": text, "originalFile": w.code(100 + w.rand.IntN(300)), "structuredPatch": []any{}})
	if slices.Contains(w.tracked, path) {
		return
	}
	w.tracked = append(w.tracked, path)
}

func (w *writer) bash(command, out string, failed bool) {
	w.use("Bash", object{"command": command, "description": "Run it"}, out, failed, object{"stdout": out, "stderr": "", "interrupted": failed})
}

// work writes what an agent does all day: reading, searching, editing,
// running, with results from some hundred bytes to some hundred kilobytes.
func (w *writer) work(steps int) {
	for range steps {
		path := fmt.Sprintf("internal/%s/%s.go", w.word(), w.word())
		switch n := w.rand.IntN(20); {
		case n < 7:
			text := w.code(50 + w.rand.IntN(400))
			w.use("Read", object{"file_path": filepath.Join(w.cwd, path)}, text, false, object{"type": "text", "file": object{"filePath": path, "content": text}})
		case n < 10:
			w.use("Grep", object{"pattern": w.word(), "output_mode": "content"}, w.code(5+w.rand.IntN(60)), false, nil)
		case n < 13:
			w.edit(path)
		case n < 18:
			w.bash("go test ./internal/"+w.word()+"/...", "ok  \tledger/internal\t0.4s\n"+w.prose(w.rand.IntN(200)), false)
		case n == 18:
			w.bash("make lint", "Exit code 1\n"+w.prose(20), true)
			w.bash("make lint", "ok", false)
		default:
			if w.rand.IntN(12) == 0 { // a picture, in one line
				w.user(userRecord{Message: content{Content: []object{{"type": "tool_result", "tool_use_id": "toolu_picture", "content": []object{
					{"type": "image", "source": object{"type": "base64", "data": strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA", 50_000+w.rand.IntN(50_000))}},
				}}}}})
			}
			w.says(w.prose(30+w.rand.IntN(60)), "tool_use")
		}
	}
}

var words = strings.Fields(`account amount audit balance batch booking buffer cache charge check clock close commit
currency cursor debit delta entry error event export fee fetch field flush fold group handle header hold import index
invoice item journal key ledger limit line lock lookup margin match merge method node offset order owner page parse
partner patch payment period policy post queue quota rate reader record refund report reserve result retry rollup round
row rule scan schema scope segment settle shard sign slot snapshot source split stage state step store stream sum sync
table tally tax tenant token total trace transfer type unit update value vendor version view volume wallet window worker`)

func (w *writer) word() string { return words[w.rand.IntN(len(words))] }

func (w *writer) prose(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 && i%14 == 0 {
			b.WriteString(". ")
		} else if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.word())
	}
	return b.String()
}

func (w *writer) code(lines int) string {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "%d\t\tif err := %s.%s(%q, %d); err != nil {\n", i+1, w.word(), w.word(), w.word(), w.rand.IntN(1000))
	}
	return b.String()
}

// world is a machine with a repository on it and a session that worked there
// all day.
type world struct {
	dir        string // everything lies below it
	home       string
	person     []string // the environment of whose home that is
	repo       string
	session    string
	transcript string
	size       int
	facts      facts
	todos      []string // subjects of the open ones, for their files
	prompts    []string
}

const sessionID = "5e55104a-0000-4000-8000-000000000001"

// newWorld makes the repository as it was when the session began.
func newWorld(dir string) (*world, error) {
	w := &world{dir: dir, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "ledger"), session: sessionID}
	if err := os.MkdirAll(w.repo, 0o755); err != nil {
		return nil, err
	}
	var err error
	if w.person, err = testenv.Person(w.home); err != nil {
		return nil, err
	}
	if err := w.git("init", "-q"); err != nil {
		return nil, err
	}
	for i := range 200 {
		if err := w.file(fmt.Sprintf("internal/%s/f%d.go", words[i%len(words)], i), "package x\n"); err != nil {
			return nil, err
		}
	}
	if err := w.git("add", "."); err != nil {
		return nil, err
	}
	return w, w.git("commit", "-qm", "Begin the ledger")
}

func (w *world) file(path, text string) error {
	path = filepath.Join(w.repo, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (w *world) git(args ...string) error {
	c := exec.Command("git", args...)
	c.Dir, c.Env = w.repo, w.environ()
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// environ is a person's, without anything of the one who runs the benchmark.
func (w *world) environ(more ...string) []string {
	return append(append(slices.Clip(w.person), "GOMAXPROCS=2"), more...)
}

// repository leaves the repository as the session left it.
func (w *world) repository() error {
	name := "rework/" + w.facts.plant(branch)
	if err := w.git("checkout", "-q", "-b", name); err != nil {
		return err
	}
	for i := range 3 {
		if err := w.file(fmt.Sprintf("internal/settle/c%d.go", i), "package settle\n"); err != nil {
			return err
		}
		if err := w.git("add", "internal/settle"); err != nil {
			return err
		}
		if err := w.git("commit", "-qm", "settle: step towards "+w.facts.plant(commits)); err != nil {
			return err
		}
	}
	for range 3 {
		if err := w.file("internal/settle/"+w.facts.plant(changed)+".go", "package settle\n"); err != nil {
			return err
		}
	}
	return w.file("internal/account/f0.go", "package x // changed\n")
}

// write writes the transcript: size bytes of a day's work, of which the last
// turns are told in full.
func (w *world) write(size int, f form) error {
	w.transcript = filepath.Join(w.home, ".claude", "projects", slug(w.repo), w.session+".jsonl")
	if err := os.MkdirAll(filepath.Dir(w.transcript), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(w.transcript, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	t := &writer{
		w: bufio.NewWriterSize(file, 1<<20), rand: rand.New(rand.NewPCG(1, 2)), session: w.session, cwd: w.repo,
		branch: "main", now: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC),
	}
	p := w.facts.plant
	request := func(text string) {
		w.prompts = append(w.prompts, text)
		t.asks(text)
	}

	// What a client writes at a start.
	t.put(object{"type": "mode", "mode": "normal", "sessionId": w.session})
	t.put(object{"parentUuid": nil, "isSidechain": false, "attachment": object{"type": "skill_listing", "content": t.prose(2000)}, "type": "attachment"})
	request("Rework the settlement of the ledger so that it books each transfer exactly once; the goal is " + p(task) + ". " + t.prose(90) +
		".\n\nKeep to these: no new dependency, and never touch " + p(task) + ". " + t.prose(90) + ".\n\nIt is done when " + p(task) + " passes.")
	t.says("I look around first.", "tool_use")

	// The day. A conversation is compacted every three megabytes or so.
	last := size - 1_400_000
	for next := 3_000_000; t.size < last; {
		t.work(8 + t.rand.IntN(20))
		t.says("Done. "+t.prose(40+t.rand.IntN(80)), "end_turn")
		if t.size > size/2 && !w.planted(halfway) {
			request("And how do we round?")
			t.says("Decided: "+p(halfway)+", since halves must not drift. And we keep "+p(halfway)+".", "end_turn")
		}
		if t.size > next && t.size < last {
			next += 3_000_000
			if next >= last {
				break
			}
			t.compact("1. Primary Request and Intent: " + t.prose(200))
		}
		request(t.prose(8 + t.rand.IntN(40)))
	}
	t.compact("1. Primary Request and Intent:\n   The settlement books twice; the reason found so far is " + p(compacted) + ". " + t.prose(250) +
		"\n2. Key Technical Concepts:\n" + t.prose(300) + "\n3. Files and Code Sections:\n" + t.code(40) +
		"\n7. Pending Tasks:\n   - " + p(compacted) + "\n8. Current Work:\n" + t.prose(60))

	// The last turns, each with what was asked and what was decided.
	list := t.todoList(f)
	for i := range 4 {
		request(fmt.Sprintf("Next, %s: make it so that %s. %s", t.word(), p(requests), t.prose(15*i)))
		t.work(6 + t.rand.IntN(6))
		if i == 1 {
			// A refusal with a reason, and an answer to the agent's question.
			t.use("Write", object{"file_path": filepath.Join(w.repo, "x.go"), "content": "package x"},
				refusal+"not here: use "+p(choices)+" for that", true, "Error: "+refusal+"not here: use "+w.lastMarker()+" for that")
			chosen := p(choices)
			t.use("AskUserQuestion", object{"questions": []object{{"question": "Which store?"}}},
				`Your questions have been answered: "Which store?"="`+chosen+`". You can now continue with these answers in mind.`, false,
				object{"questions": []object{{"question": "Which store?"}}, "answers": object{"Which store?": chosen}})
		}
		list.step(i)
		answer := t.prose(40) + ". " + t.prose(60)
		if i%2 == 0 {
			answer = "Decided: " + p(decisions) + ", for it is the only one without a lock. " + answer
		} else {
			answer += "\n\nSo from here on " + p(decisions) + " is the rule."
		}
		t.says(answer, "end_turn")
	}
	request("Now the flush is the last thing: " + p(lastRequest) + ". " + t.prose(60) + ". Leave everything else, and tell me about " + p(lastRequest) + " when you are through.")
	t.work(4)
	for range 6 {
		path := "internal/settle/" + p(touched) + ".go"
		t.edit(path)
	}
	t.bash("go test -run "+p(failure)+" ./internal/settle/", "Exit code 1\n--- FAIL: TestFlush (0.02s)\n    flush_test.go:88: booked twice: "+p(failure)+"\nFAIL", true)
	t.says("The second booking comes from "+p(doingNow)+"; I take it out of the retry now.", "tool_use")
	t.use("Read", object{"file_path": filepath.Join(w.repo, "internal/settle/flush.go")}, t.code(120), false, nil)

	w.todos = list.open()
	for _, s := range w.todos {
		w.facts = append(w.facts, fact{openTodos, s})
	}
	w.size = t.size
	if err := t.w.Flush(); err != nil {
		return err
	}
	return list.files(filepath.Join(w.home, ".claude", "tasks", w.session))
}

const refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, " +
	"the new_string was NOT written to the file). To tell you how to proceed, the user said:\n"

// lastMarker is the marker that was planted last.
func (w *world) lastMarker() string { return w.facts[len(w.facts)-1].marker }

func (w *world) planted(kind string) bool {
	for _, f := range w.facts {
		if f.kind == kind {
			return true
		}
	}
	return false
}

// compact writes what a compaction leaves behind.
func (w *writer) compact(summary string) {
	w.put(object{"parentUuid": nil, "isSidechain": false, "type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false})
	w.user(userRecord{Compact: true, Message: content{Content: "This session is being continued from a previous conversation that ran out of context. " +
		"The summary below covers the earlier portion of the conversation.\n\nSummary:\n" + summary +
		"\n\nIf you need specific details from before compaction, read the full transcript at: " + w.cwd}})
}

// todoList is the agent's list in the session, in one of the two forms.
type todoList struct {
	w     *writer
	form  form
	items []todo
}

type todo struct{ text, status string }

func (w *writer) todoList(f form) *todoList {
	l := &todoList{w: w, form: f}
	for i := range 7 {
		l.items = append(l.items, todo{fmt.Sprintf("Settle %s: opentodos-heron%d", w.word(), i+1), "pending"})
	}
	if f == tasks {
		for i, t := range l.items {
			w.use("TaskCreate", object{"subject": t.text, "description": w.prose(12), "activeForm": "Settling"},
				fmt.Sprintf("Task #%d created successfully: %s", i+1, t.text), false, object{"task": object{"id": fmt.Sprint(i + 1), "subject": t.text}})
		}
	}
	return l
}

// step finishes the item with that number and begins the next.
func (l *todoList) step(n int) {
	if n > 2 {
		return
	}
	l.set(n, "completed")
	l.set(n+1, "in_progress")
	if l.form == todoWrite {
		var all []object
		for _, t := range l.items {
			all = append(all, object{"content": t.text, "status": t.status, "activeForm": t.text})
		}
		l.w.use("TodoWrite", object{"todos": all}, "Todos have been modified successfully.", false, object{"newTodos": all})
	}
}

func (l *todoList) set(n int, status string) {
	before := l.items[n].status
	l.items[n].status = status
	if l.form == tasks {
		id := fmt.Sprint(n + 1)
		l.w.use("TaskUpdate", object{"taskId": id, "status": status}, "Updated task #"+id+" status", false,
			object{"success": true, "taskId": id, "updatedFields": []string{"status"}, "statusChange": object{"from": before, "to": status}})
	}
}

// open returns the markers of the open items.
func (l *todoList) open() []string {
	var all []string
	for _, t := range l.items {
		if t.status != "completed" {
			all = append(all, t.text[strings.LastIndex(t.text, " ")+1:])
		}
	}
	return all
}

// files writes what the client keeps beside the transcript.
func (l *todoList) files(dir string) error {
	if l.form != tasks {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for i, t := range l.items {
		data, err := json.MarshalIndent(object{"id": fmt.Sprint(i + 1), "subject": t.text, "status": t.status, "blocks": []string{}}, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i+1)+".json"), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// slug is the client's name for a folder.
func slug(dir string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, dir)
}
