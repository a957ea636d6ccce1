package thread

import (
	"slices"
	"strings"
	"time"

	"gt/lib/text/standing"
)

// The limits of Prompts, in bytes.
const (
	maxPrompts  = 256 << 10 // all messages of a chain; the same for all answers
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
		t.Prompts = insert(t.Prompts, old)
		return again
	}
	t.Prompts = insert(t.Prompts, q)
	return true
}

// insert adds a quote behind those that were said before it. One without a time comes
// last.
func insert(all []Quote, q Quote) []Quote {
	i := len(all)
	for !q.Time.IsZero() && i > 0 && all[i-1].Time.After(q.Time) {
		i--
	}
	return slices.Insert(all, i, q)
}

// shorten cuts messages until all of them have room: the oldest first, the plain ones
// before the first request and those with instructions, and none to nothing while another
// can still be cut.
func (t *Thread) shorten() {
	var dropped int
	t.Prompts, dropped = shorten(t.Prompts, func(i int, q Quote) bool { return i > 0 && len(standing.Find(q.Text)) == 0 })
	t.Dropped += dropped
}

func shorten(all []Quote, isPlain func(int, Quote) bool) (kept []Quote, dropped int) {
	size := 0
	for _, q := range all {
		size += len(q.Text)
	}
	for _, length := range []int{shortPrompt, shortest} {
		for _, plain := range []bool{true, false} {
			for i := 0; i < len(all) && size > maxPrompts; i++ {
				q := &all[i]
				if len(q.Text) <= length || plain && !isPlain(i, *q) {
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
	for size > maxPrompts && len(all) > 1 {
		size -= len(all[1].Text)
		all = slices.Delete(all, 1, 2)
		dropped++
	}
	return all, dropped
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
