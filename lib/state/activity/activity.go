// Package activity keeps the state of a session: sessions/<id>.state beside its record. It
// holds what the session does, from the last hook event that changed it, and how full its
// context was at the end of the last turn.
//
//	{"status":"needs_input","since":"2026-01-17T01:00:00.123Z","reason":"permission",
//	 "source":"PermissionRequest","tokens":148000,"window":200000,"warning":"due"}
//
// A lost or unreadable file counts as none. At worst the status is unknown, and an agent is
// told twice how full its context is.
package activity

import (
	"cmp"
	"fmt"
	"time"

	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

type Status string

const (
	Busy       Status = "busy"
	NeedsInput Status = "needs_input" // it waits for the person
	Idle       Status = "idle"        // its turn is over
	Limited    Status = "limited"     // its turn is over, and its account is at a usage limit
	Ended      Status = "ended"
)

// Reason is why a session does not continue; "" if unknown.
type Reason string

const (
	Permission Reason = "permission" // it asks for permission
	Question   Reason = "question"   // it asks the person something else
	Done       Reason = "done"       // its turn is over
	Spent      Reason = "limited"    // its account is at a usage limit
	Failed     Reason = "failed"     // the model could not be reached
	// Interrupted is the reason of a session that ended, or began again, in the middle of a turn.
	Interrupted Reason = "interrupted"
	// Silent is the reason of a session that works and gives no sign. No hook reports it.
	Silent Reason = "silent"
	// Suspended is no reason of a State: its process waits for a SIGCONT, as after Ctrl-Z.
	Suspended Reason = "suspended"
)

// Asks reports whether the session waits in the middle of a turn until somebody answers.
func (r Reason) Asks() bool { return r == Permission || r == Question }

func Reasons() []Reason { return []Reason{Permission, Question, Done, Spent, Failed} }

// Waits reports whether the session waits for somebody's message.
func (s State) Waits() bool { return s.Status == NeedsInput || s.Status == Idle || s.Status == Limited }

// CutOff reports whether the session's last run ended in the middle of a turn.
func (s State) CutOff() bool {
	return s.Status == Busy || s.Status == NeedsInput || s.Status == Ended && s.Reason == Interrupted
}

// LastPrompt returns when a hook last reported a prompt, and the beginning of the last one with
// words. A sender looks for its text in these, to learn whether the text arrived. After a prompt by
// which gt began the session (Opening) they are a zero byte, which no text has.
func (s State) LastPrompt() (at time.Time, words string) {
	if s.Opening {
		return s.Prompted, "\x00"
	}
	return s.Prompted, s.Request
}

// State is the content of the file.
type State struct {
	Status Status    `json:"status,omitempty"` // "" if no hook has reported one
	Since  time.Time `json:"since,omitzero"`   // of the status
	Reason Reason    `json:"reason,omitempty"`
	Source string    `json:"source,omitempty"` // the hook event, in Claude Code's words
	// Call is a digest of the tool call that needs permission.
	Call string `json:"call,omitempty"`
	// Background reports that a subagent or command still ran when the turn was over.
	Background bool `json:"background,omitempty"`
	// Login reports that the turn failed because the account has to log in anew.
	Login bool `json:"login,omitempty"`

	// SilentTold is the last sign before a silence of which the person was told.
	SilentTold time.Time `json:"silent_told,omitzero"`

	// Prompted is the time of the last prompt. Opening reports that gt began the session with it.
	Prompted time.Time `json:"prompted,omitzero"`
	Opening  bool      `json:"opening,omitempty"`

	// Title is the name that the client, or the person there, gave the conversation. Request is
	// the beginning of the person's last request. Both are one line, without secrets.
	Title   string `json:"title,omitempty"`
	Request string `json:"request,omitempty"`

	// Worktree is the top of the git worktree where the client is, if that is another one of the
	// home's repository: the client or the person made it, and the session moved there.
	Worktree string `json:"worktree,omitempty"`

	// Repeated is the text of a start, for a client whose model has it for one request: gt
	// gives it with each of the turn.
	Repeated string `json:"repeated,omitempty"`

	Tokens      int64   `json:"tokens,omitempty"` // of the model's last input
	Window      int64   `json:"window,omitempty"` // maximum of Tokens
	Compactions int     `json:"compactions,omitempty"`
	Warning     Warning `json:"warning,omitempty"`

	Awake int64 `json:"awake,omitempty"` // process.Awake at Since
}

// Warning says whether the agent is warned of a full context.
type Warning string

const (
	NoWarning Warning = ""     // it is not that full
	Due       Warning = "due"  // with the next prompt
	Delivered Warning = "told" // it was told
)

// Topic returns what the session is about: its title, else the last request.
func (s State) Topic() string { return cmp.Or(s.Title, s.Request) }

// MaxTopic limits Title and Request, in columns.
const MaxTopic = 200

const Suffix = ".state"

// maxSize bounds the file, in bytes. It has a few hundred.
const maxSize = 64 << 10

// DefaultShare is the percentage of the context at which the agent is told.
const DefaultShare = 70

func path(h home.Home, id session.ID) string { return h.Path("sessions", string(id)+Suffix) }

// Read returns the state of a session, or the zero State.
func Read(h home.Home, id session.ID) (s State) {
	if atomicfile.ReadJSON(path(h, id), maxSize, &s) != nil {
		return State{}
	}
	return s
}

// lockWait bounds the wait for another change, which takes far less than a millisecond.
const lockWait = 250 * time.Millisecond

// Change changes the state of a session. Several hooks of one event may call it at once. If
// change returns false, nothing is written. The home's state must exist.
func Change(h home.Home, id session.ID, change func(*State) bool) error {
	lock, err := flock.Acquire(h.Path("sessions", ".state.lock"), lockWait)
	if err == nil {
		defer lock.Unlock()
	} // a stopped process holds the lock; losing one change is better than losing the status
	s := Read(h, id)
	if !change(&s) {
		return nil
	}
	return atomicfile.WriteJSON(path(h, id), s, atomicfile.Unsynced)
}

// Measure adds the measurements of a turn's end: the tokens of the model's last input, their
// maximum (window, 0 if unknown), and the number of compactions. From share percent of the window
// on (0: never), the agent is told once, and again after a compaction or a turn below that.
func (s State) Measure(tokens, window int64, compactions, share int) State {
	next := s
	next.Tokens, next.Window, next.Compactions, next.Warning = tokens, window, compactions, NoWarning
	switch {
	case share <= 0 || window <= 0 || tokens < window/100*int64(share):
	case s.Warning == Delivered && s.Compactions == compactions:
		next.Warning = Delivered
	default:
		next.Warning = Due
	}
	return next
}

func (s State) Text() string {
	return fmt.Sprintf(`Your context window is %d %% full: %d of %d tokens. When it runs out, your client compacts the conversation, and details are lost; a hand-over to a fresh session keeps more. First do what the person asks for now. Then, at the next point where a piece of work is finished and you have no open question, hand over:
gt-handoff -s SUBJECT -m 'what is done, what is next, what to watch out for'
`, min(s.Tokens*100/max(s.Window, 1), 100), s.Tokens, s.Window)
}
