package catalog

import (
	"math"
	"slices"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/identity"
	"gt/lib/state/session"
)

// builder builds sessions from events, and detects an event that comes after one that it
// should precede.
type builder struct {
	entries []entry
	known   int                // how many there were at first
	at      map[session.ID]int // indexes in entries, of sessions that were looked up or added
	looks   int                // the number of searches through all entries
	actors  map[string]*actor
}

// maxLooks is how often entries are searched before all indexes are stored. Mostly only a
// few sessions have new events.
const maxLooks = 20

// actor is what determines the session of a hand-over that names none. Both times are in
// nanoseconds, or never.
type actor struct {
	Last    session.ID `json:"last,omitempty"` // the session that the actor's latest event named
	Named   int64      `json:"named"`          // the time of that event
	Unnamed int64      `json:"unnamed"`        // the time of the last hand-over that named no session
}

const never = math.MinInt64

// newBook returns a builder that has a catalog's sessions.
func newBook(r Catalog) *builder {
	return &builder{
		entries: slices.Clip(r.entries), known: len(r.entries),
		at: map[session.ID]int{}, actors: map[string]*actor{},
	}
}

func (b *builder) session(id session.ID) *Session {
	if id == "" {
		return nil
	}
	i, ok := b.at[id]
	if !ok && b.looks < maxLooks {
		b.looks++
		i = slices.IndexFunc(b.entries[:b.known], func(e entry) bool { return e.id() == id })
		if ok = i >= 0; ok {
			b.at[id] = i
		}
	} else if !ok && b.looks == maxLooks {
		b.looks++
		for i := range b.entries {
			b.at[b.entries[i].id()] = i
		}
		i, ok = b.at[id]
	}
	if !ok {
		return nil
	}
	return b.entries[i].session()
}

func (b *builder) put(s *Session) {
	b.at[s.ID] = len(b.entries)
	b.entries = append(b.entries, entry{known: s})
}

// add adds an event to its session. If it should have been added before an earlier event,
// add does nothing and returns false: all events must then be added again, sorted. Events
// of different sessions may come in any order, as long as hand-overs that name no session
// keep their owner.
func (b *builder) add(e *event) bool {
	at := e.at.UnixNano()
	if e.unnamed() {
		a := b.actor(e.Actor)
		if at <= a.Named || at < a.Unnamed {
			return false
		}
		a.Unnamed = at
		if s := b.session(a.Last); s != nil {
			s.take(e)
		}
		return true
	}
	s := b.session(session.ID(e.Payload.SessionID))
	fresh := s == nil
	if fresh {
		s = newSession(e)
	}
	a := b.actor(s.Actor)
	if e.at.Before(s.LastAt) || at < a.Unnamed {
		return false
	}
	if fresh {
		b.put(s)
	}
	if at >= a.Named {
		a.Named, a.Last = at, s.ID
	}
	s.take(e)
	return true
}

func newSession(e *event) *Session {
	s := &Session{ID: session.ID(e.Payload.SessionID), Actor: e.Actor, StartedAt: e.at}
	if who, err := identity.Parse(e.Actor); err == nil {
		s.Role, s.Rig = string(who.Role), who.Rig
	}
	return s
}

func (b *builder) actor(name string) *actor {
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

// catalog returns the sessions, newest first, with each parent's child set. The builder
// must not be used afterwards.
func (b *builder) catalog() Catalog {
	// A session of the old catalog that was not looked up has its parent's child set
	// already, unless the parent is new.
	for i := range b.entries {
		if e := &b.entries[i]; e.known != nil {
			b.link(e.known)
		} else if len(b.entries) == b.known {
			continue
		} else if p, ok := b.at[e.parent()]; ok && p >= b.known { // all new sessions are in at
			b.link(e.session())
		}
	}
	old, fresh := b.entries[:b.known], b.entries[b.known:]
	slices.Reverse(fresh) // they were added in order, or nearly so
	sort(fresh)
	all := slices.Concat(fresh, old)
	if n := len(fresh); n > 0 && len(old) > 0 && !fresh[n-1].started().After(old[0].started()) {
		sort(all)
	}
	return Catalog{all}
}

// link sets the session as its parent's child, if it is the last successor.
func (b *builder) link(s *Session) {
	p := b.session(s.ParentID)
	if p == nil || p == s {
		return
	}
	if c := b.session(p.ChildID); c == nil || newer(s, c) {
		p.ChildID = s.ID
	}
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
