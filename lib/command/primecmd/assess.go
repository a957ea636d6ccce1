package primecmd

import (
	"cmp"
	"slices"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
)

// situation is what a session starts in. situations.md has the table of all.
type situation struct {
	state        State
	conversation contextState
	handover     handover
	predecessor  predecessor
	// crashed is the session that broke off and left something to go on from, nil for
	// none: the predecessor, or another, where the predecessor handed over. how is how
	// it ended.
	crashed    *session.Record
	how        session.Outcome
	tail       summary.Summary        // of its conversation
	atRest     bool                   // it had answered, and waited for the person
	checkpoint *checkpoint.Checkpoint // what it saved while it worked, or nil
	hooked     []mail.Note            // the work that was given, the oldest first
	// waiting are hand-overs that nobody was told of yet, besides the handover's note,
	// and noted those that the crashed session was told of, or left for itself. The
	// oldest first.
	waiting []mail.Note
	noted   []mail.Note
	work    []beads.Work
	earlier *mail.Note // what the session was given at its start, and has forgotten
	unread  int
}

// State is the situation in a word. Where several hold, the first of this order
// counts, and the facts of the others are still told.
type State string

const (
	PostHandoff   State = "post-handoff"   // a predecessor handed over
	CrashRecovery State = "crash-recovery" // a predecessor died without a word
	Autonomous    State = "autonomous"     // work is hooked
	Normal        State = "normal"
)

// contextState is what the model already knows. One that goes on must not be made
// to introduce itself again: it is told who it is, to continue, and no more.
type contextState string

const (
	fresh     contextState = "fresh"
	compacted contextState = "compacted"
	resumed   contextState = "resumed"
	forgotten contextState = "forgotten" // resumed, without what its start was told
)

// handoverKind is where a hand-over comes from.
type handoverKind string

const (
	none     handoverKind = ""
	another  handoverKind = "another session's" // of the same home
	stranger handoverKind = "unknown"           // Gas Town's, a person's, or its session's record is lost
	own      handoverKind = "own"               // left before a compaction or a cycle
	// ownTaken is the session's own, whose marker a start took away that was killed
	// before it could note that.
	ownTaken handoverKind = "own, taken"
	brought  handoverKind = "brought" // a note that --handoff names
)

// handover is what was left for the session to take up.
type handover struct {
	kind   handoverKind
	marker *marker.Marker  // nil of none and ownTaken
	owner  *session.Record // who left it, nil where that is not known
	mailbox
}

// predecessor is the session that this one follows, and how that one ended. The
// Record is nil where there is none.
type predecessor struct {
	*session.Record
	how session.Outcome
}

// brokeOff reports whether the predecessor had no clean end.
func (p predecessor) brokeOff() bool { return p.how == session.Crash || p.how == session.Killed }

// assess decides what situation the session starts in. It is a function of the facts
// alone; situations.md has its decision table.
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
		if s.tail = f.tail; f.asked.Text != "" && len(s.noted) == 0 {
			s.tail = s.tail.Asked(f.asked.Text, f.asked.Time) // it died before its client wrote anything
		}
		if s.checkpoint != nil || len(s.tail.Requests) > 0 || len(s.noted) > 0 {
			s.crashed, s.how, s.atRest = p.Record, p.how, f.atRest
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

// bring puts a note from elsewhere into the place of whatever waits here.
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

// continues reports whether the client lets a conversation go on.
func (f *facts) continues() bool { return f.session.Source == "compact" || f.resumes() }

// resumes reports whether the client resumes the session's own conversation.
func (f *facts) resumes() bool { return f.session.Source == "resume" && !f.carried }

// find returns the session of that id, nil where the home has no record of it.
func (f *facts) find(id session.ID) *session.Candidate {
	if i := slices.IndexFunc(f.home, func(c session.Candidate) bool { return c.ID == id }); i >= 0 {
		return &f.home[i]
	}
	return nil
}

// handover returns the hand-over that is meant for this session: the first of the
// markers that it may take.
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
	if f.access == locked && f.allMarkers && f.continues() && f.keptForItself() {
		return handover{kind: ownTaken}
	}
	return handover{}
}

// kindOf returns where a hand-over with a marker comes from.
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

// keptForItself reports whether the session's record has a hand-over that it left
// for itself.
func (f *facts) keptForItself() bool {
	me := f.find(f.session.ID)
	return me != nil && me.Handoff != nil && me.Handoff.Kind != session.KindHandoff
}

// verdict is whether a marker is meant for this session.
type verdict int

const (
	leave verdict = iota
	take
	askPane // it depends on whether the owner's pane is still there
)

// onItsWay is how long a pane's successor is waited for: a client may ask a
// person something before it runs its hooks. Some never come, and the pane may
// stand for weeks.
const onItsWay = 10 * time.Minute

// judge decides whether a marker is meant for this session.
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
		return leave // it is for a session that starts; it is for its owner alone
	case f.isBeingTold(m.owner.Handoff.TakenBy):
		return leave
	case !m.isGivenAway(), m.inside:
		return leave // a live session's children find its marker too
	}
	return f.judgePane(m)
}

// judgeUnowned decides about a marker whose session is not known: another program's,
// a person's, or one whose session's record is gone. While others work in the home,
// the one that leaves it may be about to note that.
func (f *facts) judgeUnowned(m leftMarker) verdict {
	if f.access != busy && (!f.continues() || m.Reason == marker.Compaction) {
		return take
	}
	return leave
}

// isBeingTold reports whether another session, which runs, is about to be told of the
// hand-over.
func (f *facts) isBeingTold(by session.ID) bool {
	if by == "" || by == f.session.ID {
		return false
	}
	c := f.find(by)
	return c != nil && c.Liveness == session.Running
}

// isGivenAway reports whether the owner is over, or has given its pane away.
func (m leftMarker) isGivenAway() bool {
	return m.owner.Liveness != session.Running || m.owner.Handoff.Respawn
}

// judgePane decides by where the sessions run. A hand-over goes into the owner's
// pane. Elsewhere it goes only when that pane is no more; or to a session outside
// tmux, when the owner is over and no successor is on its way into the pane.
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
		return leave // what tmux says here is not said of that pane
	}
	switch m.pane {
	case notAsked:
		return askPane
	case gone:
		return take
	}
	return leave
}

// isExpected reports whether a successor may still be on its way into the pane.
func (f *facts) isExpected(p *session.Pending) bool {
	return p.Respawn && f.now.Sub(p.At).Abs() < onItsWay
}

// conversation returns what the model knows of what went before.
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

// predecessor returns the session that this one follows, where its conversation is
// fresh and its role works.
func (f *facts) predecessor(h handover) predecessor {
	if f.conversation(h) != fresh || !f.works {
		return predecessor{}
	}
	p := f.session
	if h.owner != nil {
		p.Predecessor = h.owner.ID
	}
	r, how := session.FindPredecessor(f.now, f.home, p)
	return predecessor{r, how}
}

// mayHaveBroken is broken before the conversation of that session has been read.
func (f *facts) mayHaveBroken(h handover) predecessor {
	p := f.predecessor(h)
	if h.owner == nil || p.Record == nil {
		return p
	}
	// It handed over: beside it, or after it had, a session may have broken off. One
	// that left a hand-over has that to be told, and one that was followed was told of.
	others := slices.DeleteFunc(slices.Clone(f.home), func(c session.Candidate) bool {
		followed := c.Liveness == session.Ended && c.ChildID != f.session.ID && f.find(c.ChildID) != nil
		return followed || c.Handoff != nil && c.Handoff.Kind == session.KindHandoff
	})
	if r, how := session.FindPredecessor(f.now, others, f.session); (predecessor{r, how}).brokeOff() {
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

// broken returns the session that broke off and that this one is told of, with another
// how where there is none: the predecessor; or, where that handed over, another that
// waits for a successor, else itself if it was asked for something since.
func (f *facts) broken(h handover) predecessor {
	p := f.mayHaveBroken(h)
	if h.owner != nil && p.Record == h.owner && !slices.ContainsFunc(f.tail.Requests, func(r summary.Request) bool { return r.Time.After(h.owner.Handoff.At) }) {
		return f.predecessor(h)
	}
	return p
}

// checkpoint returns the one that is told, nil for none: the newest that is not
// stale, of a session that had no clean end.
func (f *facts) checkpoint(h handover) *checkpoint.Checkpoint {
	p := f.broken(h)
	for _, c := range f.checkpoints {
		if !c.Stale(f.now) && f.recovers(c, p) {
			return c.Checkpoint
		}
	}
	return nil
}

// recovers reports whether a checkpoint is told: the predecessor broke off, and has
// saved it or was told of it last; or its session broke off and nobody was told of
// it yet, because nobody has a record of it or the start that was to tell was killed.
func (f *facts) recovers(c savedCheckpoint, p predecessor) bool {
	switch {
	case p.brokeOff() && (c.SessionID == p.ID || c.TakenBy == p.ID):
		return true
	case c.TakenBy != "", c.SessionID == f.session.ID && c.SessionID != "": // a person's has no session
		return false
	}
	if r := f.find(c.SessionID); r != nil {
		return r.Outcome == session.Crash || r.Outcome == session.Killed
	}
	return !c.recorded
}

// purpose is what a hooked note is to this session.
type purpose int

const (
	nothing    purpose = iota
	toDo               // work that it is given
	toTell             // a hand-over that nobody was told of yet
	toRecall           // a hand-over that the session which broke off was told of, or left for itself
	toComplete         // its own, from before a compaction, of which only the marker was known
)

// relevant returns which of the hooked notes are read for this session, by their
// indices, the newest first.
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

// sortHooked tells the hooked notes apart. Where the hand-over has no note yet, the
// latest that nobody was told of is its.
func (f *facts) sortHooked(s *situation, h handover) {
	p := f.broken(h)
	for _, i := range f.relevant() {
		n := f.hooked[i]
		why := f.purpose(n, h, p)
		completes := h.note == nil && (why == toComplete || why == toTell && f.wantsNote(h))
		if n.withheld { // and none before it was read
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

// wantsNote reports whether the hand-over's note is still to be found: that of a
// marker whose session is not known is the latest that nobody has read.
func (f *facts) wantsNote(h handover) bool {
	return h.marker != nil && h.owner == nil
}

// purpose returns what a hooked note is to this session. A hand-over's note lies in the
// box of all who share its name, and is only for the chain that it was written in: for
// the one that follows a session that broke off with it, and, when its marker was lost,
// for the next to start. broke is the session that broke off.
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

// isAbandoned reports whether nobody is left to take up a hand-over's note: its marker
// is gone, and so is its session, or it is a person's. While others work in the home, a
// person's marker may be about to come.
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

// givenNote is the id of the note that the session was given, "" for none.
func (f *facts) givenNote(h handover) string {
	me := f.find(f.session.ID)
	switch {
	case me == nil:
		return ""
	case h.kind == ownTaken:
		return cmp.Or(me.Handoff.Note, me.Note)
	}
	return me.Note
}
