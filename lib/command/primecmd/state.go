package primecmd

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"gt/lib/state/session"
	"gt/lib/text/term"
)

func (s *start) printState(from *facts, now situation, asJSON bool) error {
	if !asJSON {
		return s.env.Println(now.state)
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
		State: now.state, Light: now.conversation != fresh, Source: from.session.Source,
		Address: s.call.Home.Identity.Address(), Role: string(s.call.Home.Identity.Role),
		Home: s.call.Home.Dir, Town: s.call.Home.Town.Root, Session: s.call.ID, Partial: now.partial, Unread: now.unread,
	}
	f.Prev, f.Reason = s.env.Redact(now.handover.from), s.env.Redact(now.handover.reason)
	if n := cmp.Or(now.handover.note, now.earlier); n != nil {
		f.Note = n.ID
	}
	if now.crashed != nil {
		f.Crashed = now.crashed.ID
	}
	if c := now.checkpoint; c != nil {
		f.Checkpoint, f.Written = c.SessionID, c.Timestamp.UTC().Format(time.RFC3339)
		f.Age = max(from.now.Sub(c.Timestamp), 0).Round(time.Second).String()
	}
	for _, n := range slices.Concat(now.waiting, now.recalled) {
		f.Waiting = append(f.Waiting, n.ID)
	}
	for _, n := range now.hooked {
		f.Hooked = append(f.Hooked, n.ID)
	}
	for _, w := range now.work {
		f.Hooked = append(f.Hooked, w.ID)
	}
	return s.env.JSON(f)
}

func (s *start) explain(f *facts, now situation) {
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
	if h := now.handover; h.kind != noHandover {
		say("%s handed over, reason %q", h.from, h.reason)
	}
	if now.crashed != nil {
		say("session %s has no end and its process is gone", now.crashed.ID)
	}
	if now.checkpoint != nil {
		who := "somebody"
		if now.checkpoint.SessionID != "" {
			who = "session " + string(now.checkpoint.SessionID)
		}
		say("%s left a checkpoint at %s", who, now.checkpoint.Timestamp.Format("2006-01-02 15:04:05"))
	}
	for _, n := range now.waiting {
		say("note %s was told to nobody: %s", n.ID, n.Subject)
	}
	for _, n := range now.recalled {
		say("note %s is of the chain that broke off: %s", n.ID, n.Subject)
	}
	for _, n := range now.hooked {
		say("note %s is %s: %s", n.ID, given, n.Subject)
	}
	for _, x := range now.work {
		say("%s is %s: %s", x.ID, given, x.Title)
	}
	if now.partial {
		say("not all notes and work could be read, so more may be %s", given)
	}
	if now.conversation != fresh {
		say("the conversation goes on, so the text is short")
	}
	say("the state is %s", now.state)
}
