package primecmd

import (
	"cmp"
	"slices"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	stored "gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/waiting"
)

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
	// waiting are hand-overs that no session has received yet, without handover's note. noted are those
	// that the crashed session received or left for itself. Both have the oldest first.
	waiting []mail.Note
	noted   []mail.Note
	work    []beads.Work
	partial bool       // not all notes and work could be read, so there may be more
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

// contextState is what the model already knows. If the conversation goes on, the text only says who the
// session is and to continue: a model that knows that must not introduce itself again.
type contextState string

const (
	fresh     contextState = "fresh"
	compacted contextState = "compacted"
	resumed   contextState = "resumed"
	forgotten contextState = "forgotten" // resumed, but the client dropped the start-up text; or its agent asks again
)

// handoverKind is the origin of a hand-over.
type handoverKind string

const (
	noHandover         handoverKind = ""
	fromAnotherSession handoverKind = "another session's" // of the same home
	stranger           handoverKind = "unknown"           // Gas Town's, a person's, or of a session whose record is lost
	fromOwnSession     handoverKind = "own"               // left before a compaction or a cycle
	brought            handoverKind = "brought"           // a note named by --handoff
)

type handover struct {
	kind         handoverKind
	from, reason string
	owner        *session.Record // the session that left it, nil for an unowned one
	unowned      *waiting.Unowned
	mailbox
}

// content returns what is in the hand-over's file.
func (h handover) content() *stored.Handover {
	if h.unowned != nil {
		return h.unowned.Handover
	}
	return h.owner.Handoff
}

// predecessor is the session that this one follows, and its outcome. Record is nil without one.
type predecessor struct {
	*session.Record
	how session.Outcome
}

func (p predecessor) brokeOff() bool { return p.how == session.Crash || p.how == session.Killed }

type assessment struct {
	*facts
	missing missing // the first fact that was needed and is unknown
}

// requireFact says that a fact was used, and how it is read if it is unknown.
func (a *assessment) requireFact(known bool, read missing) {
	if !known && a.missing == nil {
		a.missing = read
	}
}

// assess returns the situation in which the session starts, or the fact that is missing. It
// depends on the facts alone; situations.md has the decision table.
func assess(f *facts) (situation, missing) {
	a := &assessment{facts: f}
	h := a.handover()
	a.passUnused(h)
	s := situation{conversation: f.conversation(h)}
	s.predecessor = a.predecessor(h)
	broke := a.broken(h)
	if s.conversation == fresh && f.works {
		a.requireFact(f.checkpoints != nil, (*start).readCheckpoints)
		s.checkpoint = f.checkpoint(broke)
	}
	a.sortHooked(&s, h, broke)
	if s.conversation == forgotten && h.kind == noHandover {
		a.requireFact(f.given != nil, (*start).readGiven)
	}
	if s.conversation == fresh {
		a.requireFact(f.duties != nil, (*start).readDuties)
	}
	if a.missing != nil {
		return situation{}, a.missing
	}
	if f.given != nil {
		s.earlier = f.given.Note
	}
	if f.duties != nil {
		s.work, s.partial, s.unread = f.duties.work, f.duties.partial || !f.boxRead, f.duties.unread
	}
	if e := f.ending; broke.brokeOff() {
		if s.tail = e.tail; e.asked.Text != "" && (len(s.tail.Requests) > 0 || !s.hasNoted(broke.ID)) {
			s.tail = s.tail.Asked(e.asked.Text, e.asked.Time)
		}
		if s.checkpoint != nil || len(s.tail.Requests) > 0 || len(s.noted) > 0 {
			s.crashed, s.how, s.asking = broke.Record, broke.how, e.asking
			s.atRest = e.atRest && e.asked.Text == ""
		}
	}
	switch {
	case s.handover.kind != noHandover:
		s.state = PostHandoff
	case s.checkpoint != nil || s.crashed != nil:
		s.state = CrashRecovery
	case len(s.hooked) > 0 || len(s.waiting) > 0 || len(s.work) > 0:
		s.state = Autonomous
	default:
		s.state = Normal
	}
	return s, nil
}

func (s situation) hasNoted(id session.ID) bool {
	return slices.ContainsFunc(s.noted, func(n mail.Note) bool { return n.Session == string(id) })
}

func (s situation) bring(note mail.Note) situation {
	h := handover{kind: brought, from: note.From, mailbox: mailbox{note: &note}}
	if old := s.handover; old.kind != noHandover {
		h.from, h.reason = old.from, old.reason
	}
	s.state, s.conversation, s.handover = PostHandoff, fresh, h
	return s
}

func (f *facts) continues() bool { return f.session.Source == "compact" || f.resumes() }

// resumes reports whether the client resumes the session's own conversation.
func (f *facts) resumes() bool { return f.session.Source == "resume" && !f.carried }

func (f *facts) find(id session.ID) *session.Candidate {
	if i := slices.IndexFunc(f.home, func(c session.Candidate) bool { return c.ID == id }); i >= 0 {
		return &f.home[i]
	}
	return nil
}

// handover returns the first hand-over that the session may take and that is done: of those that
// sessions left, else of the others.
func (a *assessment) handover() handover {
	for i := range a.left {
		l := &a.left[i]
		if l.unowned != nil && !l.unowned.Marked() {
			continue
		}
		v := a.judge(*l)
		if a.requireFact(v != unsure, askPane(l)); v != take {
			continue
		}
		h := handover{kind: fromAnotherSession, from: l.From, reason: l.Reason, unowned: l.unowned}
		if l.owner != nil {
			h.owner, h.from = l.owner.Record, cmp.Or(l.From, string(l.id))
		}
		switch {
		case a.isOwn(*l):
			h.kind = fromOwnSession
		case l.owner == nil:
			h.kind = stranger
		}
		a.requireFact(!l.note.unread, readNote(l))
		h.mailbox = l.note
		h.withheld = h.withheld || l.owner == nil && l.Note == "" && !a.boxRead // a note may belong to it
		return h
	}
	return handover{}
}

// isOwn reports whether the session left the hand-over, also if its record is lost.
func (f *facts) isOwn(l leftHandover) bool {
	return l.id == f.session.ID || l.Claim && f.continues() && (l.Note != "" || l.From == string(f.session.ID))
}

type verdict int

const (
	leave verdict = iota
	take
	unsure // it depends on whether the owner's pane still exists
)

// onItsWay is how long the successor of a pane is expected. A client may ask the person something
// before it runs its hooks, and some successors never start while their pane stays open for weeks.
const onItsWay = 10 * time.Minute

func (f *facts) judge(l leftHandover) verdict {
	switch {
	case l.id == f.session.ID: // left before a compaction or a cycle
		if l.Kind == session.KindHandoff {
			return leave
		}
		return take
	case f.isBeingTold(session.ID(l.TakenBy)):
		return leave
	case f.continues() && l.Claim && l.Reason == marker.Compaction:
		return take
	case f.continues(), l.owner != nil && l.Kind != session.KindHandoff:
		return leave // a hand-over is for a new session; other kinds are for their owner
	case l.owner == nil:
		return take
	case f.hasReplaced(l.owner):
		return take // by /clear, in a client that has no hook of an end
	case l.owner.Liveness == session.Running && !l.Respawn, l.inside:
		return leave // children of a live session find its hand-over, too
	}
	return f.judgePane(l)
}

// hasReplaced reports whether this session replaced another one in its process.
func (f *facts) hasReplaced(o *session.Candidate) bool {
	if o.Process() != f.session.Process {
		return false // without a look at all sessions
	}
	r, how := session.FindPredecessor(f.now, f.home, f.seen())
	return r == o.Record && how == session.Done
}

// isBeingTold reports whether another running session has claimed the hand-over.
func (f *facts) isBeingTold(by session.ID) bool {
	if by == "" || by == f.session.ID {
		return false
	}
	c := f.find(by)
	return c != nil && c.Liveness == session.Running && !f.hasReplaced(c)
}

// judgePane judges by where the sessions run. A hand-over is for the owner's pane. A
// session elsewhere takes it only if that pane is gone. A session outside tmux also takes
// it if the owner has ended and no successor is expected in the pane.
func (f *facts) judgePane(l leftHandover) verdict {
	o := l.owner
	runs := o.Liveness == session.Running
	switch {
	case o.TmuxPane == "":
		return take
	case f.session.TmuxPane == "" && !runs && !f.isExpected(l.Handover):
		return take
	case o.TmuxServer == f.session.TmuxServer && o.TmuxPane == f.session.TmuxPane:
		return take
	case l.elsewhere && runs:
		return leave // tmux here need not be the one with that pane
	}
	switch l.pane {
	case notAsked:
		return unsure
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
	case f.resumes() && f.forgets, f.asksAgain && h.kind == noHandover:
		return forgotten
	case f.resumes():
		return resumed
	case f.session.Source == "compact", h.reason == marker.Compaction && h.kind != fromAnotherSession:
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

// crashCandidate is broken, as far as it is known before the conversation is read.
func (f *facts) crashCandidate(h handover) predecessor {
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
	if c := f.find(h.owner.ID); c != nil && h.kind == fromAnotherSession && !h.owner.Handoff.Respawn {
		switch {
		case c.Liveness == session.Dead:
			return predecessor{h.owner, session.Crash}
		case c.Liveness == session.Ended && (predecessor{h.owner, h.owner.Outcome}).brokeOff():
			return predecessor{h.owner, h.owner.Outcome}
		}
	}
	return p
}

// passUnused passes over a session that was opened and asked for nothing before it broke off,
// if another one broke off as well, as when a machine restarts: that one has something to
// continue from.
func (a *assessment) passUnused(h handover) {
	p := a.crashCandidate(h)
	if !p.brokeOff() || p.JoinsChain() || p.Note != "" || len(p.DeliveredNotes) > 0 || p.Handoff != nil {
		return
	}
	if p.InPane(a.session) && p.BootID == a.session.Process.Boot {
		return // it is started again where it was, and the other one in its own pane
	}
	without := *a.facts
	without.session.Unused = append(slices.Clone(a.session.Unused), p.ID)
	if next := without.crashCandidate(h); !next.brokeOff() || slices.Contains(without.session.Unused, next.ID) {
		return
	}
	a.requireFact(a.ending != nil, readEnding(p.Record))
	a.requireFact(a.checkpoints != nil, (*start).readCheckpoints)
	if a.missing != nil || a.ending.partly || len(a.ending.tail.Requests) > 0 || a.ending.asked.Text != "" {
		return
	}
	if !slices.ContainsFunc(a.checkpoints.all, func(c savedCheckpoint) bool { return c.SessionID == p.ID || c.TakenBy == p.ID }) {
		a.requireFact(false, passOver(p.ID))
	}
}

// broken returns the session that broke off, or the predecessor if none did. If the
// predecessor handed over, this is another session without a successor, or the predecessor
// itself if it received a request after its hand-over.
func (a *assessment) broken(h handover) predecessor {
	p := a.crashCandidate(h)
	if !p.brokeOff() {
		return p
	}
	if a.requireFact(a.ending != nil, readEnding(p.Record)); a.ending == nil {
		return p
	}
	if h.owner != nil && p.Record == h.owner && !slices.ContainsFunc(a.ending.tail.Requests, func(r summary.Request) bool { return r.Time.After(h.owner.Handoff.At) }) {
		return a.predecessor(h)
	}
	return p
}

// checkpoint returns the checkpoint to deliver, nil for none: the newest that is not stale,
// of a session that broke off.
func (f *facts) checkpoint(p predecessor) *checkpoint.Checkpoint {
	if f.checkpoints == nil {
		return nil
	}
	for _, c := range f.checkpoints.all {
		if !c.Stale(f.now) && f.recovers(c, p) {
			return c.Checkpoint
		}
	}
	return nil
}

// recovers reports whether a checkpoint is delivered. It is if the predecessor broke off and saved or
// last received it. It also is if its session broke off and nobody received it yet, because that
// session has no record or the start that would have delivered it was killed.
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

// sortHooked sorts the hooked notes into s: work, and notes of the chain that broke off. Bodies are
// read from the latest on; after one that could not be read the rest waits.
func (a *assessment) sortHooked(s *situation, h handover, broke predecessor) {
	for i := len(a.hooked) - 1; i >= 0; i-- {
		n := &a.hooked[i]
		work := n.Type != mail.Handoff
		waits := h.note != nil && n.ID == h.note.ID || a.findUnowned(n.ID) != nil
		if !work && (waits || !a.recalls(n.Note, broke)) {
			continue
		}
		if a.requireFact(n.whole, readBody(n)); n.withheld {
			break
		}
		if work {
			s.hooked = append(s.hooked, n.Note)
		} else {
			s.noted = append(s.noted, n.Note)
		}
	}
	s.handover = a.sortUnowned(s, h, broke)
	for _, notes := range [][]mail.Note{s.hooked, s.waiting, s.noted} {
		slices.Reverse(notes)
	}
}

// recalls reports whether a hand-over's note belongs to the chain that broke off: its last session
// had received it, or left it for itself.
func (f *facts) recalls(n mail.Note, broke predecessor) bool {
	return !f.continues() && broke.brokeOff() &&
		(broke.Note == n.ID || slices.Contains(broke.DeliveredNotes, n.ID) || n.Chain != "" && n.Chain == string(broke.ChainID))
}

// sortUnowned adds the notes of the hand-overs that no session's record has: each is told to the
// next start, or with the chain that broke off. It returns h, without its note if that is told so.
func (a *assessment) sortUnowned(s *situation, h handover, broke predecessor) handover {
	for i := range a.left {
		l := &a.left[i]
		is := l.unowned != nil && l.unowned == h.unowned
		if l.unowned == nil || l.Note == "" || !is && (a.continues() || a.judge(*l) != take) {
			continue
		}
		if a.requireFact(!l.note.unread, readNote(l)); l.note.withheld {
			break
		}
		switch n := l.note.note; {
		case n == nil:
		case a.recalls(*n, broke):
			s.noted = append(s.noted, *n)
			if is {
				h.note = nil
			}
		case !is:
			s.waiting = append(s.waiting, *n)
		}
	}
	return h
}

// findUnowned returns the unowned hand-over with a note, or nil.
func (f *facts) findUnowned(note string) *waiting.Unowned {
	for _, l := range f.left {
		if l.unowned != nil && l.Note == note {
			return l.unowned
		}
	}
	return nil
}
