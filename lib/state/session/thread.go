package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/git"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

const (
	KindHandoff = "handoff" // the session ends and a fresh one takes over
	KindAuto    = "auto"    // saved before a compaction; the session continues
	KindCycle   = "cycle"   // the conversation continues in a new process
)

// StartParams describe a session that begins or continues.
type StartParams struct {
	ID             ID
	Source         string // the client's: startup, resume, clear, compact, fork
	Agent          string
	Process        process.Proc
	Server         process.Proc // the server behind the client that runs it; unset if there is none
	TmuxSession    string
	TmuxPane       string
	TmuxServer     string
	Transcript     string
	CWD            string
	Branch         string
	Host           string
	Topic          string
	Subject        string // of the hand-over that it takes up
	WorkUnit       string
	MoleculeID     string
	StepRef        string
	Note           string   // the hand-over note that it gets
	DeliveredNotes []string // further hand-over notes that it gets
	HookKey        string   // identifies a hook input; may be ""
	Predecessor    ID       // the session whose hand-over it takes up
	Recovers       ID       // another session that broke off, which it is also told about
	ClearReason    string   // the client's end reason after /clear, if not "clear"
	Unused         []ID     // sessions that broke off before they were asked for anything
	// Adopted reports that gt notices the session only while it runs already. It replaces no other.
	Adopted bool
	// Headless reports that no person sees this run. It follows no other session.
	Headless bool
}

// Started is the result of Start.
type Started struct {
	Record *Record
	// Parent is the session that this one follows, or nil.
	Parent *Record
	// Continued reports that the session was known before.
	Continued bool
	// Duplicate reports that Start did nothing, because the session had just acted on the
	// same hook input: the hook is wired twice.
	Duplicate bool
	// Others are live sessions of the same identity, except those that this one runs inside.
	Others []*Record
}

const dedupWindow = 10 * time.Second

// Start records that a session begins or continues, and links it into its chain. all are
// the home's records, read under the home's lock, which the caller still holds.
//
// A known session goes on (resume), unless the client gave its id to an unrelated conversation
// (isReused). A new one inherits the chain of its predecessor (see FindPredecessor) or begins one,
// and Start closes the sessions that it shows to be over (closePassed).
func (s Store) Start(now time.Time, all []*Record, params StartParams) (Started, error) {
	own, all := split(all, params.ID)
	if own != nil && own.actedOn(params.HookKey, now) && (!params.Process.IsSet() || own.Process() == params.Process) {
		return Started{Record: own, Duplicate: true}, nil
	}
	started := Started{Others: othersRunning(all, params, s.Home.Identity.Address())}
	reused := own != nil && s.isReused(now, own, params)
	if reused {
		if !own.Ended() {
			if err := s.endSession(now, own, Crash, lostReason); err != nil {
				return started, err
			}
		}
		if err := atomicfile.Remove(s.tailPath(params.ID)); err != nil {
			return started, err
		}
	} else if own != nil {
		started.Record, started.Continued = own, true
		if params.Headless && own.WaitsForPerson(now, params.Process) {
			return started, nil
		}
		if err := s.endRunOf(params.Process, now, all); err != nil {
			return started, err
		}
		return started, s.resume(now, own, params)
	}
	n := newcomer{params, now, Observe(now, all)}
	parent, how := n.predecessor() // before closing, because an ended session no longer shows it
	over := false                  // the parent had ended before
	if parent != nil {
		over = parent.Ended()
		if parent.ChildID == "" || how != Done { // after /clear (Done), the first successor stays
			parent.ChildID = params.ID
		}
	}
	if err := s.noteRecovery(all, params, parent); err != nil {
		return started, err
	}
	if err := s.closePassed(n); err != nil {
		return started, err
	}
	if over { // closePassed has written one that was open
		if err := s.Put(parent, atomicfile.Unsynced); err != nil {
			return started, err
		}
	}
	started.Parent, started.Record = parent, s.newRecord(now, params, parent)
	if reused {
		own.reopen(now)
		started.Record.Runs, started.Record.Left = own.Runs, own.Chain()
		if parent == nil {
			started.Record.ChainID = InventID() // the thread of the earlier conversation can have the session's
		}
	}
	if started.Record.Note == "" && how == Done {
		started.Record.Note = parent.Note // the note is for the chain, which continues
	}
	if err := s.announce(now, started.Record, params.Topic, params.Subject); err != nil {
		return started, err
	}
	if err := s.Home.Town.State.FixHome(string(params.ID), s.Home.Runtime()); err != nil {
		return started, err
	}
	if err := s.Put(started.Record, atomicfile.Unsynced); err != nil {
		return started, err
	}
	s.prune(all, now)
	return started, nil
}

// isReused reports whether the client gave the id of a session that is over to an unrelated
// conversation: gt has read one under this id (tailPath), and now its file is empty or missing.
func (s Store) isReused(now time.Time, r *Record, f StartParams) bool {
	if f.Source != "startup" || f.Transcript == "" || f.Transcript != r.Transcript || !r.Ended() && !r.Crashed(now) {
		return false
	}
	if _, err := os.Lstat(s.tailPath(f.ID)); err != nil {
		return false
	}
	info, err := os.Stat(f.Transcript)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

// tailPath returns the file with what was read of a session's conversation.
func (s Store) tailPath(id ID) string {
	return s.Home.Path("sessions", string(id)+".tail") // of lib/conversation/tail
}

// WaitsForPerson reports whether a headless run of another process that resumes the session
// leaves its record as it is: the session still runs, or it broke off and the person's next
// session follows it.
func (r *Record) WaitsForPerson(now time.Time, other process.Proc) bool {
	return !r.Headless && r.Process() != other && (r.live(now) || r.Crashed(now) || r.brokeOff())
}

// endRunOf ends the session that a process ran until now: its client has resumed another one.
func (s Store) endRunOf(p process.Proc, now time.Time, all []*Record) error {
	if !p.IsSet() {
		return nil
	}
	for _, r := range all {
		if r.Process() == p && !r.Ended() {
			if err := s.endSession(now, r, Done, "resume"); err != nil {
				return err
			}
		}
	}
	return nil
}

// noteRecovery makes the new session the child of the one that it recovers, unless that is
// its parent. It writes the record only of an ended one: closePassed writes that of an open one.
func (s Store) noteRecovery(all []*Record, f StartParams, parent *Record) error {
	i := slices.IndexFunc(all, func(r *Record) bool { return r.ID == f.Recovers })
	if i < 0 || all[i] == parent {
		return nil
	}
	all[i].ChildID = f.ID
	if !all[i].Ended() {
		return nil
	}
	return s.Put(all[i], atomicfile.Unsynced)
}

// actedOn reports whether the session acted on a hook input a moment ago. The same input
// after an end is another start.
func (r *Record) actedOn(key string, now time.Time) bool {
	return key != "" && r.Hook != nil && r.Hook.Key == key && now.Sub(r.Hook.At).Abs() < dedupWindow && !r.EndedAt.After(r.Hook.At)
}

// Claim reports whether the caller is the first to act on a hook input, and notes it in r,
// which the caller must write. The caller holds the home's lock.
func (r *Record) Claim(now time.Time, key string) bool {
	if r.actedOn(key, now) {
		return false
	}
	r.Hook = newHookDedup(key, now)
	return true
}

// resume continues a known session, possibly in another process. It closes a crash that is not
// closed yet, unless a prepared cycle explains it. It logs that the session goes on after an end or
// in another process, and writes the record.
func (s Store) resume(now time.Time, r *Record, params StartParams) error {
	another := params.Process.IsSet() && r.Process() != params.Process
	moved := another // it goes on in another process or after an end, which an event tells
	if another && r.Crashed(now) && (r.Handoff == nil || r.Handoff.Kind != KindCycle) {
		if err := s.endSession(now, r, Crash, lostReason); err != nil {
			return err
		}
	}
	if r.Ended() {
		// If a resume was killed between event and record, the event is there already.
		moved = s.lastEvent(r.ID).Type != eventlog.SessionResume
	}
	if moved {
		err := s.logEvent(now, eventlog.SessionResume, r.Actor, map[string]any{
			"session_id": r.ID, "agent": params.Agent, "source": params.Source, "cwd": params.CWD,
		})
		if err != nil {
			return err
		}
	}
	r.reopen(now)
	r.Source = cmp.Or(params.Source, r.Source) // a start by a command has none
	if params.Process.IsSet() || params.Server.IsSet() {
		r.SetProcess(params.Process)
		r.SetServer(params.Server)
		r.Host, r.Disk = cmp.Or(params.Host, r.Host), s.Home.Town.State.Disk()
	}
	if params.TmuxPane != "" {
		if r.InPane(params) {
			params.TmuxSession = cmp.Or(params.TmuxSession, r.TmuxSession) // the name is known already
		}
		r.TmuxSession, r.TmuxPane, r.TmuxServer = params.TmuxSession, params.TmuxPane, params.TmuxServer
	} else if another {
		r.TmuxSession, r.TmuxPane, r.TmuxServer = "", "", "" // it runs outside tmux now
	}
	if params.Transcript != "" {
		r.Transcript = params.Transcript
	}
	if params.HookKey != "" {
		r.Hook = newHookDedup(params.HookKey, now)
	}
	return s.Put(r, atomicfile.Unsynced)
}

// reopen lets an ended session continue, and moves its last run to Runs.
func (r *Record) reopen(now time.Time) {
	if r.Ended() {
		r.Runs = append(r.Runs, Run{cmp.Or(r.ResumedAt, r.StartedAt), r.EndedAt, r.Outcome, r.Reason})
		r.Runs = r.Runs[max(0, len(r.Runs)-maxRuns):]
		r.ResumedAt, r.Stop = now, nil
	}
	r.EndedAt, r.Outcome, r.Reason = time.Time{}, "", ""
}

// split returns the record with an id, nil if there is none, and the other records.
func split(all []*Record, id ID) (own *Record, rest []*Record) {
	rest = slices.DeleteFunc(slices.Clone(all), func(r *Record) bool {
		if r.ID == id {
			own = r
		}
		return r.ID == id
	})
	return own, rest
}

// closePassed ends the sessions that the new one shows to be over: the one whose hand-over
// it takes up, the one that its process ran, and the crashed ones.
func (s Store) closePassed(n newcomer) error {
	for _, c := range n.home {
		if c.Ended() {
			continue
		}
		var err error
		switch n.successionTo(c) {
		case afterHandoff:
			err = s.endSession(n.now, c.Record, Handoff, "")
		case afterClear:
			err = s.endSession(n.now, c.Record, Done, "clear")
		case afterLoss, afterLossHere, afterHeadless, afterUnused:
			err = s.endSession(n.now, c.Record, Crash, lostReason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// InPane reports whether the session was in a new one's pane. It compares machines and PID
// namespaces too, because two containers may each have a server of that path and a pane of
// that number.
func (r *Record) InPane(f StartParams) bool {
	return r.TmuxPane != "" && r.TmuxPane == f.TmuxPane && r.TmuxServer == f.TmuxServer &&
		!r.onOtherMachine() && (r.PIDNS == "" || f.Process.NS == "" || r.PIDNS == f.Process.NS)
}

// othersRunning returns the live sessions of the actor that run beside the new one: not those that
// it runs inside, nor one whose pane a successor is about to get.
func othersRunning(all []*Record, f StartParams, actor string) []*Record {
	var up []int // computed on demand: it inspects every ancestor
	inside := func(r *Record) bool {
		if !f.Process.IsSet() || r.IsElsewhere() {
			return false
		}
		if up == nil {
			up = process.Ancestors(f.Process.PID)
		}
		return slices.Contains(up, r.PID)
	}
	var live []*Record
	for _, r := range all {
		if r.Actor == actor && r.Process() != f.Process && (r.Handoff == nil || !r.Handoff.Respawn) && r.Live() && !inside(r) {
			live = append(live, r)
		}
	}
	return live
}

// newRecord returns the record of a new session, in its parent's chain or at the start of its own.
func (s Store) newRecord(now time.Time, params StartParams, parent *Record) *Record {
	who := s.Home.Identity
	r := &Record{
		ID: params.ID, Actor: who.Address(), Agent: params.Agent, Role: string(who.Role), Rig: who.Rig, Headless: params.Headless,
		Source: params.Source, ChainID: params.ID,
		TmuxSession: params.TmuxSession, TmuxPane: params.TmuxPane, TmuxServer: params.TmuxServer,
		Transcript: params.Transcript, CWD: params.CWD, Branch: params.Branch, Host: params.Host, Disk: s.Home.Town.State.Disk(),
		StartedAt: now, WorkUnit: params.WorkUnit, MoleculeID: params.MoleculeID, StepRef: params.StepRef, Note: params.Note, DeliveredNotes: params.DeliveredNotes,
	}
	r.SetProcess(params.Process)
	r.SetServer(params.Server)
	if parent != nil {
		r.ParentID, r.ChainID = parent.ID, parent.Chain()
		r.WorkUnit = cmp.Or(r.WorkUnit, parent.WorkUnit)
		if r.MoleculeID == "" && r.WorkUnit == parent.WorkUnit {
			r.MoleculeID, r.StepRef = parent.MoleculeID, parent.StepRef
		}
		if r.TmuxSession == "" && parent.InPane(params) {
			r.TmuxSession = parent.TmuxSession // the name is known already
		}
	}
	if params.HookKey != "" {
		r.Hook = newHookDedup(params.HookKey, now)
	}
	return r
}

// startPayload is the payload of session_start: Gas Town's keys first, then gt's own.
type startPayload struct {
	SessionID  ID     `json:"session_id"`
	Role       string `json:"role"`
	ActorPID   string `json:"actor_pid"`
	CWD        string `json:"cwd,omitempty"`
	Topic      string `json:"topic,omitempty"`
	Subject    string `json:"subject,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Source     string `json:"source,omitempty"`
	ParentID   ID     `json:"parent_id,omitempty"`
	ChainID    ID     `json:"chain_id,omitempty"`
	Transcript string `json:"transcript_path,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Tmux       string `json:"tmux_session,omitempty"`
	WorkUnit   string `json:"work_unit,omitempty"`
	MoleculeID string `json:"molecule_id,omitempty"`
	StepRef    string `json:"step_ref,omitempty"`
	Host       string `json:"host,omitempty"`
	PID        int    `json:"pid,omitempty"`
}

// announce logs the start of a session once, even if an earlier start was killed between event and
// record.
func (s Store) announce(now time.Time, r *Record, topic, subject string) error {
	if s.lastEvent(r.ID).Type == eventlog.SessionStart {
		return nil
	}
	if topic != "" && r.MoleculeID != "" {
		topic += ":" + r.MoleculeID
	}
	return s.logEvent(now, eventlog.SessionStart, r.Actor, startPayload{
		SessionID: r.ID, Role: r.Role, ActorPID: fmt.Sprintf("%s-%d", r.Actor, r.PID),
		CWD: r.CWD, Topic: topic, Subject: subject, Agent: r.Agent, Source: r.Source,
		ParentID: r.ParentID, ChainID: r.ChainID, Transcript: r.Transcript, Branch: r.Branch,
		Tmux: r.TmuxSession, WorkUnit: r.WorkUnit, MoleculeID: r.MoleculeID, StepRef: r.StepRef, Host: r.Host, PID: r.PID,
	})
}

func (s Store) lastEvent(id ID) eventlog.Event {
	return s.log().LastEvent(eventlog.Log(s.Home.Town.SpareEvents()), string(id), eventlog.SessionStart, eventlog.SessionResume, eventlog.SessionEnd)
}

var (
	ErrEnded   = errors.New("the session has ended already")
	ErrUnknown = errors.New("no such session")
)

// End closes a session and logs it. A prepared hand-over decides the outcome. For a session
// that has ended it returns ErrEnded, for an unknown one ErrUnknown, and changes nothing.
// args are the client's arguments, if known. The caller holds the home's lock.
func (s Store) End(now time.Time, id ID, o Outcome, reason string, args ...string) (*Record, error) {
	r, err := s.Get(id)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, fmt.Errorf("cannot end '%s': %w", id, ErrUnknown)
	}
	if r.Unread != nil { // it would count as done, and its checkpoint as finished
		return nil, r.Unread
	}
	if len(args) > 0 && !r.Ended() {
		r.Args = args
	}
	return r, s.endSession(now, r, o, reason)
}

// Stop records that the session's process is about to be ended. The caller holds the home's lock.
func (s Store) Stop(id ID, stop Stop) error {
	r, err := s.Get(id)
	if err != nil || r == nil || r.Ended() {
		return err
	}
	r.Stop = &stop
	return s.Put(r, atomicfile.Unsynced)
}

type endPayload struct {
	SessionID ID      `json:"session_id"`
	Outcome   Outcome `json:"outcome"`
	Reason    string  `json:"reason,omitempty"`
	WorkUnit  string  `json:"work_unit,omitempty"`
	CWD       string  `json:"cwd,omitempty"`
	LastSeen  string  `json:"last_seen,omitempty"` // of a crash, which is found later
}

const lostReason = "its process is gone"

// classifyEnd returns the outcome to record. A prepared hand-over or a stop overrides o.
func (r *Record) classifyEnd(o Outcome, reason string) (Outcome, string) {
	switch h := r.Promised(); {
	case h != nil:
		return Handoff, h.Reason
	case r.endedByStop():
		return Killed, r.Stop.Reason
	}
	return o, reason
}

// Lost returns how and when a session ended that crashed but is not closed yet, as the next
// start will record it. ok is false if it has ended or may run.
func (r *Record) Lost(now time.Time) (at time.Time, o Outcome, reason string, ok bool) {
	if !r.Crashed(now) {
		return time.Time{}, "", "", false
	}
	o, reason = r.classifyEnd(Crash, lostReason)
	return r.lastSign(), o, reason, true
}

// endSession logs the end of a session and then writes its record, with the hashes of its commits.
// A prepared hand-over or a stop overrides o.
func (s Store) endSession(now time.Time, r *Record, o Outcome, reason string) error {
	if r.Ended() {
		return fmt.Errorf("cannot end '%s': %w", r.ID, ErrEnded)
	}
	o, reason = r.classifyEnd(o, reason)
	told := endPayload{SessionID: r.ID, Outcome: o, Reason: reason, WorkUnit: r.WorkUnit, CWD: r.CWD}
	if o == Crash {
		told.LastSeen = r.lastSign().UTC().Format(time.RFC3339Nano)
	}
	// If an end was killed between event and record, the event counts.
	if e := s.lastEvent(r.ID); e.Type == eventlog.SessionEnd {
		logged := endPayload{}
		if json.Unmarshal(e.Payload, &logged) == nil {
			if _, err := ParseOutcome(string(logged.Outcome)); err == nil {
				now, told = e.Time.Time, logged
			}
		}
	} else if err := s.logEvent(now, eventlog.SessionEnd, r.Actor, told); err != nil {
		return err
	}
	r.EndedAt, r.Outcome, r.Reason, r.Stop = now, told.Outcome, told.Reason, nil
	r.Commits = nil
	for _, c := range s.Commits(r) {
		r.Commits = append(r.Commits, c.Hash)
	}
	return s.Put(r, atomicfile.Unsynced)
}

// Commits returns the session's commits that still exist. A crash is noticed later, so a
// crashed session ends at its last sign of life.
func (s Store) Commits(r *Record) []git.Commit {
	to := r.EndedAt
	if r.Outcome == Crash || r.Outcome == "" {
		to = r.lastSign()
		var beat struct {
			Session ID        `json:"session_id"`
			At      time.Time `json:"timestamp"`
		}
		data, err := atomicfile.Read(s.Home.Path("keepalive.json"), maxRecord) // of lib/state/keepalive
		if err == nil && json.Unmarshal(data, &beat) == nil && beat.Session == r.ID && beat.At.After(to) {
			to = beat.At
		}
	}
	return git.Commits(s.Home.Dir, r.StartedAt, to)
}
