// Package thread keeps what a chain of sessions knows across hand-overs, compactions,
// clears and crashes: every message that the person typed, the standing instructions among
// them, what each session handed over, and open todos.
//
// A thread is the file threads/<chain>.json in the state folder, with three earlier generations, a
// journal of the latest prompts and its own lock, threads/<chain>.lock. A home's lock would not do,
// because a chain can move between homes. Take the home's lock before the thread's. Rules, not a
// model, make the file from what people and agents said. Callers redact every text before they add
// it.
package thread

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/openjson"
	"gt/lib/text/pasted"
	"gt/lib/text/standing"
)

// Limits, in bytes unless the name is a plural.
const (
	MaxRequest      = 64 << 10
	MaxInstructions = 20
	maxLast         = 16 << 10 // of the latest hand-over
	maxOlder        = 1 << 10  // of earlier hand-overs
	maxMessages     = 40
	maxTodos        = 50
	maxTodo         = 400
	maxSessions     = 100
	maxFile         = 2 << 20
)

// Thread is what a chain knows.
type Thread struct {
	ChainID session.ID `json:"chain_id"`
	// Request is the person's first request.
	Request Quote `json:"request,omitzero"`
	// Prompts is every message that the person typed, oldest first, the first request among
	// them. A session that says the same again moves the message to the later time, but a short
	// one that answers another question stands twice.
	Prompts []Quote `json:"prompts,omitempty"`
	// Answers are what agents said last in each turn, and Actions the commands that they ran with
	// what came of them, and the files that they changed; both oldest first.
	Answers []Quote `json:"answers,omitempty"`
	Actions []Quote `json:"actions,omitempty"`
	// Dropped counts the oldest messages, of which nothing is left.
	Dropped int `json:"dropped,omitempty"`
	// Instructions are the standing instructions, oldest first.
	Instructions []Instruction `json:"instructions,omitempty"`
	// Messages are the hand-overs, oldest first.
	Messages []Message `json:"messages,omitempty"`
	// Todos are the open items of the agent's list and Done counts the finished ones, both
	// from the session TodosOf.
	Todos   []Todo     `json:"todos,omitempty"`
	Done    int        `json:"done,omitempty"`
	TodosOf session.ID `json:"todos_of,omitempty"`
	// Beside is what ran beside the last session at the end of its last turn.
	Beside *Background `json:"beside,omitempty"`
	// Sessions are the known sessions of the chain, oldest first.
	Sessions []Session `json:"sessions,omitempty"`
	// Ranking tells which rules gave the points.
	Ranking int `json:"ranking,omitempty"`

	unknown openjson.Unknown
}

// Background lists what runs beside a session, a line each.
type Background struct {
	Session session.ID `json:"session"`
	Running []string   `json:"running,omitempty"` // background tasks
	Team    []string   `json:"team,omitempty"`    // the team's name, and its agents
}

// Quote is something that the person said.
type Quote struct {
	Text    string     `json:"text"`
	Session session.ID `json:"session,omitempty"`
	Time    time.Time  `json:"time,omitzero"` // zero if unknown
	// Whole is the digest of the text before it was shortened; empty if it was not.
	Whole string `json:"whole,omitempty"`
	// Asked is the time of what an answer answers; zero if unknown.
	Asked time.Time `json:"asked,omitzero"`
	// Reply reports that it answers a question of the agent.
	Reply bool `json:"reply,omitempty"`
	// Done reports that the agent called a tool and then answered.
	Done bool `json:"done,omitempty"`
	// Points is how much it carries (Score); 0 if that is unknown. Cues are those of them
	// that do not depend on other messages.
	Points int `json:"points,omitempty"`
	Cues   int `json:"cues,omitempty"`
	// Group is a number that it shares with the messages that say the same with other
	// values; 0 if there are none.
	Group int `json:"group,omitempty"`
}

// Instruction is a standing instruction and its source.
type Instruction struct {
	standing.Instruction
	Session session.ID `json:"session,omitempty"` // where the person said it; "" if a command added it
	Time    time.Time  `json:"time,omitzero"`
}

// Message is what a session handed over.
type Message struct {
	Session session.ID `json:"session,omitempty"`
	Note    string     `json:"note"` // id of the complete note
	Subject string     `json:"subject"`
	Text    string     `json:"text,omitempty"` // the session's own words
	Time    time.Time  `json:"time,omitzero"`
}

type Todo struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending or in_progress
}

type Session struct {
	ID    session.ID `json:"id"`
	Agent string     `json:"agent,omitempty"`
	// Taken are digests of the instructions that gt v0.1.0 took from it. They are not
	// taken again, because the person may have dropped them since.
	Taken []string `json:"taken,omitempty"`
}

// Part is what is known of one session.
type Part struct {
	Session session.ID
	Agent   string
	First   Quote   // the person's first request in it
	Prompts []Quote // the person's messages in it that may be new, oldest first
	// TakenBack are the messages that the person took back, and did not say again but in
	// Prompts, which then has all messages of the session.
	TakenBack []Quote
	Answers   []Quote  // that may be new, oldest first
	Actions   []Quote  // the same
	Files     []string // that it changed, the last one first
	Todos     []Todo
	Done      int
	Beside    *Background // at the end of a turn; nil if unknown
	Time      time.Time   // the latest time at which it was said
	Last      time.Time   // of what was said and done; zero if unknown
}

// AddPrompts adds what the person said in a session, with its instructions. It can be repeated.
func (t *Thread) AddPrompts(part Part) {
	i := slices.IndexFunc(t.Sessions, func(s Session) bool { return s.ID == part.Session })
	if i < 0 {
		t.Sessions = append(t.Sessions, Session{ID: part.Session, Agent: part.Agent})
		if n := len(t.Sessions) - maxSessions; n > 0 {
			t.Sessions = slices.Delete(t.Sessions, 1, 1+n) // the first session has the request
		}
		i = len(t.Sessions) - 1
	}
	if part.First.Text != "" && (t.Request.Text == "" || t.Request.followsPart(part)) {
		t.Request = Quote{Text: cutMiddle(part.First.Text, MaxRequest), Session: part.Session, Time: part.First.Time}
	}
	for _, q := range part.Prompts {
		q.Session = part.Session
		if !t.addMessage(q) {
			continue
		}
		for _, found := range standing.Find(q.Text) {
			if !slices.Contains(t.Sessions[i].Taken, digest(found.Text)) {
				t.putInstruction(Instruction{found, part.Session, cmp.Or(q.Time, part.Time)})
			}
		}
	}
	t.shorten()
}

// takeBack removes the messages that the person took back in a session, and what came of them:
// their instructions, and the first request. Earlier instructions that they replaced hold again.
func (t *Thread) takeBack(p Part) {
	for _, q := range p.TakenBack {
		text := cutMiddle(strings.TrimSpace(q.Text), maxMessage)
		whole, before := digest(text), len(t.Prompts)
		if text == "" {
			continue
		}
		t.Prompts = slices.DeleteFunc(t.Prompts, func(old Quote) bool {
			return old.Session == p.Session && (old.Text == text || old.Whole == whole)
		})
		if t.Request.Session == p.Session && (t.Request.Text == text || pasted.Shorten(t.Request.Text) == q.Text) {
			t.Request = Quote{}
		}
		if len(t.Prompts) == before {
			continue
		}
		for _, gone := range standing.Find(q.Text) {
			t.Instructions = slices.DeleteFunc(t.Instructions, func(in Instruction) bool {
				return in.Session == p.Session && in.Instruction == gone
			})
			for _, old := range t.Prompts {
				for _, found := range standing.Find(old.Text) {
					if gone.Replaces(found) && !slices.ContainsFunc(t.Instructions, func(in Instruction) bool { return in.Instruction == found }) {
						t.putInstruction(Instruction{found, old.Session, old.Time})
					}
				}
			}
		}
	}
}

// AddPart adds what is known of a session at the end of a turn or at a hand-over. It can be
// repeated. What ran beside another session is dropped. The to-dos of another session are replaced
// if part has any.
func (t *Thread) AddPart(part Part) {
	t.takeBack(part)
	t.addWork(part)
	t.AddPrompts(part)
	for _, answer := range part.Answers {
		if answer.Done {
			t.markDone(part.Session, answer.Time)
		}
	}
	if part.Beside != nil || t.Beside != nil && t.Beside.Session != part.Session {
		if t.Beside = part.Beside; t.Beside != nil && len(t.Beside.Running)+len(t.Beside.Team) == 0 {
			t.Beside = nil
		}
	}
	if len(part.Todos) > 0 || part.Done > 0 || t.TodosOf == part.Session {
		t.Todos, t.Done, t.TodosOf = nil, part.Done, part.Session
		for _, todo := range part.Todos[:min(len(part.Todos), maxTodos)] {
			t.Todos = append(t.Todos, Todo{cut(todo.Text, maxTodo), todo.Status})
		}
	}
}

// followsPart reports whether p's first request came before the quote, in the same session. Then it
// replaces the quote as the thread's request: a hook can miss a prompt that the conversation has.
func (s Quote) followsPart(p Part) bool {
	return s.Session == p.Session && !p.First.Time.IsZero() && p.First.Time.Before(s.Time)
}

// Essential returns what must fit even into little room: what the person said and the todos.
func (t *Thread) Essential() *Thread {
	if t == nil {
		return nil
	}
	return &Thread{
		ChainID: t.ChainID, Request: t.Request, Prompts: t.Prompts, Dropped: t.Dropped, Instructions: t.Instructions,
		Todos: t.Todos, Done: t.Done, TodosOf: t.TodosOf,
	}
}

// AddInstruction adds an instruction that the person gave by a command. It reports false if all places are
// taken by such instructions and it replaces none: it drops only those that were found in messages.
func (t *Thread) AddInstruction(in standing.Instruction, now time.Time) bool {
	if len(t.Instructions) >= MaxInstructions && !slices.ContainsFunc(t.Instructions, func(old Instruction) bool {
		return old.Session != "" || in.Replaces(old.Instruction)
	}) {
		return false
	}
	t.putInstruction(Instruction{Instruction: in, Time: now})
	return true
}

// putInstruction adds an instruction and removes those that it repeats or lifts. If there are too
// many, the oldest found ones go first, then those from commands.
func (t *Thread) putInstruction(in Instruction) {
	t.Instructions = slices.DeleteFunc(t.Instructions, func(old Instruction) bool {
		return in.Replaces(old.Instruction) || changesAmounts(in.Text, old.Text)
	})
	if in.Kind == standing.Lifted {
		return
	}
	t.Instructions = append(t.Instructions, in)
	for len(t.Instructions) > MaxInstructions {
		i := max(0, slices.IndexFunc(t.Instructions, func(x Instruction) bool { return x.Session != "" }))
		t.Instructions = slices.Delete(t.Instructions, i, i+1)
	}
}

// Drop removes and returns the n-th instruction, counted from 1.
func (t *Thread) Drop(n int) (Instruction, bool) {
	if n < 1 || n > len(t.Instructions) {
		return Instruction{}, false
	}
	in := t.Instructions[n-1]
	t.Instructions = slices.Delete(t.Instructions, n-1, n)
	return in, true
}

// AddHandover adds a hand-over in place of one with the same note, and shortens the earlier ones.
func (t *Thread) AddHandover(m Message) {
	t.Messages = slices.DeleteFunc(t.Messages, func(old Message) bool { return old.Note == m.Note })
	for i := range t.Messages {
		t.Messages[i].Text = cutMiddle(t.Messages[i].Text, maxOlder)
	}
	m.Text = cut(m.Text, maxLast)
	t.Messages = append(t.Messages, m)
	if n := len(t.Messages) - maxMessages; n > 0 {
		t.Messages = slices.Delete(t.Messages, 0, n)
	}
}

// TakeBack removes the hand-over of a note.
func (t *Thread) TakeBack(note string) {
	t.Messages = slices.DeleteFunc(t.Messages, func(m Message) bool { return m.Note == note })
}

// JoinSession moves what a session said from another thread to this one.
func (t *Thread) JoinSession(from *Thread, id session.ID) {
	if from.Request.Session == id && t.Request.Text == "" {
		t.Request = from.Request
	}
	for _, q := range from.Answers {
		if q.Session == id && !slices.Contains(t.Answers, q) {
			t.Answers = insert(t.Answers, q)
		}
	}
	for _, q := range from.Prompts {
		if q.Session == id {
			t.addMessage(q)
		}
	}
	for _, q := range from.Actions {
		if q.Session == id {
			t.addAction(q)
		}
	}
	for _, in := range from.Instructions {
		if in.Session == id && !slices.Contains(t.Instructions, in) {
			t.putInstruction(in)
		}
	}
	for _, m := range from.Messages {
		if m.Session == id && !slices.Contains(t.Messages, m) {
			t.Messages = append(t.Messages, m)
		}
	}
	if from.TodosOf == id {
		t.Todos, t.Done, t.TodosOf = from.Todos, from.Done, id
	}
	if from.Beside != nil && from.Beside.Session == id {
		t.Beside = from.Beside
	}
	for _, s := range from.Sessions {
		if s.ID == id && !slices.ContainsFunc(t.Sessions, func(s Session) bool { return s.ID == id }) {
			t.Sessions = append(t.Sessions, s)
		}
	}
}

// RemoveSession removes what a session said, which now belongs to another chain. Instructions that
// it replaced do not come back.
func (t *Thread) RemoveSession(id session.ID) {
	if t.Request.Session == id {
		t.Request = Quote{}
	}
	for _, all := range []*[]Quote{&t.Prompts, &t.Answers, &t.Actions} {
		*all = slices.DeleteFunc(*all, func(q Quote) bool { return q.Session == id })
	}
	t.Instructions = slices.DeleteFunc(t.Instructions, func(in Instruction) bool { return in.Session == id })
	t.Messages = slices.DeleteFunc(t.Messages, func(m Message) bool { return m.Session == id })
	if t.TodosOf == id {
		t.Todos, t.Done, t.TodosOf = nil, 0, ""
	}
	if t.Beside != nil && t.Beside.Session == id {
		t.Beside = nil
	}
	t.Sessions = slices.DeleteFunc(t.Sessions, func(s Session) bool { return s.ID == id })
}

// Cleaned returns the thread with clean applied to every text. Secrets may be known now
// that were unknown when it was written.
func (t *Thread) Cleaned(clean func(string) string) *Thread {
	c := *t
	c.Request.Text = clean(t.Request.Text)
	c.Instructions, c.Messages, c.Todos = slices.Clone(t.Instructions), slices.Clone(t.Messages), slices.Clone(t.Todos)
	for _, all := range []*[]Quote{&c.Prompts, &c.Answers, &c.Actions} {
		*all = slices.Clone(*all)
		for i, q := range *all {
			(*all)[i].Text = clean(q.Text)
		}
	}
	for i := range c.Instructions {
		c.Instructions[i].Text = clean(c.Instructions[i].Text)
	}
	for i, m := range c.Messages {
		c.Messages[i].Subject, c.Messages[i].Text = clean(m.Subject), clean(m.Text)
	}
	for i, todo := range c.Todos {
		c.Todos[i].Text = clean(todo.Text)
	}
	if b := t.Beside; b != nil {
		c.Beside = &Background{b.Session, slices.Clone(b.Running), slices.Clone(b.Team)}
		for _, all := range [][]string{c.Beside.Running, c.Beside.Team} {
			for i := range all {
				all[i] = clean(all[i])
			}
		}
	}
	return &c
}

func digest(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return strconv.FormatUint(h.Sum64(), 36)
}

// cut shortens a text to n bytes, in whole characters, and marks the cut.
func cut(text string, n int) string {
	const mark = " […]"
	if len(text) <= n {
		return text
	}
	return strings.TrimRight(text[:characterStart(text, n-len(mark))], " \n") + mark
}

// cutMiddle shortens a text to n bytes by cutting its middle: a hand-over ends with the next steps.
func cutMiddle(text string, n int) string {
	const mark = " … [cut] … "
	if len(text) <= n {
		return text
	}
	keep := n - len(mark)
	front := characterStart(text, keep*2/3)
	back := len(text) - (keep - front)
	for back < len(text) && !utf8.RuneStart(text[back]) {
		back++
	}
	return text[:front] + mark + text[back:]
}

// characterStart returns the beginning of the character at n.
func characterStart(text string, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

var ErrNone = errors.New("no such thread")

// file returns the thread's file. It keeps three earlier generations.
func file(state place.State, chain session.ID, warn func(error)) (atomicfile.Rolling, error) {
	if _, err := session.ParseID(string(chain)); err != nil {
		return atomicfile.Rolling{}, err
	}
	return atomicfile.Rolling{Path: state.Path("threads", string(chain)+".json"), Limit: maxFile, Warn: warn, Valid: func(data []byte) error {
		_, err := parse(chain, data)
		return err
	}}, nil
}

// parse parses the thread of a chain, and keeps the fields of a newer gt.
func parse(chain session.ID, data []byte) (*Thread, error) {
	t := new(Thread)
	unknown, err := openjson.Unmarshal(data, t)
	if err != nil {
		return nil, err
	}
	if t.ChainID != chain {
		return nil, fmt.Errorf("it is the thread of '%.40s'", t.ChainID)
	}
	t.unknown = unknown
	return t, nil
}

// Parse reads a thread that comes from another machine.
func Parse(chain session.ID, data []byte) (*Thread, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	t, err := parse(chain, data)
	if err != nil {
		return nil, err
	}
	ids := []session.ID{t.Request.Session, t.TodosOf}
	for _, q := range slices.Concat(t.Prompts, t.Answers, t.Actions) {
		ids = append(ids, q.Session)
	}
	for _, in := range t.Instructions {
		ids = append(ids, in.Session)
	}
	for _, m := range t.Messages {
		ids = append(ids, m.Session)
	}
	for _, one := range t.Sessions {
		ids = append(ids, one.ID)
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if _, err := session.ParseID(string(id)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Replace makes a thread the chain's, whatever it was.
func Replace(state place.State, t *Thread, warn func(error)) error {
	_, err := Update(state, t.ChainID, atomicfile.Synced, warn, func(old *Thread) { *old = *t })
	return err
}

// Read returns a chain's thread, or ErrNone. An unusable file counts as none and causes a warning.
func Read(state place.State, chain session.ID, warn func(error)) (*Thread, error) {
	f, err := file(state, chain, warn)
	if err != nil {
		return nil, ErrNone
	}
	prompts, err := readJournal(state, chain) // first: what a writer takes out of it is in the file by then
	if err != nil && warn != nil {
		warn(err)
	}
	t, _, err := load(chain, f, prompts, atomicfile.Rolling.Read, warn)
	return t, err
}

// load returns a thread with the journal's prompts added, and the content of its file. A missing or
// unusable file counts as an empty thread, and is ErrNone if there are no prompts either.
func load(chain session.ID, f atomicfile.Rolling, prompts []entry, read func(atomicfile.Rolling) ([]byte, error), warn func(error)) (*Thread, []byte, error) {
	var t *Thread
	f.Valid = func(data []byte) (err error) { // parse only once
		t, err = parse(chain, data)
		return err
	}
	data, err := read(f)
	switch {
	case err == nil || errors.Is(err, fs.ErrNotExist):
	case atomicfile.IsSystemError(err):
		return nil, nil, err
	case warn != nil: // the file is unusable
		warn(err)
	}
	if err != nil && len(prompts) == 0 {
		return nil, nil, ErrNone
	} else if err != nil {
		t = &Thread{ChainID: chain}
	}
	for _, e := range prompts {
		t.AddPrompts(Part{Session: e.Session, Agent: e.Agent, Prompts: []Quote{e.Quote}, Time: e.Time})
	}
	t.Rank()
	return t, data, nil
}

// lockWait bounds the wait for another writer. What is missed is added after the next turn.
const lockWait = 2 * time.Second

func lock(state place.State, chain session.ID) (*flock.Lock, error) {
	return state.Lock(state.Path("threads", string(chain)+".lock"), lockWait)
}

// Update changes a chain's thread, creating it if necessary, and writes it if it changed.
func Update(state place.State, chain session.ID, d atomicfile.Durability, warn func(error), change func(*Thread)) (*Thread, error) {
	f, err := file(state, chain, warn)
	if err != nil {
		return nil, err
	}
	lock, err := lock(state, chain)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	t, before, err := repair(state, chain, f, warn)
	if errors.Is(err, ErrNone) {
		t = &Thread{ChainID: chain}
		before, err = openjson.File(t) // an empty thread is not written
	}
	if err != nil {
		return nil, err
	}
	change(t)
	t.Rank()
	return t, t.write(state, f, before, d)
}

// repair returns a thread with its journal's prompts, and the content of its file. The
// caller holds the lock.
func repair(state place.State, chain session.ID, f atomicfile.Rolling, warn func(error)) (*Thread, []byte, error) {
	prompts, err := readJournal(state, chain)
	if atomicfile.IsSystemError(err) {
		return nil, nil, err
	} // any other error says that it is no journal
	return load(chain, f, prompts, atomicfile.Rolling.Repair, warn)
}

// write writes the thread if it is not what its file had before, and removes the journal,
// whose prompts it has. The caller holds the lock.
func (t *Thread) write(state place.State, f atomicfile.Rolling, before []byte, d atomicfile.Durability) error {
	after, err := openjson.File(t)
	if err != nil {
		return err
	}
	if !bytes.Equal(after, before) {
		if err := f.Write(after, d); err != nil {
			return err
		}
	}
	return atomicfile.Remove(journal(state, t.ChainID))
}

// Move moves what a session said from one chain's thread to another's. It can be repeated.
// A thread that has nothing left is removed.
func Move(state place.State, from, to, id session.ID, d atomicfile.Durability, warn func(error)) error {
	f, err := file(state, from, warn)
	if err != nil {
		return err
	}
	if !exists(state, f, from) {
		return nil
	}
	lock, err := lock(state, from)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	t, before, err := repair(state, from, f, warn)
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err == nil {
		_, err = Update(state, to, d, warn, func(into *Thread) { into.JoinSession(t, id) })
	}
	if err != nil {
		return err
	}
	if t.RemoveSession(id); t.isEmpty() {
		return errors.Join(atomicfile.Remove(journal(state, from)), f.Remove())
	}
	return t.write(state, f, before, d)
}

// exists reports whether a chain may have a thread or a journal.
func exists(state place.State, f atomicfile.Rolling, chain session.ID) bool {
	file, err := atomicfile.IsPresent(f.Path)
	prompts, jerr := atomicfile.IsPresent(journal(state, chain))
	return file || prompts || err != nil || jerr != nil
}

func (t *Thread) isEmpty() bool {
	return t.Request.Text == "" && t.Beside == nil && len(t.Prompts)+len(t.Answers)+len(t.Actions)+len(t.Instructions)+len(t.Messages)+len(t.Todos)+len(t.Sessions)+len(t.unknown) == 0
}

// Remove removes a chain's thread with its earlier generations. Without one it returns ErrNone.
func Remove(state place.State, chain session.ID) error {
	f, err := file(state, chain, nil)
	if err != nil {
		return err
	}
	if !exists(state, f, chain) {
		return ErrNone
	}
	lock, err := lock(state, chain)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return errors.Join(atomicfile.Remove(journal(state, chain)), f.Remove())
}

// MarshalJSON keeps fields of a newer gt.
func (t *Thread) MarshalJSON() ([]byte, error) {
	type plain Thread
	return openjson.Marshal((*plain)(t), t.unknown)
}

// RepositoryID returns the name of the thread that has the rules of a repository, by the git
// directory that its worktrees share. That thread has instructions and nothing else.
func RepositoryID(gitDir string) session.ID {
	sum := sha256.Sum256([]byte(gitDir))
	return session.ID("repository-" + hex.EncodeToString(sum[:16]))
}

// Rules returns the rules of a repository, none if they cannot be read, which causes a warning.
func Rules(state place.State, gitDir string, warn func(error)) []Instruction {
	t, err := Read(state, RepositoryID(gitDir), warn)
	if err != nil {
		if !errors.Is(err, ErrNone) && warn != nil {
			warn(err)
		}
		return nil
	}
	return t.Instructions
}

// WithRules returns the thread of a chain with a repository's rules before its own
// instructions, without those that an instruction of the chain replaces. A chain that has no
// thread gets one if there are rules.
func WithRules(t *Thread, chain session.ID, rules []Instruction) *Thread {
	if len(rules) == 0 {
		return t
	}
	joined := Thread{ChainID: chain}
	if t != nil {
		joined = *t
	}
	rules = slices.DeleteFunc(slices.Clone(rules), func(rule Instruction) bool {
		return slices.ContainsFunc(joined.Instructions, func(own Instruction) bool { return own.Replaces(rule.Instruction) })
	})
	joined.Instructions = slices.Concat(rules, joined.Instructions)
	return &joined
}
