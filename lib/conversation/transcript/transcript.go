// Package transcript tells what a session was about from the transcript that
// its client keeps: Claude Code's, a file of one JSON record a line that grows
// to hundreds of megabytes (the form is the client's own, here as in
// 2.1.197, and may change with any version).
//
// The file is never read whole. Tail looks at its first lines for what the
// session began with, and goes backwards from its end for what it did last,
// until it has enough or has looked at a few megabytes. What it does not
// understand it passes over: a torn last line, bytes that are no JSON, records
// of a kind that did not exist when this was written. A line over a megabyte,
// such as a picture, is never held in memory.
package transcript

import (
	"io"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

// Summary is what a successor needs to know of a session. Every text in it is
// cut to a length of its own, in characters, and what is cut says so (Cut). A
// field that the transcript says nothing about is empty.
type Summary struct {
	// Title is what the person, or else the client, named the session.
	Title string
	// CWD is the folder in which the session began.
	CWD string
	// First is the first thing that the person asked for.
	First Request
	// Requests are the last things that the person asked for, at most
	// maxRequests and as many replies, the oldest first. A session with few of
	// them has First among them.
	Requests []Request
	// Answer is the last text of the agent.
	Answer string
	// Todos are the open items of the agent's list, in the list's order, and
	// Done is how many are finished.
	Todos []Todo
	Done  int
	// Files are the files that the agent changed with its editing tools, the
	// last one first, relative to CWD where they lie below it.
	Files []string
	// Commands are the agent's last shell commands, the oldest first, each in
	// one line.
	Commands []Command
	// Failures are the last things that went wrong and were not put right by
	// the same command later, the oldest first, each in one line.
	Failures []string
	// Compacted is what the client's own summary kept when the conversation
	// was last compacted, where that is not too long ago: of each of its
	// sections the beginning, without those that only list code.
	Compacted string
}

// Request is something that the person asked for: a prompt or a slash command
// of their own.
type Request struct {
	Text string
	Time time.Time // zero where it is not known
	// Reply says that it was not said of their own accord: it answers the
	// agent's question, or says why a tool was refused. It belongs to the
	// request before it.
	Reply bool
	// Answer is the last text that the agent said to it, replies included. It
	// is empty where that text is Summary.Answer.
	Answer string
}

// Todo is an item of the agent's list.
type Todo struct {
	Text   string
	Status string // pending or in_progress
}

// Command is a shell command that the agent ran.
type Command struct {
	Text   string
	Failed bool
}

// How many of each are kept, and how many characters of each.
const (
	maxRequests = 6
	maxReplies  = 6
	maxFiles    = 30
	maxCommands = 8
	maxFailures = 4
	maxTodos    = 50

	titleLength     = 200
	pathLength      = 1000
	requestLength   = 1500
	answerLength    = 2500
	turnLength      = 400 // Request.Answer
	todoLength      = 300
	commandLength   = 160
	failureLength   = 240
	compactedLength = 3500
	sectionLength   = 700 // of what a compaction kept
)

const (
	// headFirst and headMost are how much of the file's front is read for the
	// first request. What hooks say at a start can stand before it.
	headFirst = 64 << 10
	headMost  = 256 << 10
	// detail is how much of the file's end is read record by record, and
	// detailMost where that holds little. Further to the front only requests
	// and what was said to them are looked for, which is many times faster.
	detail     = 256 << 10
	detailMost = 768 << 10
	// compactedReach is how much of the file before that is searched for the
	// last compaction when nothing else is wanted.
	compactedReach = 2 << 20
)

// Tail returns what the transcript says of its session. A file that does not
// exist gives fs.ErrNotExist; one without any record that is understood gives
// an empty Summary and no error.
//
// Path may be a symbolic link: people keep the client's files elsewhere, and
// whoever names the path could name the target as well. What is no regular
// file in the end is refused, and never waited for.
//
// Every text goes through clean before it is cut, for half a secret is not
// known for one any more. It is valid UTF-8 without control characters but line
// feeds and tabs.
func Tail(path string, clean func(string) string) (Summary, error) {
	f, err := Open(path)
	if err != nil {
		return Summary{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Summary{}, atomicfile.Error("read", path, err)
	}
	// The session may write on meanwhile. What it adds is not looked at.
	size := info.Size()
	r := reader{clean: cleaned(clean)}
	if err := r.head(f, size); err != nil {
		return Summary{}, atomicfile.Error("read", path, err)
	}
	r.filed = readTasks(path)
	if err := backward(f, size, r.line, r.long); err != nil {
		return Summary{}, atomicfile.Error("read", path, err)
	}
	return r.summary(), nil
}

// cleaned is clean for texts that anything can stand in.
func cleaned(clean func(string) string) func(string) string {
	return func(s string) string { return term.CleanText(clean(s)) }
}

// Open opens a transcript for reading; Tail says what becomes of a symbolic
// link.
func Open(path string) (*os.File, error) { return atomicfile.OpenFollowing(path) }

// head finds the first request and the folder in the file's front.
func (r *reader) head(f io.ReaderAt, size int64) error {
	for _, length := range []int64{headFirst, headMost} {
		buf := make([]byte, min(length, size))
		n, err := f.ReadAt(buf, 0)
		if err != nil && err != io.EOF {
			return err
		}
		r.first, r.cwd = Request{}, ""
		for rest := buf[:n]; len(rest) > 0 && r.first.Text == ""; {
			var line []byte
			line, rest = cutLine(rest)
			if len(line) == 0 || r.cwd != "" && lookAt(line) != asking {
				continue
			}
			rec := Parse(line)
			if r.cwd == "" {
				r.cwd = rec.CWD
			}
			if rec.Kind == "ai-title" || rec.Kind == "custom-title" {
				r.title(rec)
			}
			r.first = rec.Request()
		}
		if r.first.Text != "" || length >= size {
			break
		}
	}
	return nil
}

// summary puts together what was found on the way back.
func (r *reader) summary() Summary {
	s := Summary{
		Title:     cutEnd(r.clean(firstOf(r.custom, r.generated)), titleLength),
		CWD:       r.cwd,
		First:     r.first,
		Requests:  r.requests,
		Answer:    Cut(r.clean(r.answer), answerLength),
		Commands:  r.commands,
		Failures:  r.failures,
		Compacted: Cut(sections(r.clean(r.compacted)), compactedLength),
	}
	slices.Reverse(s.Requests)
	slices.Reverse(s.Commands)
	slices.Reverse(s.Failures)
	s.First.Text = Cut(r.clean(s.First.Text), requestLength)
	for i, q := range s.Requests {
		s.Requests[i].Text = Cut(r.clean(q.Text), requestLength)
		s.Requests[i].Answer = Cut(r.clean(q.Answer), turnLength)
	}
	for _, path := range slices.Concat(r.files, r.tracked) {
		if len(s.Files) == maxFiles {
			break
		}
		if rel, ok := strings.CutPrefix(path, strings.TrimSuffix(r.cwd, "/")+"/"); ok && r.cwd != "" {
			path = rel
		}
		if path = Cut(r.clean(path), pathLength); !slices.Contains(s.Files, path) {
			s.Files = append(s.Files, path)
		}
	}
	for _, t := range r.todos() {
		switch {
		case t.status == "completed":
			s.Done++
		case t.status != "deleted" && len(s.Todos) < maxTodos:
			s.Todos = append(s.Todos, Todo{cutEnd(term.OneLine(r.clean(t.text)), todoLength), t.status})
		}
	}
	return s
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

// longer says whether s has more than n characters.
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

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}
