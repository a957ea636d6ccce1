package catalog

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"gt/lib/state/session"
)

// Unknown is the outcome of a session of another host that has not ended there, unless that
// host says that it runs.
const Unknown session.Outcome = "unknown"

// Peer is another host.
type Peer struct {
	Name string
	// Runs has the sessions that run there now. It is nil if the host is away.
	Runs map[session.ID]bool
}

// copied are the copies of another host's logs.
type copied struct {
	Peer
	logs Catalog
}

// JoinPeer adds the sessions of another host. What its logs say is a claim: it adds to a
// session of this host only what came before the first event here, or after the end here.
// No path, process or pane of it is kept, except the folder, as text.
func (c Catalog) JoinPeer(p Peer, logs Catalog) Catalog {
	joined := catalogOf(c.books, c.talks)
	joined.peers = append(slices.Clone(c.peers), &copied{p, logs})
	return joined
}

// HasPeers reports whether there are logs of other hosts.
func (c Catalog) HasPeers() bool { return len(c.peers) > 0 }

// Elsewhere returns the name of the other host that the session is on, or "".
func (s *Session) Elsewhere() string {
	if s.peer == nil {
		return ""
	}
	return s.peer.Name
}

// Foreign reports whether nothing of the session is on this host: all that is known of it
// is another host's claim.
func (s *Session) Foreign() bool { return s.foreign }

// Address returns the agent's address, or its folder without one, and the other host that
// the session is on.
func (s *Session) Address() string {
	name := cmp.Or(s.Actor, s.Folder())
	if s.peer != nil {
		name += "@" + s.peer.Name
	}
	return name
}

// of returns what the logs of a host say of a session, or nil.
func (p *copied) of(id session.ID) *Session {
	found := p.logs.logged(candidate{id: id, book: -1})
	if found == nil {
		return nil
	}
	s := *found
	s.Transcript, s.TmuxSession = "", "" // mutant skip: TestPeers
	s.Host, s.peer, s.foreign = p.Name, &p.Peer, true
	return &s
}

// claim adds what other hosts say of a session, which is nil if this one has nothing of it.
// One that runs here did not go on elsewhere.
func (c Catalog) claim(id session.ID, s *Session, runs bool) *Session {
	for _, p := range c.peers {
		said := p.of(id)
		switch {
		case said == nil:
		case s == nil:
			s = said
		case s.foreign:
			s = bothClaim(s, said)
		default:
			s.accept(said, runs)
		}
	}
	return s
}

// bothClaim returns a session that two other hosts know. It is on the host of its last event.
func bothClaim(a, b *Session) *Session {
	if b.StartedAt.Before(a.StartedAt) {
		a, b = b, a
	}
	fill(&a.ParentID, b.ParentID)
	fill(&a.ChainID, b.ChainID)
	fill(&a.Agent, b.Agent)
	fill(&a.CWD, b.CWD)
	if !b.LastAt.Before(a.LastAt) {
		a.follow(b)
	}
	return a
}

// accept takes what another host's logs say of a session of this host.
func (s *Session) accept(said *Session, runs bool) {
	switch {
	case s.native && runs:
	case s.native: // only its conversation is here, such as in a folder that is synchronized
		s.follow(said)
		s.Actor, s.Role, s.Rig, s.Topic, s.WorkUnit, s.Received = said.Actor, said.Role, said.Rig, said.Topic, said.WorkUnit, said.Received
		s.ChainID, s.ParentID = said.ChainID, said.ParentID
	case !runs && s.Outcome != "" && s.LastAt.Before(said.LastAt): // mutant always: TestPeers
		s.follow(said)
	case said.StartedAt.Before(s.StartedAt) && s.metLater(): // it was moved here
		s.StartedAt = said.StartedAt
		fill(&s.ParentID, said.ParentID)
		fill(&s.ChainID, said.ChainID)
		fill(&s.Topic, said.Topic)
		fill(&s.WorkUnit, said.WorkUnit)
		fill(&s.Received, said.Received)
	}
}

// follow takes the end of a session that went on elsewhere.
func (s *Session) follow(said *Session) {
	if s.LastAt.Before(said.LastAt) {
		s.LastAt = said.LastAt
	}
	s.EndedAt, s.Outcome, s.Reason, s.handedOver = said.EndedAt, said.Outcome, said.Reason, said.handedOver
	replace(&s.Subject, said.Subject)
	replace(&s.Note, said.Note)
	s.TmuxSession, s.Host, s.peer = "", said.Host, said.peer
}

// resolveThere is ResolveOutcome for a session on another host.
func (s *Session) resolveThere() {
	switch {
	case s.peer.Runs[s.ID]:
		s.Run(0)
	case s.Outcome != "" && s.Outcome != Active: // mutant always: TestPeers
	case !s.handedOver.IsZero():
		s.EndedAt, s.Outcome = s.handedOver, session.Handoff
	default:
		s.EndedAt, s.Outcome = time.Time{}, Unknown
	}
}

// allBooks returns the logs of this host and of the others.
func (c Catalog) allBooks() []*book {
	all := c.books
	for _, p := range c.peers {
		all = append(all[:len(all):len(all)], p.logs.books...)
	}
	return all
}

// claims iterates over what the logs of a host have, in an order.
func (p *copied) claims(o order) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		for at := range p.logs.candidates(o, none) {
			if !yield(candidate{id: at.id, at: at.at, book: -1}) {
				return
			}
		}
	}
}

// laterChild returns the last of a session's successors: the one that this host's logs
// know, or one that another host's do.
func (c Catalog) laterChild(id, child session.ID) session.ID {
	var last *Session
	if len(c.peers) > 0 && child != "" {
		last = c.make(candidate{id: child, book: -1})
	}
	for _, p := range c.peers {
		for _, b := range p.logs.books {
			for _, e := range b.children(id) {
				s := c.make(candidate{id: e.id, book: -1})
				if s != nil && s.ParentID == id && (last == nil || byStart.compare(s, last) < 0) {
					last, child = s, s.ID
				}
			}
		}
	}
	return child
}

// countForeign returns the number of sessions of which only other hosts know.
func (c Catalog) countForeign() (n int) {
	own := map[session.ID]bool{}
	if len(c.peers) > 0 {
		for _, b := range c.books {
			for _, id := range b.beginning("") {
				own[id] = true
			}
		}
	}
	for _, p := range c.peers {
		for _, b := range p.logs.books {
			for _, id := range b.beginning("") {
				if t := c.talks.of(id); !own[id] && (t == nil || t.Metadata.Started.IsZero()) {
					own[id] = true
					n++
				}
			}
		}
	}
	return n
}
