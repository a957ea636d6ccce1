package thread

import (
	"slices"
	"strings"
	"time"

	"gt/lib/text/standing"
)

// The limits of Prompts, in bytes.
const (
	maxPrompts  = 256 << 10 // all messages of a chain
	shortPrompt = 400       // a message that was shortened for lack of room
	shortest    = 80        // one that was shortened twice
	maxMessage  = 32 << 10
)

// sameTime is how much two reports of one message can differ in time. If they differ more,
// the person said the same again.
const sameTime = time.Minute

// hear adds a message of the person and reports whether it is new or said again. The hook of
// a prompt and the end of a turn both report a message, with times that differ a little.
func (t *Thread) hear(q Quote) bool {
	q.Text = cutMiddle(strings.TrimSpace(q.Text), maxMessage)
	if q.Text == "" {
		return false
	}
	whole := digest(q.Text)
	i := slices.IndexFunc(t.Prompts, func(old Quote) bool {
		return old.Session == q.Session && (old.Text == q.Text || old.Whole != "" && old.Whole == whole)
	})
	if i >= 0 {
		old := t.Prompts[i]
		if !q.Time.After(old.Time) {
			return false
		}
		again := q.Time.Sub(old.Time) > sameTime
		old.Time, old.Points = q.Time, 0
		t.Prompts = slices.Delete(t.Prompts, i, i+1)
		t.place(old)
		return again
	}
	t.place(q)
	return true
}

// place inserts a message behind those that were said before it. One without a time comes
// last.
func (t *Thread) place(q Quote) {
	i := len(t.Prompts)
	for !q.Time.IsZero() && i > 0 && t.Prompts[i-1].Time.After(q.Time) {
		i--
	}
	t.Prompts = slices.Insert(t.Prompts, i, q)
}

// shorten cuts messages until all of them have room: the oldest first, the plain ones
// before the first request and those with instructions, and none to nothing while another
// can still be cut.
func (t *Thread) shorten() {
	size := 0
	for _, q := range t.Prompts {
		size += len(q.Text)
	}
	for _, length := range []int{shortPrompt, shortest} {
		for _, plain := range []bool{true, false} {
			for i := 0; i < len(t.Prompts) && size > maxPrompts; i++ {
				q := &t.Prompts[i]
				if len(q.Text) <= length || plain && (i == 0 || len(standing.Find(q.Text)) > 0) {
					continue
				}
				size -= len(q.Text)
				if q.Whole == "" {
					q.Whole = digest(q.Text)
				}
				q.Text = cutMiddle(q.Text, length)
				size += len(q.Text)
			}
		}
	}
	for size > maxPrompts && len(t.Prompts) > 1 {
		size -= len(t.Prompts[1].Text)
		t.Prompts = slices.Delete(t.Prompts, 1, 2)
		t.Dropped++
	}
}

// Distinct returns Prompts with each text once, where it was said last.
func (t *Thread) Distinct() []Quote {
	latest := map[string]int{}
	for i, q := range t.Prompts {
		latest[q.Text] = i
	}
	var all []Quote
	for i, q := range t.Prompts {
		if latest[q.Text] == i {
			all = append(all, q)
		}
	}
	return all
}
