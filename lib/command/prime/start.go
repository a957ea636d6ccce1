package prime

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/conversation/transcript"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/term"
)

// start is a session that starts, and what there is to know about it.
type start struct {
	env   *cli.Env
	call  *hook.Invocation
	facts session.StartParams
	fork  bool // the client told its parent's id instead of its own

	state    State
	locked   bool // the home is ours alone
	blind    bool // it was not to be had
	busy     bool // others had it: what lies there may be half done
	light    bool // the conversation goes on: who you are, continue, and no more
	again    bool // the hook is wired twice, and the other has spoken
	own      bool // the marker is this session's own, from before a compaction
	cutShort bool // it took its own away before, and was killed before it could note that
	marker   *marker.Marker
	withheld bool            // its note is there and could not be read: it waits for the next start
	owner    *session.Record // who left the marker, nil where that is not known
	note     *mail.Note      // what was handed over

	parent     *session.Record // whom it follows, and how that one ended
	how        session.Outcome
	crashed    *session.Record
	checkpoint *checkpoint.Checkpoint
	last       transcript.Summary // what the crashed session was about

	records []*session.Record // of this home, the newest first

	hooked []mail.Note
	work   []beads.Work
	unread int
	others []*session.Record
}

func newStart(env *cli.Env, call *hook.Invocation) *start {
	s := &start{env: env, call: call, facts: call.StartParams()}
	if s.facts.Source == "" {
		s.facts.Source = env.Getenv("GT_HOOK_SOURCE")
	}
	s.fork = forked(s.facts, call)
	if call.ID == "" && call.Hook && !s.fork {
		s.facts.ID = s.unnamed()
		call.ID = s.facts.ID
	}
	return s
}

// forked says whether the client forks a session and gives the parent's id
// for its own (Claude Code until 2.1.213). The fork's id is known with its
// next hook, which adopts it; until then nothing may be noted under the id of
// a session that may be alive elsewhere.
func forked(f session.StartParams, call *hook.Invocation) bool {
	if !call.Hook || f.Source != "resume" || !f.Process.IsSet() {
		return false
	}
	args, err := f.Process.Args()
	return err == nil && slices.Contains(args, "--fork-session")
}

// unnamed names a session whose client gave no id: the home's latest, when
// that is what this process runs or nothing is known of it, else a new one.
func (s *start) unnamed() session.ID {
	id := s.call.Store.Persisted()
	if id == "" {
		return session.NewID()
	}
	r, err := s.call.Store.Get(id)
	if err != nil || r != nil && (r.Ended() || r.Process() != s.facts.Process) {
		return session.NewID()
	}
	return id
}

// acts says whether this start is a session's: a hook's, or a command that an
// agent runs. A person who looks changes nothing.
func (s *start) acts() bool { return s.call.ID != "" && !s.fork }

// goesOn says whether the client lets a conversation go on.
func (s *start) goesOn() bool { return s.facts.Source == "compact" || s.facts.Source == "resume" }

// startWait is how long a start waits for others that work in the same home:
// before it tells the session anything, and then again.
const startWait = 4 * time.Second

// begin notes the session, under the home's lock, and finds out what it should
// be told. Where others keep the home busy, it is told without: acknowledge
// notes it then.
func (s *start) begin() error {
	s.warn(s.chooseMirror())
	lock, err := s.call.Home.LockWithin(startWait)
	if err != nil {
		s.blind, s.busy = true, errors.Is(err, flock.ErrBusy)
		s.look()
		return err
	}
	defer lock.Unlock()
	s.locked = true
	s.look()
	return s.enter()
}

// chooseMirror finds out which of the files that other programs of a town read may
// be written into the home: those that its repository neither keeps nor shows.
func (s *start) chooseMirror() error {
	h := s.call.Home
	if !h.HasMirror() {
		return nil
	}
	h.Mirror().Sweep(s.env.Now())
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

// enter notes the session in its home. The caller holds the lock.
func (s *start) enter() error {
	if s.owner != nil && !s.own {
		s.facts.Predecessor = s.owner.ID
		s.owner.Handoff.TakenBy = s.facts.ID // of two that start at once, one is told
	}
	if s.note != nil {
		s.facts.Note = s.note.ID
	}
	s.facts.Topic = s.topic()
	s.facts.WorkUnit = s.workUnit()
	now := s.env.Now()
	started, err := s.call.Store.Start(now, s.records, s.facts)
	if err != nil {
		return err
	}
	if s.again = started.Duplicate; s.again {
		return nil
	}
	s.others = started.Others
	for _, o := range s.others {
		s.env.Warn("session %s (process %d) is live here as '%s' as well", o.ID, o.PID, o.Actor)
	}
	// None of these needs the others.
	return errors.Join(s.call.Store.Persist(s.facts.ID, now), s.dropStale(), s.export())
}

// dropStale removes the markers that sessions left for themselves, before a
// compaction or a cycle, and that ended before they came to read them. Their
// notes stay. It finishes, too, what a start left that was killed after it had
// taken a marker away: the hand-over of a session that is over and whose marker
// is gone was taken up.
func (s *start) dropStale() error {
	markers, failed := s.markers() // what cannot be read was said already
	there := map[string]bool{}
	for _, m := range markers {
		there[m.Name] = true
		if m.owner == nil || !m.owner.Ended() || m.owner.Handoff.Kind == session.KindHandoff {
			continue
		}
		if err := m.Remove(s.call.Home); err != nil {
			return err
		}
		if err := s.takenUp(m.owner); err != nil {
			return err
		}
	}
	if failed != nil {
		s.warn(failed)
		return nil
	}
	for _, r := range s.records {
		if r.Handoff == nil || there[r.Handoff.Marker] || !r.Ended() {
			continue
		}
		if err := s.takenUp(r); err != nil {
			return err
		}
	}
	return nil
}

// lookAgain looks, now that the home is ours, at what was told while it was
// not. A marker that is there no more was told by another as well.
func (s *start) lookAgain() {
	s.locked, s.blind, s.busy = true, false, false
	records, err := s.call.Store.Repair()
	s.warn(err)
	s.records = records
	if s.marker == nil {
		return
	}
	markers, err := s.markers()
	s.warn(err)
	for _, m := range markers {
		if m.Marker == *s.marker && s.takes(m) {
			s.owner = m.owner
			return
		}
	}
	s.marker, s.owner, s.own, s.note = nil, nil, false, nil
}

// takenUp notes that the session's hand-over has reached its successor. What a
// session that handed over had noted on the way is in the note. The record
// comes last, for it says that something is left to do.
func (s *start) takenUp(owner *session.Record) error {
	var err error
	if owner.Handoff.Kind == session.KindHandoff {
		err = checkpoint.Clear(s.call.Home, owner.ID, s.warn)
	}
	owner.Handoff = nil
	return errors.Join(err, s.call.Store.Put(owner, atomicfile.Unsynced))
}

// carryOn notes that the session was told of its own hand-over, once the marker
// is gone: the record says that something is left to do.
func (s *start) carryOn() error {
	me, err := s.call.Store.Get(s.facts.ID)
	if err != nil || me == nil {
		return err
	}
	if s.note != nil && s.own {
		me.Note = s.note.ID
	}
	if h := me.Handoff; h != nil && h.Kind != session.KindHandoff {
		me.Note, me.Handoff = cmp.Or(h.Note, me.Note), nil
	}
	return s.call.Store.Put(me, atomicfile.Unsynced)
}

// workUnit is the id of the work that the session is given.
func (s *start) workUnit() string {
	if len(s.work) > 0 {
		return s.work[0].ID
	}
	for _, n := range s.hooked {
		if n.Type != mail.Handoff {
			return n.ID
		}
	}
	return ""
}

// topic is what the session is about, as a beacon says it.
func (s *start) topic() string {
	switch s.state {
	case PostHandoff:
		return "handoff"
	case Autonomous:
		return "assigned"
	}
	return "cold-start"
}

// export makes the home and the session known to the commands that the agent
// will run, where the client offers a file for that. Claude Code does, and lets
// nobody name another; what the variable says to another client's hook, a project's
// .env may have said.
func (s *start) export() error {
	path := s.env.Getenv("CLAUDE_ENV_FILE")
	if path == "" || !s.call.Hook || !s.call.Dialect.Exports {
		return nil
	}
	line := fmt.Sprintf("export GT_HOME=%s GT_SESSION_UUID=%s", term.Quote(s.call.Home.Dir), term.Quote(string(s.facts.ID)))
	if dir := beads.Find(s.call.Home); dir != "" && dir != s.call.Home.Dir {
		line += " BEADS_DIR=" + term.Quote(filepath.Join(dir, ".beads")) // the rig's, which bd is to use
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

// acknowledge takes away what was delivered, now that it was.
func (s *start) acknowledge() error {
	if !s.blind && s.marker == nil && s.checkpoint == nil && !s.cutShort {
		return nil
	}
	lock, err := s.call.Home.LockWithin(startWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if s.blind {
		s.lookAgain()
		if err := s.enter(); err != nil || s.again {
			return err
		}
	}
	store, home := s.call.Store, s.call.Home
	if s.checkpoint != nil {
		s.warn(checkpoint.Take(s.call.Home, s.checkpoint, s.facts.ID)) // at the worst it is told again
	}
	if s.cutShort {
		return s.carryOn()
	}
	if s.marker == nil || s.withheld {
		return nil
	}
	if s.note != nil {
		if err := mail.Of(home, home.Identity.Address()).Seen(s.note.ID); err != nil {
			return err
		}
		me, err := store.Get(s.facts.ID)
		if err != nil {
			return err
		}
		if !s.own && me != nil && me.Note != s.note.ID {
			me.Note = s.note.ID
			if err := store.Put(me, atomicfile.Unsynced); err != nil {
				return err
			}
		}
	}
	if err := s.marker.Remove(home); err != nil {
		return err
	}
	if s.own {
		return s.carryOn()
	}
	if s.owner != nil {
		owner, err := store.Get(s.owner.ID)
		if err != nil || owner == nil || owner.Handoff == nil {
			return err
		}
		return s.takenUp(owner)
	}
	return nil
}
