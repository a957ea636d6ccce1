// Package summary puts into few words what a session was about: a fold over the
// entries of its conversation, whichever client keeps it. A Fold takes entries one
// by one, in their order, and holds no more than a bounded part of them, so that it
// can be kept in a file and go on from there (lib/conversation/tail).
package summary

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gt/lib/text/standing"
	"gt/lib/text/term"
)

// Summary is what a successor needs to know of a session. Every text in it is
// cut to a length of its own, in characters, and what is cut says so (Cut). A
// field that the conversation says nothing about is empty.
type Summary struct {
	// Title is what the person, or else the client, named the session.
	Title string `json:"title,omitempty"`
	// CWD is the folder in which the session began.
	CWD string `json:"cwd,omitempty"`
	// First is the first thing that the person asked for.
	First Request `json:"first,omitzero"`
	// Requests are the last things that the person asked for, at most
	// maxRequests and as many replies, the oldest first. A session with few of
	// them has First among them.
	Requests []Request `json:"requests,omitempty"`
	// Standing are the instructions that hold for as long as the task lasts, the
	// oldest first: what must always, never or only be done.
	Standing []standing.Instruction `json:"standing,omitempty"`
	// Answer is the last text of the agent.
	Answer string `json:"answer,omitempty"`
	// Answered reports that it is the last thing in the conversation: nothing was asked
	// and nothing done since, as at the end of a turn.
	Answered bool `json:"answered,omitempty"`
	// Todos are the open items of the agent's list, in the list's order, and
	// Done is how many are finished.
	Todos []Todo `json:"todos,omitempty"`
	Done  int    `json:"done,omitempty"`
	// Files are the files that the agent changed with its editing tools, the
	// last one first, relative to CWD where they lie below it.
	Files []string `json:"files,omitempty"`
	// Commands are the agent's last shell commands, the oldest first, each in
	// one line.
	Commands []Command `json:"commands,omitempty"`
	// Failures are the last things that went wrong and were not put right by
	// the same command later, the oldest first, each in one line.
	Failures []string `json:"failures,omitempty"`
	// Compacted is what the client's own summary kept when the conversation
	// was last compacted: of each of its sections the beginning, without those
	// that only list code.
	Compacted string `json:"compacted,omitempty"`
}

// Request is something that the person asked for: a prompt or a slash command
// of their own.
type Request struct {
	Text string    `json:"text"`
	Time time.Time `json:"time,omitzero"` // zero where it is not known
	// Reply reports that it was not said of their own accord: it answers the
	// agent's question, or says why a tool was refused. It belongs to the
	// request before it.
	Reply bool `json:"reply,omitempty"`
	// Answer is the last text that the agent said to it, replies included. In a
	// Summary it is empty where that text is Summary.Answer.
	Answer string `json:"answer,omitempty"`
}

// Todo is an item of the agent's list.
type Todo struct {
	Text   string `json:"text"`
	Status string `json:"status"` // pending or in_progress
}

// Command is a shell command that the agent asked its client to run.
type Command struct {
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
	// Open reports that nothing came of it yet: it runs, or waits for a permission.
	Open bool `json:"open,omitempty"`
}

// How many of each are kept, and how many characters of each.
const (
	maxRequests = 6
	maxReplies  = 6
	maxFiles    = 30
	maxCommands = 8
	maxFailures = 4
	maxTodos    = 50
	maxStanding = 40 // of which some only take others back

	titleLength     = 200
	pathLength      = 1000
	requestLength   = 1500
	originLength    = 64_000
	answerLength    = 2500
	turnLength      = 400 // Request.Answer
	todoLength      = 300
	commandLength   = 160
	failureLength   = 240
	compactedLength = 3500
	sectionLength   = 700 // of what a compaction kept
)

// Asked adds a request that others know of to a conversation that has none. Its text was
// cleaned.
func (s Summary) Asked(text string, at time.Time) Summary {
	s.First = Request{Text: Cut(text, requestLength), Time: at}
	s.Requests = []Request{s.First}
	return s
}

// Clean returns a summary with each of its texts gone through clean: secrets are
// known now that may not have been when it was written.
func Clean(s Summary, clean func(string) string) Summary {
	s.Title, s.Answer, s.Compacted = clean(s.Title), clean(s.Answer), clean(s.Compacted)
	s.First.Text = clean(s.First.Text)
	s.Requests, s.Todos = slices.Clone(s.Requests), slices.Clone(s.Todos)
	s.Files, s.Commands, s.Failures = slices.Clone(s.Files), slices.Clone(s.Commands), slices.Clone(s.Failures)
	for i, q := range s.Requests {
		s.Requests[i].Text, s.Requests[i].Answer = clean(q.Text), clean(q.Answer)
	}
	s.Standing = slices.Clone(s.Standing)
	for i, in := range s.Standing {
		s.Standing[i].Text = clean(in.Text)
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

// cleaned is clean for texts that anything can stand in.
func cleaned(clean func(string) string) func(string) string {
	return func(s string) string { return term.CleanText(clean(s)) }
}

// cutMark stands where something was taken out of a text.
const cutMark = " … [cut] … "

// Cut shortens a text to at most length characters (more than 20) and takes
// out of its middle, for what matters stands at the beginning of what people
// write, and what follows from it at the end. " … [cut] … " stands in its
// place.
func Cut(s string, length int) string {
	if !longer(s, length) {
		return strings.Clone(s)
	}
	keep := length - utf8.RuneCountInString(cutMark)
	front := keep * 2 / 3
	return strings.TrimRightFunc(s[:runes(s, front)], unicode.IsSpace) + cutMark +
		strings.TrimLeftFunc(s[backRunes(s, keep-front):], unicode.IsSpace)
}

// cutEnd shortens a text to at most length characters at its end.
func cutEnd(s string, length int) string {
	if !longer(s, length) {
		return strings.Clone(s)
	}
	return strings.TrimRightFunc(s[:runes(s, length-7)], unicode.IsSpace) + "… [cut]"
}

// longer reports whether s has more than n characters.
func longer(s string, n int) bool { return len(s) > n && runes(s, n) < len(s) }

// runes is the length in bytes of the first n characters of s.
func runes(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// backRunes is where the last n characters of s begin.
func backRunes(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}
