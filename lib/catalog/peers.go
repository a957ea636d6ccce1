package catalog

import (
	"slices"
	"time"

	"gt/lib/conversation"
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

// peerCopies are the copies of another host's logs and records.
type peerCopies struct {
	Peer
	logs    Catalog
	records conversationSet
}

// JoinPeer adds the sessions of another host, from the copies of its logs, and of its records
// if it lets this one read them. What they say is a claim: it adds to a session of this host
// only what came before the first event here, or after the end here, and never a
// conversation. No path, process or pane of it is kept, except the folder, as text.
func (c Catalog) JoinPeer(p Peer, logs Catalog, records ...conversation.Conversation) Catalog {
	records = slices.DeleteFunc(slices.Clone(records), func(r conversation.Conversation) bool {
		return validID(string(r.Metadata.ID)) == "" || r.Metadata.Started.IsZero()
	})
	for i := range records {
		m := &records[i].Metadata
		m.Parent, m.ForkOf, m.FirstID = validID(string(m.Parent)), "", "" // it is no fork of a conversation here
	}
	c.peers = append(slices.Clone(c.peers), &peerCopies{p, logs, newConversationSet(records, nil)})
	return c.forgetSessions()
}

// HasPeers reports whether there are logs of other hosts.
func (c Catalog) HasPeers() bool { return len(c.peers) > 0 }

// OtherHost returns the name of the other host that the session is on, or "".
func (s *Session) OtherHost() string {
	if s.peer == nil {
		return ""
	}
	return s.peer.Name
}

// Copied returns the name of the other host whose record the conversation is read from, and
// when the copy last changed; "" if it is of this host.
func (s *Session) Copied() (host string, at time.Time) {
	if !s.isForeign || s.File.Path == "" {
		return "", time.Time{}
	}
	return s.from, time.Unix(0, s.File.Changed)
}

// IsForeign reports whether nothing of the session is of this host: all that is known of it
// is another host's claim. Its conversation, if there is one, is a copy of a record there.
func (s *Session) IsForeign() bool { return s.isForeign }

// Address returns the agent's address, or its folder without one, and the other host that
// the session is on.
func (s *Session) Address() string {
	name := s.AgentLabel()
	if s.peer != nil {
		name += "@" + s.peer.Name
	}
	return name
}

// claimedSession returns what a host says of a session, or nil. recorded includes what only its
// records say. The transcript's path and the tmux session there are left out.
func (p *peerCopies) claimedSession(id session.ID, recorded bool) *Session {
	var s Session
	found := p.logs.sessionFromLogs(candidate{id: id})
	record := p.records.byID[id]
	switch {
	case found != nil:
		s = *found
	case record == nil || !recorded:
		return nil
	default:
		s = Session{ID: id, clientOnly: true}
	}
	s.Transcript, s.TmuxSession = "", "" // mutant skip: TestPeers
	if record != nil && recorded {
		s.addConversation(record.Conversation)
		s.from = p.Name
	}
	s.Host, s.peer, s.isForeign = p.Name, p, true
	return &s
}

// addClaims adds what other hosts say of a session. s is nil if this host knows nothing of it. A
// session that runs here did not continue on another host.
func (c Catalog) addClaims(id session.ID, s *Session, runs bool) *Session {
	for _, p := range c.peers {
		// What is read in a record of another host counts only if this host has nothing.
		claimed := p.claimedSession(id, s == nil || s.isForeign) // mutant always: TestPeersRecords
		switch {
		case claimed == nil:
		case s == nil:
			s = claimed
		case s.isForeign:
			s = bothClaim(s, claimed)
		default:
			s.accept(claimed, runs)
		}
	}
	return s
}

// bothClaim merges what two other hosts know of one session. The host that knew it first says how
// it began, and the host of its last event how it ended and where it is. What was read in the
// conversation (from names the host that has it) comes whole from one of them, the later one.
func bothClaim(earlier, later *Session) *Session {
	if later.StartedAt.Before(earlier.StartedAt) {
		earlier, later = later, earlier
	}
	setIfEmpty(&earlier.ParentID, later.ParentID)
	setIfEmpty(&earlier.ChainID, later.ChainID)
	setIfEmpty(&earlier.Agent, later.Agent)
	setIfEmpty(&earlier.CWD, later.CWD)
	// The conversation is from the record of the host of the last event, or from the only record.
	if later.from != "" && (earlier.from == "" || !later.LastAt.Before(earlier.LastAt)) {
		earlier.File, earlier.Transcript, earlier.Recorded, earlier.hasMessages, earlier.from = later.File, later.Transcript, later.Recorded, later.hasMessages, later.from
		earlier.Title, earlier.Prompt, earlier.Model, earlier.Version, earlier.Headless, earlier.SubagentOf = later.Title, later.Prompt, later.Model, later.Version, later.Headless, later.SubagentOf
	}
	if !later.LastAt.Before(earlier.LastAt) {
		earlier.adoptEnd(later)
	}
	return earlier
}

// accept takes from another host's logs what they add to a session of this host: what came
// before its first event or after its end here, or all if no log here has it. runs says that it
// runs here.
func (s *Session) accept(there *Session, runs bool) {
	switch {
	case s.clientOnly && runs: // here, so it did not continue there
	case s.clientOnly: // only its conversation is here, such as in a folder that is synchronized
		s.adoptEnd(there)
		s.Actor, s.Role, s.Rig, s.Topic, s.WorkUnit, s.Received = there.Actor, there.Role, there.Rig, there.Topic, there.WorkUnit, there.Received
		s.ChainID, s.ParentID = there.ChainID, there.ParentID
	case !runs && s.Outcome != "" && s.LastAt.Before(there.LastAt): // mutant always: TestPeers
		// It ended here, and went on there.
		s.adoptEnd(there)
	case there.StartedAt.Before(s.StartedAt) && s.mayPredateLog(): // it was moved here
		s.StartedAt = there.StartedAt
		setIfEmpty(&s.ParentID, there.ParentID)
		setIfEmpty(&s.ChainID, there.ChainID)
		setIfEmpty(&s.Topic, there.Topic)
		setIfEmpty(&s.WorkUnit, there.WorkUnit)
		setIfEmpty(&s.Received, there.Received)
	}
}

// adoptEnd takes over how the session ended and where it is from the host on which it went on.
func (s *Session) adoptEnd(there *Session) {
	if s.LastAt.Before(there.LastAt) {
		s.LastAt = there.LastAt
	}
	s.EndedAt, s.Outcome, s.Reason, s.handedOver = there.EndedAt, there.Outcome, there.Reason, there.handedOver
	setIfGiven(&s.Subject, there.Subject)
	setIfGiven(&s.Note, there.Note)
	s.TmuxSession, s.Host, s.peer = "", there.Host, there.peer
}

// resolveThere is ResolveOutcome for a session on another host.
func (s *Session) resolveThere() {
	switch {
	case s.peer.Runs[s.ID]:
		s.MarkRunning(0)
	case s.Outcome != "" && s.Outcome != Active: // mutant always: TestPeers
		// The logs say how it ended.
	case !s.handedOver.IsZero():
		s.EndedAt, s.Outcome = s.handedOver, session.Handoff
	default:
		s.EndedAt, s.Outcome = time.Time{}, Unknown
	}
}

func (c Catalog) allLogs() []*logView {
	all := c.logs
	for _, p := range c.peers {
		all = append(all[:len(all):len(all)], p.logs.logs...)
	}
	return all
}

func (c Catalog) allConversations() []conversationSet {
	all := []conversationSet{c.conversations}
	for _, p := range c.peers {
		all = append(all, p.records)
	}
	return all
}
