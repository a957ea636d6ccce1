package primecmd

import (
	"slices"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	stored "gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
)

// situation is the result of assess. situations.md lists all situations.
type situation struct {
	state        State
	conversation contextState
	handover     handover
	predecessor  predecessor
	// crashed is a session that ended without a hand-over and left something to
	// continue from: the predecessor, or another session if the predecessor handed
	// over. It is nil without one. how is its outcome.
	crashed    *session.Record
	how        session.Outcome
	tail       summary.Summary        // the end of its conversation
	atRest     bool                   // it had answered and was waiting for the person
	asking     bool                   // it was waiting for permission
	checkpoint *checkpoint.Checkpoint // saved while it worked; may be nil
	hooked     []mail.Note            // work given to the agent, oldest first
	// waiting are hand-overs that no session has received yet, without handover's note.
	// noted are those that the crashed session received or left for itself. Both have
	// the oldest first.
	waiting []mail.Note
	noted   []mail.Note
	work    []beads.Work
	earlier *mail.Note // the note given at the start of a session that has forgotten it
	unread  int
}

// State is the situation in a word. If several apply, the first in this order is the state;
// the text still mentions the facts of the others.
type State string

const (
	PostHandoff   State = "post-handoff"   // a predecessor handed over
	CrashRecovery State = "crash-recovery" // a predecessor ended without a hand-over
	Autonomous    State = "autonomous"     // work is given to the agent
	Normal        State = "normal"
)

// contextState is what the model already knows. If the conversation goes on, the text only
// says who the session is and to continue: a model that knows that must not introduce
// itself again.
type contextState string

const (
	fresh     contextState = "fresh"
	compacted contextState = "compacted"
	resumed   contextState = "resumed"
	forgotten contextState = "forgotten" // resumed, but the client dropped the start-up text
)

// handoverKind is the origin of a hand-over.
type handoverKind string

const (
	none     handoverKind = ""
	another  handoverKind = "another session's" // of the same home
	stranger handoverKind = "unknown"           // Gas Town's, a person's, or of a session whose record is lost
	own      handoverKind = "own"               // left before a compaction or a cycle
	brought  handoverKind = "brought"           // a note named by --handoff
)

type handover struct {
	kind   handoverKind
	marker *marker.Marker  // nil for none
	owner  *session.Record // the session that left it, nil if unknown
	mailbox
}

// predecessor is the session that this one follows, and its outcome. Record is nil without
// one.
type predecessor struct {
	*session.Record
	how session.Outcome
}

// brokeOff reports whether the predecessor crashed or was killed.
func (p predecessor) brokeOff() bool { return p.how == session.Crash || p.how == session.Killed }

// assess returns the situation in which the session starts. It depends on the facts alone;
// situations.md has the decision table.
func assess(f *facts) situation {
	h := f.handover()
	s := situation{
		conversation: f.conversation(h),
		predecessor:  f.predecessor(h),
		checkpoint:   f.checkpoint(h),
		work:         f.work, unread: f.unread, earlier: f.given,
	}
	f.sortHooked(&s, h)
	if p := f.broken(h); p.brokeOff() {
		if s.tail = f.tail; f.asked.Text != "" && (len(s.tail.Requests) > 0 || !s.hasNoted(p.ID)) {
			s.tail = s.tail.Asked(f.asked.Text, f.asked.Time)
		}
		if s.checkpoint != nil || len(s.tail.Requests) > 0 || len(s.noted) > 0 {
			s.crashed, s.how, s.asking = p.Record, p.how, f.asking
			s.atRest = f.atRest && f.asked.Text == ""
		}
	}
	switch {
	case s.handover.marker != nil:
		s.state = PostHandoff
	case s.checkpoint != nil || s.crashed != nil:
		s.state = CrashRecovery
	case len(s.hooked) > 0 || len(s.waiting) > 0 || len(s.work) > 0:
		s.state = Autonomous
	default:
		s.state = Normal
	}
	return s
}

// hasNoted reports whether a session saved a note of its own work.
func (s situation) hasNoted(id session.ID) bool {
	return slices.ContainsFunc(s.noted, func(n mail.Note) bool { return n.Session == string(id) })
}

// bring returns the situation with a note from elsewhere as its hand-over.
func (s situation) bring(note mail.Note) situation {
	m := s.handover.marker
	if m == nil {
		m = &marker.Marker{From: note.From}
	}
	s.state, s.conversation = PostHandoff, fresh
	s.handover = handover{kind: brought, marker: m, mailbox: mailbox{note: &note}}
	return s
}

func isHandover(n mail.Note) bool { return n.Type == mail.Handoff }

func (f *facts) continues() bool { return f.session.Source == "compact" || f.resumes() }

// resumes reports whether the client resumes the session's own conversation.
func (f *facts) resumes() bool { return f.session.Source == "resume" && !f.carried }

// find returns the session with an id, nil if the home has no record of it.
func (f *facts) find(id session.ID) *session.Candidate {
	if i := slices.IndexFunc(f.home, func(c session.Candidate) bool { return c.ID == id }); i >= 0 {
		return &f.home[i]
	}
	return nil
}

// handover returns the first hand-over, in the order of the markers, that the session may
// take.
func (f *facts) handover() handover {
	for i := range f.markers {
		m := &f.markers[i]
		if f.judge(*m) != take {
			continue
		}
		h := handover{marker: &m.Marker, mailbox: f.note}
		if m.owner != nil {
			h.owner = m.owner.Record
		}
		h.kind = f.kindOf(h)
		return h
	}
	return handover{}
}

func (f *facts) kindOf(h handover) handoverKind {
	switch {
	case h.owner == nil && f.continues() && h.marker.From == string(f.session.ID):
		return own // its record is lost
	case h.owner == nil:
		return stranger
	case h.owner.ID == f.session.ID:
		return own
	}
	return another
}

// verdict is whether a session takes a marker.
type verdict int

const (
	leave verdict = iota
	take
	askPane // it depends on whether the owner's pane still exists
)

// onItsWay is how long the successor of a pane is expected. A client may ask the person
// something before it runs its hooks, and some successors never start while their pane
// stays open for weeks.
const onItsWay = 10 * time.Minute

func (f *facts) judge(m leftMarker) verdict {
	switch {
	case m.owner == nil:
		return f.judgeUnowned(m)
	case m.owner.ID == f.session.ID: // left before a compaction or a cycle
		if m.owner.Handoff.Kind == session.KindHandoff {
			return leave
		}
		return take
	case f.continues(), m.owner.Handoff.Kind != session.KindHandoff:
		return leave // a hand-over is for a new session; other kinds are for their owner
	case f.isBeingTold(session.ID(m.owner.Handoff.TakenBy)):
		return leave
	case !m.isGivenAway(), m.inside:
		return leave // children of a live session find its marker, too
	}
	return f.judgePane(m)
}

// judgeUnowned judges a marker that no record names: another program's, a person's, or one
// of a lost record. While the home is busy it leaves the marker, because its owner's record
// may be about to be written.
func (f *facts) judgeUnowned(m leftMarker) verdict {
	if f.access != busy && (!f.continues() || m.Reason == marker.Compaction) {
		return take
	}
	return leave
}

// isBeingTold reports whether another running session has claimed the hand-over.
func (f *facts) isBeingTold(by session.ID) bool {
	if by == "" || by == f.session.ID {
		return false
	}
	c := f.find(by)
	return c != nil && c.Liveness == session.Running
}

// isGivenAway reports whether the owner does not run, or hands its pane to the successor.
func (m leftMarker) isGivenAway() bool {
	return m.owner.Liveness != session.Running || m.owner.Handoff.Respawn
}

// judgePane judges by where the sessions run. A hand-over is for the owner's pane. A
// session elsewhere takes it only if that pane is gone. A session outside tmux also takes
// it if the owner has ended and no successor is expected in the pane.
func (f *facts) judgePane(m leftMarker) verdict {
	o := m.owner
	runs := o.Liveness == session.Running
	switch {
	case o.TmuxPane == "":
		return take
	case f.session.TmuxPane == "" && !runs && !f.isExpected(o.Handoff):
		return take
	case o.TmuxServer == f.session.TmuxServer && o.TmuxPane == f.session.TmuxPane:
		return take
	case m.elsewhere && runs:
		return leave // tmux here need not be the one with that pane
	}
	switch m.pane {
	case notAsked:
		return askPane
	case gone:
		return take
	}
	return leave
}

// isExpected reports whether a successor may still start in the pane.
func (f *facts) isExpected(p *stored.Handover) bool {
	return p.Respawn && f.now.Sub(p.At).Abs() < onItsWay
}

// conversation returns what the model knows of earlier work.
func (f *facts) conversation(h handover) contextState {
	switch {
	case f.resumes() && f.forgets:
		return forgotten
	case f.resumes():
		return resumed
	case f.session.Source == "compact", h.marker != nil && h.marker.Reason == marker.Compaction && h.kind != another:
		return compacted
	}
	return fresh
}

// predecessor returns the session that this one follows. Only a fresh conversation of a
// role that works has one.
func (f *facts) predecessor(h handover) predecessor {
	if f.conversation(h) != fresh || !f.works {
		return predecessor{}
	}
	p := f.seen()
	if h.owner != nil {
		p.Predecessor = h.owner.ID
	}
	r, how := session.FindPredecessor(f.now, f.home, p)
	return predecessor{r, how}
}

// seen returns the session as if a person saw it: a headless run is told what waits, though
// it takes nothing.
func (f *facts) seen() session.StartParams {
	p := f.session
	p.Headless = false
	return p
}

// mayHaveBroken is broken, as far as it is known before the conversation is read.
func (f *facts) mayHaveBroken(h handover) predecessor {
	p := f.predecessor(h)
	if h.owner == nil || p.Record == nil {
		return p
	}
	// The predecessor handed over, but another session may have broken off, or the same
	// one after its hand-over. A session with a hand-over is not among the others, because
	// that is delivered; nor is one that has a successor.
	others := slices.DeleteFunc(slices.Clone(f.home), func(c session.Candidate) bool {
		followed := c.Liveness == session.Ended && c.ChildID != f.session.ID && f.find(c.ChildID) != nil
		return followed || c.Handoff != nil && c.Handoff.Kind == session.KindHandoff
	})
	if r, how := session.FindPredecessor(f.now, others, f.seen()); (predecessor{r, how}).brokeOff() {
		return predecessor{r, how}
	}
	if c := f.find(h.owner.ID); c != nil && h.kind == another && !h.owner.Handoff.Respawn {
		switch {
		case c.Liveness == session.Dead:
			return predecessor{h.owner, session.Crash}
		case c.Liveness == session.Ended && (predecessor{h.owner, h.owner.Outcome}).brokeOff():
			return predecessor{h.owner, h.owner.Outcome}
		}
	}
	return p
}

// broken returns the session that broke off, or the predecessor if none did. If the
// predecessor handed over, this is another session without a successor, or the predecessor
// itself if it received a request after its hand-over.
func (f *facts) broken(h handover) predecessor {
	p := f.mayHaveBroken(h)
	if h.owner != nil && p.Record == h.owner && !slices.ContainsFunc(f.tail.Requests, func(r summary.Request) bool { return r.Time.After(h.owner.Handoff.At) }) {
		return f.predecessor(h)
	}
	return p
}

// checkpoint returns the checkpoint to deliver, nil for none: the newest that is not stale,
// of a session that broke off.
func (f *facts) checkpoint(h handover) *checkpoint.Checkpoint {
	p := f.broken(h)
	for _, c := range f.checkpoints {
		if !c.Stale(f.now) && f.recovers(c, p) {
			return c.Checkpoint
		}
	}
	return nil
}

// recovers reports whether a checkpoint is delivered. It is if the predecessor broke off
// and saved or last received it. It also is if its session broke off and nobody received it
// yet, because that session has no record or the start that would have delivered it was
// killed.
func (f *facts) recovers(c savedCheckpoint, p predecessor) bool {
	switch {
	case p.brokeOff() && (c.SessionID == p.ID || c.TakenBy == p.ID):
		return true
	case c.TakenBy != "", c.SessionID == f.session.ID && c.SessionID != "": // a person's checkpoint has no session
		return false
	}
	if r := f.find(c.SessionID); r != nil {
		return r.Outcome == session.Crash || r.Outcome == session.Killed
	}
	return !c.recorded
}

// purpose is what a hooked note means for this session.
type purpose int

const (
	nothing    purpose = iota
	toDo               // work given to it
	toTell             // a hand-over that no session has received
	toRecall           // a hand-over that the broken-off session received or left for itself
	toComplete         // the session's own, from before a compaction, of which only the marker was found
)

// relevant returns the indices of the hooked notes that have a purpose, newest first.
func (f *facts) relevant() []int {
	h := f.handover()
	p := f.broken(h)
	var found []int
	for i, n := range slices.Backward(f.hooked) {
		if f.purpose(n, h, p) != nothing {
			found = append(found, i)
		}
	}
	return found
}

// sortHooked sorts the hooked notes into s by their purpose. If the hand-over has no note
// yet, the latest unread one completes it.
func (f *facts) sortHooked(s *situation, h handover) {
	p := f.broken(h)
	for _, i := range f.relevant() {
		n := f.hooked[i]
		why := f.purpose(n, h, p)
		completes := h.note == nil && (why == toComplete || why == toTell && f.wantsNote(h))
		if n.withheld { // the notes before it were not read either
			h.withheld = h.withheld || completes
			break
		}
		switch {
		case completes:
			if h.note = &n.Note; f.continues() {
				h.kind = own
			}
		case why == toDo:
			s.hooked = append(s.hooked, n.Note)
		case why == toTell:
			s.waiting = append(s.waiting, n.Note)
		case why == toRecall:
			s.noted = append(s.noted, n.Note)
		}
	}
	if !f.allHooked && h.note == nil && f.wantsNote(h) {
		h.withheld = true
	}
	for _, notes := range [][]mail.Note{s.hooked, s.waiting, s.noted} {
		slices.Reverse(notes)
	}
	s.handover = h
}

// wantsNote reports whether the note of the hand-over is unknown. A marker without an owner
// belongs to the latest unread note.
func (f *facts) wantsNote(h handover) bool {
	return h.marker != nil && h.owner == nil
}

// purpose returns what a hooked note means for this session. All agents with the same name
// share a box, but a hand-over is only for its own chain: for the successor of a session
// that broke off with it or, if its marker was lost, for the next start. broke is the
// session that broke off.
func (f *facts) purpose(n hookedNote, h handover, broke predecessor) purpose {
	switch {
	case h.note != nil && n.ID == h.note.ID:
		return nothing
	case !isHandover(n.Note):
		return toDo
	case f.continues():
		if f.wantsNote(h) && !n.Seen && n.Session == string(f.session.ID) {
			return toComplete
		}
		return nothing
	case broke.brokeOff() && (broke.Note == n.ID || slices.Contains(broke.DeliveredNotes, n.ID) || n.Chain != "" && n.Chain == string(broke.ChainID)):
		return toRecall
	case !n.Seen && f.isAbandoned(n):
		return toTell
	}
	return nothing
}

// isAbandoned reports whether a hand-over's note has neither a marker nor a running session
// that could still leave one. A person's note has no session; while the home is busy, its
// marker may be about to be written.
func (f *facts) isAbandoned(n hookedNote) bool {
	id, err := session.ParseID(n.Session)
	if err != nil {
		return f.access != busy
	}
	if c := f.find(id); c != nil {
		return c.Handoff == nil && c.Liveness != session.Running
	}
	return !n.hidden
}

// givenNote returns the id of the note that the session received, or "".
func (f *facts) givenNote() string {
	if me := f.find(f.session.ID); me != nil {
		return me.Note
	}
	return ""
}
