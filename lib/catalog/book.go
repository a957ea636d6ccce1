package catalog

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/identity"
	"gt/lib/state/session"
	"gt/lib/sys/sqlite"
)

// book has the sessions of a log, newest first: those of an index, and those that are
// newer or changed since. While events are added, it detects one that comes after one that
// it should precede.
type book struct {
	index *index // nil if there is none
	again func() (*book, error)
	lost  error // why sessions are missing

	fresh  map[session.ID]*Session
	added  int // how many of those the index does not have
	actors map[string]*actor

	// Of the fresh ones, once all events were added:
	newest, latest []*Session
	names
	successors map[session.ID][]*Session // by the parent

	asked   int                 // how often for children
	parents map[session.ID]bool // in the index, once that was often
}

// often is how many sessions are asked for their children one by one. Before more are, all
// parents are read.
const often = 500

// actor is what determines the session of a hand-over that names none. Both times are in
// nanoseconds, or never.
type actor struct {
	Last    session.ID `json:"last,omitempty"` // the session that the actor's latest event named
	Named   int64      `json:"named"`          // the time of that event
	Unnamed int64      `json:"unnamed"`        // the time of the last hand-over that named no session
}

const never = math.MinInt64

func newBook() *book {
	return &book{fresh: map[session.ID]*Session{}, actors: map[string]*actor{}}
}

// seal prepares the book for being read, after the last event.
func (b *book) seal() {
	b.newest = slices.SortedFunc(maps.Values(b.fresh), byStart.compare)
	b.latest = slices.SortedFunc(maps.Values(b.fresh), byLast.compare)
	b.ids = slices.Sorted(maps.Keys(b.fresh))
	b.successors = map[session.ID][]*Session{}
	for _, s := range b.newest {
		if s.ParentID != "" && s.ParentID != s.ID {
			b.successors[s.ParentID] = append(b.successors[s.ParentID], s)
		}
	}
}

// order is an order of sessions by a time, the latest first, and then by id.
type order struct {
	column string // in the index
	at     func(*Session) time.Time
}

var (
	byStart = order{"started", func(s *Session) time.Time { return s.StartedAt }}
	byLast  = order{"last", func(s *Session) time.Time { return s.LastAt }}
)

func (o order) compare(a, b *Session) int {
	return cmp.Or(o.at(b).Compare(o.at(a)), cmp.Compare(a.ID, b.ID))
}

// ask queries the index. If that fails, the log is read instead, and ok is false.
func (b *book) ask(each func(sqlite.Values), sql string, args ...any) (ok bool) {
	err := b.index.Query(each, sql, args...)
	if err == nil {
		return true
	}
	read, err := b.again()
	if err != nil {
		b.index, b.lost = nil, err
		return false
	}
	read.seal()
	*b = *read
	return false
}

// session returns the session with that id, or nil. It must not be changed.
func (b *book) session(id session.ID) (s *Session) {
	s, known := b.fresh[id]
	if known || b.index == nil {
		return s
	}
	if !b.ask(func(v sqlite.Values) { s = decode(v.Text(0)) }, "SELECT facts FROM session WHERE id = ?", string(id)) {
		return b.fresh[id]
	}
	return s
}

// pageSize is how many sessions are read from the index at first, and largePage later.
const pageSize, largePage = 32, 1024

// all iterates over the sessions in an order.
func (b *book) all(o order) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		var last *Session
		for size := pageSize; ; size = largePage {
			page := b.after(o, last, size)
			for _, s := range page {
				if !yield(s) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			last = page[len(page)-1]
		}
	}
}

// after returns the next sessions after one, or the first; none at the end.
func (b *book) after(o order, last *Session, size int) []*Session {
	fresh := b.newest
	if o.column == byLast.column {
		fresh = b.latest
	}
	if last != nil {
		at, there := slices.BinarySearchFunc(fresh, last, o.compare)
		if there {
			at++
		}
		fresh = fresh[at:]
	}
	if b.index == nil {
		return fresh[:min(size, len(fresh))]
	}
	until, id := int64(math.MaxInt64), ""
	if last != nil {
		until, id = o.at(last).UnixNano(), string(last.ID)
	}
	var page []*Session
	if !b.ask(func(v sqlite.Values) { page = append(page, decode(v.Text(0))) },
		strings.ReplaceAll("SELECT facts FROM session WHERE AT <= ?1 AND (AT < ?1 OR id > ?2) ORDER BY AT DESC, id LIMIT ?3", "AT", o.column), until, id, int64(size)) {
		return b.after(o, last, size)
	}
	if len(page) == size { // later ones come after all of these
		at, _ := slices.BinarySearchFunc(fresh, page[len(page)-1], o.compare)
		fresh = fresh[:at]
	}
	all, end := slices.Clone(fresh), page
	for _, s := range page {
		if b.fresh[s.ID] == nil {
			all = append(all, s)
		}
	}
	if len(all) == 0 && len(end) > 0 {
		return b.after(o, end[len(end)-1], size)
	}
	slices.SortFunc(all, o.compare)
	return all
}

// beginning returns the ids that begin with a prefix.
func (b *book) beginning(prefix string) (ids []session.ID) {
	at, _ := slices.BinarySearch(b.ids, session.ID(prefix))
	for _, id := range b.ids[at:] {
		if !strings.HasPrefix(string(id), prefix) {
			break
		}
		ids = append(ids, id)
	}
	if b.index == nil {
		return ids
	}
	if !b.ask(func(v sqlite.Values) { ids = append(ids, session.ID(v.Text(0))) },
		"SELECT id FROM session WHERE id >= ?1 AND id < ?1 || '~'", prefix) { // no id has a ~
		return b.beginning(prefix)
	}
	return ids
}

// around returns the ids before and after one, "" for none, and whether it is there.
func (b *book) around(id session.ID) (before, after session.ID, there bool) {
	before, after, there = b.names.around(id)
	if b.index == nil {
		return before, after, there
	}
	ok := b.ask(func(v sqlite.Values) { before = max(before, session.ID(v.Text(0))) }, "SELECT id FROM session WHERE id < ? ORDER BY id DESC LIMIT 1", string(id))
	ok = ok && b.ask(func(v sqlite.Values) {
		switch found := session.ID(v.Text(0)); {
		case found == id:
			there = true
		case after == "" || found < after:
			after = found
		}
	}, "SELECT id FROM session WHERE id >= ? ORDER BY id LIMIT 2", string(id))
	if !ok {
		return b.names.around(id)
	}
	return before, after, there
}

// children returns the sessions whose parent is that one.
func (b *book) children(id session.ID) []*Session {
	if b.asked++; b.asked == often && b.index != nil {
		parents := map[session.ID]bool{}
		if b.ask(func(v sqlite.Values) { parents[session.ID(v.Text(0))] = true }, "SELECT DISTINCT parent FROM session WHERE parent <> ''") {
			b.parents = parents
		}
	}
	if b.parents != nil && !b.parents[id] {
		return b.successors[id]
	}
	found := b.where(func(*Session) bool { return false }, "SELECT facts FROM session WHERE parent = ?1 AND parent <> ''", string(id))
	found = slices.DeleteFunc(found, func(s *Session) bool { return s.ID == id })
	return append(found, b.successors[id]...)
}

// chained returns the sessions of a chain, or with prefix of all chains whose id begins so.
func (b *book) chained(chain session.ID, prefix bool) []*Session {
	fits := func(s *Session) bool {
		return s.ChainID != "" && (s.ChainID == chain || prefix && strings.HasPrefix(string(s.ChainID), string(chain)))
	}
	if prefix {
		return b.where(fits, "SELECT facts FROM session WHERE chain >= ?1 AND chain < ?1 || '~' AND chain <> ''", string(chain))
	}
	return b.where(fits, "SELECT facts FROM session WHERE chain = ?1 AND chain <> ''", string(chain))
}

// worked returns the sessions that worked on a unit.
func (b *book) worked(unit string) []*Session {
	return b.where(func(s *Session) bool { return unit != "" && s.WorkUnit == unit }, "SELECT facts FROM session WHERE work = ?1 AND work <> ''", unit)
}

// where returns the sessions that fit, which the query selects in the index.
func (b *book) where(fits func(*Session) bool, sql, arg string) (found []*Session) {
	if b.index != nil && !b.ask(func(v sqlite.Values) {
		if s := decode(v.Text(0)); b.fresh[s.ID] == nil {
			found = append(found, s)
		}
	}, sql, arg) {
		found = nil // now from the log
	}
	for _, s := range b.newest {
		if fits(s) {
			found = append(found, s)
		}
	}
	return found
}

// size returns how many sessions there are.
func (b *book) size() int {
	if b.index == nil {
		return len(b.fresh)
	}
	return b.index.Sessions + b.added
}

// add adds an event to its session. If it should have been added before an earlier event,
// add does nothing and returns false: all events must then be added again, sorted. Events
// of different sessions may come in any order, as long as hand-overs that name no session
// keep their owner.
func (b *book) add(e *event) bool {
	at := e.at.UnixNano()
	if e.unnamed() {
		a := b.actor(e.Actor)
		if at <= a.Named || at < a.Unnamed {
			return false
		}
		a.Unnamed = at
		if s := b.change(a.Last); s != nil {
			s.take(e)
		}
		return true
	}
	s := b.change(session.ID(e.Payload.SessionID))
	fresh := s == nil
	if fresh {
		s = newSession(e)
	}
	a := b.actor(s.Actor)
	if e.at.Before(s.LastAt) || at < a.Unnamed {
		return false
	}
	if fresh {
		b.fresh[s.ID] = s
		b.added++
	}
	if at >= a.Named {
		a.Named, a.Last = at, s.ID
	}
	s.take(e)
	return true
}

// change returns the session with that id, to be changed, or nil.
func (b *book) change(id session.ID) *Session {
	s := b.session(id)
	if s != nil {
		b.fresh[id] = s
	}
	return s
}

func newSession(e *event) *Session {
	s := &Session{ID: session.ID(e.Payload.SessionID), Actor: e.Actor, StartedAt: e.at}
	if who, err := identity.Parse(e.Actor); err == nil {
		s.Role, s.Rig = string(who.Role), who.Rig
	}
	return s
}

func (b *book) actor(name string) *actor {
	a := b.actors[name]
	if a == nil {
		a = &actor{Named: never, Unnamed: never}
		b.actors[name] = a
	}
	return a
}

func (s *Session) take(e *event) {
	p := &e.Payload
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume:
		fill(&s.Role, p.Role)
		fill(&s.Topic, p.Topic)
		fill(&s.Agent, p.Agent)
		fill(&s.CWD, p.CWD)
		fill(&s.Branch, p.Branch)
		fill(&s.WorkUnit, p.WorkUnit)
		fill(&s.MoleculeID, p.MoleculeID)
		fill(&s.StepRef, p.StepRef)
		fill(&s.Received, p.Subject)
		fill(&s.Host, p.Host)
		fill(&s.ParentID, valid(p.ParentID))
		fill(&s.ChainID, valid(p.ChainID))
		replace(&s.Source, p.Source)
		replace(&s.Transcript, p.Transcript)
		replace(&s.TmuxSession, p.Tmux)
		s.EndedAt, s.Outcome, s.Reason = time.Time{}, "", "" // it goes on
		s.handedOver = time.Time{}
	case eventlog.SessionChain:
		s.ParentID = ""
		replace((*string)(&s.ChainID), string(valid(p.ChainID)))
	case eventlog.SessionEnd:
		s.EndedAt, s.Outcome, s.Reason = e.at, session.Outcome(p.Outcome), p.Reason
		if s.Outcome == "" {
			s.Outcome = session.Done
		}
		// Whoever finds a crash logs it later than it happened.
		if seen, err := time.Parse(time.RFC3339, p.LastSeen); err == nil && seen.Before(e.at) && !seen.Before(s.StartedAt) {
			s.EndedAt = seen.UTC()
		}
	case eventlog.Handoff:
		replace(&s.Subject, p.Subject)
		replace(&s.Note, p.Note)
		if e.toSession() && p.Kind != session.KindCycle { // a cycle goes on in a new process
			s.handedOver = e.at
		}
	case eventlog.HandoffCancelled:
		s.Subject, s.Note, s.handedOver = "", "", time.Time{}
	}
	s.LastAt = e.at
}

func valid(id string) session.ID {
	checked, _ := session.ParseID(id)
	return checked
}

func fill[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}

func replace(to *string, value string) {
	if value != "" {
		*to = value
	}
}
