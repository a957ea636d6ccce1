// Package catalog is the catalog of a town's sessions: all that the event log says
// of each, put together from its events.
//
// What the log said before is in an index, which only saves time. What is held in
// memory grows with what tells of sessions, not with the rest of the log.
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

// The outcomes of a session that has not ended, besides those of one that has.
const (
	Active session.Outcome = "active" // its process runs
	Gone   session.Outcome = "gone"   // nothing is known of its process
)

// Session is what is known of one session.
type Session struct {
	ID       session.ID `json:"id"`
	Actor    string     `json:"actor,omitempty"`
	Agent    string     `json:"agent,omitempty"` // the client
	Role     string     `json:"role,omitempty"`
	Rig      string     `json:"rig,omitempty"`
	Source   string     `json:"source,omitempty"`
	ChainID  session.ID `json:"chain_id,omitempty"`
	ParentID session.ID `json:"parent_id,omitempty"`
	ChildID  session.ID `json:"child_id,omitempty"` // the last that followed

	StartedAt time.Time       `json:"started_at,omitzero"`
	EndedAt   time.Time       `json:"ended_at,omitzero"`
	Outcome   session.Outcome `json:"outcome,omitempty"`
	Reason    string          `json:"reason,omitempty"` // of the end

	CWD         string `json:"cwd,omitempty"`
	Moved       string `json:"moved,omitempty"` // the folder that it was in last, where that is another
	Branch      string `json:"branch,omitempty"`
	WorkUnit    string `json:"work_unit,omitempty"`
	MoleculeID  string `json:"molecule_id,omitempty"`
	StepRef     string `json:"step_ref,omitempty"`
	Topic       string `json:"topic,omitempty"`    // why it was started, or what its person said that it is about
	Received    string `json:"received,omitempty"` // the subject of the hand-over that it took up
	Subject     string `json:"subject,omitempty"`  // of its own hand-over
	Note        string `json:"note,omitempty"`     // the hand-over note's ID
	Transcript  string `json:"transcript_path,omitempty"`
	TmuxSession string `json:"tmux_session,omitempty"`
	TmuxPane    string `json:"tmux_pane,omitempty"` // while it runs
	PID         int    `json:"pid,omitempty"`       // of its process, while it runs
	Host        string `json:"host,omitempty"`
	State       string `json:"state,omitempty"` // what its screen in tmux shows, where that was looked at: running, waiting

	// What its conversation says of it, where there is one on this machine.
	LastAt     time.Time  `json:"last_at,omitzero"` // the last sign of life: an event, or a word in the conversation
	Title      string     `json:"title,omitempty"`  // the conversation's name
	Prompt     string     `json:"prompt,omitempty"` // the beginning of what was asked first
	Model      string     `json:"model,omitempty"`
	Version    string     `json:"version,omitempty"`  // of the client
	Headless   bool       `json:"headless,omitempty"` // nobody sat in front of it
	ForkOf     session.ID `json:"fork_of,omitempty"`
	SubagentOf session.ID `json:"subagent_of,omitempty"`
	Store      string     `json:"store,omitempty"` // the client's folder, ~/.claude
	// Recorded reports that its client does not keep the conversation any more, and
	// gt-record does.
	Recorded bool `json:"recorded,omitempty"`

	File conversation.File `json:"-"` // the conversation; its zero value where there is none

	handedOver  time.Time // to a successor, by its last event
	native      bool      // only its client knows of it
	first       string    // the conversation's first entry
	unread      error     // what of it could not be read
	hasMessages bool      // something was said in it
}

// ResolveOutcome looks up what the log does not say: whether a session that has not
// ended still runs. Its own record knows, in the folder that it worked from;
// the record also says how it ended where the log missed that. A session whose
// record is gone or not on this machine cannot be seen to run, and is Gone; if
// it handed over last, it ended by that.
func (s *Session) ResolveOutcome(state place.State) {
	if s.Outcome == Active && s.TmuxPane == "" && s.PID > 0 && !s.native {
		// Its client notes that it runs, and only its record where.
		if r, err := session.Lookup(state, s.ID); err == nil && r != nil && r.PID == s.PID {
			s.TmuxPane = r.TmuxPane
		}
	}
	if s.Outcome == session.Crash && !s.EndedAt.IsZero() && s.EndedAt.Before(s.LastAt) {
		s.LastAt = s.EndedAt // what came later is only that somebody noted it
	}
	if s.Outcome != "" {
		return
	}
	if s.native { // no hook of ours ran in it, so there is no record
		s.Outcome = Gone
		return
	}
	r, err := session.Lookup(state, s.ID)
	if err != nil {
		s.unread = err
	}
	if r != nil {
		fill(&s.Transcript, r.Transcript)
		fill(&s.ChildID, r.ChildID)
		fill(&s.Note, r.Note)
		switch {
		case r.Ended():
			s.EndedAt, s.Outcome, s.Reason = r.EndedAt, r.Outcome, r.Reason
			return
		case r.Live():
			if r.Elsewhere() {
				s.Run(0) // its number means another process here
			} else {
				s.Run(r.PID)
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

// Run notes that the session runs, whatever is said of its end.
func (s *Session) Run(pid int) {
	s.Outcome, s.EndedAt, s.Reason, s.PID = Active, time.Time{}, "", pid
}

// Clean has every text that an event can bring go through clean. Ids and times are
// no texts, and folders have to stay what they are.
func (s *Session) Clean(clean func(string) string) {
	for _, text := range []*string{
		&s.Actor, &s.Agent, &s.Role, &s.Rig, &s.Source, &s.Reason, &s.Branch, &s.WorkUnit, &s.MoleculeID, &s.StepRef, &s.Topic, &s.Received, &s.Subject,
		&s.Note, &s.TmuxSession, &s.Host, &s.Title, &s.Prompt, &s.Model, &s.Version, (*string)(&s.Outcome),
	} {
		*text = clean(*text)
	}
}

// About is what a session was about, in a line: what its person called it, the subject of
// its hand-over or else its work, what was handed over to it, its conversation's name, or
// what was asked first; and the branch. Why it was started counts only where there is
// nothing else.
func (s *Session) About() string {
	title := cmp.Or(s.Subject, s.WorkUnit, s.Received, s.Title, s.Prompt)
	switch why, _, _ := strings.Cut(s.Topic, ":"); {
	case title == "":
		title = s.Topic
	case s.Topic != "" && !beacon.Why(why):
		title = s.Topic + ": " + title
	}
	if s.Branch != "" {
		title = strings.TrimSpace(title + " (" + s.Branch + ")")
	}
	return title
}
