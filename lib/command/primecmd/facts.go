package primecmd

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	"gt/lib/state/instance"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/tmux"
	"gt/lib/text/pasted"
)

// facts are everything that assess depends on. They are gathered first; assess reads no
// file, process or clock.
type facts struct {
	now    time.Time
	access access
	// session is what the client reports about the session, and where it runs.
	session session.StartParams
	// forgets reports whether the client drops the start-up text when it resumes a
	// conversation.
	forgets bool
	// carried reports whether the client resumes a copy of the predecessor's
	// conversation, made for this session. It is still a new session.
	carried bool
	// works reports whether the role has tasks, so that a crash can lose one.
	works bool

	home        []session.Candidate // the home's sessions, newest first
	markers     []leftMarker        // most likely first
	note        mailbox             // the hand-over's note
	checkpoints []savedCheckpoint   // newest first
	allSaved    bool                // all of the home's could be read
	tail        summary.Summary     // the end of the broken-off session's conversation
	asked       thread.Quote        // its last request, if the conversation lacks it
	asking      bool                // it was waiting for permission
	atRest      bool                // it had answered and was waiting for the person
	hooked      []hookedNote        // oldest first
	allHooked   bool                // the box could be read
	given       *mail.Note          // the note that the session received and its client dropped
	work        []beads.Work
	unread      int
}

// access is how the home was read.
type access int

const (
	looking access = iota // without trying to lock it, and without changes
	locked                // under the lock
	busy                  // without the lock, which others hold: files may be half updated
	denied                // without the lock, which failed
)

// asker is who runs gt-prime.
type asker int

const (
	onlooker asker = iota // a person; nothing is recorded
	member                // a session: its client's hook or a command of its agent
	// fork is a client that forks a session and reports the parent's id as its own
	// (Claude Code before 2.1.213). The next hook has the fork's id and records it.
	// Until then nothing is recorded under the parent's id, because the parent may be
	// alive.
	fork
)

type leftMarker struct {
	marker.Marker
	owner     *session.Candidate // the session that left it, nil if unknown
	inside    bool               // this session runs below the owner's process
	elsewhere bool               // the owner runs in another PID namespace
	pane      pane               // the owner's pane
}

// pane is whether tmux has a pane.
type pane int

const (
	notAsked pane = iota
	there
	gone
	noAnswer
)

// mailbox is the result of reading a note.
type mailbox struct {
	note     *mail.Note
	withheld bool // it exists but could not be read
}

type savedCheckpoint struct {
	*checkpoint.Checkpoint
	// recorded reports whether its session has a record, even an unreadable one.
	recorded bool
}

type hookedNote struct {
	mail.Note // without its body unless it is relevant
	// hidden reports whether the record of the note's session cannot be read.
	hidden bool
	// withheld reports whether its body could not be read.
	withheld bool
}

// start is a session that starts, as its client reports it.
type start struct {
	env     *cli.Env
	call    *hook.Invocation
	session session.StartParams
	asker   asker
	thread  *thread.Thread // the last that was read, or nil
	unkept  string         // why the session could not be recorded; "" if it was, or if others held the lock
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

// forked reports whether the client forks a session and reports the parent's id.
func forked(p session.StartParams, call *hook.Invocation) bool {
	flag := call.Dialect.ForkFlag
	if flag == "" || !call.Hook || p.Source != "resume" || !p.Process.IsSet() {
		return false
	}
	args, err := p.Process.Args()
	return err == nil && slices.Contains(args, flag)
}

// unnamed returns an id for a session without one: the home's latest if this process runs
// that or it has no record, else a new one.
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

func (s *start) warn(err error) { s.call.Warn(err) }

// collect gathers the facts without the home's lock and changes nothing.
func (s *start) collect(a access) *facts {
	records, err := s.call.Store.All()
	s.warn(err)
	return s.gather(a, records, checkpoint.List)
}

// gather reads the facts and writes nothing. It leaves out what it cannot read: a shorter
// text is better than none. checkpoints lists the checkpoints; under the lock it may repair
// them.
//
// Expensive facts (tmux, a conversation, the body of a note) are read only if they can
// matter. To know that, gather calls the functions that make up assess with the facts
// gathered so far.
func (s *start) gather(a access, records []*session.Record, checkpoints func(home.Home) ([]*checkpoint.Checkpoint, error)) *facts {
	call := s.call
	now := s.env.Now()
	f := &facts{
		now: now, access: a, session: s.session,
		forgets: call.Dialect.DropsStartContext, works: call.Home.Identity.Role.Works(),
		home: session.Observe(now, records),
	}
	box := mail.Of(call.Home, call.Home.Identity.Address())
	box = box.ReadBy(instance.Others(call.Home.Town.State, s.env.Getenv(instance.Variable), call.ID))
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
		s.warn(s.gatherGiven(f, box))
	}
	if talk == fresh {
		var err error
		f.unread, err = box.CountUnread()
		s.warn(err)
		// A work store that does not answer only causes a warning.
		f.work, err = beads.Given(call.Home, s.env.ChildEnviron())
		s.warn(err)
	}
	return f
}

// gatherMarkers finds the hand-overs in the home, most likely first: the session's own, that
// of the owner whose pane it got, those of others from the oldest on, and the markers that
// another program or a person left. The markers of gt's own hand-overs are not read.
func (s *start) gatherMarkers(f *facts) error {
	found, err := marker.List(s.call.Home) // returns the readable ones with an error
	f.markers = nil
	for i := range f.home {
		if f.home[i].Handoff != nil {
			f.markers = append(f.markers, s.ownedBy(f, &f.home[i]))
		}
	}
	f.carried = slices.ContainsFunc(f.markers, func(m leftMarker) bool {
		return f.session.ID != "" && m.owner.Handoff.Conversation == string(f.session.ID)
	})
	for _, m := range found {
		if m.Claimed || !slices.ContainsFunc(f.home, func(c session.Candidate) bool { return c.Handoff != nil && c.Handoff.Marker == m.Name }) {
			f.markers = append(f.markers, leftMarker{Marker: m})
		}
	}
	slices.SortStableFunc(f.markers, f.likelier)
	for i := range f.markers {
		if s.classify(f, &f.markers[i]) == take {
			break
		}
	}
	return err
}

// likelier compares two markers by how likely they are for this session.
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

// ownedBy returns the hand-over of a session, and where that runs.
func (s *start) ownedBy(f *facts, o *session.Candidate) leftMarker {
	p := o.Handoff
	left := leftMarker{owner: o, Marker: marker.Marker{Name: p.Marker, From: cmp.Or(p.From, string(o.ID)), Reason: p.Reason}}
	if o.ID != f.session.ID {
		left.inside = f.session.Process.IsSet() && o.Process().Alive() && f.session.Process.DescendsFrom(o.Process())
		left.elsewhere = o.Liveness == session.Running && o.Elsewhere()
	}
	return left
}

// tmuxWait limits the question whether a pane exists.
const tmuxWait = 250 * time.Millisecond

// classify judges a marker. It asks tmux for the owner's pane if the verdict depends on it.
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

func (s *start) gatherNote(f *facts, h handover, box mail.Box) error {
	if h.owner == nil || h.owner.Handoff.Note == "" {
		return nil
	}
	if p := h.owner.Handoff; p.Text != nil {
		f.note.note = &mail.Note{
			ID: p.Note, Type: mail.Handoff, From: p.Text.From, To: p.Text.To, Subject: p.Text.Subject, Date: p.Text.Date,
			Session: string(h.owner.ID), Chain: p.Text.Chain, Body: p.Text.Body,
		}
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

// gatherTail reads the end of the conversation of the session that broke off.
func (s *start) gatherTail(f *facts, h handover) {
	p := f.mayHaveBroken(h)
	if !p.brokeOff() {
		return
	}
	tail, err := s.tail(f.access, p.Record)
	if err != nil && p.Transcript != "" && !errors.Is(err, fs.ErrNotExist) {
		s.warn(err)
	}
	f.tail = tail // may be incomplete with an error
	f.asked = s.unwritten(p.Record, tail)
	f.asking = activity.Read(s.call.Home, p.ID).Reason == activity.Permission
	if f.atRest = tail.Answered; f.atRest {
		// A text can be the beginning of a turn; the keepalive file shows that it
		// goes on.
		sign := keepalive.Read(s.call.Home)
		f.atRest = sign == nil || sign.SessionID != p.ID || sign.State != keepalive.Running
	}
}

// unwritten returns the session's last prompt if its client died before it wrote it into
// the conversation; else the zero Quote.
func (s *start) unwritten(r *session.Record, tail summary.Summary) thread.Quote {
	t := s.threadOf(r)
	if t == nil {
		return thread.Quote{}
	}
	for _, q := range slices.Backward(t.Prompts) {
		if q.Session != r.ID {
			continue
		}
		for _, known := range tail.Requests {
			text := pasted.Shorten(conversation.Words(known.Text))
			if !known.Time.Before(q.Time) || text == q.Text || len(text) > maxCompared && strings.HasPrefix(q.Text, text[:maxCompared]) {
				return thread.Quote{}
			}
		}
		q.Text = s.env.Redact(q.Text)
		return q
	}
	return thread.Quote{}
}

// maxCompared is how many bytes of two prompts are compared: the end of a long one is cut.
const maxCompared = 200

// gatherHooked finds the notes that are hooked to the agent, and reads the bodies of the
// relevant ones.
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

// gatherGiven reads the note that the session received and its client dropped.
func (s *start) gatherGiven(f *facts, box mail.Box) error {
	id := f.givenNote()
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
