package primecmd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gt/lib/state/session"
	"gt/lib/text/term"
)

// printState prints, for --state, the situation in a word or, as JSON, with the facts behind it.
func (s *start) printState(from *facts, told situation, asJSON bool) error {
	if !asJSON {
		return s.env.Println(told.state)
	}
	type fact struct {
		State      State      `json:"state"`
		Light      bool       `json:"light,omitempty"`
		Source     string     `json:"source,omitempty"`
		Address    string     `json:"address"`
		Role       string     `json:"role,omitempty"`
		Home       string     `json:"home"`
		Town       string     `json:"town"`
		Session    session.ID `json:"session_id,omitempty"`
		Prev       string     `json:"prev_session,omitempty"`
		Reason     string     `json:"reason,omitempty"`
		Note       string     `json:"note,omitempty"`
		Crashed    session.ID `json:"crashed_session,omitempty"`
		Checkpoint session.ID `json:"checkpoint_session,omitempty"`
		Written    string     `json:"checkpoint_at,omitempty"`
		Age        string     `json:"checkpoint_age,omitempty"`
		Waiting    []string   `json:"waiting,omitempty"`
		Hooked     []string   `json:"hooked,omitempty"`
		Partial    bool       `json:"partial,omitempty"`
		Unread     int        `json:"unread,omitempty"`
	}
	f := fact{
		State: told.state, Light: told.conversation != fresh, Source: from.session.Source,
		Address: s.call.Home.Identity.Address(), Role: string(s.call.Home.Identity.Role),
		Home: s.call.Home.Dir, Town: s.call.Home.Town.Root, Session: s.call.ID, Partial: told.partial, Unread: told.unread,
	}
	f.Prev, f.Reason = s.env.Redact(told.handover.from), s.env.Redact(told.handover.reason)
	if n := cmp.Or(told.handover.note, told.earlier); n != nil {
		f.Note = n.ID
	}
	if told.crashed != nil {
		f.Crashed = told.crashed.ID
	}
	if c := told.checkpoint; c != nil {
		f.Checkpoint, f.Written = c.SessionID, c.Timestamp.UTC().Format(time.RFC3339)
		f.Age = max(from.now.Sub(c.Timestamp), 0).Round(time.Second).String()
	}
	// Waiting includes the notes of the chain that broke off. Hooked has notes and issues.
	for _, n := range slices.Concat(told.waiting, told.recalled) {
		f.Waiting = append(f.Waiting, n.ID)
	}
	for _, n := range told.hooked {
		f.Hooked = append(f.Hooked, n.ID)
	}
	for _, w := range told.work {
		f.Hooked = append(f.Hooked, w.ID)
	}
	return s.env.JSON(f)
}

// explain prints, for --explain, the facts that decided about the text.
func (s *start) explain(f *facts, told situation) {
	say := func(format string, args ...any) {
		fmt.Fprintf(s.env.Stderr, "%s: because: %s\n", s.env.Name, term.Clean(s.env.Redact(fmt.Sprintf(format, args...))))
	}
	home, given := s.call.Home, "given"
	if !home.Town.Personal {
		given = "hooked"
	}
	say("the home is %s, the town %s, the identity %s", home.Dir, home.Town.Root, home.Identity.Address())
	if s.call.ID != "" {
		say("the session is %s, source %q", s.call.ID, f.session.Source)
	}
	if h := told.handover; h.kind != noHandover {
		say("%s handed over, reason %q", h.from, h.reason)
	}
	if told.crashed != nil {
		say("session %s has no end and its process is gone", told.crashed.ID)
	}
	if told.checkpoint != nil {
		who := "somebody"
		if told.checkpoint.SessionID != "" {
			who = "session " + string(told.checkpoint.SessionID)
		}
		say("%s left a checkpoint at %s", who, told.checkpoint.Timestamp.Format("2006-01-02 15:04:05"))
	}
	for _, n := range told.waiting {
		say("note %s was told to nobody: %s", n.ID, n.Subject)
	}
	for _, n := range told.recalled {
		say("note %s is of the chain that broke off: %s", n.ID, n.Subject)
	}
	for _, n := range told.hooked {
		say("note %s is %s: %s", n.ID, given, n.Subject)
	}
	for _, x := range told.work {
		say("%s is %s: %s", x.ID, given, x.Title)
	}
	if told.partial {
		say("not all notes and work could be read, so more may be %s", given)
	}
	if told.conversation != fresh {
		say("the conversation goes on, so the text is short")
	}
	say("the state is %s", told.state)
}
