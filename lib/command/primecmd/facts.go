package primecmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/hook"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/conversation/tail"
	"gt/lib/launch/gtexec"
	"gt/lib/state/activity"
	"gt/lib/state/beads"
	"gt/lib/state/checkpoint"
	stored "gt/lib/state/handover"
	"gt/lib/state/instance"
	"gt/lib/state/keepalive"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/state/waiting"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/tmux"
	"gt/lib/text/pasted"
)

// facts are what is known of a start. assess decides by them alone and reads no file, process or clock.
// The first group is always known; what is expensive is nil or unread until assess needs it.
type facts struct {
	now    time.Time
	access access
	// session is what the client reports about the session, and where it runs.
	session session.StartParams
	// forgets reports whether the client drops the start-up text when it resumes a conversation.
	forgets bool
	// asksAgain reports that the session's agent asks what the session was told.
	asksAgain bool
	// carried reports whether the client resumes a copy of the predecessor's
	// conversation, made for this session. It is still a new session.
	carried bool
	// works reports whether the role has tasks, so that a crash can lose one.
	works   bool
	home    []session.Candidate // the home's sessions, newest first
	left    []leftHandover      // the hand-overs that wait, most likely first
	hooked  []hookedNote        // oldest first
	boxRead bool                // all of the hooked notes are known

	checkpoints *checkpoints
	ending      *ending
	given       *givenNote
	duties      *duties
}

// checkpoints are those of the home, newest first. partly reports whether some could not be read.
type checkpoints struct {
	all    []savedCheckpoint
	partly bool
}

type ending struct {
	tail   summary.Summary
	asked  thread.Quote // its last request, if the conversation lacks it
	asking bool         // it was waiting for permission
	atRest bool         // it had answered and was waiting for the person
	partly bool         // its conversation could not be read whole
}

// givenNote is the note that the session received and its client dropped, nil for none.
type givenNote struct{ *mail.Note }

// duties are what waits for the agent besides hand-overs.
type duties struct {
	work    []beads.Work
	partial bool // bd did not answer everything, so there may be more work
	unread  int  // notes
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
	// fork is a client that forks a session and reports the parent's id as its own (Claude Code before
	// 2.1.213). The next hook has the fork's id and records it. Until then nothing is recorded under
	// the parent's id, because the parent may be alive.
	fork
)

// leftHandover is a hand-over that waits: a session's of the home, owner, or an unowned one.
type leftHandover struct {
	*stored.Handover
	id      session.ID // the name of its file
	owner   *session.Candidate
	unowned *waiting.Unowned

	inside    bool // this session runs below the owner's process
	elsewhere bool // the owner runs in another PID namespace
	pane      pane // the owner's pane
	note      mailbox
}

type pane int

const (
	notAsked pane = iota
	paneExists
	gone
	noAnswer
)

type mailbox struct {
	note     *mail.Note
	withheld bool // it exists but could not be read
	unread   bool // nobody tried yet
}

type savedCheckpoint struct {
	*checkpoint.Checkpoint
	// recorded reports whether its session has a record, even an unreadable one.
	recorded bool
}

// hookedNote is a note that is hooked to the agent: without its body until that is read.
type hookedNote struct {
	mail.Note
	whole    bool
	withheld bool // its body could not be read
}

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
	s.session.Source = cmp.Or(s.session.Source, env.Getenv("GT_HOOK_SOURCE"))
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

// collect assesses the situation without the home's lock and changes nothing.
func (s *start) collect(a access) (*facts, situation) {
	records, err := s.call.Store.ReadRecords()
	s.warn(err)
	return s.assess(a, records)
}

// assess gathers the facts and returns what they mean. It writes nothing, except that it repairs
// checkpoints under the lock. What it cannot read is left out: a shorter text is better than none.
func (s *start) assess(a access, records []*session.Record) (*facts, situation) {
	f := &facts{
		now: s.env.Now(), access: a, session: s.session,
		forgets: s.call.Dialect.DropsStartContext, works: s.call.Home.Identity.Role.Works(),
	}
	s.gather(f, records)
	for {
		now, missing := assess(f)
		if missing == nil {
			if now.checkpoint != nil {
				now.checkpoint.Clean(s.env.Redact) // another program may have written it
			}
			return f, now
		}
		s.warn(missing(s, f))
	}
}

func (s *start) box() mail.Box {
	h := s.call.Home
	box := mail.NewBox(h, h.Identity.Address())
	return box.ReadBy(instance.MatchOtherAgents(h.Town.State, s.env.Getenv(instance.Variable), s.call.ID))
}

func (s *start) gather(f *facts, records []*session.Record) {
	f.home = session.Observe(s.env.Now(), records)
	f.left = nil
	me := f.find(f.session.ID)
	f.asksAgain = me != nil && me.Note != "" && !s.call.Hook
	for i := range f.home {
		c := &f.home[i]
		if e := c.Promised(); e != nil && c.ID != f.session.ID && (c.Liveness == session.Ended || c.Liveness == session.Dead) {
			c.Handoff = e // what it saved for itself after that is nobody's
		}
		if c.Handoff != nil {
			f.left = append(f.left, f.leftBy(c))
		}
	}
	f.carried = slices.ContainsFunc(f.left, func(l leftHandover) bool {
		return f.session.ID != "" && l.Conversation == string(f.session.ID)
	})
	hooked, err := s.box().Hooked()
	s.warn(err)
	f.hooked, f.boxRead = nil, err == nil
	for _, n := range hooked {
		f.hooked = append(f.hooked, hookedNote{Note: n})
	}
	reader := waiting.Reader{ID: f.session.ID, Continues: f.continues(), Busy: f.access == busy, Repairs: f.access == locked}
	unowned, err := waiting.FindUnowned(s.call.Store, f.home, hooked, reader)
	s.warn(err)
	for _, u := range slices.Backward(unowned) {
		f.left = append(f.left, newLeft(leftHandover{Handover: u.Handover, id: u.ID, unowned: u}))
	}
	slices.SortStableFunc(f.left, f.likelier)
}

// likelier compares two hand-overs by how likely they are for this session: its own, that of
// the owner whose pane it got, those of others from the oldest on, and then the unowned ones from
// the latest on: with that it is told the others.
func (f *facts) likelier(a, b leftHandover) int {
	rank := func(l leftHandover) int {
		switch o := l.owner; {
		case l.id == f.session.ID:
			return 0
		case o == nil:
			return 3
		case l.Respawn && o.TmuxPane == f.session.TmuxPane && o.TmuxServer == f.session.TmuxServer:
			return 1
		}
		return 2
	}
	if rank(a) == 3 && rank(b) == 3 {
		return b.At.Compare(a.At)
	}
	return cmp.Or(rank(a)-rank(b), a.At.Compare(b.At))
}

// leftBy returns the hand-over of a session, and where that runs.
func (f *facts) leftBy(o *session.Candidate) leftHandover {
	l := newLeft(leftHandover{Handover: o.Handoff, id: o.ID, owner: o})
	if o.ID != f.session.ID {
		l.inside = f.session.Process.IsSet() && o.Process().Alive() && f.session.Process.DescendsFrom(o.Process())
		l.elsewhere = o.Liveness == session.Running && o.IsElsewhere()
	}
	return l
}

// newLeft adds the note, as far as it is known.
func newLeft(l leftHandover) leftHandover {
	l.note.note = waiting.NoteOf(l.Handover)
	l.note.unread = l.note.note == nil && l.Note != ""
	return l
}

const tmuxWait = 250 * time.Millisecond // limits the question whether a pane exists

// missing reads a fact that assess needs.
type missing func(*start, *facts) error

func askPane(l *leftHandover) missing {
	return func(*start, *facts) error {
		switch _, err := tmux.Server(l.owner.TmuxServer).Pane(l.owner.TmuxPane, tmuxWait); {
		case err == nil:
			l.pane = paneExists
		case errors.Is(err, tmux.ErrNoAnswer):
			l.pane = noAnswer
		default:
			l.pane = gone
		}
		return nil
	}
}

// readNote reads the note of a claim, or of a hand-over that v0.2.0 wrote or that moved here.
func readNote(l *leftHandover) missing {
	return func(s *start, _ *facts) error {
		note, err := s.box().Get(l.Note)
		if l.note.unread = false; err != nil {
			l.note.withheld = !errors.Is(err, mail.ErrNotFound)
			return err
		}
		l.note.note = &note
		return nil
	}
}

func (s *start) readCheckpoints(f *facts) error {
	list := checkpoint.List
	if f.access == locked {
		list = checkpoint.Repair
	}
	all, err := list(s.call.Home)
	f.checkpoints = &checkpoints{partly: err != nil}
	for _, c := range all {
		f.checkpoints.all = append(f.checkpoints.all, savedCheckpoint{
			c, f.find(c.SessionID) != nil || s.call.Store.Exists(c.SessionID),
		})
	}
	return err
}

func readEnding(r *session.Record) missing {
	return func(s *start, f *facts) error {
		tail, err := s.tail(f.access, r)
		if r.Transcript == "" || errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		// tail may be incomplete with an error
		e := ending{tail: tail, partly: err != nil, asked: s.unwritten(r, tail), asking: activity.Read(s.call.Home, r.ID).Reason == activity.Permission}
		if e.atRest = tail.Answered; e.atRest {
			// A text can be the beginning of a turn; the keepalive file shows that it goes on.
			sign := keepalive.Read(s.call.Home)
			e.atRest = sign == nil || sign.SessionID != r.ID || sign.State != keepalive.Running
		}
		f.ending = &e
		return err
	}
}

// passOver notes that a session broke off before it was asked for anything.
func passOver(id session.ID) missing {
	return func(s *start, f *facts) error {
		s.session.Unused = append(s.session.Unused, id)
		f.session.Unused, f.ending = s.session.Unused, nil
		return nil
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

const maxCompared = 200 // how many bytes of two prompts are compared: the end of a long one is cut

func readBody(n *hookedNote) missing {
	return func(s *start, _ *facts) error {
		whole, err := s.box().ReadBody(n.Note)
		if n.whole, n.withheld = true, err != nil; err == nil {
			n.Note = whole
		}
		return err
	}
}

func (s *start) readGiven(f *facts) error {
	f.given = &givenNote{}
	me := f.find(f.session.ID)
	if me == nil || me.Note == "" {
		return nil
	}
	note, err := s.box().Get(me.Note)
	if errors.Is(err, mail.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	f.given.Note = &note
	return nil
}

// readDuties reads the work. A work store that does not answer only causes a warning.
func (s *start) readDuties(f *facts) (err error) {
	f.duties = &duties{}
	f.duties.unread, err = s.box().CountUnread()
	s.warn(err)
	f.duties.work, err = beads.Given(s.call.Home, s.env.ChildEnviron())
	f.duties.partial = err != nil
	return err
}

const readWait = 2 * time.Second // limits the run of gt-seance that reads the rest of a conversation

// tail returns the summary of the parent's conversation. It was stored at the end of each
// turn, before a compaction or at a hand-over. If the conversation has grown since, the
// session died in the middle of a turn and gt-seance reads the rest. If that fails, tail
// returns the stored summary with the error.
//
// Readers check themselves that a conversation is the person's: a record proves only who
// wrote the record.
func (s *start) tail(a access, parent *session.Record) (summary.Summary, error) {
	client := cmp.Or(parent.Agent, contract.Default)
	if _, err := os.Stat(parent.Transcript); err != nil || !registry.HasReader(client) {
		return summary.Summary{}, atomicfile.Error("read", parent.Transcript, err)
	}
	f := conversation.File{Client: client, Path: parent.Transcript, ID: parent.ID}
	stored, current, err := tail.NewFile(s.call.Home, parent).Stored(f, s.env.Redact)
	if err == nil && current {
		return stored, nil
	}
	args := []string{"tail", string(parent.ID), "--home", s.call.Home.Dir}
	if a == locked {
		args = append(args, "--update")
	}
	out, err := gtexec.Output("gt-seance", s.call.Dir, s.env.Environ, readWait, args...)
	var grown summary.Summary
	if err == nil {
		err = json.Unmarshal(out, &grown)
	}
	switch {
	case err == nil:
		return summary.Clean(grown, s.env.Redact), nil
	case len(stored.Requests) > 0:
		err = fmt.Errorf("%w; using what was read of the conversation before", err)
	}
	return stored, err
}
