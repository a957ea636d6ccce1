package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/handover"
	"gt/lib/sys/process"
	"gt/lib/text/openjson"
)

type Outcome string

const (
	Handoff Outcome = "handoff" // it handed over to a successor
	Done    Outcome = "done"    // it ended normally
	Crash   Outcome = "crash"   // its process died without an end
	Killed  Outcome = "killed"  // it was ended on purpose
)

func ParseOutcome(s string) (Outcome, error) {
	switch o := Outcome(s); o {
	case Handoff, Done, Crash, Killed:
		return o, nil
	}
	return "", fmt.Errorf("'%s' is not an outcome: it is one of handoff, done, crash, killed", s)
}

// Record is what a home knows of a session: the file sessions/<id>.json in the home's
// state. Empty fields are omitted. Unknown fields of a newer gt survive.
type Record struct {
	ID     ID     `json:"id"`
	Actor  string `json:"actor,omitempty"` // the agent's address
	Agent  string `json:"agent,omitempty"` // the client: claude, codex, …
	Role   string `json:"role,omitempty"`
	Rig    string `json:"rig,omitempty"`
	Source string `json:"source,omitempty"` // the client's latest: startup, resume, clear, compact, fork
	// Headless reports that no person saw its first run.
	Headless bool `json:"headless,omitempty"`

	ChainID  ID `json:"chain_id,omitempty"`
	ParentID ID `json:"parent_id,omitempty"`
	ChildID  ID `json:"child_id,omitempty"`
	Left     ID `json:"left,omitempty"` // the chain that it left, by a person's command or with another conversation

	PID      int    `json:"pid,omitempty"` // of the client's process
	PIDStart string `json:"pid_start,omitempty"`
	BootID   string `json:"boot_id,omitempty"`
	PIDNS    string `json:"pid_ns,omitempty"` // the PID namespace of the numbers

	ServerPID   int    `json:"server_pid,omitempty"` // a server behind the client that runs the session, if any
	ServerStart string `json:"server_start,omitempty"`

	TmuxSession string `json:"tmux_session,omitempty"`
	TmuxPane    string `json:"tmux_pane,omitempty"`
	TmuxServer  string `json:"tmux_server,omitempty"` // the socket
	Transcript  string `json:"transcript_path,omitempty"`
	CWD         string `json:"cwd,omitempty"`
	Branch      string `json:"branch,omitempty"`
	Host        string `json:"host,omitempty"`
	Disk        string `json:"disk,omitempty"` // of the state, when the process was recorded; see place.State.Disk

	StartedAt time.Time `json:"started_at"`
	ResumedAt time.Time `json:"resumed_at,omitzero"` // when it last continued after an end
	EndedAt   time.Time `json:"ended_at,omitzero"`
	Outcome   Outcome   `json:"outcome,omitempty"`
	Reason    string    `json:"reason,omitempty"`  // of the end
	Runs      []Run     `json:"runs,omitempty"`    // earlier runs, oldest first
	Stop      *Stop     `json:"stop,omitempty"`    // set while it is being ended
	Commits   []string  `json:"commits,omitempty"` // made while it ran, oldest first

	WorkUnit   string `json:"work_unit,omitempty"`
	MoleculeID string `json:"molecule_id,omitempty"`
	StepRef    string `json:"step_ref,omitempty"`

	// Args are the client's arguments, noted at the end, so that a later hand-over keeps
	// the person's options.
	Args []string `json:"args,omitempty"`

	Note           string     `json:"note,omitempty"` // the hand-over note that it was given, or left for itself
	DeliveredNotes []string   `json:"told,omitempty"` // further hand-over notes that it was given, oldest first
	Full           bool       `json:"full,omitempty"` // its conversation reached the client's limit and was saved
	Hook           *HookDedup `json:"hook,omitempty"`

	// Handoff is the hand-over of the session that waits, from its own file.
	Handoff *handover.Handover `json:"-"`
	// Unread says why it is not known whether there is one.
	Unread error `json:"-"`
	// Old is the one that gt v0.2.0 kept in the record.
	Old *handover.Handover `json:"handoff,omitempty"`

	slot    handover.Slot
	unknown openjson.Unknown
	// ended is the value of Ended when the record was last read or written.
	ended bool
	// restarted reports that the process ran on this machine before its last restart.
	restarted bool
}

// Run is a part of a session's life before it was resumed.
type Run struct {
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
	Outcome   Outcome   `json:"outcome"`
	Reason    string    `json:"reason,omitempty"`
}

// maxRuns bounds the runs in a record. The latest are kept.
const maxRuns = 50

// Stop records that the session's process is being ended on purpose. It is written before
// the signal, so that the session counts as killed and not as crashed.
type Stop struct {
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // a sign of life after this means that it was spared
}

// HookDedup is the hook input that was acted on last. A hook that is wired twice delivers
// the same input twice at once.
type HookDedup struct {
	Key   string    `json:"key"`
	At    time.Time `json:"at"`
	Awake int64     `json:"awake,omitempty"` // process.Awake at At
}

func newHookDedup(key string, now time.Time) *HookDedup {
	return &HookDedup{key, now, process.Awake()}
}

// Promised returns the hand-over to a successor that waits, nil for none. It can wait behind one
// that the session saved for itself.
func (r *Record) Promised() *handover.Handover {
	switch {
	case r == nil || r.Handoff == nil:
		return nil
	case r.Handoff.Kind == KindHandoff:
		return r.Handoff
	}
	return r.Handoff.Earlier
}

// Process returns the client's process.
func (r *Record) Process() process.Proc {
	return process.ProcFromRecord(r.PID, r.PIDStart, r.BootID, r.PIDNS)
}

// Server returns the server process behind the client that runs the session, unset without one.
func (r *Record) Server() process.Proc {
	return process.ProcFromRecord(r.ServerPID, r.ServerStart, r.BootID, r.PIDNS)
}

// SetProcess records the client's process and clears the server.
func (r *Record) SetProcess(p process.Proc) {
	r.PID, r.PIDStart, r.BootID, r.PIDNS = p.PID, p.Start, p.Boot, p.NS
	r.ServerPID, r.ServerStart = 0, ""
}

func (r *Record) SetServer(p process.Proc) {
	if r.ServerPID, r.ServerStart = p.PID, p.Start; p.IsSet() {
		r.BootID, r.PIDNS = p.Boot, p.NS
	}
}

func (r *Record) Ended() bool { return !r.EndedAt.IsZero() }

// Began returns when the session started or was last resumed.
func (r *Record) Began() time.Time {
	if r.ResumedAt.After(r.StartedAt) {
		return r.ResumedAt
	}
	return r.StartedAt
}

// silence is how long a session without a visible process may give no sign of life until it
// counts as crashed.
const silence = 12 * time.Hour

// IsElsewhere reports whether the session runs or ran where its processes cannot be seen from
// here: in another PID namespace, that of a container or sandbox that shares the folder or
// one outside, or on another machine.
func (r *Record) IsElsewhere() bool {
	return r.Process().IsElsewhere() || r.Server().IsElsewhere() || r.onOtherMachine()
}

func (r *Record) onOtherMachine() bool { return !r.restarted && OtherMachine(r.BootID, r.Host) }

// OtherMachine reports whether a process of that boot and host may run on another machine,
// which shares the folder. A machine is known by its boot; after another boot only its disk
// (see place.State.Disk) or its name tells, and that may have got or lost a domain.
func OtherMachine(boot, host string) bool {
	here, _ := process.CurrentNamespace()
	if host == "" || boot != "" && boot == here {
		return false
	}
	own, err := os.Hostname()
	label := func(name string) string {
		name, _, _ = strings.Cut(name, ".")
		return strings.ToLower(name)
	}
	return err == nil && label(own) != label(host)
}

// BeforeRestart reports whether what recorded that boot and disk (see place.State.Disk) ran on
// this machine before it restarted, if its last sign of life was then. Two machines that were
// made from one image have the same disk; of another one's agent only a sign since this boot
// tells that it runs.
func BeforeRestart(boot, disk string, sign time.Time, state place.State) bool {
	if boot == "" || disk == "" || disk != state.Disk() {
		return false
	}
	booted, err := process.Booted()
	return err == nil && sign.Before(booted) // mutant always: TestBeforeRestart
}

// lastSign returns the session's last sign of life: in the record or the transcript.
func (r *Record) lastSign() time.Time {
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

// endedByStop reports whether the session ended because of Stop.
func (r *Record) endedByStop() bool { return r.Stop != nil && !r.lastSign().After(r.Stop.Until) }

// Presence returns what is known of the session's client, or of the server behind it if
// that is all that was recorded. A session that has ended is Dead, and so is one that cannot
// be seen from here (see IsElsewhere) and has been silent for 12 hours in which the machine
// was awake, or for a day if its process was never known.
func (r *Record) Presence(now time.Time) process.Presence {
	p := r.Process()
	if !p.IsSet() {
		p = r.Server()
	}
	return r.presence(now, p)
}

// presence is Presence by one of the session's processes.
func (r *Record) presence(now time.Time, p process.Proc) process.Presence {
	is, wait := process.Unseen, silence
	switch {
	case r.Ended():
		return process.Dead
	case !p.IsSet():
		wait = 2 * silence
	case r.onOtherMachine():
	default:
		if is = p.Presence(); is == process.Dead && r.PIDNS == "" && process.InSandbox() {
			return process.Unseen // it was recorded without its namespace
		}
	}
	if is == process.Unseen && r.silent(now).Abs() > wait { // also a time in the future, from a wrong clock
		return process.Dead
	}
	return is
}

// silent returns how long the session has given no sign of life. The time in which this machine
// slept does not count, as far as it is known: since the last hook, which recorded process.Awake.
func (r *Record) silent(now time.Time) time.Duration {
	since := now.Sub(r.lastSign())
	if here, _ := process.CurrentNamespace(); r.Hook == nil || r.BootID == "" || r.BootID != here {
		return since
	}
	slept := process.Slept(r.Hook.At, r.Hook.Awake, now)
	sinceHook := now.Sub(r.Hook.At) - slept
	if since < 0 { // the clock was set back, or is a moment behind that of the files
		return min(-since, sinceHook)
	}
	// If a later sign than the hook's came amid the sleep, not all of the sleep is since then.
	return min(max(0, since-max(0, slept)), sinceHook)
}

// Live reports whether the session runs, as far as is known: its client is Alive, or recorded and
// Unseen.
func (r *Record) Live() bool { return r.live(time.Now()) }

func (r *Record) live(now time.Time) bool {
	known := r.Process().IsSet() || r.Server().IsSet()
	return known && r.Presence(now) != process.Dead
}

// Served reports whether a server that several windows share still has the session open.
func (r *Record) Served() bool { return r != nil && !r.Ended() && r.Server().IsAlive() }

// Crashed reports whether the session's process is gone without an end. If a server runs
// the session, its process counts as well.
func (r *Record) Crashed(now time.Time) bool {
	server := r.Server()
	return !r.Ended() && r.Presence(now) == process.Dead && (!server.IsSet() || r.presence(now, server) == process.Dead)
}

type plainRecord Record

// UnmarshalJSON keeps unknown fields.
func (r *Record) UnmarshalJSON(data []byte) (err error) {
	var p plainRecord
	p.unknown, err = openjson.Unmarshal(data, &p)
	*r = Record(p)
	return err
}

// Chain returns the session's chain. A session without a predecessor begins its own.
func (r *Record) Chain() ID { return cmp.Or(r.ChainID, r.ID) }

// JoinsChain reports whether the session is in another one's chain and did not leave its own for
// that. A thread that the hook of its first prompt may have begun belongs to that chain.
func (r *Record) JoinsChain() bool { return r.Chain() != r.ID && r.Left != r.ID }

// MarshalJSON writes the unknown fields last.
func (r *Record) MarshalJSON() ([]byte, error) {
	return openjson.Marshal((*plainRecord)(r), r.unknown)
}
