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

// Catalog is the sessions of a town, the newest first. Those that nobody asks for
// stay as they stand in the index.
type Catalog struct{ entries []entry }

// entry is a session, or a line of the index that tells of it.
type entry struct {
	known *Session

	head string // the line's id, start and parent
	in   *os.File
	at   int64
	size int
}

// All goes through the sessions, the newest first.
func (c Catalog) All() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for i := range c.entries {
			if !yield(c.entries[i].session()) {
				return
			}
		}
	}
}

// met goes through the sessions that somebody asked for, the newest first: among
// them all of which there is a conversation.
func (c Catalog) met() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for i := range c.entries {
			if s := c.entries[i].known; s != nil && !yield(s) {
				return
			}
		}
	}
}

// Find returns the session with that id, else all whose id begins with it.
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

// minShort is how short an id gets.
const minShort = 8

// Short returns what shortens an id: to its shortest beginning, of eight
// characters at least, that no other id in the catalog shares. Of an id that is not
// in the catalog it makes "".
func (c Catalog) Short() func(session.ID) string {
	const several = -1
	begin := func(id string) string { return id[:min(minShort, len(id))] }
	first := make(map[string]int, len(c.entries)) // of those that begin so
	for i := range c.entries {
		id := begin(string(c.entries[i].id()))
		if _, ok := first[id]; ok {
			first[id] = several
		} else {
			first[id] = i
		}
	}
	var ids []string // all, sorted, once they are needed
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

// shared is how many bytes two texts begin with alike.
func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// sort orders entries by when the sessions started, the newest first.
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
	if slices.IsSortedFunc(keys, order) { // as is nearly always so
		return
	}
	slices.SortFunc(keys, order)
	for i := range keys {
		all[i] = keys[i].entry
	}
}

// A line begins with these, so that they can be found without reading all of it.
const (
	keyID      = `{"id":"`
	keyStarted = `","started_at":"`
	keyParent  = `","parent_id":"`
)

// headOf is what stands in a line between the first of these and the end of the
// last one's value.
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

// started is when the session started.
func (e *entry) started() time.Time {
	if e.known != nil {
		return e.known.StartedAt
	}
	_, rest, _ := strings.Cut(e.head, keyStarted)
	moment, _, _ := strings.Cut(rest, `"`)
	at, _ := time.Parse(time.RFC3339, moment)
	return at
}

// parent is the id of the session's parent, as far as it is one.
func (e *entry) parent() session.ID {
	if e.known != nil {
		return e.known.ParentID
	}
	_, id, _ := strings.Cut(e.head, keyParent)
	return session.ID(id)
}

// session reads the line, the first time.
func (e *entry) session() *Session {
	if e.known == nil {
		line, err := e.line()
		if err != nil { // it could be read a moment ago
			e.known = &Session{
				ID: e.id(), ParentID: e.parent(), StartedAt: e.started(), unread: atomicfile.Error("read", e.in.Name(), err),
			}
		} else {
			e.known = decode(line)
		}
	}
	return e.known
}

// ReadErrors says what of the sessions that were asked for could not be read, so that
// less is told of them than there is; nil where all was.
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

// facts are all that the log says of a session, in the order of a line of the
// index, of which the first three are always there.
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

// encode appends the session's line.
func (s *Session) encode(line []byte) []byte {
	fields := s.facts()
	return append(cachefile.AppendFields(append(line, '{'), fields[:], alwaysThere), "}\n"...)
}

// decode reads what encode wrote.
func decode(line []byte) *Session {
	s := &Session{}
	fields := s.facts()
	cachefile.ReadFields(string(line), fields[:]) // the checksum was right
	return s
}
