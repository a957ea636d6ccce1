package thread

import (
	"slices"
	"strings"
	"time"
)

const (
	maxActions = 200
	maxAction  = 500 // bytes
	// filesChanged begins the action that lists the files that a session changed.
	filesChanged = "files changed: "
)

// work adds what the agent of a session concluded and did. Repeating it changes nothing.
func (t *Thread) work(p Part) {
	if len(p.TakenBack) > 0 { // p has what remains of it
		for _, all := range []*[]Quote{&t.Answers, &t.Actions} {
			*all = slices.DeleteFunc(*all, func(q Quote) bool { return q.Session == p.Session })
		}
	}
	for _, q := range p.Answers {
		q.Session = p.Session
		t.conclude(q)
	}
	t.Answers, _ = shorten(t.Answers, func(int, Quote) bool { return true })
	for _, q := range p.Actions {
		q.Session = p.Session
		t.addAction(q)
	}
	if len(p.Files) > 0 {
		t.addAction(Quote{Text: filesChanged + strings.Join(p.Files, ", "), Session: p.Session, Time: p.Time})
	}
}

// conclude adds the last answer of a turn. It replaces one that the agent gave earlier to the
// same question.
func (t *Thread) conclude(q Quote) {
	q.Text = cutMiddle(strings.TrimSpace(q.Text), maxMessage)
	whole := digest(q.Text)
	for i, old := range slices.Backward(t.Answers) {
		switch {
		case old.Session != q.Session:
		case old.Text == q.Text || old.Whole == whole:
			return
		case old.Asked.Equal(q.Asked) && !q.Asked.IsZero():
			t.Answers = slices.Delete(t.Answers, i, i+1)
			t.Answers = insert(t.Answers, q)
			return
		}
	}
	if q.Text != "" {
		t.Answers = insert(t.Answers, q)
	}
}

// addAction adds a command that ran, in place of the same one before, or the files that a session
// changed.
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
