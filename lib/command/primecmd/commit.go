package primecmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/client/registry"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// commit is what a session's start writes. The order is its promise: the session is
// noted before it is told anything (begin), and what it was told is taken away only
// when that was delivered (acknowledge). After a start that is killed between the two,
// the next one tells the same again; nothing is lost.
type commit struct {
	*start
	facts     *facts
	situation situation
	others    []*session.Record // that run here under the same name
	duplicate bool              // the hook is wired twice, and the other has spoken
}

// lockWait is how long a start waits for others that work in the same home:
// before it tells the session anything, and then again.
const lockWait = 4 * time.Second

// begin decides what the session is told, and notes the session, under the home's
// lock. Where the lock is not to be had, it decides without, and acknowledge notes the
// session.
func (c *commit) begin() error {
	c.warn(c.chooseMirror())
	lock, err := c.call.Home.LockWithin(lockWait)
	if err != nil {
		refused := denied
		if errors.Is(err, flock.ErrBusy) {
			refused = busy
		}
		c.facts = c.collect(refused)
		c.situation = assess(c.facts)
		return err
	}
	defer lock.Unlock()
	records := c.repair()
	c.facts = c.gather(locked, records, checkpoint.Repair)
	c.situation = assess(c.facts)
	return c.record(records)
}

// acknowledge takes away what was delivered, now that it was.
func (c *commit) acknowledge() error {
	told := &c.situation
	unnoted := c.facts.access != locked
	if !unnoted && told.handover.kind == none && told.checkpoint == nil && len(told.waiting)+len(told.noted) == 0 {
		return nil
	}
	lock, err := c.call.Home.LockWithin(lockWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if unnoted {
		records := c.confirm()
		if err := c.record(records); err != nil || c.duplicate {
			return err
		}
	}
	if err := c.markTold(); err != nil {
		return err
	}
	if told.checkpoint != nil {
		c.warn(checkpoint.Take(c.call.Home, told.checkpoint, c.session.ID)) // at the worst it is told again
	}
	switch h := told.handover; {
	case h.kind == ownTaken:
		return c.carryOn()
	case h.kind == none, h.withheld: // what is withheld waits for the next start
		return nil
	}
	return c.takeMarker()
}

// markTold marks the hand-overs as seen that were told besides the one with a marker of
// its own. What is marked is told to nobody else, so the marks come first.
func (c *commit) markTold() error {
	box := c.box()
	for _, n := range slices.Concat(c.situation.waiting, c.situation.noted) {
		if n.Seen {
			continue
		}
		if err := box.MarkSeen(n.ID); err != nil && !errors.Is(err, mail.ErrNotFound) {
			return err
		}
	}
	h := c.situation.handover
	if h.withheld || len(c.situation.waiting) == 0 && h.kind != stranger {
		return nil
	}
	// A person's markers, which no record names, stood for these notes.
	for _, m := range c.facts.markers {
		if m.owner == nil && !m.Claimed && m.Reason != marker.Compaction && (h.marker == nil || m.Marker != *h.marker) && c.facts.judge(m) == take {
			if err := m.Remove(c.call.Home); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *commit) box() mail.Box { return mail.Of(c.call.Home, c.call.Home.Identity.Address()) }

// takeMarker takes the hand-over away. Its note is marked as seen, and the session's
// record names it; then the marker goes; then the record of whoever left it says no
// more that something is left to do.
func (c *commit) takeMarker() error {
	h, store := c.situation.handover, c.call.Store
	if h.note != nil {
		if err := c.box().MarkSeen(h.note.ID); err != nil {
			return err
		}
		me, err := store.Get(c.session.ID)
		if err != nil {
			return err
		}
		if h.kind != own && me != nil && me.Note != h.note.ID {
			me.Note = h.note.ID
			if err := store.Put(me, atomicfile.Unsynced); err != nil {
				return err
			}
		}
	}
	if err := h.marker.Remove(c.call.Home); err != nil {
		return err
	}
	switch {
	case h.kind == own:
		return c.carryOn()
	case h.owner == nil:
		return nil
	}
	owner, err := store.Get(h.owner.ID)
	if err != nil || owner == nil || owner.Handoff == nil {
		return err
	}
	return c.takenUp(owner)
}

// carryOn notes that the session was told of its own hand-over, once the marker
// is gone: the record says that something is left to do.
func (c *commit) carryOn() error {
	me, err := c.call.Store.Get(c.session.ID)
	if err != nil || me == nil {
		return err
	}
	if h := c.situation.handover; h.kind == own && h.note != nil {
		me.Note = h.note.ID
	}
	if p := me.Handoff; p != nil && p.Kind != session.KindHandoff {
		me.Note, me.Handoff = cmp.Or(p.Note, me.Note), nil
	}
	return c.call.Store.Put(me, atomicfile.Unsynced)
}

// takenUp notes that the session's hand-over has reached its successor. What a
// session that handed over had noted on the way is in the note. The record
// comes last, for it says that something is left to do.
func (c *commit) takenUp(owner *session.Record) error {
	var err error
	saved := !c.facts.allSaved || slices.ContainsFunc(c.facts.checkpoints, func(k savedCheckpoint) bool { return k.SessionID == owner.ID })
	if owner.Handoff.Kind == session.KindHandoff && saved {
		err = checkpoint.Clear(c.call.Home, owner.ID, c.warn)
	}
	owner.Handoff = nil
	return errors.Join(err, c.call.Store.Put(owner, atomicfile.Unsynced))
}

// repair returns the home's records. It sets aside those that cannot be used, and
// makes notes of what sessions that are gone had asked for in a sandbox, in a turn
// that never ended. The caller holds the lock.
func (c *commit) repair() []*session.Record {
	records, err := c.call.Store.Repair()
	c.warn(err)
	now := c.env.Now()
	for _, r := range records {
		c.warn(request.Session{Home: c.call.Home, Record: r, Now: now, Redact: c.env.Redact, Warn: c.call.Warn}.Leftover())
	}
	return records
}

// record notes the session in its home. The caller holds the lock, and has read the
// records under it.
func (c *commit) record(records []*session.Record) error {
	p, s := c.session, c.situation
	if h := s.handover; h.owner != nil && h.kind != own {
		if p.Predecessor = h.owner.ID; h.note != nil {
			p.Subject = c.env.Line(h.note.Subject, maxMolecule)
		}
		h.owner.Handoff.TakenBy = p.ID // of two that start at once, one is told
	}
	for _, n := range s.waiting {
		p.DeliveredNotes = append(p.DeliveredNotes, n.ID)
	}
	if n := s.handover.note; n != nil {
		p.Note = n.ID
	} else if last := len(p.DeliveredNotes) - 1; last >= 0 {
		p.Note, p.DeliveredNotes = p.DeliveredNotes[last], p.DeliveredNotes[:last]
	}
	if s.crashed != nil {
		p.Recovers = s.crashed.ID
	}
	p.WorkUnit = s.workUnit()
	p.MoleculeID, p.StepRef = s.molecule()
	p.MoleculeID, p.StepRef = c.env.Line(p.MoleculeID, maxMolecule), c.env.Line(p.StepRef, maxMolecule)
	p.Topic = s.topic()
	if src := c.call.Input.Source; s.state != PostHandoff && src != "clear" && src != "compact" {
		p.Topic = cmp.Or(c.env.Line(c.call.Topic(), maxMolecule), p.Topic)
	}
	now := c.env.Now()
	started, err := c.call.Store.Start(now, records, p)
	if err != nil {
		return err
	}
	if c.duplicate = started.Duplicate; c.duplicate {
		return nil
	}
	c.others = started.Others
	for _, o := range c.others {
		c.env.Warn("session %s (process %d) also runs here, as '%s'", o.ID, o.PID, o.Actor)
	}
	// None of these needs the others.
	return errors.Join(c.noteCompacted(p.ID), c.call.Store.Persist(p.ID, now), c.call.BindInstance(), c.dropStale(records), c.export())
}

// dropStale removes the markers that sessions left for themselves, before a
// compaction or a cycle, and that ended before they came to read them. Their
// notes stay. It finishes, too, what a start left that was killed after it had
// taken a marker away: the hand-over of a session that is over and whose marker
// is gone was taken up.
func (c *commit) dropStale(records []*session.Record) error {
	for _, m := range c.facts.markers {
		if m.owner == nil || !m.owner.Ended() || m.owner.Handoff.Kind == session.KindHandoff {
			continue
		}
		if err := m.Remove(c.call.Home); err != nil {
			return err
		}
		if err := c.lapse(m.owner.Record); err != nil {
			return err
		}
	}
	if !c.facts.allMarkers {
		return nil // one that could not be read may be anybody's
	}
	for _, r := range records {
		if r.Handoff == nil || !r.Ended() || slices.ContainsFunc(c.facts.markers, func(m leftMarker) bool { return m.Name == r.Handoff.Marker }) {
			continue
		}
		if err := c.lapse(r); err != nil {
			return err
		}
	}
	return nil
}

// lapse finishes what an ended session left: its hand-over was taken up, or was for
// itself. What a session saved for itself is nobody's hand-over.
func (c *commit) lapse(owner *session.Record) error {
	if p := owner.Handoff; p.Kind != session.KindHandoff && p.Note != "" {
		if err := c.box().MarkSeen(p.Note); err != nil && !errors.Is(err, mail.ErrNotFound) {
			return err
		}
	}
	return c.takenUp(owner)
}

// confirm looks, now that the home is ours, at what was told while it was not, and
// returns the records. A marker that is no longer there was told by another as well.
func (c *commit) confirm() []*session.Record {
	records, err := c.call.Store.Repair()
	c.warn(err)
	f, told := c.facts, &c.situation.handover
	f.access = locked
	f.home = session.Observe(c.env.Now(), records)
	c.warn(c.gatherMarkers(f))
	if told.marker == nil {
		return records
	}
	for i := range f.markers {
		m := &f.markers[i]
		if m.Marker != *told.marker || c.classify(f, m) != take {
			continue
		}
		if told.owner = nil; m.owner != nil {
			told.owner = m.owner.Record
		}
		if told.kind != own {
			told.kind = f.kindOf(*told)
		}
		return records
	}
	*told = handover{}
	return records
}

// workUnit is the id of the work that the session is given.
func (s situation) workUnit() string {
	if len(s.work) > 0 {
		return s.work[0].ID
	}
	if len(s.hooked) > 0 {
		return s.hooked[0].ID
	}
	return ""
}

// maxMolecule bounds the name of a molecule, and of a step of it, in characters.
const maxMolecule = 100

// molecule is the one that the session goes on with, and the step that it is at: what the
// checkpoint says that it is told, or the work that it is given.
func (s situation) molecule() (id, step string) {
	switch {
	case s.checkpoint != nil && s.checkpoint.MoleculeID != "":
		return s.checkpoint.MoleculeID, s.checkpoint.CurrentStep
	case len(s.work) > 0:
		return beads.Molecule(s.work[0].Description), ""
	case len(s.hooked) > 0:
		return beads.Molecule(s.hooked[0].Body), ""
	}
	return "", ""
}

// topic is what the session is about, as a beacon says it.
func (s situation) topic() string {
	switch s.state {
	case PostHandoff:
		return "handoff"
	case Autonomous:
		return "assigned"
	}
	return "cold-start"
}

// chooseMirror finds out which of the files that other programs of a town read may
// be written into the home: those that its repository neither keeps nor shows.
func (c *commit) chooseMirror() error {
	h := c.call.Home
	if !h.HasMirror() {
		return nil
	}
	h.Mirror().Sweep(c.env.Now())
	paths := make([]string, len(place.MirrorFiles))
	for i, name := range place.MirrorFiles {
		paths[i] = place.MirrorPath(name)
	}
	ignored, err := git.Ignored(h.Dir, mirrorWait, paths...)
	if errors.Is(err, git.ErrNotRepository) {
		ignored, err = paths, nil
	}
	var names []string
	for i, path := range paths {
		if slices.Contains(ignored, path) {
			names = append(names, place.MirrorFiles[i])
		}
	}
	return errors.Join(err, h.SetMirror(names))
}

// mirrorWait bounds git's answer.
const mirrorWait = time.Second

// shareWait bounds the call that tells tmux the session's id, which takes some
// milliseconds; nobody tells it again before the next start.
const shareWait = time.Second

// share makes the session known in the tmux session's environment, where Gas Town has a
// tmux session for each agent: to what is started in it and to who watches it. Outside
// a town the panes of one tmux session have agents of their own, and no variable of it
// can be right for all.
func (c *commit) share() error {
	h, p := c.call.Home, c.session
	if !c.call.Hook || h.Town.Personal || h.Identity.Role == "" || p.TmuxPane == "" || p.Source == "compact" {
		return nil
	}
	vars := [][2]string{{"GT_SESSION_UUID", string(p.ID)}}
	if name := registry.SharedVar(c.call.Agent); name != "" {
		vars = append(vars, [2]string{name, string(p.ID)})
	}
	if dir := beads.Dir(h); dir != "" {
		vars = append(vars, [2]string{"BEADS_DIR", dir})
	}
	return tmux.Server(p.TmuxServer).SetEnvironment(p.TmuxPane, vars, nil, shareWait)
}

// export makes the home and the session known to the commands that the agent
// will run, where the client offers a file for that, and lets nobody name another.
// What the variable says to another client's hook, a project's .env may have said.
func (c *commit) export() error {
	name := c.call.Dialect.EnvFile
	path := c.env.Getenv(name)
	if name == "" || path == "" || !c.call.Hook {
		return nil
	}
	line := fmt.Sprintf("export GT_HOME=%s GT_SESSION_UUID=%s", term.Quote(c.call.Home.Dir), term.Quote(string(c.session.ID)))
	if dir := beads.Dir(c.call.Home); dir != "" {
		line += " BEADS_DIR=" + term.Quote(dir)
	}
	line += "\n"
	if old, err := atomicfile.Read(path, atomicfile.MaxSize); err == nil && strings.Contains(string(old), line) {
		return nil
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return atomicfile.Error("write", path, err)
}
