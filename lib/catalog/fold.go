package catalog

import (
	"math"
	"slices"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/identity"
	"gt/lib/state/session"
)

// builder collects sessions while it is told their events, and notices an event
// that comes too late to be told after the others.
type builder struct {
	entries []entry
	known   int                // how many of them were there at first
	at      map[session.ID]int // where in entries a session is, of those that were looked for or are new
	looks   int                // how often all had to be looked through
	actors  map[string]*actor
}

// maxLooks is how often all entries are looked through before their places are
// noted: most often only a few sessions have anything new.
const maxLooks = 20

// actor is what a hand-over that names no session has to know of who handed
// over. Both times are in nanoseconds, and never where there was none.
type actor struct {
	Last    session.ID `json:"last,omitempty"` // of its sessions, the one that the latest event named
	Named   int64      `json:"named"`          // when that was
	Unnamed int64      `json:"unnamed"`        // when it handed over last without naming a session
}

const never = math.MinInt64

// newBook is a book in which the sessions of a catalog stand already.
func newBook(r Catalog) *builder {
	return &builder{
		entries: slices.Clip(r.entries), known: len(r.entries),
		at: map[session.ID]int{}, actors: map[string]*actor{},
	}
}

// session returns the session with that id, nil where there is none.
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

// add adds an event to its session. It is false, and nothing is added, where
// the event should have been told before another that was: then all have to be
// told again in their order. Events of different sessions may come in any, as
// long as the owner of a hand-over that names none stays the same.
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

// newSession is a session as its first event has it.
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

// take adds what an event says to the session that it is about.
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
		// Who finds a crash notes it later than it was.
		if seen, err := time.Parse(time.RFC3339, p.LastSeen); err == nil && seen.Before(e.at) && !seen.Before(s.StartedAt) {
			s.EndedAt = seen.UTC()
		}
	case eventlog.Handoff:
		replace(&s.Subject, p.Subject)
		replace(&s.Note, p.Note)
		if e.toSession() && p.Kind != session.KindCycle { // which goes on in a new process
			s.handedOver = e.at
		}
	case eventlog.HandoffCancelled:
		s.Subject, s.Note, s.handedOver = "", "", time.Time{}
	}
	s.LastAt = e.at
}

// valid is an id that an event names, where it is one.
func valid(id string) session.ID {
	checked, _ := session.ParseID(id)
	return checked
}

// catalog returns the sessions, the newest first, with parents told of their children.
// The book is not used any more.
func (b *builder) catalog() Catalog {
	// Who was there at first, and was not looked at since, has its child already,
	// unless its parent has come now.
	for i := range b.entries {
		if e := &b.entries[i]; e.known != nil {
			b.link(e.known)
		} else if len(b.entries) == b.known {
			continue
		} else if p, ok := b.at[e.parent()]; ok && p >= b.known { // those that came are all there
			b.link(e.session())
		}
	}
	old, fresh := b.entries[:b.known], b.entries[b.known:]
	slices.Reverse(fresh) // which were met in their order, or nearly so
	sort(fresh)
	all := slices.Concat(fresh, old)
	if n := len(fresh); n > 0 && len(old) > 0 && !fresh[n-1].started().After(old[0].started()) {
		sort(all)
	}
	return Catalog{all}
}

// link tells the session's parent of it, which has the last that followed as its
// child.
func (b *builder) link(s *Session) {
	p := b.session(s.ParentID)
	if p == nil || p == s {
		return
	}
	if c := b.session(p.ChildID); c == nil || newer(s, c) {
		p.ChildID = s.ID
	}
}

// fill keeps what was said first.
func fill[T ~string](to *T, value T) {
	if *to == "" {
		*to = value
	}
}

// replace takes what was said last.
func replace(to *string, value string) {
	if value != "" {
		*to = value
	}
}
