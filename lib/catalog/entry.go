package catalog

import (
	"bytes"
	"cmp"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/cachefile"
)

// Catalog holds a town's sessions, newest first. A session is decoded from the index when
// it is first used.
type Catalog struct{ entries []entry }

// entry is a session, or its line in the index.
type entry struct {
	known *Session

	head string // the line's id, start and parent
	in   *os.File
	at   int64
	size int
}

// All iterates over the sessions, newest first.
func (c Catalog) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for i := range c.entries {
			if !yield(c.entries[i].session()) {
				return
			}
		}
	}
}

// met iterates over the decoded sessions, newest first. All sessions with a conversation
// are among them.
func (c Catalog) met() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for i := range c.entries {
			if s := c.entries[i].known; s != nil && !yield(s) {
				return
			}
		}
	}
}

// Find returns the session with that id, or else all whose id begins with it.
func (c Catalog) Find(prefix string) []*Session {
	var found []*Session
	for i := range c.entries {
		switch id := string(c.entries[i].id()); {
		case id == prefix:
			return []*Session{c.entries[i].session()}
		case prefix != "" && strings.HasPrefix(id, prefix):
			found = append(found, c.entries[i].session())
		}
	}
	return found
}

const minShort = 8

// Short returns a function that shortens an id to its shortest unique prefix of at least
// minShort characters. It returns "" for an id that is not in the catalog.
func (c Catalog) Short() func(session.ID) string {
	const several = -1
	begin := func(id string) string { return id[:min(minShort, len(id))] }
	first := make(map[string]int, len(c.entries)) // index by prefix, or several
	for i := range c.entries {
		id := begin(string(c.entries[i].id()))
		if _, ok := first[id]; ok {
			first[id] = several
		} else {
			first[id] = i
		}
	}
	var ids []string // all ids, sorted; made when they are needed
	return func(id session.ID) string {
		text := string(id)
		i, ok := first[begin(text)]
		switch {
		case !ok || i != several && c.entries[i].id() != id:
			return ""
		case i != several:
			return begin(text)
		}
		if ids == nil {
			for i := range c.entries {
				ids = append(ids, string(c.entries[i].id()))
			}
			slices.Sort(ids)
		}
		at, ok := slices.BinarySearch(ids, text)
		if !ok {
			return ""
		}
		n := minShort
		if at > 0 {
			n = max(n, shared(text, ids[at-1])+1)
		}
		if at+1 < len(ids) {
			n = max(n, shared(text, ids[at+1])+1)
		}
		return text[:min(n, len(text))]
	}
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// sort sorts entries by the sessions' start, newest first.
func sort(all []entry) {
	type key struct {
		start time.Time
		id    session.ID
		entry entry
	}
	keys := make([]key, len(all))
	for i := range all {
		keys[i] = key{all[i].started(), all[i].id(), all[i]}
	}
	order := func(a, b key) int {
		return cmp.Or(b.start.Compare(a.start), cmp.Compare(a.id, b.id))
	}
	if slices.IsSortedFunc(keys, order) { // almost always true
		return
	}
	slices.SortFunc(keys, order)
	for i := range keys {
		all[i] = keys[i].entry
	}
}

// A line begins with these keys, so that they are found without decoding the whole line.
const (
	keyID      = `{"id":"`
	keyStarted = `","started_at":"`
	keyParent  = `","parent_id":"`
)

// headOf returns the part of a line after the first key, up to the end of the last key's
// value.
func headOf(line []byte) []byte {
	line = line[len(keyID):]
	at := bytes.Index(line, []byte(keyParent))
	if at < 0 {
		return nil
	}
	end := bytes.IndexByte(line[at+len(keyParent):], '"')
	return line[:at+len(keyParent)+max(end, 0)]
}

func (e *entry) id() session.ID {
	if e.known != nil {
		return e.known.ID
	}
	id, _, _ := strings.Cut(e.head, `"`)
	return session.ID(id)
}

func (e *entry) started() time.Time {
	if e.known != nil {
		return e.known.StartedAt
	}
	_, rest, _ := strings.Cut(e.head, keyStarted)
	moment, _, _ := strings.Cut(rest, `"`)
	at, _ := time.Parse(time.RFC3339, moment)
	return at
}

func (e *entry) parent() session.ID {
	if e.known != nil {
		return e.known.ParentID
	}
	_, id, _ := strings.Cut(e.head, keyParent)
	return session.ID(id)
}

// session decodes the line at the first call.
func (e *entry) session() *Session {
	if e.known == nil {
		line, err := e.line()
		if err != nil { // it was readable a moment ago
			e.known = &Session{
				ID: e.id(), ParentID: e.parent(), StartedAt: e.started(), unread: atomicfile.Error("read", e.in.Name(), err),
			}
		} else {
			e.known = decode(line)
		}
	}
	return e.known
}

// ReadErrors returns the errors about the sessions used so far, of which the catalog then
// has less than the log; nil if there are none.
func (c Catalog) ReadErrors() error {
	var lost conversation.ReadErrors
	for s := range c.met() {
		lost.Add(s.unread)
	}
	return lost.Err()
}

func (e *entry) line() ([]byte, error) {
	line := make([]byte, e.size)
	_, err := e.in.ReadAt(line, e.at)
	return line, err
}

// facts are the fields of a session that come from the log, in the order of an index
// line. The first three are always present.
func (s *Session) facts() [27]cachefile.Field {
	return [...]cachefile.Field{
		{Key: "id", Text: (*string)(&s.ID)},
		{Key: "started_at", Time: &s.StartedAt},
		{Key: "parent_id", Text: (*string)(&s.ParentID)},
		{Key: "last_at", Time: &s.LastAt},
		{Key: "ended_at", Time: &s.EndedAt},
		{Key: "handed_over", Time: &s.handedOver},
		{Key: "actor", Text: &s.Actor},
		{Key: "agent", Text: &s.Agent},
		{Key: "role", Text: &s.Role},
		{Key: "rig", Text: &s.Rig},
		{Key: "source", Text: &s.Source},
		{Key: "chain_id", Text: (*string)(&s.ChainID)},
		{Key: "child_id", Text: (*string)(&s.ChildID)},
		{Key: "outcome", Text: (*string)(&s.Outcome)},
		{Key: "reason", Text: &s.Reason},
		{Key: "cwd", Text: &s.CWD},
		{Key: "branch", Text: &s.Branch},
		{Key: "work_unit", Text: &s.WorkUnit},
		{Key: "molecule_id", Text: &s.MoleculeID},
		{Key: "step_ref", Text: &s.StepRef},
		{Key: "topic", Text: &s.Topic},
		{Key: "received", Text: &s.Received},
		{Key: "subject", Text: &s.Subject},
		{Key: "note", Text: &s.Note},
		{Key: "transcript_path", Text: &s.Transcript},
		{Key: "tmux_session", Text: &s.TmuxSession},
		{Key: "host", Text: &s.Host},
	}
}

const alwaysThere = 3

func (s *Session) encode(line []byte) []byte {
	fields := s.facts()
	return append(cachefile.AppendFields(append(line, '{'), fields[:], alwaysThere), "}\n"...)
}

func decode(line []byte) *Session {
	s := &Session{}
	fields := s.facts()
	cachefile.ReadFields(string(line), fields[:]) // the checksum was right
	return s
}
