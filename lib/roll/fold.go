package roll

import (
	"math"
	"slices"
	"strings"
	"time"

	"gt/lib/eventlog"
	"gt/lib/identity"
	"gt/lib/session"
)

// book collects sessions while it is told their events, and notices an event
// that comes too late to be told after the others.
type book struct {
	sessions map[session.ID]*Session
	met      Roll // the same, in the order in which they were met
	actors   map[string]*actor
}

// actor is what a hand-over that names no session has to know of who handed
// over. Both times are in nanoseconds, and never where there was none.
type actor struct {
	Last    session.ID `json:"last,omitempty"` // of its sessions, the one that the latest event named
	Named   int64      `json:"named"`          // when that was
	Unnamed int64      `json:"unnamed"`        // when it handed over last without naming a session
}

const never = math.MinInt64

func newBook() *book {
	return &book{sessions: map[session.ID]*Session{}, actors: map[string]*actor{}}
}

// add adds an event to its session. It is false, and nothing is added, where
// the event should have been told before another that was: then all have to be
// told again in their order. Events of different sessions may come in any, as
// long as the owner of a hand-over that names none stays the same.
func (b *book) add(e *event) bool {
	at := e.at.UnixNano()
	if e.unnamed() {
		a := b.actor(e.Actor)
		if at <= a.Named || at < a.Unnamed {
			return false
		}
		a.Unnamed = at
		if s := b.sessions[a.Last]; s != nil {
			s.take(e)
		}
		return true
	}
	s := b.sessions[session.ID(e.Payload.SessionID)]
	fresh := s == nil
	if fresh {
		s = &Session{ID: session.ID(strings.Clone(e.Payload.SessionID)), Actor: e.Actor, StartedAt: e.at}
		if who, err := identity.Parse(e.Actor); err == nil {
			s.Role, s.Rig = string(who.Role), who.Rig
		}
	}
	a := b.actor(s.Actor)
	if e.at.Before(s.LastAt) || at < a.Unnamed {
		return false
	}
	if fresh {
		b.sessions[s.ID] = s
		b.met = append(b.met, s)
	}
	if at >= a.Named {
		a.Named, a.Last = at, s.ID
	}
	s.take(e)
	return true
}

func (b *book) actor(name string) *actor {
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
		fill(&s.Host, p.Host)
		fill(&s.ParentID, session.ID(p.ParentID))
		fill(&s.ChainID, session.ID(p.ChainID))
		replace(&s.Source, p.Source)
		replace(&s.Transcript, p.Transcript)
		replace(&s.TmuxSession, p.Tmux)
		s.EndedAt, s.Outcome, s.Reason = time.Time{}, "", "" // it goes on
		s.handedOver = time.Time{}
	case eventlog.SessionEnd:
		s.EndedAt, s.Outcome, s.Reason = e.at, session.Outcome(p.Outcome), p.Reason
		if s.Outcome == "" {
			s.Outcome = session.Done
		}
	case eventlog.Handoff:
		replace(&s.Subject, p.Subject)
		replace(&s.Note, p.Note)
		if e.toSession() && p.Kind != session.KindCycle { // which goes on in a new process
			s.handedOver = e.at
		}
	}
	s.LastAt = e.at
}

// roll is the sessions, with parents told of their children.
func (b *book) roll() Roll {
	slices.Reverse(b.met) // which is in order, or nearly so
	return b.met.sorted(b.sessions)
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
