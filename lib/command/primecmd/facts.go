package primecmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
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
	"gt/lib/state/handover"
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

// facts are what is known of a start. assess decides by them alone.
type facts struct {
	now time.Time
	// session is what the client reports about the session, and where it runs.
	session session.StartParams
	// forgets reports whether the client drops the start-up text when it resumes a conversation.
	forgets bool
	// asksAgain reports that the session's agent asks what the session was told.
	asksAgain bool
	// carried reports whether the client resumes a copy of the predecessor's
	// conversation, made for this session. It is still a new session.
	carried bool
	// hasTasks reports whether the role has tasks, so that a crash can lose one.
	hasTasks      bool
	candidates    []session.Candidate // the home's sessions, newest first
	leftHandovers []leftHandover      // the hand-overs that wait, most likely first
	hooked        []mail.Note         // oldest first, without their bodies
	boxRead       bool                // all of the hooked notes are known

	reader
}

// reader reads the facts that are expensive. assess asks for one only if it depends on it. It has
// functions, because a start in an interface would link every exported method of what it has.
type reader struct {
	findPane func(owner *session.Record) pane
	// readNote returns a note of the mailbox, nil if it is not there. withheld reports that it exists
	// but could not be read.
	readNote func(id string) (note *mail.Note, withheld bool)
	// readBody returns a hooked note with its body, and whether that could be read.
	readBody        func(mail.Note) (mail.Note, bool)
	readCheckpoints func() []savedCheckpoint // of the home, newest first
	readEnding      func(*session.Record) ending
	readDuties      func() duties
}

// ending is how a session broke off.
type ending struct {
	tail   summary.Summary
	asked  thread.Quote // its last request, if the conversation lacks it
	asking bool         // it was waiting for permission
	atRest bool         // it had answered and was waiting for the person
	partly bool         // its conversation could not be read whole
}

// duties are what waits for the agent besides hand-overs.
type duties struct {
	work    []beads.Work
	partial bool // bd did not answer everything, so there may be more work
	unread  int  // notes
}

// access is how the home was read.
type access int

const (
	looking access = iota // without the lock: nothing is changed, or the lock failed
	locked                // under the lock
	busy                  // without the lock, which others hold: files may be half updated
)

// leftHandover is a hand-over that waits: a session's of the home, owner, or an unowned one.
type leftHandover struct {
	*handover.Handover
	id      session.ID // the name of its file
	owner   *session.Candidate
	unowned *waiting.Unowned

	inside    bool // this session runs below the owner's process
	elsewhere bool // the owner runs in another PID namespace
}

// pane is what tmux says of a pane.
type pane int

const (
	paneExists pane = iota
	paneMissing
	noAnswer
)

type savedCheckpoint struct {
	*checkpoint.Checkpoint
	// recorded reports whether its session has a record, even an unreadable one.
	recorded bool
}

// start is one run of gt-prime.
type start struct {
	env     *cli.Env
	call    *hook.Invocation
	session session.StartParams
	// inSession reports that a session runs gt-prime: its client's hook, or a command of its agent. A person
	// is none, and neither is a client that forks a session and reports the parent's id as its own (Claude
	// Code before 2.1.213): the parent may be alive, and the next hook has the fork's id and records it.
	inSession        bool
	access           access
	unrecordedReason string // why the session could not be recorded; "" if it was, or if others held the lock

	thread      *thread.Thread // the last that was read, or nil
	checkpoints *checkpoints   // nil if nobody asked
}

// checkpoints are those of the home. partly reports whether some could not be read.
type checkpoints struct {
	all    []savedCheckpoint
	partly bool
}

// newStart returns what the hook's call says of the start of a session. If the client gave no id, it
// finds or invents one, and sets it in call as well; a fork gets its own from the client later.
func newStart(env *cli.Env, call *hook.Invocation) *start {
	s := &start{env: env, call: call, session: call.StartParams()}
	s.session.Source = cmp.Or(s.session.Source, env.Getenv("GT_HOOK_SOURCE"))
	isFork := forked(s.session, call)
	if call.ID == "" && call.Hook && !isFork {
		s.session.ID = s.unnamed()
		call.ID = s.session.ID
	}
	s.inSession = call.ID != "" && !isFork
	return s
}

// forked reports whether the client forks a session: the hook may have the parent's id (see start).
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

// assessUnlocked assesses the situation without the home's lock and changes nothing.
func (s *start) assessUnlocked() (*facts, situation) {
	records, err := s.call.Store.ReadRecords()
	s.warn(err)
	return s.assess(records)
}

// assess gathers the facts and returns what they mean. It writes nothing, except that it repairs
// checkpoints under the lock. What it cannot read is left out: a shorter text is better than none.
func (s *start) assess(records []*session.Record) (*facts, situation) {
	f := s.gather(records)
	told := assess(f)
	if told.checkpoint != nil {
		told.checkpoint.Clean(s.env.Redact) // another program may have written it
	}
	return f, told
}

func (s *start) box() mail.Box {
	h := s.call.Home
	box := mail.NewBox(h, h.Identity.Address())
	return box.ReadBy(instance.MatchOtherAgents(h.Town.State, s.env.Getenv(instance.Variable), s.call.ID))
}

// gather reads the facts of the home and its mailbox, and leaves the expensive ones to the reader.
func (s *start) gather(records []*session.Record) *facts {
	f := &facts{
		now: s.env.Now(), session: s.session, reader: reader{s.findPane, s.readNote, s.readBody, s.readCheckpoints, s.readEnding, s.readDuties},
		forgets: s.call.Dialect.DropsStartContext, hasTasks: s.call.Home.Identity.Role.HasOwnWork(),
	}
	f.candidates = session.Observe(f.now, records)
	me := f.findSession(f.session.ID)
	f.asksAgain = me != nil && me.Note != "" && !s.call.Hook
	for i := range f.candidates {
		c := &f.candidates[i]
		if e := c.Promised(); e != nil && c.ID != f.session.ID && (c.Liveness == session.Ended || c.Liveness == session.Dead) {
			c.Handoff = e // a later one, saved for itself, is nobody's: it has ended
		}
		if c.Handoff != nil {
			f.leftHandovers = append(f.leftHandovers, f.leftBy(c))
		}
	}
	f.carried = slices.ContainsFunc(f.leftHandovers, func(l leftHandover) bool {
		return f.session.ID != "" && l.Conversation == string(f.session.ID)
	})
	var err error
	f.hooked, err = s.box().Hooked()
	s.warn(err)
	f.boxRead = err == nil
	by := waiting.Reader{ID: f.session.ID, Continues: f.continues(), Busy: s.access == busy, Repairs: s.access == locked}
	unowned, err := waiting.FindUnowned(s.call.Store, f.candidates, f.hooked, by)
	s.warn(err)
	for _, u := range slices.Backward(unowned) {
		f.leftHandovers = append(f.leftHandovers, leftHandover{Handover: u.Handover, id: u.ID, unowned: u})
	}
	sort.SliceStable(f.leftHandovers, func(i, j int) bool { return f.isLikelier(f.leftHandovers[i], f.leftHandovers[j]) })
	return f
}

// isLikelier reports whether hand-over a comes before b: first the session's own, then that of the
// owner whose pane it got, and those of others, the oldest first. The unowned ones are last, the
// latest of them first: the session is told the earlier ones beside it.
func (f *facts) isLikelier(a, b leftHandover) bool {
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
	switch x, y := rank(a), rank(b); {
	case x != y:
		return x < y
	case x == 3:
		return b.At.Before(a.At)
	}
	return a.At.Before(b.At)
}

// leftBy returns the hand-over of a session, and where that runs.
func (f *facts) leftBy(o *session.Candidate) leftHandover {
	l := leftHandover{Handover: o.Handoff, id: o.ID, owner: o}
	if o.ID != f.session.ID {
		l.inside = f.session.Process.IsSet() && o.Process().IsAlive() && f.session.Process.DescendsFrom(o.Process())
		l.elsewhere = o.Liveness == session.Running && o.IsElsewhere()
	}
	return l
}

const tmuxWait = 250 * time.Millisecond // limits the question whether a pane exists

func (s *start) findPane(owner *session.Record) pane {
	switch _, err := tmux.Server(owner.TmuxServer).Pane(owner.TmuxPane, tmuxWait); {
	case err == nil:
		return paneExists
	case errors.Is(err, tmux.ErrNoAnswer):
		return noAnswer
	}
	return paneMissing
}

func (s *start) readNote(id string) (note *mail.Note, withheld bool) {
	found, err := s.box().Get(id)
	switch {
	case err == nil:
		return &found, false
	case errors.Is(err, mail.ErrNotFound):
		return nil, false
	}
	s.warn(err)
	return nil, true
}

// readCheckpoints reads the home's checkpoints the first time. Under the lock it also repairs them.
func (s *start) readCheckpoints() []savedCheckpoint {
	if s.checkpoints == nil {
		list := checkpoint.List
		if s.access == locked {
			list = checkpoint.Repair
		}
		all, err := list(s.call.Home)
		s.warn(err)
		s.checkpoints = &checkpoints{partly: err != nil}
		for _, c := range all {
			s.checkpoints.all = append(s.checkpoints.all, savedCheckpoint{c, s.call.Store.Exists(c.SessionID)})
		}
	}
	return s.checkpoints.all
}

// readEnding returns how a session broke off, as its conversation and gt's files of it tell.
func (s *start) readEnding(r *session.Record) ending {
	tail, err := s.tail(r)
	// The client may have died before it wrote a conversation.
	if r.Transcript == "" || errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	s.warn(err)
	// tail may be incomplete with an error
	e := ending{tail: tail, partly: err != nil, asked: s.unwritten(r, tail), asking: activity.Read(s.call.Home, r.ID).Reason == activity.Permission}
	if e.atRest = tail.Answered; e.atRest {
		// A text can be the beginning of a turn; the keepalive file shows that it goes on.
		sign := keepalive.Read(s.call.Home)
		e.atRest = sign == nil || sign.SessionID != r.ID || sign.State != keepalive.Running
	}
	return e
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
			text := pasted.Shorten(conversation.TypedWords(known.Text))
			if !known.Time.Before(q.Time) || text == q.Text || len(text) > maxCompared && strings.HasPrefix(q.Text, text[:maxCompared]) {
				return thread.Quote{} // the conversation has it, or a later one
			}
		}
		q.Text = s.env.Redact(q.Text)
		return q
	}
	return thread.Quote{}
}

const maxCompared = 200 // how many bytes of two prompts are compared: the end of a long one is cut

func (s *start) readBody(n mail.Note) (mail.Note, bool) {
	whole, err := s.box().ReadBody(n)
	s.warn(err)
	return whole, err == nil
}

// readDuties reads the work. A work store that does not answer only causes a warning.
func (s *start) readDuties() duties {
	unread, err := s.box().CountUnread()
	s.warn(err)
	work, err := beads.Given(s.call.Home, s.env.ChildEnviron())
	s.warn(err)
	return duties{work, err != nil, unread}
}

const readWait = 2 * time.Second // limits the run of gt-seance that reads the rest of a conversation

// tail returns the summary of the parent's conversation. It was stored at the end of each
// turn, before a compaction or at a hand-over. If the conversation has grown since, the
// session died in the middle of a turn and gt-seance reads the rest. If that fails, tail
// returns the stored summary with the error.
//
// Readers check themselves that a conversation is the person's: a record proves only who
// wrote the record.
func (s *start) tail(parent *session.Record) (summary.Summary, error) {
	client := cmp.Or(parent.Agent, contract.Default)
	if _, err := os.Stat(parent.Transcript); err != nil || !registry.HasReader(client) {
		return summary.Summary{}, atomicfile.Error("read", parent.Transcript, err)
	}
	f := conversation.File{Client: client, Path: parent.Transcript, ID: parent.ID}
	stored, current, err := tail.NewFile(s.call.Home, parent).ReadStored(f, s.env.Redact)
	if err == nil && current {
		return stored, nil
	}
	args := []string{"tail", string(parent.ID), "--home", s.call.Home.Dir}
	if s.access == locked {
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

// lostContext is what gt knows of a conversation that lost a part before it was resumed.
// Clients drop history without a message.
type lostContext struct {
	how     string // how gt noticed
	session summary.Summary
	thread  *thread.Thread
}

// findLostContext compares a resumed conversation with what gt read of it before. It returns nil unless the
// file ends before the point up to which it was read, or the model has less than half of the tokens of
// its last turn. It also returns nil if the client rewrote the file, as for a compaction.
func (s *start) findLostContext(told situation) *lostContext {
	if s.session.Source != "resume" || told.conversation != resumed && told.conversation != forgotten {
		return nil
	}
	r, err := s.call.Store.Get(s.session.ID)
	if err != nil || r == nil {
		return nil // begin has warned
	}
	f := conversation.File{Client: cmp.Or(r.Agent, contract.Default), Path: r.Transcript, ID: r.ID}
	kept := tail.NewFile(s.call.Home, r)
	less := &lostContext{}
	before, after, err := kept.CutShort(f)
	s.warn(err)
	given, last := s.call.Input.ContextTokens, activity.Read(s.call.Home, r.ID).Tokens
	switch {
	case before > 0:
		less.how = fmt.Sprintf("its file has %d bytes, and had %d when it was read last", after, before)
	case given > 0 && given < last/2:
		less.how = fmt.Sprintf("it has %d tokens, and had %d at the end of its last turn", given, last)
	default:
		return nil
	}
	less.session, _, err = kept.ReadStored(f, s.env.Redact)
	s.warn(err)
	less.thread = s.threadOf(r)
	return less
}
