package prime

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"time"

	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/tmux"
)

// State is the situation that a session starts in. Where several hold, the
// first of this order counts, and the facts of the others are still told.
type State string

const (
	PostHandoff   State = "post-handoff"   // a predecessor handed over
	CrashRecovery State = "crash-recovery" // a predecessor died without a word
	Autonomous    State = "autonomous"     // work is hooked
	Normal        State = "normal"
)

// look finds out what there is to tell. It changes nothing, but that under the
// home's lock what is no use is set aside. What it cannot
// read it goes without: a session that is told less is better than one that is
// told nothing.
func (s *start) look() {
	now := s.env.Now()
	home := s.call.Home
	box := mail.Of(home, home.Identity.Address())

	all := s.call.Store.All
	if s.locked {
		all = s.call.Store.Repair
	}
	records, err := all()
	s.warn(err)
	s.records = records
	if s.locked {
		s.serveLeftovers(now)
	}
	s.warn(s.lookForMarker(box))
	s.light = s.goesOn() || s.marker != nil && s.marker.Reason == marker.Compaction && (s.own || s.owner == nil)
	if !s.light {
		s.warn(s.lookForCrash(now))
	}
	s.warn(s.lookForWork(box))
	if s.light && s.forgot() && s.marker == nil {
		s.warn(s.lookForGiven(box))
	}
	if !s.light {
		s.unread, err = box.CountUnread()
		s.warn(err)
		s.lookForBeads()
	}
	switch {
	case s.marker != nil:
		s.state = PostHandoff
	case s.checkpoint != nil || s.crashed != nil:
		s.state = CrashRecovery
	case len(s.hooked) > 0 || len(s.work) > 0:
		s.state = Autonomous
	default:
		s.state = Normal
	}
}

// serveLeftovers makes notes of what sessions that are gone had asked for in a
// sandbox, in a turn that never ended.
func (s *start) serveLeftovers(now time.Time) {
	for _, r := range s.records {
		s.warn(request.Session{Home: s.call.Home, Record: r, Now: now, Redact: s.env.Redact, Warn: s.call.Warn}.Leftover())
	}
}

// warn says what could not be done.
func (s *start) warn(err error) { s.call.Warn(err) }

// left is a marker with the session that left it, nil where that is not known.
type left struct {
	marker.Marker
	owner *session.Record
}

// markers are those that lie in the home.
func (s *start) markers() ([]left, error) {
	markers, err := marker.List(s.call.Home) // one that cannot be read hides no other
	found := make([]left, len(markers))
	for i, m := range markers {
		found[i].Marker = m
		for _, r := range s.records {
			// A name is used again: who took it last has it.
			if r.Handoff != nil && r.Handoff.Marker == m.Name &&
				(found[i].owner == nil || r.Handoff.At.After(found[i].owner.Handoff.At)) {
				found[i].owner = r
			}
		}
	}
	return found, err
}

// lookForMarker finds the hand-over that is meant for this session, and its
// note.
func (s *start) lookForMarker(box mail.Box) error {
	markers, err := s.markers()
	s.warn(err)
	rank := func(m left) int { // its own first, and one that nobody is known to have left last
		switch {
		case m.owner == nil:
			return 2
		case m.owner.ID == s.facts.ID:
			return 0
		}
		return 1
	}
	slices.SortStableFunc(markers, func(a, b left) int { return rank(a) - rank(b) })
	for _, m := range markers {
		if s.takes(m) {
			s.marker, s.owner = &m.Marker, m.owner
			s.own = m.owner == nil && s.goesOn() && m.From == string(s.facts.ID) || // its record is lost
				m.owner != nil && m.owner.ID == s.facts.ID
			break
		}
	}
	if s.locked && err == nil && s.marker == nil && s.goesOn() {
		s.cutShort = slices.ContainsFunc(s.records, func(r *session.Record) bool {
			return r.ID == s.facts.ID && r.Handoff != nil && r.Handoff.Kind != session.KindHandoff
		})
	}
	if s.owner == nil || s.owner.Handoff == nil || s.owner.Handoff.Note == "" {
		return nil
	}
	note, err := box.Get(s.owner.Handoff.Note)
	if err != nil {
		s.withheld = !errors.Is(err, mail.ErrNotFound)
		return err
	}
	s.note = &note
	return nil
}

// lookForWork finds the notes that are hooked to this session. Of a marker
// whose session is not known (a person's), the latest hand-over that nobody
// has read is the note.
func (s *start) lookForWork(box mail.Box) error {
	hooked, err := box.Hooked()
	if err != nil {
		s.withheld = s.withheld || s.marker != nil && s.owner == nil
		return err
	}
	for _, n := range slices.Backward(hooked) {
		forMarker := s.marker != nil && s.owner == nil && s.note == nil && n.Type == mail.Handoff && !n.Seen &&
			(!s.goesOn() || n.Session == string(s.facts.ID))
		if s.note != nil && n.ID == s.note.ID || !forMarker && !s.isOurs(n) {
			continue
		}
		if n, err = box.Whole(n); err != nil {
			s.withheld = s.withheld || forMarker
			return err
		}
		if forMarker {
			s.note, s.own = &n, s.goesOn()
			continue
		}
		s.hooked = append(s.hooked, n)
		if n.Type == mail.Handoff && s.marker == nil && s.broken() {
			s.crashed = s.parent
		}
	}
	slices.Reverse(s.hooked) // the oldest first
	return nil
}

// lookForGiven finds the note that a session was given, of which its client has
// kept nothing.
func (s *start) lookForGiven(box mail.Box) error {
	for _, r := range s.records {
		if r.ID != s.facts.ID {
			continue
		}
		given := r.Note
		if s.cutShort {
			given = cmp.Or(r.Handoff.Note, given)
		}
		if given == "" {
			continue
		}
		note, err := box.Get(given)
		if errors.Is(err, mail.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		s.note = &note
	}
	return nil
}

// isOurs says whether a hooked note is work for this session. A hand-over note
// lies in the box of all who share its name, and is only for the chain that it
// was written in: for who follows a session that crashed with it, and, when
// its marker was lost, for the next to start.
func (s *start) isOurs(n mail.Note) bool {
	if n.Type != mail.Handoff {
		return true
	}
	if p := s.parent; p != nil && s.broken() && (p.Note == n.ID || n.Chain != "" && n.Chain == string(p.ChainID)) {
		return true
	}
	if n.Seen || s.goesOn() {
		return false
	}
	id, err := session.ParseID(n.Session)
	if err != nil {
		return s.marker == nil // a person's, whose marker is gone
	}
	r, err := s.call.Store.Get(id)
	return err == nil && (r == nil || r.Handoff == nil && !r.Live())
}

// tmuxWait bounds the question whether a pane is still there.
const tmuxWait = 250 * time.Millisecond

// onItsWay is how long a pane's successor is waited for: a client may ask a
// person something before it runs its hooks. Some never come, and the pane may
// stand for weeks.
const onItsWay = 10 * time.Minute

// takes says whether a marker is meant for this session.
//
// A session's own, from before a compaction or a cycle, is. One that another
// session left goes to a session that starts (not to one that goes on), and
// only when who left it is over or has given its pane away: a live session's
// children find its marker too. It goes into the same pane; elsewhere only when
// that pane is no more, or, for who starts outside tmux, when it was not given
// to a successor, who may still be on its way, or that one did not come.
func (s *start) takes(m left) bool {
	owner := m.owner
	switch {
	case owner == nil && s.busy:
		return false // who leaves it may be about to note that
	case owner == nil: // Gas Town's, or its session's record is gone
		return !s.goesOn() || m.Reason == marker.Compaction
	case owner.ID == s.facts.ID:
		return owner.Handoff.Kind != session.KindHandoff
	case s.goesOn() || owner.Handoff.Kind != session.KindHandoff:
		return false
	}
	p := owner.Handoff
	if t := p.TakenBy; t != "" && t != s.facts.ID {
		if r, err := s.call.Store.Get(t); err == nil && r != nil && r.Live() {
			return false
		}
	}
	if owner.Live() && !p.Respawn || s.inside(owner) {
		return false
	}
	expected := p.Respawn && s.env.Now().Sub(p.At).Abs() < onItsWay
	if owner.TmuxPane == "" || s.facts.TmuxPane == "" && !owner.Live() && !expected {
		return true
	}
	if owner.TmuxServer == s.facts.TmuxServer {
		if owner.TmuxPane == s.facts.TmuxPane {
			return true
		}
	}
	if owner.Elsewhere() && owner.Live() {
		return false // what tmux says here is not said of that pane
	}
	_, err := tmux.Server(owner.TmuxServer).Pane(owner.TmuxPane, tmuxWait)
	return err != nil && !errors.Is(err, tmux.ErrNoAnswer)
}

// inside says whether this session's process runs below the other's.
func (s *start) inside(other *session.Record) bool {
	return s.facts.Process.IsSet() && other.Process().Alive() && s.facts.Process.DescendsFrom(other.Process())
}

// lookForCrash finds the session that died before this one, and what it left.
func (s *start) lookForCrash(now time.Time) error {
	if !s.call.Home.Identity.Role.Works() {
		return nil
	}
	f := s.facts
	if s.owner != nil {
		f.Predecessor = s.owner.ID
	}
	s.parent, s.how = session.FindPredecessor(now, session.Observe(now, s.records), f)
	var parent *session.Record
	if s.broken() {
		parent = s.parent
	}
	list := checkpoint.List
	if s.locked {
		list = checkpoint.Repair
	}
	all, err := list(s.call.Home)
	for _, c := range all {
		if !c.Stale(now) && s.recovers(c, parent) {
			c.Clean(s.env.Redact) // another program may have written it
			s.checkpoint = c
			break
		}
	}
	if parent != nil && s.marker == nil {
		switch sum, terr := s.tail(parent); {
		case terr == nil && len(sum.Requests) > 0:
			s.last, s.crashed = sum, parent
		case parent.Transcript != "" && !errors.Is(terr, fs.ErrNotExist):
			s.warn(terr)
		}
		if s.checkpoint != nil {
			s.crashed = parent
		}
	}
	return err
}

// broken says whether the session before had no clean end.
func (s *start) broken() bool { return s.how == session.Crash || s.how == session.Killed }

// recovers says whether a checkpoint is of a session that had no clean end:
// the one that crashed before this start, or one that nobody was told of yet,
// because nobody has a record of it or the start that was to tell was killed.
func (s *start) recovers(c *checkpoint.Checkpoint, crashed *session.Record) bool {
	for _, id := range []session.ID{c.SessionID, c.TakenBy} {
		if crashed != nil && id == crashed.ID {
			return true
		}
	}
	if c.TakenBy != "" || c.SessionID == s.facts.ID {
		return false
	}
	for _, r := range s.records {
		if r.ID == c.SessionID {
			return r.Outcome == session.Crash || r.Outcome == session.Killed
		}
	}
	return !s.call.Store.Exists(c.SessionID)
}

// lookForBeads asks the work store of the home, where there is one. That it
// does not answer is worth a warning and no more.
func (s *start) lookForBeads() {
	work, err := beads.Hooked(s.call.Home, s.env.Environ, beads.Deadline)
	s.warn(err)
	s.work = work
}
