package catalog

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
)

// Catalog holds sessions, newest first. A session is put together from the logs and its
// conversation when it is first asked for.
type Catalog struct {
	logs          []*logView
	conversations conversationSet
	peers         []*peerCopies
	// givenSessions are the sessions that were given to a caller. Each is given once, so that callers
	// can compare and change them.
	givenSessions map[session.ID]*Session
	// originals are the sessions that started first, by the family of their conversations.
	originals map[family]*Session
}

// forgetSessions returns the catalog without the sessions that were put together from what it
// had before.
func (c Catalog) forgetSessions() Catalog {
	c.givenSessions, c.originals = map[session.ID]*Session{}, map[family]*Session{}
	return c
}

// candidate is a session of one of the sources, where that source sorts it.
type candidate struct {
	id       session.ID
	sortTime time.Time
	log      *logView // nil for a conversation
	row      *row     // the log's
}

// candidates iterates over what all sources have, in an order. It merges the sources, each of
// which is in this order already, so a session that several sources have comes several times.
func (c Catalog) candidates(o order) iter.Seq[candidate] {
	var sources []iter.Seq[candidate]
	for _, v := range c.logs {
		sources = append(sources, func(yield func(candidate) bool) {
			for r := range v.eachRow(o) {
				if !yield(candidate{r.id, time.Unix(0, o.nanos(r)).UTC(), v, r}) {
					return
				}
			}
		})
	}
	sources = append(sources, c.conversations.candidates(o))
	for _, p := range c.peers {
		sources = append(sources, p.logs.candidates(o), p.records.candidates(o))
	}
	return func(yield func(candidate) bool) {
		var next []func() (candidate, bool)
		var heads []candidate
		for _, stream := range sources {
			pull, stop := iter.Pull(stream)
			defer stop()
			if first, ok := pull(); ok {
				next, heads = append(next, pull), append(heads, first)
			}
		}
		for len(heads) > 0 {
			i := 0
			for j := range heads {
				if cmp.Or(heads[i].sortTime.Compare(heads[j].sortTime), cmp.Compare(heads[j].id, heads[i].id)) < 0 {
					i = j
				}
			}
			if !yield(heads[i]) {
				return
			}
			var more bool
			if heads[i], more = next[i](); !more {
				heads, next = slices.Delete(heads, i, i+1), slices.Delete(next, i, i+1)
			}
		}
	}
}

// iterSessions iterates over the sessions in an order. It does not keep those that nobody asked for
// before.
func (c Catalog) iterSessions(o order) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		var given session.ID
		for at := range c.candidates(o) {
			s := c.assembleSession(at)
			// If sources tell of different times, its place is that of the one that counts. If
			// they tell of the same, it comes twice in a row.
			if s == nil || !o.sessionTime(s).Equal(at.sortTime) || at.id == given {
				continue
			}
			given = at.id
			if !yield(cmp.Or(c.givenSessions[at.id], s)) {
				return
			}
		}
	}
}

// Sessions iterates over the sessions, newest first.
func (c Catalog) Sessions() iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		for s := range c.iterSessions(byStart) {
			if !yield(c.keepSession(s)) {
				return
			}
		}
	}
}

// keepSession keeps a session for later callers, and returns it or the one that was given before.
func (c Catalog) keepSession(s *Session) *Session {
	s = c.completeSession(s)
	c.givenSessions[s.ID] = s
	return s
}

// completeSession adds what the other sessions tell of a session, its child and a fork's original,
// and returns it, or the one that was kept before.
func (c Catalog) completeSession(s *Session) *Session {
	if known := c.givenSessions[s.ID]; known != nil {
		return known
	}
	s.ChildID = cmp.Or(c.child(s.ID), s.ChildID)
	if s.ForkOf == "" {
		s.ForkOf = c.findOriginal(s)
	}
	return s
}

// Get returns the session with that id, or nil.
func (c Catalog) Get(id session.ID) *Session {
	if s := c.givenSessions[id]; s != nil {
		return s
	}
	if s := c.assembleSession(candidate{id: id}); s != nil {
		return c.keepSession(s)
	}
	return nil
}

// assembleSession puts a session together from the logs, its conversation and what other hosts say;
// nil if none has it.
func (c Catalog) assembleSession(found candidate) *Session {
	s := c.sessionFromLogs(found)
	if t := c.conversations.byID[found.id]; t != nil {
		if s == nil && !t.Metadata.Started.IsZero() {
			s = &Session{ID: found.id, clientOnly: true}
		}
		if s != nil { // otherwise the conversation is empty
			s.addConversation(t.Conversation)
		}
	}
	run, runs := c.conversations.running[found.id]
	s = c.addClaims(found.id, s, runs)
	if runs && s != nil && !s.isForeign {
		s.MarkRunning(run.PID)
	}
	return s
}

// sessionFromLogs makes a session of the events that all logs have of it, or returns nil if there are none.
// A candidate that was found in a log already has the row of that log.
func (c Catalog) sessionFromLogs(found candidate) *Session {
	var rows []*row
	for _, v := range c.logs {
		if v == found.log {
			rows = append(rows, found.row)
		} else if r := v.findRow(found.id); r != nil {
			rows = append(rows, r)
		}
	}
	if len(rows) == 1 {
		return rows[0].session()
	}
	var events []*event
	for _, r := range rows {
		for e := range unpack(r.events) {
			same := *e
			events = append(events, &same)
		}
	}
	slices.SortStableFunc(events, func(a, b *event) int { return a.loggedAt.Compare(b.loggedAt) }) // as if one log had all
	return sessionOf(found.id, slices.Values(events))
}

// child returns the session that started last of those whose parent is id, or "".
func (c Catalog) child(id session.ID) session.ID {
	var last *Session
	logs := c.allLogs()
	for _, v := range logs {
		for _, r := range v.children(id) {
			s := &Session{ID: r.id, ParentID: id, StartedAt: time.Unix(0, r.started).UTC()}
			if len(logs) > 1 { // another log may know of an earlier start, and of another parent
				s = c.assembleSession(candidate{id: r.id})
			}
			if s != nil && s.ParentID == id && (last == nil || byStart.compare(s, last) < 0) {
				last = s
			}
		}
	}
	if last == nil {
		return ""
	}
	return last.ID
}

// Find returns the session with that id, or else all whose id begins with it, or else with its
// letters in another case.
func (c Catalog) Find(prefix string) (found []*Session) {
	if prefix == "" {
		return nil
	}
	for _, as := range session.Cases(prefix) {
		if s := c.Get(session.ID(as)); s != nil {
			return []*Session{s}
		}
		for _, id := range c.idsWithPrefix(as) {
			found = append(found, c.Get(id))
		}
		if len(found) > 0 {
			break
		}
	}
	slices.SortFunc(found, byStart.compare)
	return found
}

// idsWithPrefix returns the ids that begin with a prefix, sorted.
func (c Catalog) idsWithPrefix(prefix string) (ids []session.ID) {
	for _, v := range c.allLogs() {
		ids = append(ids, v.beginning(prefix)...)
	}
	for _, t := range c.allConversations() {
		from, _ := slices.BinarySearch(t.ids, session.ID(prefix))
		for _, id := range t.ids[from:] {
			if !strings.HasPrefix(string(id), prefix) {
				break
			}
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

const (
	minShort = 8
	// manyShort is how many ids are shortened one by one. To shorten more, all ids are read.
	manyShort = 500
)

// IDShortener returns a function that shortens an id to its shortest unique prefix of at least
// minShort characters. It returns "" for an id that is not in the catalog.
func (c Catalog) IDShortener() func(session.ID) string {
	asked := 0
	var all []session.ID
	return func(id session.ID) string {
		if asked++; asked == manyShort {
			all = c.idsWithPrefix("")
		}
		text, near := string(id), all
		if all == nil {
			near = c.idsWithPrefix(text[:min(minShort, len(text))])
		}
		at, there := slices.BinarySearch(near, id)
		if !there {
			return ""
		}
		n := minShort
		for _, other := range []int{at - 1, at + 1} {
			if other >= 0 && other < len(near) {
				n = max(n, commonPrefixLen(text, string(near[other]))+1)
			}
		}
		return text[:min(n, len(text))]
	}
}

func commonPrefixLen(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// ReadErrors returns the errors about the sessions used so far, of which the catalog then
// has less than the log; nil if there are none.
func (c Catalog) ReadErrors() error {
	var lost conversation.ReadErrors
	for _, v := range c.allLogs() {
		lost.Add(v.lost)
	}
	for _, id := range slices.Sorted(maps.Keys(c.givenSessions)) {
		lost.Add(c.givenSessions[id].unread)
	}
	return lost.Err()
}
