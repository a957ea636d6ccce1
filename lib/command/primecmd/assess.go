package primecmd

import (
	"cmp"
	"slices"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/waiting"
)

// situation is what a session that starts is told, and what that means for its record.
type situation struct {
	state        State
	conversation contextState
	handover     firstHandover
	predecessor  predecessor
	// crashed is a session that ended without a hand-over and left something to
	// continue from: the predecessor, or another session if the predecessor handed
	// over. It is nil without one. how is its outcome.
	crashed    *session.Record
	howCrashed session.Outcome
	ending
	checkpoint *checkpoint.Checkpoint // saved while it worked; may be nil
	hooked     []mail.Note            // work given to the agent, oldest first
	// waiting are hand-overs that no session has received yet, without handover's note. recalled are those
	// that the crashed session received or left for itself. Both have the oldest first.
	waiting  []mail.Note
	recalled []mail.Note
	duties                // partial also if not all notes could be read
	earlier  *mail.Note   // the note given at the start of a session that has forgotten it
	unused   []session.ID // broke off before they were asked for anything
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
	noHandover     handoverKind = ""
	fromOther      handoverKind = "another's" // a session's, a person's, or another program's
	fromOwnSession handoverKind = "own"       // left before a compaction or a cycle
	brought        handoverKind = "brought"   // a note named by --handoff
)

// firstHandover is the hand-over that is told first.
type firstHandover struct {
	kind         handoverKind
	from, reason string
	left         *leftHandover // nil for a brought one
	note         *mail.Note    // nil if it has none, or if that is told with the chain that broke off
	withheld     bool          // its note exists but could not be read
}

// owner returns the session that left it, nil for an unowned one.
func (h firstHandover) owner() *session.Record {
	if h.left == nil || h.left.owner == nil {
		return nil
	}
	return h.left.owner.Record
}

// predecessor is the session that this one follows, and its outcome. Record is nil without one.
type predecessor struct {
	*session.Record
	howEnded session.Outcome
}

func (p predecessor) brokeOff() bool {
	return p.howEnded == session.Crash || p.howEnded == session.Killed
}

// assess returns the situation in which the session starts. It depends on the facts alone, which
// it does not change; situations.md has the decision table.
func assess(known *facts) situation {
	f := *known
	h := f.findFirstHandover()
	broke, end := f.findBroken(h)
	s := situation{conversation: f.knownContext(h), handover: h, predecessor: f.findPredecessor(h), unused: f.session.Unused}
	if s.conversation == fresh && f.hasTasks {
		s.checkpoint = f.pickCheckpoint(broke)
	}
	f.addHooked(&s, broke)
	f.addUnowned(&s, broke)
	if me := f.findSession(f.session.ID); s.conversation == forgotten && h.kind == noHandover && me != nil && me.Note != "" {
		s.earlier, _ = f.readNote(me.Note)
	}
	if s.conversation == fresh {
		s.duties = f.readDuties()
		s.partial = s.partial || !f.boxRead
	}
	if broke.brokeOff() {
		unwritten := end.asked.Text != ""
		// With a request the text tells the task, and only names the session's own note (isNamed).
		// A request that the conversation lacks must not cost the note if it is the only one.
		if unwritten && (len(end.tail.Requests) > 0 || !s.hasRecalled(broke.ID)) {
			end.tail = end.tail.WithRequest(end.asked.Text, end.asked.Time)
		}
		if s.checkpoint != nil || len(end.tail.Requests) > 0 || len(s.recalled) > 0 {
			end.atRest = end.atRest && !unwritten
			s.crashed, s.howCrashed, s.ending = broke.Record, broke.howEnded, end
		}
	}
	switch {
	case h.kind != noHandover:
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

func (s situation) hasRecalled(id session.ID) bool {
	return slices.ContainsFunc(s.recalled, func(n mail.Note) bool { return n.Session == string(id) })
}

// bring returns the situation of a new session that takes over this note, which --handoff named.
func (s situation) bring(note mail.Note) situation {
	h := firstHandover{kind: brought, from: note.From, note: &note}
	if old := s.handover; old.kind != noHandover {
		h.from, h.reason = old.from, old.reason
	}
	s.state, s.conversation, s.handover = PostHandoff, fresh, h
	return s
}

func (f *facts) continues() bool { return f.session.Source == "compact" || f.resumes() }

// resumes reports whether the client resumes the session's own conversation.
func (f *facts) resumes() bool { return f.session.Source == "resume" && !f.carried }

func (f *facts) findSession(id session.ID) *session.Candidate { return session.Find(f.candidates, id) }

// findFirstHandover returns the likeliest hand-over (isLikelier) that the session may take, or
// noHandover. It passes over a note that no marker confirms: that may be half of a hand-over.
func (f *facts) findFirstHandover() firstHandover {
	for i := range f.leftHandovers {
		l := &f.leftHandovers[i]
		if l.unowned != nil && !l.unowned.Marked() || !f.mayTake(l) {
			continue
		}
		h := firstHandover{kind: fromOther, from: l.From, reason: l.Reason, left: l}
		if l.owner != nil {
			h.from = cmp.Or(l.From, string(l.id))
		}
		if f.isOwn(l) {
			h.kind = fromOwnSession
		}
		h.note, h.withheld = f.noteOf(l)
		h.withheld = h.withheld || l.owner == nil && l.Note == "" && !f.boxRead // a note may belong to it
		return h
	}
	return firstHandover{}
}

// noteOf returns the note of a hand-over. It is only in the mailbox for a claim, and if v0.2.0 wrote
// the hand-over or it moved here.
func (f *facts) noteOf(l *leftHandover) (note *mail.Note, withheld bool) {
	if note := waiting.NoteOf(l.Handover); note != nil || l.Note == "" {
		return note, false
	}
	return f.readNote(l.Note)
}

// isOwn reports whether the session left the hand-over, also if its record is lost. A session that
// continues takes only claims of a compaction (mayTake); one without a note must name it.
func (f *facts) isOwn(l *leftHandover) bool {
	return l.id == f.session.ID || l.Claim && f.continues() && (l.Note != "" || l.From == string(f.session.ID))
}

// onItsWay is how long the successor of a pane is expected. A client may ask the person something
// before it runs its hooks, and some successors never start while their pane stays open for weeks.
const onItsWay = 10 * time.Minute

// mayTake reports whether a hand-over is for this session: it is its own, or the session is new and
// the hand-over's author has ended or was replaced. The first case that fits decides.
func (f *facts) mayTake(l *leftHandover) bool {
	switch {
	case l.id == f.session.ID: // left before a compaction or a cycle
		return l.Kind != session.KindHandoff
	case f.isBeingTold(session.ID(l.TakenBy)):
		return false
	case f.continues() && l.Claim && l.Reason == marker.Compaction:
		return true
	case f.continues(), l.owner != nil && l.Kind != session.KindHandoff:
		return false // a hand-over is for a new session; other kinds are for their owner
	case l.owner == nil:
		return true
	case f.hasReplaced(l.owner):
		return true // by /clear, in a client that has no hook of an end
	case l.owner.Liveness == session.Running && !l.Respawn, l.inside:
		return false // its author goes on; children of a live session see its hand-over, too
	}
	return f.isForHere(l)
}

// hasReplaced reports whether this session replaced another one in its process.
func (f *facts) hasReplaced(other *session.Candidate) bool {
	if other.Process() != f.session.Process {
		return false // saves looking at all sessions
	}
	predecessor, outcome := session.FindPredecessor(f.now, f.candidates, f.asAttended())
	return predecessor == other.Record && outcome == session.Done
}

// isBeingTold reports whether another running session has claimed the hand-over.
func (f *facts) isBeingTold(by session.ID) bool {
	if by == "" || by == f.session.ID {
		return false
	}
	c := f.findSession(by)
	return c != nil && c.Liveness == session.Running && !f.hasReplaced(c)
}

// isForHere judges by where the owner and this session run. A hand-over is for the owner's pane. A
// session elsewhere takes it only if that pane is gone. A session outside tmux also takes
// it if the owner has ended and no successor is expected in the pane.
func (f *facts) isForHere(l *leftHandover) bool {
	o := l.owner
	runs := o.Liveness == session.Running
	expected := l.Respawn && f.now.Sub(l.At).Abs() < onItsWay // a successor may still start in the pane
	switch {
	case o.TmuxPane == "":
		return true
	case f.session.TmuxPane == "" && !runs && !expected:
		return true
	case o.TmuxServer == f.session.TmuxServer && o.TmuxPane == f.session.TmuxPane:
		return true
	case l.elsewhere && runs:
		return false // tmux here need not be the one with that pane
	}
	return f.findPane(o.Record) == paneMissing
}

// knownContext returns what the model knows of earlier work. A compaction's hand-over that no
// record has, as Gas Town's gt leaves it, counts as one of this conversation.
func (f *facts) knownContext(h firstHandover) contextState {
	switch {
	case f.resumes() && f.forgets, f.asksAgain && h.kind == noHandover:
		return forgotten
	case f.resumes():
		return resumed
	case f.session.Source == "compact", h.reason == marker.Compaction && (h.kind == fromOwnSession || h.owner() == nil):
		return compacted
	}
	return fresh
}

// findPredecessor returns the session that this one follows. Only a fresh conversation of a
// role that works has one.
func (f *facts) findPredecessor(h firstHandover) predecessor {
	if f.knownContext(h) != fresh || !f.hasTasks {
		return predecessor{}
	}
	p := f.asAttended()
	if o := h.owner(); o != nil {
		p.Predecessor = o.ID
	}
	r, how := session.FindPredecessor(f.now, f.candidates, p)
	return predecessor{r, how}
}

// asAttended returns the session's parameters as if a person saw it, because a headless run is told
// what waits as well, though it takes nothing.
func (f *facts) asAttended() session.StartParams {
	p := f.session
	p.Headless = false
	return p
}

// crashCandidate returns the session that broke off, as far as records tell that without its
// conversation, or the predecessor if none did.
func (f *facts) crashCandidate(h firstHandover) predecessor {
	p, owner := f.findPredecessor(h), h.owner()
	if owner == nil || p.Record == nil {
		return p
	}
	// The predecessor handed over, but another session may have broken off, or the same
	// one after its hand-over. A session with a hand-over is not among the others, because
	// that is delivered; nor is one that has a successor.
	others := slices.DeleteFunc(slices.Clone(f.candidates), func(c session.Candidate) bool {
		followed := c.Liveness == session.Ended && c.ChildID != f.session.ID && f.findSession(c.ChildID) != nil
		return followed || c.Handoff != nil && c.Handoff.Kind == session.KindHandoff
	})
	if r, how := session.FindPredecessor(f.now, others, f.asAttended()); (predecessor{r, how}).brokeOff() {
		return predecessor{r, how}
	}
	// Its owner went on after the hand-over if no successor was to replace it, and may have died then.
	if c := f.findSession(owner.ID); c != nil && h.kind != fromOwnSession && !owner.Handoff.Respawn {
		switch {
		case c.Liveness == session.Dead:
			return predecessor{owner, session.Crash}
		case c.Liveness == session.Ended && (predecessor{owner, owner.Outcome}).brokeOff():
			return predecessor{owner, owner.Outcome}
		}
	}
	return p
}

// findBroken returns the session that broke off, and how, or the predecessor if none did. If the
// predecessor handed over, this is another session without a successor, or the predecessor
// itself if it received a request after its hand-over. It adds sessions that were asked for
// nothing to Unused and goes on with the next one.
func (f *facts) findBroken(h firstHandover) (predecessor, ending) {
	for {
		p := f.crashCandidate(h)
		if !p.brokeOff() {
			return p, ending{}
		}
		end := f.readEnding(p.Record)
		switch o := h.owner(); {
		case f.passesOver(p, h) && f.wasUnused(p, end):
			f.session.Unused = append(slices.Clone(f.session.Unused), p.ID)
			continue
		case o != nil && p.Record == o && !slices.ContainsFunc(end.tail.Requests, func(r summary.Request) bool { return r.Time.After(o.Handoff.At) }):
			return f.findPredecessor(h), ending{}
		}
		return p, end
	}
}

// passesOver reports whether a session that broke off is passed over if it was asked for nothing: if
// another one broke off as well, as when a machine restarts, that one has something to continue from.
func (f *facts) passesOver(p predecessor, h firstHandover) bool {
	if p.JoinsChain() || p.Note != "" || len(p.DeliveredNotes) > 0 || p.Handoff != nil {
		return false
	}
	if p.InPane(f.session) && p.BootID == f.session.Process.Boot {
		return false // it is started again where it was, and the other one in its own pane
	}
	without := *f
	without.session.Unused = append(slices.Clone(f.session.Unused), p.ID)
	next := without.crashCandidate(h)
	return next.brokeOff() && !slices.Contains(without.session.Unused, next.ID)
}

// wasUnused reports whether a session that broke off was asked for nothing and saved nothing.
func (f *facts) wasUnused(p predecessor, end ending) bool {
	return !end.partly && len(end.tail.Requests) == 0 && end.asked.Text == "" &&
		!slices.ContainsFunc(f.readCheckpoints(), func(c savedCheckpoint) bool { return c.SessionID == p.ID || c.TakenBy == p.ID })
}

// pickCheckpoint returns the checkpoint to deliver, nil for none: the newest that is not stale,
// of a session that broke off.
func (f *facts) pickCheckpoint(p predecessor) *checkpoint.Checkpoint {
	for _, c := range f.readCheckpoints() {
		if !c.Stale(f.now) && f.getsCheckpoint(c, p) {
			return c.Checkpoint
		}
	}
	return nil
}

// getsCheckpoint reports whether this session gets a checkpoint: if its predecessor p broke off, and had
// saved the checkpoint or received it last; or if nobody received it and the session that saved it
// broke off, or left no record of that because it was killed while it started.
func (f *facts) getsCheckpoint(c savedCheckpoint, p predecessor) bool {
	switch {
	case p.brokeOff() && (c.SessionID == p.ID || c.TakenBy == p.ID):
		return true
	case c.TakenBy != "", c.SessionID == f.session.ID && c.SessionID != "": // a person's checkpoint has no session
		return false
	}
	if r := f.findSession(c.SessionID); r != nil {
		return r.Outcome == session.Crash || r.Outcome == session.Killed
	}
	return !c.recorded
}

// addHooked adds the hooked notes to s: work, and notes of the chain that broke off. Bodies are
// read from the latest on; after one that could not be read the rest waits.
func (f *facts) addHooked(s *situation, broke predecessor) {
	for _, n := range slices.Backward(f.hooked) {
		work := n.Type != mail.Handoff
		waits := s.handover.note != nil && n.ID == s.handover.note.ID || f.findUnowned(n.ID) != nil
		if !work && (waits || !f.isOfBroken(n, broke)) {
			continue
		}
		n, ok := f.readBody(n)
		switch {
		case !ok:
			return
		case work:
			s.hooked = append([]mail.Note{n}, s.hooked...)
		default:
			s.recalled = append([]mail.Note{n}, s.recalled...)
		}
	}
}

// addUnowned adds to s the notes of the hand-overs that no session's record has. A note of the
// chain that broke off is recalled, and no longer told as the first hand-over's. The others wait.
func (f *facts) addUnowned(s *situation, broke predecessor) {
	h := &s.handover
	for i := range f.leftHandovers {
		l := &f.leftHandovers[i]
		first := l == h.left
		if l.unowned == nil || l.Note == "" || !first && (f.continues() || !f.mayTake(l)) {
			continue
		}
		note, withheld := h.note, h.withheld
		if !first {
			note, withheld = f.noteOf(l)
		}
		switch {
		case withheld:
			return
		case note == nil: // its copy in the mailbox was all there was, and is gone
		case f.isOfBroken(*note, broke):
			s.recalled = append([]mail.Note{*note}, s.recalled...)
			if first {
				h.note = nil
			}
		case !first:
			s.waiting = append([]mail.Note{*note}, s.waiting...)
		}
	}
}

// isOfBroken reports whether a hand-over's note belongs to the chain that broke off: its last session
// had received it, or left it for itself.
func (f *facts) isOfBroken(n mail.Note, broke predecessor) bool {
	return !f.continues() && broke.brokeOff() &&
		(broke.Note == n.ID || slices.Contains(broke.DeliveredNotes, n.ID) || n.Chain != "" && n.Chain == string(broke.ChainID))
}

// findUnowned returns the hand-over whose note has this id, of those that no session's record has, or
// nil.
func (f *facts) findUnowned(note string) *waiting.Unowned {
	for _, l := range f.leftHandovers {
		if l.unowned != nil && l.Note == note {
			return l.unowned
		}
	}
	return nil
}
