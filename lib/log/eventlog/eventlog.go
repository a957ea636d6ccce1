// Package eventlog appends to and reads the town's log of what happened,
// <town>/.events.jsonl: one JSON object a line, in the form of Gas Town's own
// log, so that each side reads the other's.
//
//	{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"session_start",
//	 "actor":"gastown/crew/max","payload":{…},"visibility":"feed"}
//
// A line is written by one write under a lock (flock on .events.jsonl.lock,
// which is Gas Town's lock too), so lines of several processes never mix. A
// process that dies inside its write leaves a torn last line; the next append
// ends that line first, and readers pass it over.
package eventlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

// The types of events that gt itself writes.
const (
	SessionStart  = "session_start"
	SessionResume = "session_resume" // a session that had ended, or lost its process, goes on
	SessionEnd    = "session_end"
	Handoff       = "handoff"
	HookError     = "hook_error" // a hook failed and kept quiet about it to its agent
)

// Lifecycle reports whether events of a type tell of a session's life: its existence,
// its place in a chain or its outcome.
func Lifecycle(kind string) bool {
	switch kind {
	case SessionStart, SessionResume, SessionEnd, Handoff:
		return true
	}
	return false
}

// Event is one line of the log. Payload is kept as it was read, so that keys
// that we do not know are passed through.
type Event struct {
	Time       Time            `json:"ts"`
	Source     string          `json:"source"`
	Type       string          `json:"type"`
	Actor      string          `json:"actor"`
	Payload    json.RawMessage `json:"payload"`
	Visibility string          `json:"visibility"`
}

// Time is a time as the log writes it: RFC 3339, UTC, milliseconds.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000Z"

// MarshalJSON writes the time in the log's form.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeFormat) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time.
func (t *Time) UnmarshalJSON(data []byte) error { return t.Time.UnmarshalJSON(data) }

// lockWait bounds how long an append waits for others, each of which holds the
// lock for less than a millisecond.
const lockWait = 2 * time.Second

// Log is an event log; its value is the path of the file.
type Log string

// Append adds an event with that payload, which is marshalled to JSON. It
// returns once the line stands in the file, whole; it does not wait for the
// disk.
func (l Log) Append(now time.Time, kind, actor string, payload any) error {
	return l.append(now, kind, actor, payload, false)
}

// append is Append; shared says that others can write to the log's folder.
func (l Log) append(now time.Time, kind, actor string, payload any, shared bool) error {
	p, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	line, err := json.Marshal(Event{Time{now}, "gt", kind, actor, p, "feed"})
	if err != nil {
		return err
	}
	if err := l.prepare(); err != nil {
		return err
	}
	lock, err := l.lock(lockWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	f, err := atomicfile.OpenAppend(string(l))
	if err != nil {
		return err
	}
	defer f.Close()
	if shared {
		if err := oneName(f); err != nil {
			return atomicfile.Error("write", string(l), err)
		}
	}
	torn, err := endsTorn(f)
	if err != nil {
		return atomicfile.Error("read", string(l), err)
	}
	if torn {
		line = append([]byte("\n"), line...)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return atomicfile.Error("write", string(l), err)
	}
	return nil
}

// AppendOr is Append, and where the log cannot be written, or somebody holds its
// lock, it appends to the spare one instead and warns of what was wrong. A spare log
// of "" is none.
func (l Log) AppendOr(spare Log, warn func(error), now time.Time, kind, actor string, payload any) error {
	err := l.append(now, kind, actor, payload, spare != "")
	if err == nil || spare == "" || spare.Append(now, kind, actor, payload) != nil {
		return err
	}
	warn(err)
	return nil
}

// prepare makes the town's folder where it is missing. The town may be reached
// through a symbolic link: what it leads to has to be the user's.
func (l Log) prepare() error {
	dir := filepath.Dir(string(l))
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return atomicfile.EnsurePrivateDir(dir)
}

// oneName reports that an opened file has another name as well.
func oneName(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return atomicfile.OneName(info)
}

// endsTorn reports whether the last line was never finished.
func endsTorn(f *os.File) (bool, error) {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], info.Size()-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// tailSize is how much of the log Last looks at.
const tailSize = 64 << 10

// Last returns the last event of the session at the end of the log, its last
// 64 KiB, among the given types; where there is none, the same of the archive,
// to which a prune or a rotation may just have moved it; else the zero Event. It
// is how what was killed between an event and its record is not logged twice. It
// never fails, for a log that cannot be read has nothing.
func (l Log) Last(session string, types ...string) Event {
	if e := l.last(session, types); e.Type != "" {
		return e
	}
	return l.Archive().last(session, types)
}

func (l Log) last(session string, types []string) (last Event) {
	f, err := atomicfile.Open(string(l))
	if err != nil {
		return Event{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Event{}
	}
	buf := make([]byte, min(info.Size(), tailSize))
	if _, err := f.ReadAt(buf, info.Size()-int64(len(buf))); err != nil && err != io.EOF {
		return Event{}
	}
	for line := range bytes.Lines(buf) {
		// A line without its end was torn: no reader will count it.
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

// lock takes the log's lock, which in a workspace of Gas Town that takes as well.
func (l Log) lock(wait time.Duration) (*flock.Lock, error) {
	path := string(l) + ".lock"
	if missing(filepath.Join(filepath.Dir(path), "mayor", "town.json")) {
		return flock.Acquire(path, wait)
	}
	return flock.AcquireCommon(path, wait)
}

// Size is the log's size in bytes, 0 where there is none.
func (l Log) Size() (int64, error) {
	info, err := os.Lstat(string(l))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	} else if err != nil {
		return 0, atomicfile.Error("look at", string(l), err)
	}
	return info.Size(), nil
}

// Read calls each for every whole event in the log, oldest first, until it
// returns false. What is no event is passed over: a torn last line, bytes that
// are no JSON, an object without a type. Lines may be of any length; memory
// holds the longest. A log that does not exist has no events.
func (l Log) Read(each func(Event) bool) error {
	f, err := atomicfile.Open(string(l))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
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

// Scan calls each for every line of r that ends in a line feed, without it,
// until it returns false. The bytes are only valid during the call.
func Scan(r io.Reader, each func(line []byte) bool) error {
	buf := make([]byte, 0, 64<<10)
	for {
		if len(buf) == cap(buf) { // a line longer than the buffer
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		seen := len(buf)
		buf = buf[:seen+n]
		start := 0
		for {
			from := max(start, seen) // what was seen before holds no line feed
			end := bytes.IndexByte(buf[from:], '\n')
			if end < 0 {
				break
			}
			if !each(buf[start : from+end]) {
				return nil
			}
			start = from + end + 1
		}
		buf = buf[:copy(buf, buf[start:])]
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
