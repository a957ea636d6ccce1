package catalog

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/log/eventlog"
	"gt/lib/place/identity"
	"gt/lib/state/session"
	"gt/lib/sys/sqlite"
)

// book has the sessions of a log, newest first: those of an index, and those that are
// newer or changed since. While events are added, it detects one that comes after one that
// it should precede.
//
// It knows where the log has a session's events, and reads them when they are asked for.
type book struct {
	files sources
	index *index // nil if there is none
	again func() (*book, error)
	lost  error // why sessions are missing

	fresh  map[session.ID]*entry
	added  int               // how many of those the index does not have
	actors map[uint64]*actor // by sumOf their names

	// Of the fresh ones, once all events were added:
	newest, latest []*entry
	ids            []session.ID
	successors     map[session.ID][]*entry // by the parent

	asked   int                 // how often for children
	parents map[session.ID]bool // in the index, once that was often
}

// entry is what finds a session. Times are in nanoseconds.
type entry struct {
	id            session.ID
	started, last int64
	parent, chain session.ID
	actor, work   uint64 // sums of the names; 0 for none
	facets        facets
	events        []byte // where they are in the log; see spot
}

// facets are the same for sessions that a filter cannot tell apart by what the log has of
// them, except by links and times.
type facets struct {
	names   uint64 // the sum of the names of their starts
	outcome uint64 // the sum of how it ended, 0 if it did not
}

// sumOf returns a number for names, 0 for an empty one. The log may have a secret in a
// name, and the index has none.
func sumOf(names ...string) uint64 {
	if len(names) == 1 && names[0] == "" {
		return 0
	}
	text := make([]byte, 0, 256) // mostly enough
	for _, name := range names {
		text = append(append(text, name...), 0)
	}
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

// spot is where an event is.
type spot struct {
	in       int // the index of the source
	at, size int64
}

func (p spot) append(to []byte) []byte {
	to = binary.LittleEndian.AppendUint64(to, uint64(p.in)<<48|uint64(p.at))
	return binary.LittleEndian.AppendUint32(to, uint32(p.size))
}

// spots returns what append wrote.
func spots(from []byte) (all []spot) {
	for ; len(from) >= 12; from = from[12:] {
		at := binary.LittleEndian.Uint64(from)
		all = append(all, spot{int(at >> 48), int64(at & (1<<48 - 1)), int64(binary.LittleEndian.Uint32(from[8:]))})
	}
	return all
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

func newBook(files sources) *book {
	return &book{files: files, fresh: map[session.ID]*entry{}, actors: map[uint64]*actor{}}
}

// seal prepares the book for being read, after the last event.
func (b *book) seal() {
	b.newest = slices.SortedFunc(maps.Values(b.fresh), byStart.compareEntries)
	b.latest = slices.SortedFunc(maps.Values(b.fresh), byLast.compareEntries)
	b.ids = slices.Sorted(maps.Keys(b.fresh))
	b.successors = map[session.ID][]*entry{}
	for _, e := range b.newest {
		if e.parent != "" && e.parent != e.id {
			b.successors[e.parent] = append(b.successors[e.parent], e)
		}
	}
}

// order is an order of sessions by a time, the latest first, and then by id.
type order struct {
	column string // in the index
	at     func(*Session) time.Time
	nanos  func(*entry) int64
}

var (
	byStart = order{"started", func(s *Session) time.Time { return s.StartedAt }, func(e *entry) int64 { return e.started }}
	byLast  = order{"last", func(s *Session) time.Time { return s.LastAt }, func(e *entry) int64 { return e.last }}
)

func (o order) compare(a, b *Session) int {
	return cmp.Or(o.at(b).Compare(o.at(a)), cmp.Compare(a.ID, b.ID))
}

func (o order) compareEntries(a, b *entry) int {
	if later := cmp.Compare(o.nanos(b), o.nanos(a)); later != 0 { // most times differ
		return later
	}
	return cmp.Compare(a.id, b.id)
}

// ask queries the index. If that fails, the log is read instead, and ok is false.
func (b *book) ask(each func(sqlite.Values), sql string, args ...any) (ok bool) {
	return b.whole(b.index.Query(each, sql, args...))
}

// whole reads the log again if there is an error, so that the index is not used any more.
func (b *book) whole(err error) (ok bool) {
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

// entry returns the session with that id, or nil. It must not be changed.
func (b *book) entry(id session.ID) (e *entry) {
	e, known := b.fresh[id]
	if known || b.index == nil {
		return e
	}
	if !b.ask(func(v sqlite.Values) { e = entryOf(v) }, "SELECT "+columns+" FROM session WHERE id = ?", string(id)) {
		return b.fresh[id]
	}
	return e
}

// events reads the events of a session, in order; none if there is no such session.
func (b *book) events(e *entry) (all []event) {
	if e == nil {
		return nil
	}
	all, err := b.files.events(e)
	switch {
	case err == nil:
		return all
	case b.index == nil:
		b.lost = cmp.Or(b.lost, err)
		return nil
	}
	b.whole(err)
	return b.events(b.entry(e.id))
}

// pageSize is how many sessions are read from the index at first, and largePage at last.
const pageSize, largePage = 32, 1024

// all iterates over the sessions in an order, without those that skip excludes. The second
// value is what the log has of them, if they are so many that it was read ahead.
func (b *book) all(o order, skip func(*entry) bool) iter.Seq2[*entry, *Session] {
	return func(yield func(*entry, *Session) bool) {
		size := pageSize
		for page := b.after(o, nil, size); len(page) > 0; page = b.after(o, page[len(page)-1], size) {
			wanted := slices.DeleteFunc(slices.Clone(page), skip)
			read := make([]*Session, len(wanted))
			if size > pageSize {
				files := b.files
				cli.Parallel([]int{0, 1, 2, 3}, func(part int) {
					for i := part; i < len(wanted); i += 4 {
						read[i] = files.session(wanted[i])
					}
				})
			}
			for i, e := range wanted {
				if !yield(e, read[i]) {
					return
				}
			}
			size = min(2*size, largePage)
		}
	}
}

// after returns the next sessions after one, or the first; none at the end.
func (b *book) after(o order, last *entry, size int) []*entry {
	fresh := b.newest
	if o.column == byLast.column {
		fresh = b.latest
	}
	if last != nil {
		at, there := slices.BinarySearchFunc(fresh, last, o.compareEntries)
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
		until, id = o.nanos(last), string(last.id)
	}
	var page []*entry
	if !b.ask(func(v sqlite.Values) { page = append(page, entryOf(v)) },
		strings.ReplaceAll("SELECT "+columns+" FROM session WHERE AT <= ?1 AND (AT < ?1 OR id > ?2) ORDER BY AT DESC, id LIMIT ?3", "AT", o.column), until, id, int64(size)) {
		return b.after(o, last, size)
	}
	if len(page) == size { // later ones come after all of these
		at, _ := slices.BinarySearchFunc(fresh, page[len(page)-1], o.compareEntries)
		fresh = fresh[:at]
	}
	all, end := slices.Clone(fresh), page
	for _, e := range page {
		if b.fresh[e.id] == nil {
			all = append(all, e)
		}
	}
	if len(all) == 0 && len(end) > 0 {
		return b.after(o, end[len(end)-1], size)
	}
	slices.SortFunc(all, o.compareEntries)
	return all
}

// beginning returns the ids that begin with a prefix.
func (b *book) beginning(prefix string) (ids []session.ID) {
	ids = slices.Clone(beginning(b.ids, prefix))
	if b.index == nil {
		return ids
	}
	if !b.ask(func(v sqlite.Values) { ids = append(ids, session.ID(v.Text(0))) },
		"SELECT id FROM session WHERE id >= ?1 AND id < ?1 || '~'", prefix) { // no id has a ~
		return b.beginning(prefix)
	}
	return ids
}

// children returns the sessions whose parent is that one.
func (b *book) children(id session.ID) []*entry {
	if b.asked++; b.asked == often && b.index != nil {
		parents := map[session.ID]bool{}
		if b.ask(func(v sqlite.Values) { parents[session.ID(v.Text(0))] = true }, "SELECT DISTINCT parent FROM session WHERE parent <> ''") {
			b.parents = parents
		}
	}
	if b.parents != nil && !b.parents[id] {
		return b.successors[id]
	}
	found := b.where(func(*entry) bool { return false }, "parent = ?1 AND parent <> ''", string(id))
	found = slices.DeleteFunc(found, func(e *entry) bool { return e.id == id })
	return append(found, b.successors[id]...)
}

// chained returns the sessions of a chain, or with prefix of all chains whose id begins so,
// without those that have the chain's id.
func (b *book) chained(chain session.ID, prefix bool) []*entry {
	fits := func(e *entry) bool {
		return e.chain != "" && e.chain != e.id && (e.chain == chain || prefix && strings.HasPrefix(string(e.chain), string(chain)))
	}
	if prefix {
		return b.where(fits, "chain >= ?1 AND chain < ?1 || '~' AND chain > '.'", string(chain))
	}
	return b.where(fits, "chain = ?1 AND chain > '.'", string(chain))
}

// worked returns the sessions that worked on a unit.
func (b *book) worked(unit string) []*entry {
	sum := sumOf(unit)
	return b.where(func(e *entry) bool { return sum != 0 && e.work == sum }, "work = ?1 AND work <> 0", int64(sum))
}

// open returns the sessions without an end in the log.
func (b *book) open() []*entry {
	return b.where(func(e *entry) bool { return e.facets.outcome == 0 }, "outcome = ?1", int64(0))
}

// where returns the sessions that fit, which the condition selects in the index.
func (b *book) where(fits func(*entry) bool, condition string, arg any) (found []*entry) {
	if b.index != nil && !b.ask(func(v sqlite.Values) {
		if e := entryOf(v); b.fresh[e.id] == nil {
			found = append(found, e)
		}
	}, "SELECT "+columns+" FROM session WHERE "+condition, arg) {
		found = nil // now from the log
	}
	for _, e := range b.newest {
		if fits(e) {
			found = append(found, e)
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
func (b *book) add(e *event, at spot) bool {
	time := e.at.UnixNano()
	if e.unnamed() {
		a := b.actor(sumOf(e.Actor))
		if time <= a.Named || time < a.Unnamed {
			return false
		}
		a.Unnamed = time
		if s := b.change(a.Last); s != nil {
			s.take(e, at)
		}
		return true
	}
	s := b.change(session.ID(e.Payload.SessionID))
	fresh := s == nil
	if fresh {
		s = &entry{id: session.ID(strings.Clone(e.Payload.SessionID)), started: time, last: time, actor: sumOf(e.Actor), events: make([]byte, 0, 4*12)}
		s.facets.names = s.actor
	}
	a := b.actor(s.actor)
	if time < s.last || time < a.Unnamed {
		return false
	}
	if fresh {
		b.fresh[s.id] = s
		b.added++
	}
	if time >= a.Named {
		a.Named, a.Last = time, s.id
	}
	s.take(e, at)
	return true
}

// take takes from an event what Session.take does, and keeps where it is.
func (s *entry) take(e *event, at spot) {
	p := &e.Payload
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume:
		fill(&s.parent, valid(p.ParentID))
		fill(&s.chain, valid(p.ChainID))
		if s.work == 0 {
			s.work = sumOf(p.WorkUnit)
		}
		s.facets = facets{names: sumOf(strconv.FormatUint(s.facets.names, 16), p.Agent, p.Role, p.CWD, p.Host)}
	case eventlog.SessionEnd:
		s.facets.outcome = sumOf(cmp.Or(p.Outcome, string(session.Done)))
	case eventlog.SessionChain:
		s.parent = ""
		replace((*string)(&s.chain), string(valid(p.ChainID)))
	}
	s.last = e.at.UnixNano()
	s.events = at.append(s.events)
}

// change returns the session with that id, to be changed, or nil.
func (b *book) change(id session.ID) *entry {
	s := b.entry(id)
	if s != nil {
		b.fresh[s.id] = s
	}
	return s
}

// sessionOf returns the session that events tell of, or nil without one.
func sessionOf(events []event) *Session {
	if len(events) == 0 {
		return nil
	}
	first := &events[0]
	s := &Session{ID: session.ID(strings.Clone(first.Payload.SessionID)), Actor: strings.Clone(first.Actor), StartedAt: first.at}
	if who, err := identity.Parse(s.Actor); err == nil {
		s.Role, s.Rig = string(who.Role), who.Rig
	}
	for i := range events {
		s.take(&events[i])
	}
	return s
}

func (b *book) actor(sum uint64) *actor {
	a := b.actors[sum]
	if a == nil {
		a = &actor{Named: never, Unnamed: never}
		b.actors[sum] = a
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
		s.EndedAt, s.Outcome, s.Reason = e.at, session.Outcome(strings.Clone(p.Outcome)), strings.Clone(p.Reason)
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
		if p.ToSession && p.Kind != session.KindCycle { // a cycle goes on in a new process
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
		*to = T(strings.Clone(string(value))) // which would keep its line in memory
	}
}

func replace(to *string, value string) {
	if value != "" {
		*to = strings.Clone(value)
	}
}
