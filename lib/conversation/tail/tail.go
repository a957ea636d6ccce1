// Package tail summarises a conversation step by step. It saves the summary and where it
// stopped reading in <id>.tail, beside the session's record in the home's state. A
// program that only needs the saved summary links no client's reader.
//
// The file is replaced atomically. Its texts were cleaned before they were cut. It is a
// cache: without it, the conversation is read again, from a bounded distance before its
// end.
package tail

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// File is the saved summary of one session's conversation.
type File struct {
	Path string
	// NamedPath is the conversation's path in the session's record, which may be a link. The
	// saved summary is for that path. If it is empty, the summary is for the conversation's
	// own path.
	NamedPath string
}

const Suffix = ".tail"

func NewFile(h home.Home, r *session.Record) File {
	return File{h.Path("sessions", string(r.ID)+Suffix), r.Transcript}
}

// Read is the type of a Reader's Read.
type Read func(conversation.File, conversation.Options, func(conversation.Entry) bool) (int64, error)

// version is the version of the file's format and of what a Fold makes of entries. A file
// of another version is ignored.
const version = 2

const (
	// maxWholeRead limits how many new bytes are read, because a hook waits. Of more, only the
	// end is read.
	maxWholeRead = 4 << 20
	// maxSearched limits the bytes before that end in which the person's messages are looked for.
	// That takes a millisecond for some megabytes.
	maxSearched = 64 << 20
	// maxAnswer limits the record of an answer that is looked for with them.
	maxAnswer = 64 << 10
	// sampleSize is how much is compared at each end of the bytes already read.
	sampleSize = 4 << 10
	// beginSize is how many of the first bytes are compared to tell a truncated file from
	// a new one.
	beginSize = 512
	// maxFile limits the size of the file, which normally has some ten thousand bytes.
	maxFile = 4 << 20
)

type cursor struct {
	Version int        `json:"version"`
	Client  string     `json:"client"`
	Path    string     `json:"path"`
	ID      session.ID `json:"id,omitempty"` // for a conversation in a database
	Size    int64      `json:"size"`         // at the last read; with a database's -wal file
	Changed int64      `json:"changed"`      // in nanoseconds since 1970
	Next    int64      `json:"next"`         // where the next Read begins
	// Digest is of the first and the last few KB before Next. If it differs, the
	// conversation was truncated, rewritten or replaced.
	Digest string `json:"digest,omitempty"`
	// Begin is the digest of the first bytes. If it is the same and the file is shorter,
	// the conversation was truncated.
	Begin string `json:"begin,omitempty"`
	// State is Options.State for the next Read.
	State string       `json:"state,omitempty"`
	Fold  summary.Fold `json:"fold"`
}

// SaveError means that the summary could not be saved. The same bytes will be read again.
type SaveError struct{ Err error }

func (e *SaveError) Error() string { return e.Err.Error() }

func (e *SaveError) Unwrap() error { return e.Err }

// load returns the saved cursor of a conversation, or nil if there is none that can be used. folded
// says whether its fold is needed: without the fold, load is many times faster.
func (at File) load(f conversation.File, folded bool) (*cursor, error) {
	data, err := atomicfile.Read(at.Path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	saved := new(cursor)
	if i := bytes.Index(data, []byte(`,"fold":`)); i >= 0 && !folded { // the last field
		data = append(data[:i], '}')
	}
	if json.Unmarshal(data, saved) != nil || saved.Version != version || saved.Client != f.Client || saved.Path != cmp.Or(at.NamedPath, f.Path) || saved.ID != f.ID || saved.Next < 0 {
		return nil, nil
	}
	return saved, nil
}

// isDatabase reports whether a conversation is in a database or in many files, where its
// reader finds its own place.
func isDatabase(f conversation.File) bool { return f.Client == "opencode" }

// sizeAndTime returns the size and time that tell whether a conversation has changed. A
// database's latest writes are in its -wal file.
func sizeAndTime(f conversation.File, info fs.FileInfo) (size, changed int64) {
	size, changed = info.Size(), info.ModTime().UnixNano()
	if !strings.HasSuffix(f.Path, ".db") {
		return size, changed
	}
	if wal, err := os.Stat(f.Path + "-wal"); err == nil {
		size, changed = size+wal.Size(), max(changed, wal.ModTime().UnixNano())
	}
	return size, changed
}

// ReadStored returns the saved summary of a conversation and reports whether it is current.
// It reads nothing of the conversation.
func (at File) ReadStored(f conversation.File, clean func(string) string) (sum summary.Summary, current bool, err error) {
	c, err := at.load(f, true)
	if c == nil {
		return summary.Summary{}, false, err
	}
	if info, err := os.Stat(f.Path); err == nil && !isManyFiles(f) {
		size, changed := sizeAndTime(f, info)
		current = size == c.Size && changed == c.Changed
	}
	c.Fold.SetClean(clean)
	return summary.Clean(summary.Summarize(&c.Fold), clean), current, nil
}

// CutShort returns the conversation's old and new length if it was truncated and not
// written anew; else 0 and 0.
func (at File) CutShort(f conversation.File) (before, now int64, err error) {
	c, err := at.load(f, false)
	if c == nil || isDatabase(f) || c.Begin == "" {
		return 0, 0, err
	}
	info, err := os.Stat(f.Path)
	if err != nil || info.Size() >= c.Next {
		return 0, 0, nil // it may be somewhere else now
	}
	file, err := atomicfile.OpenFollowing(f.Path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	if begin, err := digest(file, beginSize); err != nil || begin != c.Begin {
		return 0, 0, nil
	}
	return c.Next, info.Size(), nil
}

// isManyFiles reports whether a conversation is in several files, so that the state of
// the file at its path does not tell whether another changed.
func isManyFiles(f conversation.File) bool {
	return isDatabase(f) && !strings.HasSuffix(f.Path, ".db")
}

// Advance reads what is new, saves the summary and returns it. cwd is where the session
// began, for a conversation that does not tell. If the client has no reader, read is nil
// and the Fold is empty. With a SaveError, Advance also returns the Fold.
//
// carry, if it is not nil, takes the Fold before the summary is saved. If it fails or the
// program is killed, the same bytes are read again, so that nothing that was said is lost.
//
// Each text is cleaned before it is cut, because half a secret is not recognised.
func (at File) Advance(f conversation.File, cwd string, read Read, clean func(string) string, carry func(*summary.Fold) error) (*summary.Fold, error) {
	fold, c, err := at.readNew(f, cwd, read, clean)
	if err != nil {
		return fold, err
	}
	if carry != nil {
		if err := carry(fold); err != nil { // mutant never: TestEveryPromptIsCarried
			return fold, &SaveError{err}
		}
	}
	if c == nil {
		return fold, nil
	}
	data, err := json.Marshal(c)
	if err == nil {
		err = atomicfile.EnsurePrivateDir(filepath.Dir(at.Path))
	}
	if err == nil {
		err = atomicfile.Write(at.Path, append(data, '\n'), atomicfile.Unsynced)
	}
	if err != nil {
		return fold, &SaveError{err}
	}
	return fold, nil
}

// Fold is Advance without saving.
func (at File) Fold(f conversation.File, cwd string, read Read, clean func(string) string) (*summary.Fold, error) {
	fold, _, err := at.readNew(f, cwd, read, clean)
	return fold, err
}

// readNew reads what the conversation has since the last time, or all of it if the file was
// replaced. The cursor is nil if there is nothing to save.
func (at File) readNew(f conversation.File, cwd string, read Read, clean func(string) string) (*summary.Fold, *cursor, error) {
	if read == nil {
		return new(summary.Fold), nil, nil
	}
	file, err := atomicfile.OpenFollowing(f.Path)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, atomicfile.Error("read", f.Path, err)
	}
	saved, err := at.load(f, true)
	if err != nil {
		saved = nil // the file will be replaced, or that fails
	}
	current := cursor{Version: version, Client: f.Client, Path: cmp.Or(at.NamedPath, f.Path), ID: f.ID}
	current.Size, current.Changed = sizeAndTime(f, info)
	if f.Size, f.Changed = info.Size(), info.ModTime().UnixNano(); f.Store == "" {
		f.Store = filepath.Dir(f.Path)
	}
	resumes := saved != nil && (isDatabase(f) || saved.Next <= info.Size() && saved.matchesFile(file))
	if resumes {
		current.Next, current.Fold, current.State = saved.Next, saved.Fold, saved.State
	}
	current.Fold.SetClean(clean)
	if resumes && !isManyFiles(f) && current.Size == saved.Size && current.Changed == saved.Changed {
		return &current.Fold, nil, nil
	}
	var earlier []summary.Request // of the saved fold, if a new one takes its place
	err = current.readEntries(file, f, read, resumes)
	if err == nil && resumes && len(current.Fold.TakenBack) > 0 {
		// The fold cannot forget what was taken back, so all is read again.
		current.Next, current.State, current.Fold = 0, "", summary.Fold{}
		current.Fold.SetClean(clean)
		earlier, saved = saved.Fold.Requests, nil
		err = current.readEntries(file, f, read, false)
	} else if saved != nil && !resumes {
		earlier = saved.Fold.Requests
	}
	if conversation.ErasesTakenBack(f.Path) { // what the file lacks of earlier was taken back
		current.Fold.TakeBackRemoved(earlier)
	}
	if err != nil {
		return nil, nil, atomicfile.Error("read", f.Path, err)
	}
	if saved != nil && current.Fold.First.Text == "" { // it was rewritten and has lost its beginning
		current.Fold.First, current.Fold.Origin = saved.Fold.First, saved.Fold.Origin
	}
	current.Fold.BeganIn(cwd)
	current.Fold.Seal()
	if !isDatabase(f) {
		// The reader opened the path itself, so it may have read another file than this
		// one.
		named, err := os.Stat(f.Path)
		if err != nil || !os.SameFile(named, info) || named.Size() < current.Next {
			return &current.Fold, nil, conversation.UnreadableError(f.Path, err)
		}
		if current.Digest, err = digest(file, current.Next); err != nil {
			return &current.Fold, nil, atomicfile.Error("read", f.Path, err) // the old file stays, and the next read begins where it ends
		}
		if current.Next >= beginSize {
			if current.Begin, err = digest(file, beginSize); err != nil {
				return &current.Fold, nil, atomicfile.Error("read", f.Path, err)
			}
		}
	}
	return &current.Fold, &current, nil
}

// matchesFile reports whether the file still begins with the bytes already read.
func (c *cursor) matchesFile(file io.ReaderAt) bool {
	now, err := digest(file, c.Next)
	return err == nil && now == c.Digest
}

// readEntries adds what follows c.Next to the fold and moves c.Next behind it. Of more than
// maxWholeRead it takes the first request, the person's messages, and the end. resumes reports that
// the fold has what is before c.Next, and so the first request.
func (c *cursor) readEntries(file *os.File, f conversation.File, read Read, resumes bool) error {
	if f.Size-c.Next > maxWholeRead && !isDatabase(f) {
		near, err := conversation.TailStart(file, c.Next, f.Size)
		if err != nil {
			return err
		}
		if near > c.Next && !resumes {
			// The conversation's first request comes before near, where the end begins.
			_, err := read(f, conversation.Options{ForSummary: true}, func(e conversation.Entry) bool {
				switch e.Kind {
				case conversation.Prompt, conversation.Folder, conversation.Title:
					c.Fold.Take(e)
				}
				return (e.Kind != conversation.Prompt || conversation.IsOpening(e.Text)) && e.Offset < conversation.MaxFront
			})
			if err != nil {
				return err
			}
			// The other requests come from the end, and Typed from readMessages.
			c.Fold.Requests, c.Fold.Prompts, c.Fold.Typed = nil, 0, nil
		}
		if err := c.readMessages(file, f, read, near); err != nil {
			return err
		}
		if near != c.Next {
			c.Next, c.State = near, ""
		}
	}
	next, err := read(f, conversation.Options{From: c.Next, ForSummary: true, State: &c.State, TakenBack: c.Fold.TakeBack}, c.Fold.Take)
	c.Next = next
	return err
}

// readMessages adds the person's messages before near, which the summary passes over, and what the
// agent answered to them.
func (c *cursor) readMessages(file *os.File, f conversation.File, read Read, near int64) error {
	from := c.Next
	if near-from > maxSearched {
		line, err := bufio.NewReader(io.NewSectionReader(file, near-maxSearched, maxSearched)).ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil // the file is being cut off
		}
		from = near - maxSearched + int64(len(line)) // the reader skips the rest of a longer line
	}
	isOther := func(line []byte) bool {
		return len(line) > maxAnswer || !bytes.Contains(line, []byte(`"end_turn"`)) // with which Claude Code marks a turn's answer
	}
	_, err := read(f, conversation.Options{From: from, Skip: isOther, TakenBack: c.Fold.TakeBack}, func(e conversation.Entry) bool {
		if e.Offset >= near {
			return false
		}
		switch e.Kind {
		case conversation.Prompt, conversation.Reply, conversation.Answer:
			c.Fold.TakeSkipped(e) // mutant skip: TestAdvanceOfHuge
		}
		return true
	})
	return err
}

// digest returns the digest of both ends of the first n bytes of a file. The file must
// have at least n bytes.
func digest(file io.ReaderAt, n int64) (string, error) {
	sum := sha256.New()
	for _, at := range []int64{0, n - min(n, sampleSize)} {
		part := make([]byte, min(n, sampleSize))
		if got, err := file.ReadAt(part, at); int64(got) < int64(len(part)) {
			return "", cmp.Or(err, io.ErrUnexpectedEOF)
		}
		sum.Write(part)
	}
	return fmt.Sprint(n) + ":" + hex.EncodeToString(sum.Sum(nil)[:16]), nil
}

// Carry adds a session's conversation to the thread of its chain.
type Carry struct {
	Home   home.Home
	Record *session.Record
	Beside *thread.Background // what works beside the session; nil if it is not the end of a turn
	Now    time.Time
	Warn   func(error)
}

// Add adds what the fold has, and returns the thread.
func (c Carry) Add(fold *summary.Fold) (*thread.Thread, error) {
	return thread.Update(c.Home.Town.State, c.Record.Chain(), atomicfile.Unsynced, c.Warn, func(t *thread.Thread) { t.AddPart(c.threadPart(fold, t)) })
}

// Preview returns the thread as Add would make it, and writes nothing.
func (c Carry) Preview(fold *summary.Fold) *thread.Thread {
	t, err := thread.Read(c.Home.Town.State, c.Record.Chain(), c.Warn)
	if err != nil {
		t = &thread.Thread{ChainID: c.Record.Chain()}
	}
	t.AddPart(c.threadPart(fold, t))
	return t
}

// threadPart returns what the fold has for a thread. A conversation can be read long after its end, so Last
// is the time of its last entry.
func (c Carry) threadPart(fold *summary.Fold, t *thread.Thread) thread.Part {
	sum := summary.Summarize(fold)
	part := thread.Part{
		Session: c.Record.ID, Agent: c.Record.Agent, Beside: c.Beside, Time: c.Now.UTC().Truncate(time.Second),
		Last:  cmp.Or(fold.Last, fold.LastRequest().Time).UTC().Truncate(time.Second),
		First: thread.Quote{Text: cmp.Or(fold.Origin, fold.First.Text), Time: fold.First.Time},
	}
	for _, q := range fold.Typed {
		part.Prompts = append(part.Prompts, thread.Quote{Text: q.Text, Time: q.Time, Reply: q.Reply})
	}
	for _, q := range fold.TakenBack { // some have cut texts; those of the thread are whole
		for _, said := range t.Prompts {
			if said.Session == part.Session && summary.CutRequest(said.Text) == q.Text {
				q.Text = said.Text
			}
		}
		part.TakenBack = append(part.TakenBack, thread.Quote{Text: q.Text, Time: q.Time})
	}
	for _, c := range fold.Conclusions {
		part.Answers = append(part.Answers, thread.Quote{Text: c.Text, Time: c.Time, Asked: c.Asked, Done: c.Done})
	}
	for _, c := range fold.RanCommands {
		part.Actions = append(part.Actions, thread.Quote{Text: c.Text, Time: c.Time})
	}
	part.Files = sum.Files
	for _, t := range sum.Todos {
		part.Todos = append(part.Todos, thread.Todo{Text: t.Text, Status: t.Status})
	}
	part.Done = sum.Done
	return part
}
