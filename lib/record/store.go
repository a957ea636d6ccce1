package record

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/record/hookfile"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

// Store is the folders of records.
type Store struct {
	Sessions string    // has <id>.jsonl
	Contexts string    // has <id>-<tool>-<6 characters>.json
	root     string    // has what hooks recorded (package hookfile)
	Since    time.Time // nothing before it is read from a record, except the first line
}

// StoreOf returns this user's store, in AGENT_HOME or ~/.agent.
func StoreOf(getenv func(string) string) (Store, error) {
	root, err := hookfile.Root(getenv)
	if err != nil {
		return Store{}, err
	}
	return Store{Sessions: filepath.Join(root, "sessions"), Contexts: filepath.Join(root, contexts), root: root}, nil
}

const contexts = "context"

const ext = ".jsonl"

// Exists reports whether there are records.
func (s Store) Exists() bool { return atomicfile.IsFolder(s.Sessions) }

// Path returns the file to which a record is written.
func (s Store) Path(id ID) string { return filepath.Join(s.Sessions, string(id)+ext) }

// File returns the file that has a record: Path or the packed file. If it cannot tell, it
// returns the one whose opening gives the error.
func (s Store) File(id ID) string {
	if ok, err := atomicfile.IsPresent(s.Path(id)); ok || err != nil {
		return s.Path(id)
	}
	if ok, err := atomicfile.IsPresent(s.packedPath(id)); ok || err != nil {
		return s.packedPath(id)
	}
	return s.Path(id)
}

var ErrNone = errors.New("no such record")

// IDs returns the ids of all records, oldest first.
func (s Store) IDs() ([]ID, error) {
	entries, err := atomicfile.Entries(s.Sessions)
	if err != nil {
		return nil, err
	}
	var all []ID
	for _, e := range entries {
		if name, ok := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".gz"), ext); ok {
			if id, err := ParseID(name); err == nil && (len(all) == 0 || all[len(all)-1] != id) {
				all = append(all, id)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ID) int { return len(a) - len(b) }) // a longer number is a later time
	return all, nil
}

// Index maps the ends of ids to the ids of the records at one time.
type Index map[string]ID

func (s Store) Index() (Index, error) {
	all, err := s.IDs()
	x := make(Index, len(all))
	for _, id := range all {
		x[id.suffix()] = id
	}
	return x, err
}

// Find returns the record of a conversation, or ErrNone. suffix is the end of its id,
// which a new record must use.
func (s Store) Find(x Index, k Key) (id ID, suffix string, err error) {
	for n := 0; ; n++ {
		suffix = k.suffix(n)
		id, ok := x[suffix]
		if !ok {
			return "", suffix, ErrNone
		}
		head, err := s.Head(id)
		switch {
		case errors.Is(err, errNoHead), err == nil && head.key() == k:
			return id, suffix, nil // without a head, the writer was killed before it wrote that
		case err != nil:
			return "", suffix, err
		}
	}
}

func (h *Session) key() Key { return Key{h.Agent, h.Session, h.Parent} }

type recordFile struct {
	f      *os.File
	size   int64         // of the file
	packed *packedHeader // nil if it is not packed
}

func (o recordFile) Close() error { return o.f.Close() }

// readHeadEnd returns the first line of a record, and its end.
func (o recordFile) readHeadEnd() (head Session, end recordEnd, err error) {
	if head, err = o.readHead(); err != nil {
		return head, end, atomicfile.Error("understand", o.f.Name(), err)
	}
	end, err = o.readEnd()
	return head, end, atomicfile.Error("read", o.f.Name(), err)
}

// liveTurns returns a function to call for each line of a record in order, marks too. It reports
// whether the client still shows the line: not if it is in a turn that the person took back, except
// for token usage, because those tokens were spent. Such a turn begins with a prompt in TakenBack
// of the last mark, and ends at its offset in TakenUntil, or without one at the next mark.
func (o recordFile) liveTurns() (live func(l *Line, at int64) bool, err error) {
	end, err := o.readEnd()
	if err != nil {
		return nil, atomicfile.Error("read", o.f.Name(), err)
	}
	gone, until := false, int64(0)
	return func(l *Line, at int64) bool {
		if until > 0 && at >= until || until == 0 && l.Kind == Mark {
			gone = false
		}
		if l.Kind == Kind(conversation.Prompt) && end.mark != nil {
			i := slices.Index(end.mark.TakenBack, l.Message)
			until = end.mark.takenUntil(max(i, 0))
			gone = i >= 0 && (until == 0 || at < until)
		}
		return !gone || l.Kind == Kind(conversation.TokenUsage)
	}, nil
}

func (o recordFile) unpackedSize() int64 {
	if o.packed != nil {
		return o.packed.Size
	}
	return o.size
}

// openRecord opens a record for reading. The file must belong to this user.
func (s Store) openRecord(id ID) (recordFile, error) {
	path := s.File(id)
	o, err := openFile(path)
	if errors.Is(err, fs.ErrNotExist) && path == s.Path(id) { // it was packed meanwhile
		o, err = openFile(s.packedPath(id))
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w '%s'", ErrNone, id)
	}
	return o, err
}

// openFile opens a record, packed or not. It refuses a file that another user could have written.
func openFile(path string) (recordFile, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return recordFile{}, err
	}
	info, err := f.Stat()
	if err == nil {
		err = atomicfile.CheckPrivate(info)
	}
	if err != nil {
		f.Close()
		return recordFile{}, atomicfile.Error("use", path, err)
	}
	o := recordFile{f: f, size: info.Size()}
	if strings.HasSuffix(path, packedExt) {
		at, err := parsePacked(f)
		if err != nil {
			f.Close()
			return recordFile{}, atomicfile.Error("understand", path, err)
		}
		o.packed = &at
	}
	return o, nil
}

var errNoHead = errors.New("it does not say whose conversation it is")

const maxHead = 64 << 10

// Head reads a record's first line.
func (s Store) Head(id ID) (Session, error) {
	o, err := s.openRecord(id)
	if err != nil {
		return Session{}, err
	}
	defer o.Close()
	h, err := o.readHead()
	return h, atomicfile.Error("understand", s.File(id), err)
}

// parseHead reads the first line of a record, of maxHead bytes at most. Most have less than 4 KiB.
func parseHead(f io.ReaderAt) (Session, error) {
	buf := make([]byte, 4<<10)
	for {
		n, err := f.ReadAt(buf, 0)
		if err != nil && err != io.EOF {
			return Session{}, err
		}
		if line, _, whole := bytes.Cut(buf[:n], []byte("\n")); whole {
			l, err := Parse(line)
			if err != nil || l.Kind != Head || l.Head == nil {
				return Session{}, errNoHead
			}
			return *l.Head, nil
		}
		if n < len(buf) || len(buf) >= maxHead {
			return Session{}, errNoHead
		}
		buf = make([]byte, maxHead)
	}
}

type recordEnd struct {
	size      int64     // up to the end of the last whole line
	torn      bool      // an incomplete line follows
	last      []byte    // the last whole line
	mark      *Position // the last one, or nil
	markAt    int64     // where it begins
	after     int64     // where the line after the mark begins; 0 if there is no mark
	removedAs Kind      // Forgotten or Pruned, if nothing else is left
	ended     time.Time // the time of an end that no entry follows
}

// scanEnd reads the end of a record, back to its last mark.
func scanEnd(f io.ReaderAt, size int64) (recordEnd, error) {
	for n := int64(16 << 10); ; n *= 8 {
		from := max(size-n, 0)
		buf := make([]byte, size-from)
		got, err := f.ReadAt(buf, from)
		if err != nil && err != io.EOF {
			return recordEnd{}, err
		}
		e, ok := findEnd(buf[:got], from)
		if ok || from == 0 {
			return e, nil
		}
	}
}

// findEnd reads buf, a record from an offset to its end, backwards to the last mark. ok is false if
// it has no mark and does not begin with the record.
func findEnd(buf []byte, from int64) (e recordEnd, ok bool) {
	end := bytes.LastIndexByte(buf, '\n') + 1
	e.size, e.torn = from+int64(end), end < len(buf)
	said := false // an entry of the conversation follows
	for rest := buf[:end]; len(rest) > 0; {
		begin := bytes.LastIndexByte(rest[:len(rest)-1], '\n') + 1
		if begin == 0 && from > 0 {
			return e, false // the line may begin before
		}
		line := rest[begin : len(rest)-1]
		if e.last == nil {
			e.last = line
		}
		switch {
		case isKind(line, Mark):
			if l, err := Parse(line); err == nil && l.Mark != nil {
				e.markAt = from + int64(begin)
				if e.mark, e.after = l.Mark, from+int64(begin+len(line)+1); !said && e.ended.IsZero() {
					e.ended = l.Mark.Ended
				}
				return e, true
			}
		case isKind(line, Forgotten):
			e.removedAs = Forgotten
		case isKind(line, Pruned):
			e.removedAs = Pruned
		case isKind(line, End):
			if l, err := Parse(line); err == nil && !said {
				e.ended = l.Time
			}
		case !isKind(line, Cleared):
			said = true
		}
		rest = rest[:begin]
	}
	return e, from == 0
}

// ForEachLine calls each for the whole lines of a record from an offset on, with the offset of
// each, until it returns false. The bytes are valid only during the call. It returns
// where the next line begins.
func (s Store) ForEachLine(id ID, from int64, each func(line []byte, at int64) bool) (int64, error) {
	o, err := s.openRecord(id)
	if err != nil {
		return from, err
	}
	defer o.Close()
	return o.forEachLine(from, each)
}

// Size returns the length of a record in bytes; of a packed one, unpacked.
func (s Store) Size(id ID) (int64, error) {
	o, err := s.openRecord(id)
	if err != nil {
		return 0, err
	}
	defer o.Close()
	return o.unpackedSize(), nil
}

// maxLine is the longest line of a record: a client's longest record, with six bytes for
// each character.
const maxLine = 6*conversation.MaxRecord + 1<<20

// Lines calls each for the lines of a record that can be parsed, until it returns false.
func (s Store) Lines(id ID, each func(Line) bool) error {
	o, err := s.openRecord(id)
	if err != nil {
		return err
	}
	defer o.Close()
	return o.forEachParsed(0, s.Since, func(l Line, _ int64) bool { return each(l) })
}

// liveLines calls each as Lines does, from an offset on, with the offset of each line and
// whether the person did not take it back.
func (s Store) liveLines(id ID, from int64, each func(l Line, at int64, live bool) bool) error {
	o, err := s.openRecord(id)
	if err != nil {
		return err
	}
	defer o.Close()
	live, err := o.liveTurns()
	if err != nil {
		return err
	}
	return o.forEachParsed(from, s.Since, func(l Line, at int64) bool {
		return each(l, at, live(&l, at) || !l.Kind.InConversation())
	})
}

// forEachParsed calls each for the lines from an offset on that can be parsed and are not before
// since, until it returns false.
func (o recordFile) forEachParsed(from int64, since time.Time, each func(l Line, at int64) bool) error {
	var last time.Time // a line without a time has that of the one before
	_, err := o.forEachLine(from, func(line []byte, at int64) bool {
		l, err := Parse(line)
		if err != nil {
			return true
		}
		if !l.Time.IsZero() && l.Kind != Head {
			last = l.Time
		}
		if !since.IsZero() && l.Kind != Head && last.Before(since) {
			return true
		}
		return each(l, at)
	})
	return err
}

// lockWait limits the wait for another writer of the record.
const lockWait = 10 * time.Second

// lockSuffix locks the records whose ids end with suffix.
func (s Store) lockSuffix(suffix string) (*flock.Lock, error) {
	return flock.Acquire(filepath.Join(s.Sessions, ".lock-"+suffix), lockWait)
}

// Lock locks a record. Remove the lock to unlock it.
func (s Store) Lock(id ID) (*flock.Lock, error) { return s.lockSuffix(id.suffix()) }

// Prepare creates the store's folders, private to this user.
func (s Store) Prepare() error {
	for _, dir := range []string{s.Sessions, s.Contexts} {
		if err := atomicfile.EnsurePrivateDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// Info is what a list shows of a record.
type Info struct {
	ID       ID        `json:"id"`
	Session  string    `json:"session_id"`
	Agent    string    `json:"agent"`
	Parent   string    `json:"subagent_of,omitempty"`
	Started  time.Time `json:"started_at,omitzero"`
	Ended    time.Time `json:"ended_at,omitzero"` // according to its client, else the time of the last line
	Messages int       `json:"messages"`
	Events   int       `json:"events"`
	CWD      string    `json:"cwd,omitempty"`
	Title    string    `json:"title,omitempty"`
	Branch   string    `json:"branch,omitempty"`
	Path     string    `json:"path"`
	Source   string    `json:"source,omitempty"` // the client's file
	Size     int64     `json:"size"`             // of the file
	Gone     Kind      `json:"gone,omitempty"`   // forgotten or pruned
}

// Info returns what a list shows of a record. It reads only its first line and its end.
func (s Store) Info(id ID) (Info, error) {
	o, err := s.openRecord(id)
	if err != nil {
		return Info{}, err
	}
	defer o.Close()
	head, end, err := o.readHeadEnd()
	if err != nil {
		return Info{}, err
	}
	i := Info{
		ID: id, Session: string(head.Session), Agent: head.Agent, Parent: string(head.Parent), Started: head.Started,
		CWD: head.CWD, Path: o.f.Name(), Size: o.size, Gone: end.removedAs, Ended: end.ended,
	}
	if m := end.mark; m != nil {
		i.Messages, i.Events, i.Title, i.Branch, i.Source = m.Messages, m.Events, cmp.Or(m.Title, m.Prompt), m.Branch, m.Source
		if i.Ended.IsZero() {
			i.Ended = m.Last
		}
	}
	return i, nil
}

// ID is the id of a record: session-<milliseconds since 1970, base 36>-<6 characters,
// base 36>. An ID from ParseID is safe as a file name.
type ID string

const (
	prefix     = "session-"
	base       = 36
	suffixSize = 6
	suffixes   = base * base * base * base * base * base
)

// ParseID checks an id from outside.
func ParseID(s string) (ID, error) {
	stamp, suffix, ok := strings.Cut(strings.TrimPrefix(s, prefix), "-")
	if !ok || !strings.HasPrefix(s, prefix) || !isBase36(stamp, 13) || len(suffix) != suffixSize || !isBase36(suffix, suffixSize) {
		return "", fmt.Errorf("invalid record id '%.40s'", s)
	}
	return ID(s), nil
}

func isBase36(s string, most int) bool {
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

func (id ID) suffix() string { return string(id[len(id)-suffixSize:]) }

// Key identifies the conversation of a record.
type Key struct {
	Agent   string     // the client, as in lib/client/agent
	Session session.ID // the client's own id
	Parent  session.ID // of a subagent's conversation: two sessions can have subagents with the same id
}

// suffix returns the end of the record's id. It is derived from the key, so that a listing of names
// tells whether there is a record. n distinguishes keys with the same hash.
func (k Key) suffix(n int) string {
	sum := sha256.Sum256([]byte(k.Agent + "\x00" + string(k.Session) + "\x00" + string(k.Parent) + strings.Repeat("\x00", n)))
	return suffixOf(sum[:8])
}

// suffixOf returns eight bytes of a digest as the end of an id.
func suffixOf(sum []byte) string {
	s := strconv.FormatUint(binary.BigEndian.Uint64(sum)%suffixes, base)
	return strings.Repeat("0", suffixSize-len(s)) + s
}

func newID(started time.Time, suffix string) ID {
	return ID(prefix + strconv.FormatInt(max(started.UnixMilli(), 0), base) + "-" + suffix)
}
