package primecmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gt/lib/client/names"
	"gt/lib/conversation/brief"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/activity"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/state/waiting"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// commit writes what a start changes. A hand-over that is told goes through these steps:
//
//	begin        TakenBy names this session, so that no other is told it while this one runs
//	tell         the text is printed
//	acknowledge  the session's record names the note, the copy of that is marked as read, the marker is removed,
//	             and then one rename takes the hand-over (Put of a record without Handoff, or waiting.Take)
//
// Until the rename it waits. If a start is killed before that, the next one finds that nobody who
// runs is being told it, and tells it again.
type commit struct {
	*start
	facts     *facts
	situation situation
	others    []*session.Record // live sessions in this folder with the same name
	duplicate bool              // the hook is wired twice and the other call has answered
}

// lockWait limits how long a start waits for the home's lock, once in begin and once in acknowledge.
const lockWait = 4 * time.Second

// begin assesses the situation and records the session, under the home's lock. Without the
// lock it only assesses; acknowledge then records the session.
func (c *commit) begin() error {
	c.warn(c.chooseMirror())
	lock, err := c.call.Home.LockWithin(lockWait)
	if err != nil {
		if c.access = busy; !errors.Is(err, flock.ErrBusy) {
			c.access, c.unrecordedReason = looking, term.Clean(c.env.Redact(err.Error()))
		}
		c.facts, c.situation = c.assessUnlocked()
		return err
	}
	defer lock.Unlock()
	records := c.repair()
	c.access = locked
	c.facts, c.situation = c.assess(records)
	return c.recordStart(records)
}

// acknowledge takes what was told (see commit). If begin had no lock, it records the session first.
func (c *commit) acknowledge() error {
	told := &c.situation
	recorded := c.access == locked
	if recorded && (!c.takesHandovers() || told.handover.kind == noHandover && told.checkpoint == nil && len(told.waiting)+len(told.recalled) == 0) {
		return nil // nothing that was told has to be taken
	}
	lock, err := c.call.Home.LockWithin(lockWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if !recorded {
		records := c.gatherAgain()
		if err := c.recordStart(records); err != nil || c.duplicate || !c.takesHandovers() {
			return err
		}
	}
	if err := c.markTold(); err != nil {
		return err
	}
	if told.checkpoint != nil {
		c.warn(checkpoint.Take(c.call.Home, told.checkpoint, c.session.ID)) // on failure it is delivered again
	}
	if h := told.handover; h.kind == noHandover || h.withheld { // a withheld note waits for the next start
		return nil
	}
	return c.takeHandover()
}

// takesHandovers reports whether the session takes what it is told, so that no other gets it. A
// headless run takes only what it left for itself.
func (c *commit) takesHandovers() bool {
	if !c.session.Headless {
		return true
	}
	me := c.facts.findSession(c.session.ID)
	return me != nil && me.Headless && c.facts.continues()
}

// markTold takes what was delivered beside the hand-over, and marks the notes of a broken chain
// as seen. The marks come before anything is removed, because a note that is
// seen is not delivered to another session.
func (c *commit) markTold() error {
	for _, n := range slices.Concat(c.situation.waiting, c.situation.recalled) {
		if n.Seen {
			continue
		}
		var err error
		if u := c.facts.findUnowned(n.ID); u != nil {
			err = waiting.Take(u, c.call.Home)
		} else {
			err = waiting.DropCopies(c.call.Home, &handover.Handover{Note: n.ID})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeHandover takes the hand-over that was told first, in the order that commit describes: the
// session's record names the note, the copies go (DropCopies), and one rename takes it.
func (c *commit) takeHandover() error {
	h := c.situation.handover
	if h.kind == fromOwnSession {
		return c.takeOwn()
	}
	if h.note != nil {
		me, err := c.call.Store.Get(c.session.ID)
		if err != nil {
			return err
		}
		if me != nil && me.Note != h.note.ID {
			me.Note = h.note.ID
			if err := c.call.Store.Put(me, atomicfile.Unsynced); err != nil {
				return err
			}
		}
	}
	if h.left.unowned != nil {
		return waiting.Take(h.left.unowned, c.call.Home)
	}
	if err := waiting.DropCopies(c.call.Home, h.left.Handover); err != nil {
		return err
	}
	owner, err := c.call.Store.Get(h.left.id)
	if err != nil || owner == nil || owner.Handoff == nil {
		return err
	}
	return c.takeFrom(owner)
}

// takeOwn takes what the session left for itself. What waited for a successor then waits again.
func (c *commit) takeOwn() error {
	h := c.situation.handover
	var err error
	if h.left.id == c.session.ID {
		err = waiting.DropCopies(c.call.Home, h.left.Handover)
	} else { // a claim
		err = waiting.Take(h.left.unowned, c.call.Home)
	}
	if err != nil {
		return err
	}
	me, err := c.call.Store.Get(c.session.ID)
	if err != nil || me == nil {
		return err
	}
	if h.note != nil {
		me.Note = h.note.ID
	}
	// Earlier is the hand-over that waited for a successor when the session saved this one.
	if p := me.Handoff; p != nil && p.Kind != session.KindHandoff {
		me.Note, me.Handoff = cmp.Or(p.Note, me.Note), p.Earlier
		if e := p.Earlier; e != nil && e.Marker != "" {
			c.warn(marker.Write(c.call.Home, e.Marker, e.From, e.Reason, atomicfile.Unsynced))
		}
	}
	return c.call.Store.Put(me, atomicfile.Unsynced)
}

// takeFrom removes the hand-over from its owner's record. Before that it clears the owner's
// checkpoint, whose content is in the note, unless it is known that the owner has none.
func (c *commit) takeFrom(owner *session.Record) error {
	var err error
	known := c.checkpoints
	saved := known == nil || known.partly || slices.ContainsFunc(known.all, func(k savedCheckpoint) bool { return k.SessionID == owner.ID })
	if owner.Handoff.Kind == session.KindHandoff && saved {
		err = checkpoint.Clear(c.call.Home, owner.ID, c.warn)
	}
	owner.Handoff = nil
	return errors.Join(err, c.call.Store.Put(owner, atomicfile.Unsynced))
}

// repair returns the home's records and quarantines unusable ones. Requests that a session left in its
// sandbox during a turn that never ended become notes. The caller holds the lock.
func (c *commit) repair() []*session.Record {
	records, err := c.call.Store.Repair()
	c.warn(err)
	now := c.env.Now()
	for _, r := range records {
		c.warn(request.Session{Home: c.call.Home, Record: r, Now: now, Redact: c.env.Redact, Warn: c.call.Warn}.Leftover())
	}
	return records
}

// recordStart stores the session in the home with what it receives, and marks that as promised to
// it. It sets c.others and c.duplicate, and then does what needs the record, such as the client's
// environment file. The caller holds the lock and has read the records under it.
func (c *commit) recordStart(records []*session.Record) error {
	params, told := c.session, c.situation
	if !c.takesHandovers() {
		told = situation{state: told.state} // it is told, but receives nothing
	}
	params.Unused = told.unused
	if h := told.handover; h.owner() != nil && h.kind != fromOwnSession {
		if params.Predecessor = h.left.id; h.note != nil {
			params.Subject = c.env.Line(h.note.Subject, maxMolecule)
		}
		h.left.TakenBy = string(params.ID) // Start writes it: if two sessions start at once, only one receives it
	}
	for _, n := range told.waiting {
		params.DeliveredNotes = append(params.DeliveredNotes, n.ID)
	}
	// Note is the hand-over's or the latest one that waited; DeliveredNotes are the other ones.
	if n := told.handover.note; n != nil {
		params.Note = n.ID
	} else if last := len(params.DeliveredNotes) - 1; last >= 0 {
		params.Note, params.DeliveredNotes = params.DeliveredNotes[last], params.DeliveredNotes[:last]
	}
	c.markPromised(told)
	if told.crashed != nil {
		params.Recovers = told.crashed.ID
	}
	params.WorkUnit = told.workUnit()
	params.MoleculeID, params.StepRef = told.molecule()
	params.MoleculeID, params.StepRef = c.env.Line(params.MoleculeID, maxMolecule), c.env.Line(params.StepRef, maxMolecule)
	params.Topic = "cold-start"
	switch told.state {
	case PostHandoff:
		params.Topic = "handoff"
	case Autonomous:
		params.Topic = "assigned"
	}
	if src := c.call.Input.Source; told.state != PostHandoff && src != "clear" && src != "compact" {
		params.Topic = cmp.Or(c.env.Line(c.call.Topic(), maxMolecule), params.Topic)
	}
	now := c.env.Now()
	started, err := c.call.Store.Start(now, records, params)
	if err != nil {
		c.unrecordedReason = term.Clean(c.env.Redact(err.Error()))
		return err
	}
	if c.duplicate = started.Duplicate; c.duplicate {
		return nil
	}
	c.others = started.Others
	for _, o := range c.others {
		c.env.Warn("session %s (process %d) also runs here, as '%s'", o.ID, o.PID, o.Actor)
	}
	// These steps are independent, so each one runs even if another fails.
	err = errors.Join(c.gatherPrompts(started.Record), c.noteCompacted(params.ID), c.call.BindInstance(), c.writeEnvFile())
	if params.Headless {
		return err
	}
	return errors.Join(err, c.call.Store.Persist(params.ID, now), c.dropStale())
}

// markPromised marks the unowned hand-overs that this session is told as taken by it, before it is recorded.
func (c *commit) markPromised(s situation) {
	told := map[string]*mail.Note{} // by the ids of the notes
	for _, n := range slices.Concat(s.waiting, s.recalled) {
		told[n.ID] = &n
	}
	if h := s.handover; h.left != nil && h.kind != fromOwnSession && !h.withheld {
		told[h.left.Note] = cmp.Or(h.note, told[h.left.Note])
	}
	for _, l := range c.facts.leftHandovers {
		if note, ok := told[l.Note]; ok && l.unowned != nil {
			c.warn(waiting.Promise(l.unowned, c.call.Home, c.session.ID, note, c.env.Redact))
		}
	}
}

// gatherPrompts moves what the person said before the session's chain was known, in a client
// that runs the hooks of a start and of the first prompt at the same time.
func (c *commit) gatherPrompts(r *session.Record) error {
	if !r.JoinsChain() { // mutant always: . TestScripts/flow_prompts_overlap
		return nil
	}
	return thread.Move(c.call.Home.Town.State, r.ID, r.Chain(), r.ID, atomicfile.Unsynced, c.call.Warn)
}

// noteCompacted resets the number of tokens at a compaction, because a later resume must not be
// compared with the number before it.
func (s *start) noteCompacted(id session.ID) error {
	if s.session.Source != "compact" || activity.Read(s.call.Home, id).Tokens == 0 {
		return nil
	}
	return activity.Change(s.call.Home, id, func(a *activity.State) bool {
		a.Tokens, a.Warning = 0, activity.NoWarning
		return true
	})
}

// dropStale drops what sessions left for themselves before a compaction or a cycle, if the
// session ended before it read that. The notes stay.
func (c *commit) dropStale() error {
	for _, l := range c.facts.leftHandovers {
		if l.owner == nil || !l.owner.Ended() || l.owner.Handoff.Kind == session.KindHandoff {
			continue
		}
		if err := c.clearLeft(l.owner.Record); err != nil {
			return err
		}
	}
	return nil
}

// clearLeft clears what an ended session left. A note that it left for itself is marked as seen, because no
// other session takes it; one with a message that nobody was told waits for the next start.
func (c *commit) clearLeft(owner *session.Record) error {
	left := *owner.Handoff
	if left.Note != "" {
		note, err := c.box().Get(left.Note)
		if err != nil && !errors.Is(err, mail.ErrNotFound) {
			return err
		} else if brief.WrittenMessage(note.Body) != "" {
			left.Note = ""
		}
	}
	if err := waiting.DropCopies(c.call.Home, &left); err != nil {
		return err
	}
	return c.takeFrom(owner)
}

// gatherAgain gathers the facts again under the lock, because the text was printed without it, and
// returns the records. It drops the hand-over that was told if another session has taken it.
func (c *commit) gatherAgain() []*session.Record {
	records, err := c.call.Store.Repair()
	c.warn(err)
	c.access = locked
	c.facts = c.gather(records)
	told := &c.situation.handover
	for i := range c.facts.leftHandovers {
		if l := &c.facts.leftHandovers[i]; l.isSame(told.left) && c.facts.mayTake(l) {
			told.left = l
			return records
		}
	}
	*told = firstHandover{}
	return records
}

// isSame reports whether two were read from the same file, or are claims of the same origin.
func (l *leftHandover) isSame(m *leftHandover) bool {
	return m != nil && l.Note == m.Note && (l.id == m.id || l.unowned != nil && m.unowned != nil && slices.Equal(l.Markers, m.Markers))
}

// workUnit returns the id of the given work: the first issue, or the first note, or "".
func (s situation) workUnit() string {
	if len(s.work) > 0 {
		return s.work[0].ID
	}
	if len(s.hooked) > 0 {
		return s.hooked[0].ID
	}
	return ""
}

const maxMolecule = 100 // limits the names of molecules and steps, in characters

// molecule returns the molecule that the session continues and its step, from the
// checkpoint or the given work.
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

// chooseMirror sets which files for other programs of a town are mirrored into the home:
// only those that its repository ignores.
func (c *commit) chooseMirror() error {
	h := c.call.Home
	if !h.HasMirror() {
		return nil
	}
	h.Mirror().Sweep(c.env.Now())
	var paths []string
	for _, name := range place.MirrorFiles {
		paths = append(paths, place.MirrorPath(name))
	}
	ignored, err := git.IgnoredPaths(h.Dir, mirrorWait, paths...)
	if errors.Is(err, git.ErrNotRepository) {
		ignored, err = paths, nil
	}
	names := slices.DeleteFunc(slices.Clone(place.MirrorFiles), func(name string) bool { return !slices.Contains(ignored, place.MirrorPath(name)) })
	return errors.Join(err, h.SetMirror(names))
}

const mirrorWait = time.Second

// shareWait limits the call of tmux that sets the session id. It takes some milliseconds
// and is not retried before the next start.
const shareWait = time.Second

// shareSessionID sets the session id in the environment of the tmux session, for programs that start
// in it or watch it. It does so only in a town, where each agent has its own tmux session.
// Elsewhere panes with different agents share one.
func (c *commit) shareSessionID() error {
	h, p := c.call.Home, c.session
	if !c.call.Hook || h.Town.Personal || h.Identity.Role == "" || p.TmuxPane == "" || p.Source == "compact" {
		return nil
	}
	vars := [][2]string{{"GT_SESSION_UUID", string(p.ID)}}
	if name := names.SharedVar(c.call.Agent); name != "" {
		vars = append(vars, [2]string{name, string(p.ID)})
	}
	if dir := beads.Dir(h); dir != "" {
		vars = append(vars, [2]string{"BEADS_DIR", dir})
	}
	return tmux.Server(p.TmuxServer).SetEnvironment(p.TmuxPane, vars, nil, shareWait)
}

// writeEnvFile writes the home and the session id into the client's environment file, if it
// offers one, so that the agent's commands use these and no others. The variable that names
// the file counts only for its own client: a project's .env could set it for another one.
func (c *commit) writeEnvFile() error {
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
