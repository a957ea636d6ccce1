package thread

import (
	"slices"
	"strings"
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
		t.did(q)
	}
	if len(p.Files) > 0 {
		t.did(Quote{Text: filesChanged + strings.Join(p.Files, ", "), Session: p.Session, Time: p.Time})
	}
}

// conclude adds the last answer of a turn. It replaces one that the agent gave earlier in the
// same turn: nothing was asked between them.
func (t *Thread) conclude(q Quote) {
	q.Text = cutMiddle(strings.TrimSpace(q.Text), maxMessage)
	whole := digest(q.Text)
	for i := len(t.Answers) - 1; i >= 0; i-- {
		old := t.Answers[i]
		if old.Session != q.Session {
			continue
		}
		if old.Text == q.Text || old.Whole == whole {
			return
		}
		asked := slices.ContainsFunc(t.Prompts, func(p Quote) bool {
			return p.Session == q.Session && p.Time.After(old.Time) && !p.Time.After(q.Time)
		})
		if old.Time.Before(q.Time) && !asked {
			t.Answers = slices.Delete(t.Answers, i, i+1)
			break
		}
	}
	if q.Text != "" {
		t.Answers = insert(t.Answers, q)
	}
}

// did adds a command that ran, in place of the same one before, or the files that a session
// changed.
func (t *Thread) did(q Quote) {
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
