package thread

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// The journal, threads/<chain>.prompts, has the prompts that the thread does not have yet, one JSON
// object a line. The hook of a prompt appends to it, because an agent waits for that hook and a
// thread can be large. Every reader of the thread reads it as well, and the next writer of the
// thread takes it in and removes it. To take a line in twice changes nothing.

// maxJournal limits the journal in bytes. A prompt that has no room is added to the thread.
const maxJournal = 64 << 10

// entry is a line of the journal.
type entry struct {
	Quote
	Agent string `json:"agent,omitempty"`
}

func journal(state place.State, chain session.ID) string {
	return state.Path("threads", string(chain)+".prompts")
}

// Append adds the person's messages of a session to the thread at a cost that does not
// depend on the thread's size.
func Append(state place.State, chain session.ID, p Part, warn func(error)) error {
	if _, err := session.ParseID(string(chain)); err != nil {
		return err
	}
	var data []byte
	for _, q := range p.Prompts {
		q.Session = p.Session
		line, err := json.Marshal(entry{q, p.Agent})
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	added, err := appendLines(state, chain, data)
	if err != nil || added {
		return err
	}
	_, err = Update(state, chain, atomicfile.Unsynced, warn, func(t *Thread) { t.AddPrompts(p) })
	return err
}

// appendLines appends to the journal and reports whether there was room.
func appendLines(state place.State, chain session.ID, data []byte) (added bool, err error) {
	lock, err := lock(state, chain)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	path := journal(state, chain)
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size()+int64(len(data)) > maxJournal {
		return false, atomicfile.Error("read", path, err)
	}
	return true, atomicfile.AppendLines(f, data)
}

// readJournal returns the journal's prompts. It ignores what is no line of it, such as a torn one.
func readJournal(state place.State, chain session.ID) ([]entry, error) {
	data, err := atomicfile.IfExists(atomicfile.Read(journal(state, chain), 2*maxJournal))
	var all []entry
	for line := range bytes.Lines(data) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.Text != "" {
			all = append(all, e)
		}
	}
	return all, err
}

const (
	maxActions = 200
	maxAction  = 500 // bytes
	// filesChanged begins the action that lists the files that a session changed.
	filesChanged = "files changed: "
)

// addWork adds what the agent of a session concluded and did. Repeating it changes nothing.
func (t *Thread) addWork(part Part) {
	if len(part.TakenBack) > 0 { // part has all that remains of the session
		for _, all := range []*[]Quote{&t.Answers, &t.Actions} {
			*all = slices.DeleteFunc(*all, func(q Quote) bool { return q.Session == part.Session })
		}
	}
	for _, q := range part.Answers {
		q.Session = part.Session
		q.Done = false // AddPart marks the prompt instead
		t.addAnswer(q)
	}
	t.Answers, _ = shorten(t.Answers, func(int, Quote) bool { return true })
	for _, q := range part.Actions {
		q.Session = part.Session
		t.addAction(q)
	}
	files := Quote{Text: filesChanged + strings.Join(part.Files, ", "), Session: part.Session, Time: cmp.Or(part.Last, part.Time)}
	isKnown := slices.ContainsFunc(t.Actions, func(old Quote) bool { return old.Session == part.Session && old.Text == cut(files.Text, maxAction) })
	if len(part.Files) > 0 && !(isKnown && part.Last.IsZero()) { // without Last, part may be old
		t.addAction(files)
	}
}

// markDone marks as Done the last message that a session got up to the time at, when its agent
// answered or acted: the agent worked on that message. It passes over replies to questions.
func (t *Thread) markDone(id session.ID, at time.Time) {
	for i, q := range slices.Backward(t.Prompts) {
		if q.Session == id && !q.Reply && !q.Time.After(at) {
			t.Prompts[i].Done = true
			return
		}
	}
}

// markOld marks messages as Done in a thread of an earlier gt, which did not. An agent worked on a
// message if it ran something after that and then answered.
func (t *Thread) markOld() {
	for _, did := range t.Actions {
		if !strings.HasPrefix(did.Text, filesChanged) && slices.ContainsFunc(t.Answers, func(q Quote) bool {
			return q.Session == did.Session && q.Time.After(did.Time)
		}) {
			t.markDone(did.Session, did.Time)
		}
	}
}

// addAnswer adds the last answer of a turn. It replaces an earlier one to the same question.
func (t *Thread) addAnswer(q Quote) {
	if q.Text = cutMiddle(strings.TrimSpace(q.Text), maxMessage); q.Text == "" {
		return
	}
	whole := digest(q.Text)
	for i, old := range slices.Backward(t.Answers) {
		switch {
		case old.Session != q.Session:
		case old.Text == q.Text || old.Whole == whole: // it is there, perhaps shortened
			return
		case old.Asked.Equal(q.Asked) && !q.Asked.IsZero():
			t.Answers = slices.Delete(t.Answers, i, i+1)
			t.Answers = insert(t.Answers, q)
			return
		}
	}
	t.Answers = insert(t.Answers, q)
}

// addAction adds a command that ran, in place of the same one, or the files that a session changed.
func (t *Thread) addAction(q Quote) {
	q.Text = cut(q.Text, maxAction)
	isFiles, what := strings.HasPrefix(q.Text, filesChanged), ActionOf(q.Text)
	t.Actions = insert(slices.DeleteFunc(t.Actions, func(old Quote) bool {
		return ActionOf(old.Text) == what || isFiles && old.Session == q.Session && strings.HasPrefix(old.Text, filesChanged)
	}), q)
	t.Actions = t.Actions[max(0, len(t.Actions)-maxActions):]
}

// ActionOf returns an action without what came of it: the command between backquotes, or the files.
func ActionOf(text string) string {
	if files, ok := strings.CutPrefix(text, filesChanged); ok {
		return files
	}
	command, _, _ := strings.Cut(strings.TrimPrefix(text, "`"), "`")
	return "`" + command + "`"
}

// FilesChanged returns the files that the last session with any changed.
func (t *Thread) FilesChanged() []string {
	for _, q := range slices.Backward(t.Actions) {
		if list, ok := strings.CutPrefix(q.Text, filesChanged); ok {
			return strings.Split(list, ", ")
		}
	}
	return nil
}

// LastTime returns when something was said or done last.
func (t *Thread) LastTime() (at time.Time) {
	for _, all := range [][]Quote{t.Prompts, t.Answers, t.Actions} {
		if n := len(all); n > 0 && all[n-1].Time.After(at) {
			at = all[n-1].Time
		}
	}
	return at
}
