package thread

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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

// maxRepeated limits the short messages of a session with one text.
const maxRepeated = 30

// addMessage adds a message of the person and reports whether it is new or said again. The hook of
// a prompt and the end of a turn both report a message, with times that differ a little. One that
// is there already moves to its later time, but a short one that answers another answer of the
// agent is a message of its own.
func (t *Thread) addMessage(q Quote) bool {
	q.Text = cutMiddle(strings.TrimSpace(q.Text), maxMessage)
	if q.Text == "" {
		return false
	}
	whole := digest(q.Text)
	var same []int // the indices of those with this text
	for i, old := range t.Prompts {
		if old.Session == q.Session && (old.Text == q.Text || old.Whole != "" && old.Whole == whole) {
			same = append(same, i)
		}
	}
	for _, i := range same {
		old := t.Prompts[i]
		if t.hasAnswerBetween(old, q) {
			continue
		}
		if !q.Time.After(old.Time) {
			return false
		}
		repeated := q.Time.Sub(old.Time) > sameTime
		old.Time, old.Points = q.Time, 0 // Rank gives it points again
		t.Prompts = slices.Delete(t.Prompts, i, i+1)
		t.Prompts = insert(t.Prompts, old)
		return repeated
	}
	if len(same) >= maxRepeated {
		t.Prompts = slices.Delete(t.Prompts, same[0], same[0]+1)
	}
	t.Prompts = insert(t.Prompts, q)
	return true
}

// IsShort reports whether a message says little without what it answers.
func IsShort(text string) bool {
	const most = 40 // characters
	return utf8.RuneCountInString(text) <= most && !strings.HasPrefix(text, "/")
}

// hasAnswerBetween reports whether the agent answered between two messages, the later a short one.
func (t *Thread) hasAnswerBetween(a, b Quote) bool {
	if a.Time.After(b.Time) {
		a, b = b, a
	}
	return IsShort(b.Text) && !a.Time.IsZero() && slices.ContainsFunc(t.Answers, func(q Quote) bool {
		return q.Session == b.Session && q.Time.After(a.Time) && q.Time.Before(b.Time)
	})
}

// AnswerBefore returns the answer of the agent that a short message of the person follows, ""
// if that is unknown or another message is between.
func (t *Thread) AnswerBefore(q Quote) string {
	before := func(of []Quote) (last Quote) {
		if at, _ := slices.BinarySearchFunc(of, q.Time, func(a Quote, t time.Time) int { return a.Time.Compare(t) }); at > 0 {
			last = of[at-1]
		}
		return last
	}
	if q.Reply || !IsShort(q.Text) {
		return ""
	}
	last := before(t.Answers)
	if last.Session != q.Session || before(t.Prompts).Time.After(last.Time) {
		return ""
	}
	return last.Text
}

// WithQuestion returns a message of the person. Before a short one, such as "yes", it has the
// question that the agent had asked, unless the message itself says what its value is for, as
// "the port is 8081" does: then it has a frame and a value (see wordsOf).
func (t *Thread) WithQuestion(q Quote) string {
	const most = 160 // bytes
	said := t.AnswerBefore(q)
	said = strings.Join(strings.Fields(said[characterStart(said, max(0, len(said)-most)):]), " ")
	last := LastQuestionMark(said)
	if last < 0 {
		return q.Text
	}
	if words, frame := wordsOf(q.Text); frame != "" && slices.ContainsFunc(words, func(w word) bool { return w.value }) {
		return q.Text
	}
	return said[SentenceStart(said[:last]):last] + "?\n" + q.Text
}

// insert adds a quote behind those that were said before it. One without a time comes last.
func insert(all []Quote, q Quote) []Quote {
	all = append(all, q)
	for i := len(all) - 1; !q.Time.IsZero() && i > 0 && all[i-1].Time.After(q.Time); i-- {
		all[i-1], all[i] = q, all[i-1]
	}
	return all
}

// shorten cuts messages until all of them have room, the oldest first. The first request and those
// with instructions come last. None is dropped while another can still be cut.
func (t *Thread) shorten() {
	var dropped int
	t.Prompts, dropped = shorten(t.Prompts, func(i int, q Quote) bool { return i > 0 && len(standing.Find(q.Text)) == 0 })
	t.Dropped += dropped
}

// shorten cuts messages to maxPrompts bytes together: the oldest first, those that isPlain accepts
// before the others. If cutting all is not enough, it removes the oldest, but never the first.
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

// LastQuestionMark returns the offset of the last question mark, -1 if there is none. A "?" counts
// only at the end or before a blank, quote or the like: others are part of an address or of code.
func LastQuestionMark(text string) int {
	for at := len(text); ; {
		if at = strings.LastIndexAny(text[:at], "?？؟"); at < 0 || text[at] != '?' || at+1 == len(text) || strings.IndexByte(" \"')]*", text[at+1]) >= 0 {
			return at
		}
	}
}

// SentenceStart returns where the last sentence of a text begins.
func SentenceStart(text string) int {
	begin := 0
	for i, r := range text {
		switch next := i + utf8.RuneLen(r); {
		case next >= len(text):
		case strings.ContainsRune("。？！؟", r):
			begin = next
		case strings.ContainsRune(".?!:", r) && text[next] == ' ' && next+1 < len(text):
			begin = next + 1
		}
	}
	return begin
}

// Distinct returns Prompts with each text once, where it was said last. A short one (yes, 2)
// stands once for each question that it answers.
func (t *Thread) Distinct() []Quote {
	latest, said := map[string]int{}, make([]string, len(t.Prompts))
	for i, q := range t.Prompts {
		said[i] = t.WithQuestion(q)
		latest[said[i]] = i
	}
	var all []Quote
	for i, q := range t.Prompts {
		if latest[said[i]] == i {
			all = append(all, q)
		}
	}
	return all
}
