// Package activity keeps how a session stands: sessions/<id>.state beside its record in
// the home's state. It has what the session does, as the last hook event told that
// changed it, and how full its context is, as the end of a turn has measured it.
//
//	{"status":"needs_input","since":"2026-01-17T01:00:00.123Z","reason":"permission",
//	 "source":"PermissionRequest","tokens":148000,"window":200000,"warning":"due"}
//
// A file that is lost or cannot be read counts as none: nothing tells what the session
// does, and at the worst an agent is told twice how full its context is.
package activity

import (
	"encoding/json"
	"fmt"
	"time"

	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/openjson"
)

// Status is what a session does.
type Status string

const (
	Busy       Status = "busy"
	NeedsInput Status = "needs_input" // it cannot go on before the person has answered
	Idle       Status = "idle"        // its turn is over
	Limited    Status = "limited"     // its turn is over, and its account has used up a limit
	Ended      Status = "ended"
)

// Reason is why a session does not go on, "" if that is unknown.
type Reason string

const (
	Permission Reason = "permission" // it asks for permission
	Question   Reason = "question"   // it asks the person something else
	Done       Reason = "done"       // its turn is over
	Spent      Reason = "limited"    // its account has used up a limit
	Failed     Reason = "failed"     // the model could not be reached
)

// Reasons are the reasons.
func Reasons() []Reason { return []Reason{Permission, Question, Done, Spent, Failed} }

// Waits reports whether the session does not go on before somebody says something.
func (s State) Waits() bool { return s.Status == NeedsInput || s.Status == Idle || s.Status == Limited }

// State is what the file holds.
type State struct {
	Status Status    `json:"status,omitempty"` // "" if no hook has told
	Since  time.Time `json:"since,omitzero"`   // when the status began
	Reason Reason    `json:"reason,omitempty"`
	Source string    `json:"source,omitempty"` // the event that told, in Claude Code's words
	// Call is a digest of the call of a tool that permission is asked for.
	Call string `json:"call,omitempty"`
	// Background is whether something of the session ran on in the background when its turn
	// was over: a subagent or a command.
	Background bool `json:"background,omitempty"`

	// Prompted is when the session was last given a prompt.
	Prompted time.Time `json:"prompted,omitzero"`

	Tokens      int64   `json:"tokens,omitempty"` // that the model was given last
	Window      int64   `json:"window,omitempty"` // how many it can be given
	Compactions int     `json:"compactions,omitempty"`
	Warning     Warning `json:"warning,omitempty"`
}

// Warning is whether the agent is told how full its context is.
type Warning string

const (
	None      Warning = ""     // it is not that full
	Due       Warning = "due"  // with the next prompt
	Delivered Warning = "told" // it was told
)

// Suffix ends the name of such a file.
const Suffix = ".state"

// maxSize bounds the file, which has some hundred bytes.
const maxSize = 64 << 10

// DefaultShare is the share of the context, in percent, from which on the agent is told.
const DefaultShare = 70

func path(h home.Home, id session.ID) string { return h.Path("sessions", string(id)+Suffix) }

// Read returns the state of a session, the zero State where there is none.
func Read(h home.Home, id session.ID) (s State) {
	data, err := atomicfile.Read(path(h, id), maxSize)
	if err != nil {
		return State{}
	}
	if _, err := openjson.Unmarshal(data, &s); err != nil {
		return State{}
	}
	return s
}

// lockWait bounds how long a change waits for another. Each takes much less than a
// millisecond.
const lockWait = 250 * time.Millisecond

// Change changes the state of a session, which several hooks of one event can do at the
// same time. change reports whether it has changed anything; if not, nothing is written.
// The home's state must be there.
func Change(h home.Home, id session.ID, change func(*State) bool) error {
	lock, err := flock.Acquire(h.Path("sessions", ".state.lock"), lockWait)
	if err == nil {
		defer lock.Unlock()
	} // else a process that holds it was stopped: a change that is lost is less than a status that is
	s := Read(h, id)
	if !change(&s) {
		return nil
	}
	return s.write(h, id)
}

// write replaces the state of a session that has a record: the file goes when that goes.
func (s State) write(h home.Home, id session.ID) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.Write(path(h, id), append(data, '\n'), atomicfile.Unsynced)
}

// Measure takes in what the end of a turn has measured: the tokens that the model was
// given last, how many it can be given, 0 where that is not known, and how often the
// conversation was compacted. From share percent on the agent is told, once until the
// context was emptier or was compacted.
func (s State) Measure(tokens, window int64, compactions, share int) State {
	next := s
	next.Tokens, next.Window, next.Compactions, next.Warning = tokens, window, compactions, None
	switch {
	case share <= 0 || window <= 0 || tokens < window/100*int64(share):
	case s.Warning == Delivered && s.Compactions == compactions:
		next.Warning = Delivered
	default:
		next.Warning = Due
	}
	return next
}

// Text tells the agent how full its context is.
func (s State) Text() string {
	return fmt.Sprintf(`Your context window is %d %% full: %d of %d tokens. When it runs out, your client compacts the conversation, and details are lost; a hand-over to a fresh session keeps more. First do what the person asks for now. Then, at the next point where a piece of work is finished and you have no open question, hand over:
gt-handoff -s SUBJECT -m 'what is done, what is next, what to watch out for'
`, min(s.Tokens*100/max(s.Window, 1), 100), s.Tokens, s.Window)
}
