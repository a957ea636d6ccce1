// Package eventlog appends to and reads the town's event log, <town>/.events.jsonl: one
// JSON object per line, in the format of Gas Town's log, so that each can read the other's.
//
//	{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start",
//	 "actor":"gastown/crew/max","payload":{…},"visibility":"feed"}
//
// Each line is one write under a lock (flock on .events.jsonl.lock, which Gas Town uses
// too), so lines of several processes never mix. A process that dies during its write
// leaves an incomplete last line. The next append completes it, and readers skip it.
package eventlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

const (
	SessionStart  = "session_start"
	SessionResume = "session_resume" // a session continues after it ended or lost its process
	SessionChain  = "session_chain"  // a session begins its own chain
	SessionEnd    = "session_end"
	Handoff       = "handoff"
	// HandoffCancelled reports a hand-over that was cancelled before anybody took it up.
	HandoffCancelled = "handoff_cancelled"
	HookError        = "hook_error"  // a hook failed without its agent knowing
	Spawn            = "spawn"       // a polecat's folder was made
	RecordHead       = "record_head" // state of a conversation's record when its session ended
)

// IsLifecycle reports whether a type is about a session's life cycle: its start, its place in
// a chain or its outcome.
func IsLifecycle(kind string) bool {
	switch kind {
	case SessionStart, SessionResume, SessionChain, SessionEnd, Handoff, HandoffCancelled:
		return true
	}
	return false
}

// Event is a line of the log. Payload is kept verbatim, unknown keys included.
type Event struct {
	Time       Time            `json:"ts"`
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	Actor      string          `json:"actor"`
	Payload    json.RawMessage `json:"payload"`
	Visibility string          `json:"visibility"`
}

// Time is formatted as RFC 3339, UTC, with milliseconds.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000Z"

func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeFormat) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(data []byte) error { return t.Time.UnmarshalJSON(data) }

const (
	// hookWait bounds the wait for the log's lock where a spare log takes the event
	// otherwise: an agent waits for the answer of most hooks that log something.
	hookWait = 250 * time.Millisecond
	// spareWait bounds the wait for the spare log's lock while nobody writes, which nobody
	// holds for longer than a copy takes.
	spareWait = 10 * time.Second
	// lockWait bounds the wait while nobody writes, where there is no spare log. Each holder
	// has the lock for milliseconds, but on a busy machine the kernel lets others overtake,
	// and many take their time.
	lockWait = time.Minute
)

type Log string

// Append appends an event with this payload, marshalled to JSON. The line is complete when
// Append returns, but not synced.
func (l Log) Append(now time.Time, kind, actor string, payload any) error {
	line, err := newLine(now, kind, actor, payload)
	if err != nil {
		return err
	}
	return l.appendLine(line, lockWait, l.progressMark, nil)
}

// AppendOr is Append, but if the log cannot be written, or another process holds its lock,
// the event goes to the spare log, from which the next AppendOr that gets the lock moves it
// to the log. It passes to warn why the log could not be written. A lock that is held for a
// while is no reason to warn.
func (l Log) AppendOr(spare Log, warn func(error), now time.Time, kind, actor string, payload any) error {
	line, err := newLine(now, kind, actor, payload)
	if err != nil {
		return err
	}
	err = l.appendLine(line, hookWait, nil, func(f *os.File) error {
		info, err := f.Stat()
		if err == nil {
			err = atomicfile.CheckOneName(info) // others can write to a town's folder
		}
		if err != nil {
			return atomicfile.Error("write", string(l), err)
		}
		if err := moveSpare(f, spare); err != nil && !errors.Is(err, flock.ErrBusy) {
			warn(err)
		}
		return nil
	})
	// If the spare log cannot be written either, the event is lost, and the first error says why.
	if err == nil || spare.appendLine(line, spareWait, spare.progressMark, nil) != nil {
		return err
	}
	if !errors.Is(err, flock.ErrBusy) {
		warn(err)
	}
	return nil
}

// newLine returns an event as a line of the log, with its newline.
func newLine(now time.Time, kind, actor string, payload any) ([]byte, error) {
	p, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(Event{Time{now}, "gt", kind, actor, p, "feed"})
	return append(line, '\n'), err
}

// appendLine appends a line under the lock, after it has called before, which may be nil.
func (l Log) appendLine(line []byte, wait time.Duration, progress func() string, before func(*os.File) error) error {
	if err := l.makeFolder(); err != nil {
		return err
	}
	lock, err := l.lock(wait, progress)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	f, err := atomicfile.OpenAppend(string(l))
	if err != nil {
		return err
	}
	defer f.Close()
	if before != nil {
		if err := before(f); err != nil {
			return err
		}
	}
	return atomicfile.AppendLines(f, line)
}

// TakeSpare moves the events of the spare log to the log.
func (l Log) TakeSpare(spare Log) error {
	if isMissing(string(spare)) {
		return nil
	}
	return l.appendLine(nil, lockWait, l.progressMark, func(f *os.File) error { return moveSpare(f, spare) })
}

// moveSpare moves the spare log's events to the end of f, whose lock the caller holds. It
// returns flock.ErrBusy if another process writes to the spare log just now. A process that
// is killed between the copy and the removal leaves events in both, which the next call
// does not copy again.
func moveSpare(f *os.File, spare Log) error {
	if isMissing(string(spare)) {
		return nil
	}
	lock, err := spare.lock(0, nil)
	if err != nil {
		return err
	}
	defer lock.Remove()
	from, err := atomicfile.Open(string(spare))
	if err != nil {
		return err
	}
	defer from.Close()
	end, err := readTail(f, 1<<20) // where an interrupted call has copied to
	if err != nil {
		return atomicfile.Error("read", f.Name(), err)
	}
	copied := map[string]bool{}
	for line := range bytes.Lines(end) {
		copied[string(line)] = true
	}
	var block []byte
	flush := func() bool {
		if len(block) > 0 {
			err = atomicfile.AppendLines(f, block)
			block = block[:0]
		}
		return err == nil
	}
	scanned := Scan(from, func(line []byte) bool {
		if whole := string(line) + "\n"; !copied[whole] { // mutant always: TestTakeInAfterAKill
			block = append(block, whole...)
		}
		return len(block) < tailSize || flush()
	})
	if scanned != nil {
		return atomicfile.Error("read", string(spare), scanned)
	}
	if !flush() {
		return err
	}
	return atomicfile.Remove(string(spare))
}

// makeFolder creates the town's folder if necessary. The path may contain links, but the
// folder must belong to the user.
func (l Log) makeFolder() error {
	return atomicfile.EnsurePrivateDir(atomicfile.ResolveLinks(filepath.Dir(string(l))))
}

const tailSize = 64 << 10

// LastEvent returns the session's last event of the given types at the end of the spare log, of
// the log, or of the archive, to which a prune or rotation may just have moved it. It
// returns the zero Event if there is none or the log cannot be read. It keeps a process that
// was killed between an event and its record from logging the event twice.
func (l Log) LastEvent(spare Log, session string, types ...string) Event {
	for _, at := range []Log{spare, l, l.Archive()} {
		if e := at.lastInFile(session, types); e.Type != "" {
			return e
		}
	}
	return Event{}
}

// lastInFile returns a session's last event of these types in the last tailSize bytes of a log.
func (l Log) lastInFile(session string, types []string) (last Event) {
	f, err := atomicfile.Open(string(l))
	if err != nil {
		return Event{}
	}
	defer f.Close()
	buf, err := readTail(f, tailSize)
	if err != nil {
		return Event{}
	}
	for line := range bytes.Lines(buf) {
		// Skip incomplete lines.
		if !bytes.HasSuffix(line, []byte("\n")) || !bytes.Contains(line, []byte(session)) ||
			!gjson.ValidBytes(line) || gjson.GetBytes(line, "payload.session_id").Str != session {
			continue
		}
		var e Event
		if slices.Contains(types, gjson.GetBytes(line, "type").Str) && json.Unmarshal(line, &e) == nil {
			last = e
		}
	}
	return last
}

// readTail returns up to size bytes from the end of a file.
func readTail(f *os.File, size int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(info.Size(), size))
	_, err = f.ReadAt(buf, info.Size()-int64(len(buf)))
	return buf, ignoreEOF(err)
}

// lock acquires the log's lock, in a Gas Town workspace the one that Gas Town uses. Without
// progress, the wait is for as long as wait.
func (l Log) lock(wait time.Duration, progress func() string) (*flock.Lock, error) {
	path := string(l) + ".lock"
	return flock.AcquireWhile(path, !isMissing(filepath.Join(filepath.Dir(path), "mayor", "town.json")), wait, progress)
}

// progressMark returns what changes whenever the log is written.
func (l Log) progressMark() string {
	info, err := os.Lstat(string(l))
	if err != nil {
		return ""
	}
	return fmt.Sprint(inode(info), info.Size())
}

// Size returns the size of the log in bytes, 0 if there is none.
func (l Log) Size() (int64, error) {
	info, err := atomicfile.IfExists(os.Lstat(string(l)))
	if err != nil || info == nil {
		return 0, atomicfile.Error("look at", string(l), err)
	}
	return info.Size(), nil
}

// Read calls each for every event in the log, oldest first, until it returns false. It
// skips lines that are not events: incomplete ones, invalid JSON, objects without a type.
// Lines can have any length; one at a time is in memory. A missing log has no events.
func (l Log) Read(each func(Event) bool) error {
	f, err := atomicfile.IfExists(atomicfile.Open(string(l)))
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	return Scan(f, func(line []byte) bool {
		var e Event
		if json.Unmarshal(line, &e) != nil || e.Type == "" {
			return true
		}
		return each(e)
	})
}

// Scan calls each for every complete line of r, without line feed, until it returns false.
// The bytes are valid only during the call.
func Scan(r io.Reader, each func(line []byte) bool) error {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), math.MaxInt)
	in.Split(func(data []byte, _ bool) (advance int, line []byte, err error) {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return end + 1, data[:end], nil
		}
		return 0, nil, nil
	})
	for in.Scan() {
		if !each(in.Bytes()) {
			return nil
		}
	}
	return in.Err()
}
