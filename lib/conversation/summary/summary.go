// Package summary summarises a conversation of any client. A Fold takes in the entries
// one by one, in order, and holds a bounded amount of text, so that it can be saved in a
// file and go on later (lib/conversation/tail).
package summary

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Summary is what a successor needs to know of a session. Each text has a maximum length
// in characters and is marked if it is cut (Cut). Fields that the conversation does not
// fill are empty.
type Summary struct {
	// Title is the name that the person, or else the client, gave the session.
	Title string `json:"title,omitempty"`
	// CWD is the folder in which the session began.
	CWD   string  `json:"cwd,omitempty"`
	First Request `json:"first,omitzero"`
	// Requests are the person's last requests, oldest first: at most maxRequests and
	// maxReplies replies. If there are few, First is among them.
	Requests []Request `json:"requests,omitempty"`
	Answer   string    `json:"answer,omitempty"`
	// Answered reports that Answer is the last entry: no request and no tool call
	// followed, as at the end of a turn.
	Answered bool `json:"answered,omitempty"`
	// AnswerIsEarlier reports that the agent said Answer before the last request, and nothing
	// since.
	AnswerIsEarlier bool `json:"answer_is_earlier,omitempty"`
	// Todos are the open items of the agent's list, in its order. Done counts the
	// finished ones.
	Todos []Todo `json:"todos,omitempty"`
	Done  int    `json:"done,omitempty"`
	// Files are the files that the agent changed with its editing tools, the last one
	// first. Those below CWD are relative to it.
	Files []string `json:"files,omitempty"`
	// Commands are the agent's last shell commands, oldest first, one line each.
	Commands []Command `json:"commands,omitempty"`
	// Unfinished are the commands and changes of files that have no result yet, oldest
	// first, one line each: they run, or wait for permission.
	Unfinished []string `json:"unfinished,omitempty"`
	// Failures are the last errors, oldest first, one line each. A failed command is not
	// among them if it succeeded later.
	Failures []string `json:"failures,omitempty"`
	// Compacted is the client's own summary from the last compaction: the beginning of
	// each section, without sections that only list code.
	Compacted string `json:"compacted,omitempty"`
}

// Request is a prompt or a slash command of the person.
type Request struct {
	Text string    `json:"text"`
	Time time.Time `json:"time,omitzero"` // zero if unknown
	// Reply reports that it answers a question of the agent or says why the person
	// refused a tool. It belongs to the request before it.
	Reply bool `json:"reply,omitempty"`
	// Answer is the agent's last text of the turn. In a Summary it is empty if
	// Summary.Answer has that text.
	Answer string `json:"answer,omitempty"`
}

type Todo struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending or in_progress
}

// Command is a shell command that the agent asked its client to run.
type Command struct {
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
	// Open reports that it never got a result.
	Open bool `json:"open,omitempty"`
}

// The largest numbers of items and their lengths in characters.
const (
	maxRequests = 6
	maxReplies  = 6
	maxFiles    = 30
	maxCommands = 8
	maxFailures = 4
	maxTodos    = 50

	titleLength   = 200
	pathLength    = 1000
	requestLength = 1500
	originLength  = 64_000
	answerLength  = 2500
	turnLength    = 400 // Request.Answer
	// conclusionLength is of the text of a Conclusion.
	conclusionLength = 1200
	todoLength       = 300
	commandLength    = 160
	failureLength    = 240
	compactedLength  = 3500
	sectionLength    = 700 // of a compaction's summary
)

// WithRequest returns the summary with a later request, which gt's own records have and the
// conversation lacks. The request has no answer yet. The text must be cleaned.
func (s Summary) WithRequest(text string, at time.Time) Summary {
	q := Request{Text: CutRequest(text), Time: at}
	if s.First.Text == "" {
		s.First = q
	}
	s.Requests = slices.Clone(s.Requests)
	if i := lastPrompt(s.Requests, func(Request) bool { return true }); i >= 0 {
		s.Requests[i].Answer = Cut(s.Answer, turnLength)
	}
	s.Requests, s.Answer, s.Answered, s.AnswerIsEarlier = append(s.Requests, q), "", false, false
	return s
}

// Clean returns the summary with clean applied to each text again: it may know secrets
// that were unknown when the summary was written.
func Clean(s Summary, clean func(string) string) Summary {
	s.Title, s.Answer, s.Compacted = clean(s.Title), clean(s.Answer), clean(s.Compacted)
	s.First.Text = clean(s.First.Text)
	s.Requests, s.Todos = slices.Clone(s.Requests), slices.Clone(s.Todos)
	s.Files, s.Commands, s.Failures = slices.Clone(s.Files), slices.Clone(s.Commands), slices.Clone(s.Failures)
	s.Unfinished = slices.Clone(s.Unfinished)
	for i, text := range s.Unfinished {
		s.Unfinished[i] = clean(text)
	}
	for i, q := range s.Requests {
		s.Requests[i].Text, s.Requests[i].Answer = clean(q.Text), clean(q.Answer)
	}
	for i, t := range s.Todos {
		s.Todos[i].Text = clean(t.Text)
	}
	for i, path := range s.Files {
		s.Files[i] = clean(path)
	}
	for i, c := range s.Commands {
		s.Commands[i].Text = clean(c.Text)
	}
	for i, failure := range s.Failures {
		s.Failures[i] = clean(failure)
	}
	return s
}

const cutMark = " … [cut] … "

// Cut shortens a text to at most length characters, which must be over 20. It removes the
// middle, because people write what matters first and what follows from it last.
func Cut(s string, length int) string {
	if !isLonger(s, length) {
		return strings.Clone(s)
	}
	front, back := cutEnds(s, length)
	return strings.TrimRightFunc(s[:front], unicode.IsSpace) + cutMark + strings.TrimLeftFunc(s[back:], unicode.IsSpace)
}

// CutRequest shortens a text as a Request has it.
func CutRequest(s string) string { return Cut(s, requestLength) }

// CutMiddle returns what Cut removes, "" if it removes nothing.
func CutMiddle(s string, length int) string {
	if !isLonger(s, length) {
		return ""
	}
	front, back := cutEnds(s, length)
	return strings.TrimSpace(s[front:back])
}

// cutEnds returns where the part that Cut removes begins and ends: between words, if a blank
// is near. Of what is kept, two thirds are before that part.
func cutEnds(s string, length int) (front, back int) {
	const near = 24 // bytes
	keep := length - utf8.RuneCountInString(cutMark)
	front, back = prefixSize(s, keep*2/3), suffixStart(s, keep-keep*2/3)
	if i := strings.LastIndexAny(s[:front], " \n"); front-i <= min(near, front/2) {
		front = i
	}
	if i := strings.IndexAny(s[back:], " \n"); i >= 0 && i <= min(near, (len(s)-back)/2) {
		back += i
	}
	return front, back
}

// cutEnd shortens a text to at most length characters. It puts a mark of seven in place of the end.
func cutEnd(s string, length int) string {
	if !isLonger(s, length) {
		return strings.Clone(s)
	}
	return strings.TrimRightFunc(s[:prefixSize(s, length-7)], unicode.IsSpace) + "… [cut]"
}

func isLonger(s string, n int) bool { return len(s) > n && prefixSize(s, n) < len(s) }

// prefixSize returns the length in bytes of the first n characters of s.
func prefixSize(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// suffixStart returns the offset of the last n characters of s.
func suffixStart(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}
