// Package catalog lists a town's sessions, with all that the event log says of each.
//
// An index, which only saves time, has the older part of the log. Memory grows with the
// events about sessions, not with the rest of the log.
package catalog

import (
	"cmp"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/launch/beacon"
	"gt/lib/place"
	"gt/lib/state/session"
)

// The outcomes of a session that has not ended. session has those of one that has.
const (
	Active session.Outcome = "active" // its process runs
	Gone   session.Outcome = "gone"   // its process is unknown
)

type Session struct {
	ID       session.ID `json:"id"`
	Actor    string     `json:"actor,omitempty"`
	Agent    string     `json:"agent,omitempty"` // the client
	Role     string     `json:"role,omitempty"`
	Rig      string     `json:"rig,omitempty"`
	Source   string     `json:"source,omitempty"`
	ChainID  session.ID `json:"chain_id,omitempty"`
	ParentID session.ID `json:"parent_id,omitempty"`
	ChildID  session.ID `json:"child_id,omitempty"` // the last successor

	StartedAt time.Time       `json:"started_at,omitzero"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
	Outcome   session.Outcome `json:"outcome,omitempty"`
	Reason    string          `json:"reason,omitempty"` // why it ended

	CWD         string `json:"cwd,omitempty"`
	Moved       string `json:"moved,omitempty"` // the folder in which it ended, if that is another one
	Branch      string `json:"branch,omitempty"`
	WorkUnit    string `json:"work_unit,omitempty"`
	MoleculeID  string `json:"molecule_id,omitempty"`
	StepRef     string `json:"step_ref,omitempty"`
	Topic       string `json:"topic,omitempty"`    // why it was started, or what its person says it is about
	Received    string `json:"received,omitempty"` // the subject of the hand-over that it received
	Subject     string `json:"subject,omitempty"`  // the subject of its own hand-over
	Note        string `json:"note,omitempty"`     // the hand-over note's ID
	Transcript  string `json:"transcript_path,omitempty"`
	TmuxSession string `json:"tmux_session,omitempty"`
	TmuxPane    string `json:"tmux_pane,omitempty"` // only while it runs
	PID         int    `json:"pid,omitempty"`       // only while it runs
	Host        string `json:"host,omitempty"`
	State       string `json:"state,omitempty"` // what its tmux screen shows, if that was looked at: running, waiting

	// From its conversation, if that is on this machine.
	LastAt     time.Time  `json:"last_at,omitzero"` // the last event or entry of the conversation
	Title      string     `json:"title,omitempty"`  // the conversation's name
	Prompt     string     `json:"prompt,omitempty"` // the beginning of the first request
	Model      string     `json:"model,omitempty"`
	Version    string     `json:"version,omitempty"`  // the client's
	Headless   bool       `json:"headless,omitempty"` // no person was present
	ForkOf     session.ID `json:"fork_of,omitempty"`
	SubagentOf session.ID `json:"subagent_of,omitempty"`
	Store      string     `json:"store,omitempty"` // the client's folder, ~/.claude
	Size       int64      `json:"size,omitempty"`  // of its conversation in bytes, with its subagents', if that was asked for
	// Recorded reports that only gt-record still has the conversation.
	Recorded bool `json:"recorded,omitempty"`

	File conversation.File `json:"-"` // the conversation; zero if there is none

	handedOver  time.Time   // the time of its last hand-over to a successor
	clientOnly  bool        // only its client knows it
	first       string      // the id of the conversation's first entry
	unread      error       // why a part of it could not be read
	hasMessages bool        // its conversation has text
	peer        *peerCopies // the other host that it is on
	isForeign   bool        // only other hosts know it
	from        string      // the other host of whose record the conversation is a copy
}

// ResolveOutcome finds out whether a session that has not ended, according to the log,
// still runs. It asks the session's record, which also says how the session ended if the
// log missed the end. A session without a record on this machine is Gone, or ended by its
// hand-over if that was its last event.
func (s *Session) ResolveOutcome(state place.State) {
	if s.Outcome == Active && s.TmuxPane == "" && s.PID > 0 && !s.clientOnly {
		// The client says that it runs; the record says where.
		if r, err := session.Lookup(state, s.ID); err == nil && r != nil && r.PID == s.PID {
			s.TmuxPane = r.TmuxPane
		}
	}
	if s.Outcome == session.Crash && !s.EndedAt.IsZero() && s.EndedAt.Before(s.LastAt) {
		s.LastAt = s.EndedAt // the later event only reports the crash
	}
	if s.peer != nil {
		s.resolveThere()
		return
	}
	if s.Outcome != "" {
		return
	}
	if s.clientOnly { // no hook of gt ran in it, so there is no record
		s.Outcome = Gone
		return
	}
	r, err := session.Lookup(state, s.ID)
	if err != nil {
		s.unread = err
	}
	if r != nil {
		setIfEmpty(&s.Transcript, r.Transcript)
		setIfEmpty(&s.ChildID, r.ChildID)
		setIfEmpty(&s.Note, r.Note)
		switch {
		case r.Ended():
			s.EndedAt, s.Outcome, s.Reason = r.EndedAt, r.Outcome, r.Reason
			return
		case r.Live():
			if r.IsElsewhere() {
				s.MarkRunning(0) // a process of another machine or container has this number
			} else {
				s.MarkRunning(r.PID)
			}
			s.TmuxPane = r.TmuxPane
			return
		}
		if at, outcome, reason, ok := r.Lost(time.Now()); ok {
			s.EndedAt, s.Outcome, s.Reason = at, outcome, reason
			return
		}
	}
	s.Outcome = Gone
	if !s.handedOver.IsZero() {
		s.EndedAt, s.Outcome = s.handedOver, session.Handoff
	}
}

// MarkRunning marks the session as running, whatever the log says of its end.
func (s *Session) MarkRunning(pid int) {
	s.Outcome, s.EndedAt, s.Reason, s.PID = Active, time.Time{}, "", pid
}

// Clean applies clean to every text from an event. It leaves ids, times and folders.
func (s *Session) Clean(clean func(string) string) {
	for _, text := range []*string{
		&s.Actor, &s.Agent, &s.Role, &s.Rig, &s.Source, &s.Reason, &s.Branch, &s.WorkUnit, &s.MoleculeID, &s.StepRef, &s.Topic, &s.Received, &s.Subject,
		&s.Note, &s.TmuxSession, &s.Host, &s.Title, &s.Prompt, &s.Model, &s.Version, (*string)(&s.Outcome),
	} {
		*text = clean(*text)
	}
}

// Headline returns a line about a session, or "" if nothing is known: its subject, work, received
// hand-over, title or first request, and the branch. A Topic in the person's words comes before
// that. A Topic that is a word of gt or the town for why the session was started (beacon.IsTopic)
// counts only if there is nothing else, and only in a role or after a hand-over.
func (s *Session) Headline() string {
	unit := s.WorkUnit
	if len(unit) == 8 && strings.Trim(unit, "0123456789abcdef") == "" {
		unit = "" // the id of a note, which tells nobody anything
	}
	title := cmp.Or(s.Subject, unit, s.Received, s.Title, s.Prompt)
	switch why, _, _ := strings.Cut(s.Topic, ":"); {
	case title == "" && (s.Role != "" || why == beacon.Handoff || !beacon.IsTopic(why)):
		title = s.Topic
	case s.Topic != "" && !beacon.IsTopic(why): // what its person says it is about
		title = s.Topic + ": " + title
	}
	if s.Branch != "" {
		title = strings.TrimSpace(title + " (" + s.Branch + ")")
	}
	return title
}

// clientWords are Claude Code's reasons for an end in a person's words; "" adds nothing
// to the outcome.
var clientWords = map[string]string{"prompt_input_exit": "the person left it", "logout": "the person logged out", "other": ""}

// FormatReason returns the reason of an end as text for a person.
func FormatReason(reason string) string {
	if said, own := clientWords[reason]; own {
		return said
	}
	return reason
}
