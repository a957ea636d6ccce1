// Package thread keeps what a chain of sessions knows, so that it outlives every
// hand-over, compaction, clear and crash: what the person asked for first, what must
// always, never or only be done, what each session handed over, and what is still to be
// done.
//
// It is one file for the chain, threads/<chain>.json in the state folder, with the three
// contents that it had before and a lock of its own, threads/<chain>.lock: chains go
// from one home to another, so a home's lock does not do. Who takes both takes the
// home's first. The file is made by rule from what people and agents said; who starts a
// session only reads it. Whoever gives it a text has taken the secrets out of that.
package thread

import (
	"bytes"
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
	"gt/lib/text/standing"
)

// How much is kept of each, in bytes of a text.
const (
	MaxRequest      = 64 << 10 // of the first request
	MaxInstructions = 20
	maxLast         = 16 << 10 // of what was handed over last
	maxOlder        = 1 << 10  // of what was handed over before
	maxMessages     = 40
	maxTodos        = 50
	maxTodo         = 400
	maxSessions     = 100
	maxTaken        = 100 // of a session's instructions
	maxFile         = 1 << 20
)

// Thread is what a chain knows.
type Thread struct {
	ChainID session.ID `json:"chain_id"`
	// Request is what the person asked for first.
	Request Quote `json:"request,omitzero"`
	// Instructions are what must always, never or only be done, the oldest first.
	Instructions []Instruction `json:"instructions,omitempty"`
	// Messages are what was handed over, the oldest first.
	Messages []Message `json:"messages,omitempty"`
	// Todos are the open items of the agent's list, and Done is how many are
	// finished, as the session TodosOf said last.
	Todos   []Todo     `json:"todos,omitempty"`
	Done    int        `json:"done,omitempty"`
	TodosOf session.ID `json:"todos_of,omitempty"`
	// Beside is what worked beside the last session when its last turn ended.
	Beside *Beside `json:"beside,omitempty"`
	// Sessions are those of the chain that something is known of, the oldest first.
	Sessions []Session `json:"sessions,omitempty"`

	unknown openjson.Unknown
}

// Beside is what works beside a session, a line each.
type Beside struct {
	Session session.ID `json:"session"`
	Running []string   `json:"running,omitempty"` // in the background
	Team    []string   `json:"team,omitempty"`    // its name, and the agents in it
}

// Quote is something that the person said.
type Quote struct {
	Text    string     `json:"text"`
	Session session.ID `json:"session,omitempty"`
	Time    time.Time  `json:"time,omitzero"` // zero where it is not known
}

// Instruction is a standing instruction and where it comes from.
type Instruction struct {
	standing.Instruction
	Session session.ID `json:"session,omitempty"` // in which the person said it; empty where it was added by a command
	Time    time.Time  `json:"time,omitzero"`
}

// Message is what a session handed over.
type Message struct {
	Session session.ID `json:"session,omitempty"`
	Note    string     `json:"note"` // the note that holds all of it
	Subject string     `json:"subject"`
	Text    string     `json:"text,omitempty"` // the session's own words
	Time    time.Time  `json:"time,omitzero"`
}

// Todo is an item of the agent's list.
type Todo struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending or in_progress
}

// Session is a session of the chain.
type Session struct {
	ID    session.ID `json:"id"`
	Agent string     `json:"agent,omitempty"`
	// Taken are digests of the instructions that were taken over from it, so that
	// each is taken once, also where something later took its place.
	Taken []string `json:"taken,omitempty"`
}

// Part is what is known of one session of the chain.
type Part struct {
	Session session.ID
	Agent   string
	First   Quote // what the person asked for first in it
	// Standing are the instructions that the person gave in it, the oldest first,
	// and what took earlier ones back.
	Standing []standing.Instruction
	Todos    []Todo
	Done     int
	Beside   *Beside   // at the end of a turn; nil where that is not known
	Time     time.Time // when it was said, at the latest
}

// Take takes over what is known of a session. Taken over again, it changes nothing.
func (t *Thread) Take(p Part) {
	i := slices.IndexFunc(t.Sessions, func(s Session) bool { return s.ID == p.Session })
	if i < 0 {
		t.Sessions = append(t.Sessions, Session{ID: p.Session, Agent: p.Agent})
		if n := len(t.Sessions) - maxSessions; n > 0 {
			t.Sessions = slices.Delete(t.Sessions, 1, 1+n) // the first one has the request
		}
		i = len(t.Sessions) - 1
	}
	if p.First.Text != "" && (t.Request.Text == "" || t.Request.after(p)) {
		t.Request = Quote{cut(p.First.Text, MaxRequest), p.Session, p.First.Time}
	}
	s := &t.Sessions[i]
	for _, found := range p.Standing {
		d := digest(found.Text)
		if slices.Contains(s.Taken, d) {
			continue
		}
		if s.Taken = append(s.Taken, d); len(s.Taken) > maxTaken {
			s.Taken = slices.Delete(s.Taken, 0, 1)
		}
		t.instruct(Instruction{found, p.Session, p.Time})
	}
	if p.Beside != nil || t.Beside != nil && t.Beside.Session != p.Session {
		if t.Beside = p.Beside; t.Beside != nil && len(t.Beside.Running)+len(t.Beside.Team) == 0 {
			t.Beside = nil
		}
	}
	if len(p.Todos) > 0 || p.Done > 0 || t.TodosOf == p.Session {
		t.Todos, t.Done, t.TodosOf = nil, p.Done, p.Session
		for _, todo := range p.Todos[:min(len(p.Todos), maxTodos)] {
			t.Todos = append(t.Todos, Todo{cut(todo.Text, maxTodo), todo.Status})
		}
	}
}

// after reports whether something was said after what was asked for first in the same
// session, so that it was not the first: a hook can miss a prompt that the conversation has.
func (s Quote) after(p Part) bool {
	return s.Session == p.Session && !p.First.Time.IsZero() && p.First.Time.Before(s.Time)
}

// Essential returns what of a thread must not be lost even where there is little room:
// the first request, the standing instructions and what is still to be done. Of nil it
// is nil.
func (t *Thread) Essential() *Thread {
	if t == nil {
		return nil
	}
	return &Thread{ChainID: t.ChainID, Request: t.Request, Instructions: t.Instructions, Todos: t.Todos, Done: t.Done, TodosOf: t.TodosOf}
}

// Add notes an instruction that the person gives by a command.
func (t *Thread) Add(in standing.Instruction, now time.Time) {
	t.instruct(Instruction{Instruction: in, Time: now})
}

// instruct adds an instruction, which takes the place of those that it repeats or
// takes back. Of too many the oldest go that were found, then those that were added.
func (t *Thread) instruct(in Instruction) {
	t.Instructions = slices.DeleteFunc(t.Instructions, func(old Instruction) bool { return in.Replaces(old.Instruction) })
	if in.Kind == standing.Lifted {
		return
	}
	t.Instructions = append(t.Instructions, in)
	for len(t.Instructions) > MaxInstructions {
		i := max(0, slices.IndexFunc(t.Instructions, func(x Instruction) bool { return x.Session != "" }))
		t.Instructions = slices.Delete(t.Instructions, i, i+1)
	}
}

// Drop removes the instruction of that number, from 1 on, and returns it.
func (t *Thread) Drop(n int) (Instruction, bool) {
	if n < 1 || n > len(t.Instructions) {
		return Instruction{}, false
	}
	in := t.Instructions[n-1]
	t.Instructions = slices.Delete(t.Instructions, n-1, n)
	return in, true
}

// Hand notes what a session hands over, in the place of what the same note said before.
func (t *Thread) Hand(m Message) {
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

// TakeBack removes what the note handed over.
func (t *Thread) TakeBack(note string) {
	t.Messages = slices.DeleteFunc(t.Messages, func(m Message) bool { return m.Note == note })
}

// Join takes over from another thread what a session has said, which belongs to this
// chain now.
func (t *Thread) Join(from *Thread, id session.ID) {
	if from.Request.Session == id && t.Request.Text == "" {
		t.Request = from.Request
	}
	for _, in := range from.Instructions {
		if in.Session == id && !slices.Contains(t.Instructions, in) {
			t.instruct(in)
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

// Leave removes what a session has said, which belongs to another chain now. What took
// the place of an earlier instruction in it does not bring that back.
func (t *Thread) Leave(id session.ID) {
	if t.Request.Session == id {
		t.Request = Quote{}
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

// Cleaned returns a thread of which every text has gone through clean: secrets are known
// now that may not have been when it was written.
func (t *Thread) Cleaned(clean func(string) string) *Thread {
	c := *t
	c.Request.Text = clean(t.Request.Text)
	c.Instructions, c.Messages, c.Todos = slices.Clone(t.Instructions), slices.Clone(t.Messages), slices.Clone(t.Todos)
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
		c.Beside = &Beside{b.Session, slices.Clone(b.Running), slices.Clone(b.Team)}
		for _, all := range [][]string{c.Beside.Running, c.Beside.Team} {
			for i := range all {
				all[i] = clean(all[i])
			}
		}
	}
	return &c
}

// digest tells one text from another.
func digest(text string) string {
	h := fnv.New64a()
	h.Write([]byte(text))
	return strconv.FormatUint(h.Sum64(), 36)
}

// cut returns a text of at most n bytes, in whole characters, that says where it was
// cut.
func cut(text string, n int) string {
	const mark = " […]"
	if len(text) <= n {
		return text
	}
	return strings.TrimRight(text[:start(text, n-len(mark))], " \n") + mark
}

// cutMiddle returns a text of at most n bytes of which the middle is cut out: what is to be
// done next stands at the end of what is handed over.
func cutMiddle(text string, n int) string {
	const mark = " … [cut] … "
	if len(text) <= n {
		return text
	}
	keep := n - len(mark)
	front := start(text, keep*2/3)
	back := len(text) - (keep - front)
	for back < len(text) && !utf8.RuneStart(text[back]) {
		back++
	}
	return text[:front] + mark + text[back:]
}

// start returns where the character that stands at n begins.
func start(text string, n int) int {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

// ErrNone is what a chain without a thread gives.
var ErrNone = errors.New("no such thread")

// file is the thread's file, with the three contents that it had before.
func file(state place.State, chain session.ID, warn func(error)) (atomicfile.Rolling, error) {
	if _, err := session.ParseID(string(chain)); err != nil {
		return atomicfile.Rolling{}, err
	}
	return atomicfile.Rolling{Path: state.Path("threads", string(chain)+".json"), Limit: maxFile, Warn: warn, Valid: func(data []byte) error {
		_, err := parse(chain, data)
		return err
	}}, nil
}

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

// Read returns the thread of a chain, ErrNone where there is none. What cannot be used
// counts as none, and warn is told.
func Read(state place.State, chain session.ID, warn func(error)) (*Thread, error) {
	f, err := file(state, chain, warn)
	if err != nil {
		return nil, ErrNone
	}
	t, _, err := load(chain, f, atomicfile.Rolling.Read, warn)
	return t, err
}

// load returns a thread, and the file that holds it.
func load(chain session.ID, f atomicfile.Rolling, read func(atomicfile.Rolling) ([]byte, error), warn func(error)) (*Thread, []byte, error) {
	var t *Thread
	f.Valid = func(data []byte) (err error) { // once is enough
		t, err = parse(chain, data)
		return err
	}
	data, err := read(f)
	if err := judge(err, warn); err != nil {
		return nil, nil, err
	}
	return t, data, nil
}

// judge sorts what came of a reading: whether it is there, cannot be read, or is no use.
func judge(err error, warn func(error)) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return ErrNone
	case atomicfile.Unread(err):
		return err
	case warn != nil:
		warn(err)
	}
	return ErrNone
}

// lockWait bounds the wait for others that change the same thread. What cannot be taken
// over now is so at the end of the next turn.
const lockWait = 2 * time.Second

// Update changes the thread of a chain, which begins where there is none, and writes it
// where that changed anything.
func Update(state place.State, chain session.ID, d atomicfile.Durability, warn func(error), change func(*Thread)) (*Thread, error) {
	f, err := file(state, chain, warn)
	if err != nil {
		return nil, err
	}
	if err := state.Prepare(state.Path("threads")); err != nil {
		return nil, err
	}
	lock, err := flock.Acquire(state.Path("threads", string(chain)+".lock"), lockWait)
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	t, before, err := load(chain, f, atomicfile.Rolling.Repair, warn)
	if errors.Is(err, ErrNone) {
		t = &Thread{ChainID: chain}
		before, err = openjson.File(t) // nothing is written for a thread that knows nothing
	}
	if err != nil {
		return nil, err
	}
	change(t)
	after, err := openjson.File(t)
	if err != nil || bytes.Equal(after, before) {
		return t, err
	}
	return t, f.Write(after, d)
}

// MarshalJSON keeps what a newer gt has written.
func (t *Thread) MarshalJSON() ([]byte, error) {
	type plain Thread
	return openjson.Marshal((*plain)(t), t.unknown)
}
