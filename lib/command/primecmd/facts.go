package primecmd

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/conversation/summary"
	"gt/lib/place/home"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/tmux"
)

// facts are all that decides what a session is told. They are gathered before
// anything is decided, and assess reads nothing else: no file, no process, no clock.
type facts struct {
	now    time.Time
	access access
	// session is what the client says of the session, and where it runs.
	session session.StartParams
	// forgets reports that the client drops what a start was told when it resumes
	// the conversation.
	forgets bool
	// carried reports that the client resumes the copy of a predecessor's conversation
	// that was made for this session: it is a new session all the same.
	carried bool
	// works reports that the role works on tasks, so that it can lose one.
	works bool

	home        []session.Candidate // the home's sessions, the newest first
	markers     []leftMarker        // the likelier ones first
	allMarkers  bool                // none of them was unreadable
	note        mailbox             // what the hand-over's note is
	checkpoints []savedCheckpoint   // the newest first
	allSaved    bool                // these are all that lie in the home
	tail        summary.Summary     // of the conversation of the session that broke off
	asked       thread.Quote        // what it was asked first, where the conversation does not say it
	atRest      bool                // that session had answered, and waited for the person
	hooked      []hookedNote        // the oldest first
	allHooked   bool                // the box could be read
	given       *mail.Note          // what the session was given, where its client has forgotten that
	work        []beads.Work
	unread      int
}

// access is with what right the home is read.
type access int

const (
	looking access = iota // nobody asked for the lock, and nothing will be changed
	locked                // the home is ours alone
	busy                  // others hold the lock: what lies here may be half done
	denied                // the lock cannot be had
)

// asker is who runs gt-prime.
type asker int

const (
	onlooker asker = iota // a person who looks: nothing is noted
	member                // a session: its client's hook, or a command that its agent runs
	// fork is a client that forks a session and gives the parent's id for its own
	// (Claude Code until 2.1.213). The fork's id is known with its next hook, which
	// adopts it; until then nothing may be noted under the id of a session that may
	// be alive elsewhere.
	fork
)

// leftMarker is a marker that lies in the home.
type leftMarker struct {
	marker.Marker
	owner     *session.Candidate // who left it, nil where that is not known
	inside    bool               // this session runs below the owner's process
	elsewhere bool               // the owner runs in another PID namespace
	pane      pane               // the owner's
}

// pane is what tmux says of a pane.
type pane int

const (
	notAsked pane = iota
	there
	gone
	noAnswer
)

// mailbox is what came of reading a note.
type mailbox struct {
	note     *mail.Note
	withheld bool // it is there, and could not be read
}

// savedCheckpoint is a checkpoint that lies in the home.
type savedCheckpoint struct {
	*checkpoint.Checkpoint
	// recorded reports that there is a record of its session, if only an unreadable one.
	recorded bool
}

// hookedNote is a note that is hooked to the agent.
type hookedNote struct {
	mail.Note // without its body, until it turns out to be for this session
	// hidden reports that the record of the session that wrote it cannot be read.
	hidden bool
	// withheld reports that its body could not be read.
	withheld bool
}

// start is a session that starts, as the client tells of it.
type start struct {
	env     *cli.Env
	call    *hook.Invocation
	session session.StartParams
	asker   asker
}

func newStart(env *cli.Env, call *hook.Invocation) *start {
	s := &start{env: env, call: call, session: call.StartParams()}
	if s.session.Source == "" {
		s.session.Source = env.Getenv("GT_HOOK_SOURCE")
	}
	isFork := forked(s.session, call)
	if call.ID == "" && call.Hook && !isFork {
		s.session.ID = s.unnamed()
		call.ID = s.session.ID
	}
	switch {
	case isFork:
		s.asker = fork
	case call.ID != "":
		s.asker = member
	}
	return s
}

// forked reports whether the client forks a session and gives the parent's id for
// the fork's.
func forked(p session.StartParams, call *hook.Invocation) bool {
	flag := call.Dialect.ForkFlag
	if flag == "" || !call.Hook || p.Source != "resume" || !p.Process.IsSet() {
		return false
	}
	args, err := p.Process.Args()
	return err == nil && slices.Contains(args, flag)
}

// unnamed names a session whose client gave no id: the home's latest, when
// that is what this process runs or nothing is known of it, else a new one.
func (s *start) unnamed() session.ID {
	id := s.call.Store.Persisted()
	if id == "" {
		return session.InventID()
	}
	r, err := s.call.Store.Get(id)
	if err != nil || r != nil && (r.Ended() || r.Process() != s.session.Process) {
		return session.InventID()
	}
	return id
}

// warn reports what could not be done, and goes on.
func (s *start) warn(err error) { s.call.Warn(err) }

// collect gathers the facts without the home's lock, and changes nothing.
func (s *start) collect(a access) *facts {
	records, err := s.call.Store.All()
	s.warn(err)
	return s.gather(a, records, checkpoint.List)
}

// gather reads what there is to know, and writes nothing. What it cannot read it
// goes without: a session that is told less is better than one that is told nothing.
// checkpoints lists them; under the lock it may repair what it lists.
//
// What costs (tmux, a conversation, the body of a note) is read only where it can
// count. That is for assess to say, so gather asks the functions that assess is made
// of, with the facts that are known so far.
func (s *start) gather(a access, records []*session.Record, checkpoints func(home.Home) ([]*checkpoint.Checkpoint, error)) *facts {
	call := s.call
	now := s.env.Now()
	f := &facts{
		now: now, access: a, session: s.session,
		forgets: call.Dialect.DropsStartContext, works: call.Home.Identity.Role.Works(),
		home: session.Observe(now, records),
	}
	box := mail.Of(call.Home, call.Home.Identity.Address())
	s.warn(s.gatherMarkers(f))
	h := f.handover()
	s.warn(s.gatherNote(f, h, box))
	talk := f.conversation(h)
	if talk == fresh && f.works {
		s.gatherTail(f, h)
		s.warn(s.gatherCheckpoints(f, checkpoints))
	}
	s.warn(s.gatherHooked(f, box))
	if talk == forgotten && h.marker == nil {
		s.warn(s.gatherGiven(f, h, box))
	}
	if talk == fresh {
		var err error
		f.unread, err = box.CountUnread()
		s.warn(err)
		// That the work store does not answer is worth a warning and no more.
		f.work, err = beads.Given(call.Home, s.env.ChildEnviron(), beads.Deadline)
		s.warn(err)
	}
	return f
}

// gatherMarkers finds the markers that lie in the home, the likelier ones first: the
// session's own, then that of the one whose pane was given to it, then others' from the
// oldest on, then those that nobody is known to have left.
func (s *start) gatherMarkers(f *facts) error {
	found, err := marker.List(s.call.Home) // one that cannot be read hides no other
	f.allMarkers = err == nil
	f.markers = make([]leftMarker, len(found))
	for i, m := range found {
		f.markers[i] = s.ownerOf(f, m)
	}
	f.carried = slices.ContainsFunc(f.markers, func(m leftMarker) bool {
		return m.owner != nil && m.owner.Handoff.Conversation == f.session.ID && f.session.ID != ""
	})
	slices.SortStableFunc(f.markers, f.likelier)
	for i := range f.markers {
		if s.classify(f, &f.markers[i]) == take {
			break
		}
	}
	return err
}

// likelier compares two markers by how likely they are meant for this session.
func (f *facts) likelier(a, b leftMarker) int {
	rank := func(m leftMarker) int {
		switch o := m.owner; {
		case o == nil:
			return 3
		case o.ID == f.session.ID:
			return 0
		case o.Handoff.Respawn && o.TmuxPane == f.session.TmuxPane && o.TmuxServer == f.session.TmuxServer:
			return 1
		}
		return 2
	}
	if n := rank(a) - rank(b); n != 0 || a.owner == nil {
		return n
	}
	return a.owner.Handoff.At.Compare(b.owner.Handoff.At)
}

// ownerOf finds out who left the marker, and where that session is.
func (s *start) ownerOf(f *facts, m marker.Marker) leftMarker {
	left := leftMarker{Marker: m}
	for i := range f.home {
		c := &f.home[i]
		// A name is used again: who took it last has it.
		if c.Handoff != nil && c.Handoff.Marker == m.Name &&
			(left.owner == nil || c.Handoff.At.After(left.owner.Handoff.At)) {
			left.owner = c
		}
	}
	if o := left.owner; o != nil && o.ID != f.session.ID {
		left.inside = f.session.Process.IsSet() && o.Process().Alive() && f.session.Process.DescendsFrom(o.Process())
		left.elsewhere = o.Liveness == session.Running && o.Elsewhere()
	}
	return left
}

// tmuxWait bounds the question whether a pane is still there.
const tmuxWait = 250 * time.Millisecond

// classify decides about a marker, and asks tmux for the owner's pane where the
// decision depends on it.
func (s *start) classify(f *facts, m *leftMarker) verdict {
	v := f.judge(*m)
	if v != askPane {
		return v
	}
	switch _, err := tmux.Server(m.owner.TmuxServer).Pane(m.owner.TmuxPane, tmuxWait); {
	case err == nil:
		m.pane = there
	case errors.Is(err, tmux.ErrNoAnswer):
		m.pane = noAnswer
	default:
		m.pane = gone
	}
	return f.judge(*m)
}

// gatherNote reads the note of the hand-over, where the session that left it has
// one.
func (s *start) gatherNote(f *facts, h handover, box mail.Box) error {
	if h.owner == nil || h.owner.Handoff.Note == "" {
		return nil
	}
	note, err := box.Get(h.owner.Handoff.Note)
	if err != nil {
		f.note.withheld = !errors.Is(err, mail.ErrNotFound)
		return err
	}
	f.note.note = &note
	return nil
}

// gatherCheckpoints lists what sessions saved while they worked.
func (s *start) gatherCheckpoints(f *facts, list func(home.Home) ([]*checkpoint.Checkpoint, error)) error {
	all, err := list(s.call.Home)
	f.allSaved = err == nil
	for _, c := range all {
		f.checkpoints = append(f.checkpoints, savedCheckpoint{
			c, f.find(c.SessionID) != nil || s.call.Store.Exists(c.SessionID),
		})
	}
	if c := f.checkpoint(f.handover()); c != nil {
		c.Clean(s.env.Redact) // another program may have written it
	}
	return err
}

// gatherTail reads what the conversation of the session that broke off says of it.
func (s *start) gatherTail(f *facts, h handover) {
	p := f.mayHaveBroken(h)
	if !p.brokeOff() {
		return
	}
	tail, err := s.tail(f.access, p.Record)
	if err != nil && p.Transcript != "" && !errors.Is(err, fs.ErrNotExist) {
		s.warn(err)
	}
	f.tail = tail // with an error it may lack the end
	if len(tail.Requests) == 0 {
		if t := s.threadOf(p.Record); t != nil && t.Request.Session == p.ID {
			f.asked = thread.Quote{Text: s.env.Redact(t.Request.Text), Time: t.Request.Time}
		}
	}
	if f.atRest = tail.Answered; f.atRest {
		// A turn can begin with words, and its hooks say that it goes on.
		sign := keepalive.Read(s.call.Home)
		f.atRest = sign == nil || sign.SessionID != p.ID || sign.State != keepalive.Running
	}
}

// gatherHooked finds the notes that are hooked to the agent, and reads those that
// are for this session.
func (s *start) gatherHooked(f *facts, box mail.Box) error {
	hooked, err := box.Hooked()
	f.allHooked = err == nil
	for _, n := range hooked {
		h := hookedNote{Note: n}
		if id, err := session.ParseID(n.Session); err == nil && n.Type == mail.Handoff && f.find(id) == nil {
			_, err := s.call.Store.Get(id)
			h.hidden = err != nil
		}
		f.hooked = append(f.hooked, h)
	}
	for _, i := range f.relevant() {
		n := &f.hooked[i]
		whole, err := box.Whole(n.Note)
		if err != nil {
			n.withheld = true
			return err
		}
		n.Note = whole
	}
	return err
}

// gatherGiven reads the note that the session was given, of which its client has
// kept nothing.
func (s *start) gatherGiven(f *facts, h handover, box mail.Box) error {
	id := f.givenNote(h)
	if id == "" {
		return nil
	}
	note, err := box.Get(id)
	if errors.Is(err, mail.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	f.given = &note
	return nil
}
