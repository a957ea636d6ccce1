package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gt/lib/sys/process"
	"gt/lib/text/openjson"
)

// Outcome is how a session ended.
type Outcome string

const (
	Handoff Outcome = "handoff" // it handed over to a successor
	Done    Outcome = "done"    // it came to its end
	Crash   Outcome = "crash"   // its process died without a word
	Killed  Outcome = "killed"  // somebody ended it on purpose
)

// ParseOutcome refuses what is not an outcome.
func ParseOutcome(s string) (Outcome, error) {
	switch o := Outcome(s); o {
	case Handoff, Done, Crash, Killed:
		return o, nil
	}
	return "", fmt.Errorf("'%s' is not an outcome: it is one of handoff, done, crash, killed", s)
}

// Record is what a home knows of one session, the file
// sessions/<id>.json of what the state keeps of the home. Fields that are empty do not stand in
// it, and fields that a newer version wrote survive.
type Record struct {
	ID     ID     `json:"id"`
	Actor  string `json:"actor,omitempty"` // the agent's address
	Agent  string `json:"agent,omitempty"` // the client: claude, codex, …
	Role   string `json:"role,omitempty"`
	Rig    string `json:"rig,omitempty"`
	Source string `json:"source,omitempty"` // startup, resume, clear, compact, fork as the client said it last

	ChainID  ID `json:"chain_id,omitempty"`
	ParentID ID `json:"parent_id,omitempty"`
	ChildID  ID `json:"child_id,omitempty"`
	Left     ID `json:"left,omitempty"` // the chain that a person had it leave

	PID      int    `json:"pid,omitempty"` // the client's process
	PIDStart string `json:"pid_start,omitempty"`
	BootID   string `json:"boot_id,omitempty"`
	PIDNS    string `json:"pid_ns,omitempty"` // the PID namespace that the numbers count in

	ServerPID   int    `json:"server_pid,omitempty"` // what runs it behind the client, where that is another process
	ServerStart string `json:"server_start,omitempty"`

	TmuxSession string `json:"tmux_session,omitempty"`
	TmuxPane    string `json:"tmux_pane,omitempty"`   // %N
	TmuxServer  string `json:"tmux_server,omitempty"` // the server's socket
	Transcript  string `json:"transcript_path,omitempty"`
	CWD         string `json:"cwd,omitempty"`
	Branch      string `json:"branch,omitempty"`
	Host        string `json:"host,omitempty"`

	StartedAt time.Time `json:"started_at"`
	ResumedAt time.Time `json:"resumed_at,omitzero"` // when it last went on after an end
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Outcome   Outcome   `json:"outcome,omitempty"`
	Reason    string    `json:"reason,omitempty"`  // of the end
	Runs      []Run     `json:"runs,omitempty"`    // that ended before it went on, oldest first
	Stop      *Stop     `json:"stop,omitempty"`    // somebody is ending it
	Commits   []string  `json:"commits,omitempty"` // made while it ran, oldest first

	WorkUnit   string `json:"work_unit,omitempty"`
	MoleculeID string `json:"molecule_id,omitempty"`
	StepRef    string `json:"step_ref,omitempty"`

	// Args are what its client was started with, noted when it ended: who hands it over
	// afterwards keeps the person's choices.
	Args []string `json:"args,omitempty"`

	Note           string     `json:"note,omitempty"` // the hand-over note it was given or left for itself
	DeliveredNotes []string   `json:"told,omitempty"` // the other hand-over notes that it was given, the oldest first
	Handoff        *Pending   `json:"handoff,omitempty"`
	Full           bool       `json:"full,omitempty"` // its conversation is as long as its client lets it grow, and was saved for that
	Hook           *HookDedup `json:"hook,omitempty"`

	unknown openjson.Unknown
	// ended reports whether the session was over when the record was read, or
	// last written.
	ended bool
}

// Pending is a hand-over that the session has prepared and nobody has taken
// up yet.
type Pending struct {
	Kind    string    `json:"kind"`             // KindHandoff, KindAuto or KindCycle
	Note    string    `json:"note,omitempty"`   // the note's id
	Marker  string    `json:"marker,omitempty"` // the marker's name
	Before  []string  `json:"before,omitempty"` // notes of it that waited, which this one has in it
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at"`
	Respawn bool      `json:"respawn,omitempty"`  // the pane is given to the successor
	TakenBy ID        `json:"taken_by,omitempty"` // who is about to be told

	// Conversation is the id under which the successor's client resumes a copy of this
	// session's conversation; "" where it begins with none.
	Conversation ID `json:"conversation,omitempty"`
}

// Run is a part of a session's life that came to an end, after which the session was
// resumed.
type Run struct {
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	Outcome   Outcome   `json:"outcome"`
	Reason    string    `json:"reason,omitempty"`
}

// maxRuns bounds the runs that a record keeps: the last ones.
const maxRuns = 50

// Stop says that somebody ends the session's process on purpose. It is noted before
// the process is signalled, so that whoever finds the process gone takes it for killed,
// not for crashed.
type Stop struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // a session that gives a sign of life after that was spared
}

// HookDedup is the last hook input that was acted on. Hooks that are wired twice
// bring the same input twice, at the same moment.
type HookDedup struct {
	Key string    `json:"key"`
	At  time.Time `json:"at"`
}

// Process is the client's process.
func (r *Record) Process() process.Proc {
	return process.Noted(r.PID, r.PIDStart, r.BootID, r.PIDNS)
}

// Server is the process that runs the session behind its client, unknown where
// the client does so itself.
func (r *Record) Server() process.Proc {
	return process.Noted(r.ServerPID, r.ServerStart, r.BootID, r.PIDNS)
}

// SetProcess notes the client's process, which runs the session itself.
func (r *Record) SetProcess(p process.Proc) {
	r.PID, r.PIDStart, r.BootID, r.PIDNS = p.PID, p.Start, p.Boot, p.NS
	r.ServerPID, r.ServerStart = 0, ""
}

// SetServer notes the process that runs the session behind its client.
func (r *Record) SetServer(p process.Proc) {
	if r.ServerPID, r.ServerStart = p.PID, p.Start; p.IsSet() {
		r.BootID, r.PIDNS = p.Boot, p.NS
	}
}

// Ended reports whether the session is over.
func (r *Record) Ended() bool { return !r.EndedAt.IsZero() }

// Began returns when the session began, or last went on after an end.
func (r *Record) Began() time.Time {
	if r.ResumedAt.After(r.StartedAt) {
		return r.ResumedAt
	}
	return r.StartedAt
}

// silence is how long a session whose process cannot be looked at may give no
// sign of life before it counts as over.
const silence = 12 * time.Hour

// Elsewhere reports whether the session runs in another PID namespace, or did: in
// a container that shares the folder, in a sandbox, or outside of ours.
func (r *Record) Elsewhere() bool { return r.Process().Elsewhere() || r.Server().Elsewhere() }

// sign is the last sign of life that the record knows of: what it was written
// for, and what the client has added to the conversation since.
func (r *Record) sign() time.Time {
	last := r.Began()
	if r.Hook != nil && r.Hook.At.After(last) {
		last = r.Hook.At
	}
	if r.Handoff != nil && r.Handoff.At.After(last) {
		last = r.Handoff.At
	}
	if filepath.IsAbs(r.Transcript) {
		if info, err := os.Lstat(r.Transcript); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// stopped reports whether the session's end is the work of who stopped it.
func (r *Record) stopped() bool { return r.Stop != nil && !r.sign().After(r.Stop.Until) }

// silent reports whether the last sign of life is longer ago than that; a wrong
// clock's future is no better.
func (r *Record) silent(now time.Time, than time.Duration) bool {
	return now.Sub(r.sign()).Abs() > than
}

// Live reports whether the session is not over and its process runs. Of one in
// another PID namespace nothing is known, and it counts as running until it has
// been silent for long.
func (r *Record) Live() bool { return r.live(time.Now()) }

func (r *Record) live(now time.Time) bool {
	switch p := r.Process(); {
	case r.Ended():
		return false
	case r.Elsewhere():
		return !r.silent(now, silence)
	case p.IsSet():
		return p.Alive()
	}
	return r.Server().Alive()
}

// Crashed reports whether the session is not over and its process is: it crashed. One
// that a server runs goes on without its client, and its end is still told. Of a
// process that cannot be looked at only silence tells: of one in another PID
// namespace, or on another host that shares the folder, after twelve hours, and
// of one that nobody ever knew, after a day. From inside a sandbox a process
// that was noted without its namespace cannot be looked at either.
func (r *Record) Crashed(now time.Time) bool {
	if r.Ended() {
		return false
	}
	host, err := os.Hostname()
	p, server := r.Process(), r.Server()
	switch {
	case !p.IsSet() && !server.IsSet():
		return r.silent(now, 2*silence)
	case r.Elsewhere(), err == nil && r.Host != "" && r.Host != host:
		return r.silent(now, silence)
	}
	return (!p.IsSet() || p.Gone()) && (!server.IsSet() || server.Gone()) && (r.PIDNS != "" || !process.InSandbox())
}

// plainRecord is Record without its methods.
type plainRecord Record

// UnmarshalJSON reads a record and keeps the fields that it does not know.
func (r *Record) UnmarshalJSON(data []byte) (err error) {
	var p plainRecord
	p.unknown, err = openjson.Unmarshal(data, &p)
	*r = Record(p)
	return err
}

// Chain returns the chain of the session: one that follows nobody begins its own.
func (r *Record) Chain() ID { return cmp.Or(r.ChainID, r.ID) }

// MarshalJSON writes the record and the unknown fields after it.
func (r *Record) MarshalJSON() ([]byte, error) {
	return openjson.Marshal((*plainRecord)(r), r.unknown)
}
