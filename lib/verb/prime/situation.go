package prime

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/beads"
	"gt/lib/checkpoint"
	"gt/lib/cli"
	"gt/lib/hook"
	"gt/lib/mail"
	"gt/lib/marker"
	"gt/lib/redact"
	"gt/lib/session"
	"gt/lib/tmux"
	"gt/lib/transcript"
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

// start is a session that starts, and what there is to know about it.
type start struct {
	env     *cli.Env
	call    *hook.Call
	dialect hook.Dialect
	facts   session.Facts
	pane    chan tmux.Pane // what tmux says of our pane; nil outside tmux
	fork    bool           // the client told its parent's id instead of its own

	state  State
	light  bool // the conversation goes on: who you are, continue, and no more
	again  bool // the hook is wired twice, and the other has spoken
	own    bool // the marker is this session's own, from before a compaction
	marker *marker.Marker
	owner  *session.Record // who left the marker, nil where that is not known
	note   *mail.Note      // what was handed over

	parent     *session.Record // whom it follows, and how that one ended
	how        session.Outcome
	crashed    *session.Record
	checkpoint *checkpoint.Checkpoint
	last       transcript.Summary // what the crashed session was about

	problems error // what was gone without

	hooked []mail.Note
	work   []beads.Work
	unread int
	others []*session.Record
}

// tmuxWait is how long a start waits for tmux to name its session. The name is
// good to have and nothing hangs on it.
const tmuxWait = 250 * time.Millisecond

func newStart(env *cli.Env, call *hook.Call) *start {
	s := &start{env: env, call: call, dialect: hook.DialectOf(call.Agent), facts: call.Facts()}
	if s.facts.Source == "" {
		s.facts.Source = env.Getenv("GT_HOOK_SOURCE")
	}
	s.fork = forked(s.facts, call)
	if s.facts.TmuxPane != "" {
		s.pane = make(chan tmux.Pane, 1)
		go func() { // while we read our files
			p, _ := tmux.Server(s.facts.TmuxServer).Pane(s.facts.TmuxPane, tmuxWait)
			s.pane <- p
		}()
	}
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
func forked(f session.Facts, call *hook.Call) bool {
	if !call.Hook || f.Source != "resume" || !f.Process.Known() {
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

// begin notes the session, under the home's lock, and finds out what it should
// be told.
func (s *start) begin() error {
	if s.pane != nil {
		s.facts.TmuxSession = (<-s.pane).Session
		s.pane = nil
	}
	lock, err := s.call.Home.Lock()
	if err != nil {
		s.look()
		return err
	}
	defer lock.Unlock()
	s.look()
	if s.owner != nil && !s.own {
		s.facts.Predecessor = s.owner.ID
	}
	s.facts.Topic = s.topic()
	s.facts.WorkUnit = s.workUnit()
	now := s.env.Now()
	started, err := s.call.Store.Start(now, s.facts)
	if err != nil {
		return err
	}
	if s.again = started.Again; s.again {
		return nil
	}
	s.others = started.Others
	for _, o := range s.others {
		s.env.Warn("session %s (process %d) is live here as '%s' as well", o.ID, o.PID, o.Actor)
	}
	if err := s.call.Store.Persist(s.facts.ID, now); err != nil {
		return err
	}
	if err := s.dropStale(); err != nil {
		return err
	}
	if s.owner != nil && s.owner.Handoff != nil && !s.own {
		// Of two that start at once, one is told.
		s.owner, err = s.call.Store.Get(s.owner.ID)
		if err == nil && s.owner != nil && s.owner.Handoff != nil {
			s.owner.Handoff.TakenBy = s.facts.ID
			err = s.call.Store.Put(s.owner, atomicfile.Unsynced)
		}
		if err != nil {
			return err
		}
	}
	return s.export()
}

// dropStale removes the markers that sessions left for themselves, before a
// compaction or a cycle, and that ended before they came to read them. Their
// notes stay.
func (s *start) dropStale() error {
	markers, err := marker.List(s.call.Home)
	if err != nil || len(markers) == 0 {
		return err
	}
	records, err := s.call.Store.All()
	if err != nil {
		return err
	}
	for _, m := range markers {
		r := ownerOf(m, records)
		if r == nil || !r.Ended() || r.Handoff.Kind == session.KindHandoff {
			continue
		}
		if err := m.Remove(s.call.Home); err != nil {
			return err
		}
		r.Handoff = nil
		if err := s.call.Store.Put(r, atomicfile.Unsynced); err != nil {
			return err
		}
	}
	return nil
}

// look finds out what there is to tell. It changes nothing. What it cannot
// read it goes without: a session that is told less is better than one that is
// told nothing.
func (s *start) look() {
	now := s.env.Now()
	home := s.call.Home
	box := mail.Of(home, home.Identity.Address())

	s.warn(s.lookForMarker(box))
	s.light = s.goesOn() || s.marker != nil && s.marker.Reason == marker.Compaction && (s.own || s.owner == nil)
	if !s.light {
		s.warn(s.lookForCrash(now))
	}
	s.warn(s.lookForWork(box))
	if !s.light {
		unread, err := box.Unread()
		s.warn(err)
		s.unread = len(unread)
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

// warn says what could not be done, and remembers it for the event log.
func (s *start) warn(err error) {
	if err != nil {
		s.env.Warn("%v", err)
		s.problems = errors.Join(s.problems, err)
	}
}

// lookForMarker finds the hand-over that is meant for this session, and its
// note.
func (s *start) lookForMarker(box mail.Box) error {
	markers, err := marker.List(s.call.Home)
	if err != nil || len(markers) == 0 {
		return err
	}
	records, err := s.call.Store.All()
	if err != nil {
		return err
	}
	for _, m := range markers {
		owner := ownerOf(m, records)
		if !s.takes(m, owner) {
			continue
		}
		s.marker, s.owner, s.own = &m, owner, owner != nil && owner.ID == s.facts.ID
		break
	}
	if s.owner == nil || s.owner.Handoff == nil || s.owner.Handoff.Note == "" {
		return nil
	}
	note, err := box.Get(s.owner.Handoff.Note)
	if err != nil {
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
		return err
	}
	for _, n := range slices.Backward(hooked) {
		forMarker := s.marker != nil && s.owner == nil && s.note == nil && n.Type == mail.Handoff && !n.Seen
		if s.note != nil && n.ID == s.note.ID || !forMarker && !s.isOurs(n) {
			continue
		}
		if n, err = box.Get(n.ID); err != nil {
			return err
		}
		if forMarker {
			s.note = &n
			continue
		}
		s.hooked = append(s.hooked, n)
		if n.Type == mail.Handoff && s.marker == nil && s.how == session.Crash {
			s.crashed = s.parent
		}
	}
	slices.Reverse(s.hooked) // the oldest first
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
	if p := s.parent; p != nil && s.how == session.Crash && (p.Note == n.ID || n.Chain != "" && n.Chain == string(p.ChainID)) {
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

// ownerOf finds the session that left a marker.
func ownerOf(m marker.Marker, records []*session.Record) *session.Record {
	for _, r := range records {
		if r.Handoff != nil && r.Handoff.Marker == m.Name {
			return r
		}
	}
	return nil
}

// takes says whether a marker is meant for this session.
//
// A session's own, from before a compaction or a cycle, is. One that another
// session left goes to a session that starts (not to one that goes on), and
// only when who left it is over or has given its pane away: a live session's
// children find its marker too. It goes into the same pane or tmux session;
// elsewhere only when that pane is no more.
func (s *start) takes(m marker.Marker, owner *session.Record) bool {
	switch {
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
	if owner.TmuxPane == "" || s.facts.TmuxPane == "" && !owner.Live() {
		return true
	}
	if owner.TmuxServer == s.facts.TmuxServer {
		if owner.TmuxPane == s.facts.TmuxPane {
			return true
		}
	}
	_, err := tmux.Server(owner.TmuxServer).Pane(owner.TmuxPane, tmuxWait)
	return err != nil
}

// inside says whether this session's process runs below the other's.
func (s *start) inside(other *session.Record) bool {
	return s.facts.Process.Known() && other.Process().Alive() && s.facts.Process.Below(other.Process())
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
	var err error
	if s.parent, s.how, err = s.call.Store.Follows(now, f); err != nil {
		return err
	}
	var parent *session.Record
	if s.how == session.Crash {
		parent = s.parent
	}
	all, err := checkpoint.List(s.call.Home)
	for _, c := range all {
		if !c.Stale(now) && s.recovers(c, parent) {
			s.checkpoint = c
			break
		}
	}
	if parent != nil && s.marker == nil {
		if sum, terr := transcript.Tail(parent.Transcript, s.redact); terr == nil && len(sum.Requests) > 0 {
			s.last, s.crashed = sum, parent
		}
		if s.checkpoint != nil {
			s.crashed = parent
		}
	}
	return err
}

// redact keeps secrets out of what the session is told.
func (s *start) redact(text string) string { return redact.Text(text, s.env.Environ) }

// recovers says whether a checkpoint is of a session that had no clean end:
// the one that crashed before this start, or one that nobody has a record of
// and nobody was told of yet.
func (s *start) recovers(c *checkpoint.Checkpoint, crashed *session.Record) bool {
	for _, id := range []session.ID{c.SessionID, c.TakenBy} {
		if crashed != nil && id == crashed.ID {
			return true
		}
	}
	return c.TakenBy == "" && c.SessionID != s.facts.ID && !s.call.Store.Exists(c.SessionID)
}

// lookForBeads asks the work store of the home, where there is one. That it
// does not answer is worth a warning and no more.
func (s *start) lookForBeads() {
	work, err := beads.Hooked(s.call.Home.Dir, s.call.Home.Identity, s.env.Environ, beads.Deadline)
	s.warn(err)
	s.work = work
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
// will run, where the client offers a file for that.
func (s *start) export() error {
	path := s.env.Getenv("CLAUDE_ENV_FILE")
	if path == "" || !s.call.Hook {
		return nil
	}
	line := fmt.Sprintf("export GT_HOME=%s GT_SESSION_UUID=%s\n", shellWord(s.call.Home.Dir), shellWord(string(s.facts.ID)))
	if old, err := atomicfile.Read(path, atomicfile.MaxSize); err == nil && strings.Contains(string(old), line) {
		return nil
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

// acknowledge takes away what was delivered, now that it was.
func (s *start) acknowledge() error {
	if s.again || s.marker == nil && s.checkpoint == nil {
		return nil
	}
	lock, err := s.call.Home.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	store, home := s.call.Store, s.call.Home
	if s.checkpoint != nil {
		if err := checkpoint.Take(s.checkpoint, s.facts.ID); err != nil {
			return err
		}
	}
	if s.marker == nil {
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
		if me != nil {
			me.Note = s.note.ID
			if s.own {
				me.Handoff = nil
			}
			if err := store.Put(me, atomicfile.Unsynced); err != nil {
				return err
			}
		}
	}
	if err := s.marker.Remove(home); err != nil {
		return err
	}
	if s.owner != nil && !s.own {
		owner, err := store.Get(s.owner.ID)
		if err != nil || owner == nil {
			return err
		}
		owner.Handoff = nil
		return store.Put(owner, atomicfile.Unsynced)
	}
	return nil
}

// printState prints the situation in a word, or with the facts behind it.
func (s *start) printState(w io.Writer, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(w, s.state)
		return err
	}
	type fact struct {
		State      State      `json:"state"`
		Light      bool       `json:"light,omitempty"`
		Source     string     `json:"source,omitempty"`
		Address    string     `json:"address"`
		Role       string     `json:"role,omitempty"`
		Home       string     `json:"home"`
		Town       string     `json:"town"`
		Session    session.ID `json:"session_id,omitempty"`
		Prev       string     `json:"prev_session,omitempty"`
		Reason     string     `json:"reason,omitempty"`
		Note       string     `json:"note,omitempty"`
		Crashed    session.ID `json:"crashed_session,omitempty"`
		Checkpoint session.ID `json:"checkpoint_session,omitempty"`
		Written    string     `json:"checkpoint_at,omitempty"`
		Age        string     `json:"checkpoint_age,omitempty"`
		Hooked     []string   `json:"hooked,omitempty"`
		Unread     int        `json:"unread,omitempty"`
	}
	f := fact{
		State: s.state, Light: s.light, Source: s.facts.Source,
		Address: s.call.Home.Identity.Address(), Role: string(s.call.Home.Identity.Role),
		Home: s.call.Home.Dir, Town: s.call.Home.Town.Root, Session: s.call.ID, Unread: s.unread,
	}
	if s.marker != nil {
		f.Prev, f.Reason = s.marker.From, s.marker.Reason
	}
	if s.note != nil {
		f.Note = s.note.ID
	}
	if s.crashed != nil {
		f.Crashed = s.crashed.ID
	}
	if c := s.checkpoint; c != nil {
		f.Checkpoint, f.Written = c.SessionID, c.Timestamp.UTC().Format(time.RFC3339)
		f.Age = s.env.Now().Sub(c.Timestamp).Round(time.Second).String()
	}
	for _, n := range s.hooked {
		f.Hooked = append(f.Hooked, n.ID)
	}
	for _, w := range s.work {
		f.Hooked = append(f.Hooked, w.ID)
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	_, err = w.Write(append(data, '\n'))
	return err
}
