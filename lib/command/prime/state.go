package prime

import (
	"fmt"
	"time"

	"gt/lib/state/session"
)

// printState prints the situation in a word, or with the facts behind it.
func (s *start) printState(asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(s.env.Stdout, s.state)
		return err
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
		Hooked     []string   `json:"hooked,omitempty"`
		Unread     int        `json:"unread,omitempty"`
	}
	f := fact{
		State: s.state, Light: s.light, Source: s.facts.Source,
		Address: s.call.Home.Identity.Address(), Role: string(s.call.Home.Identity.Role),
		Home: s.call.Home.Dir, Town: s.call.Home.Town.Root, Session: s.call.ID, Unread: s.unread,
	}
	if s.marker != nil {
		f.Prev, f.Reason = s.env.Redact(s.marker.From), s.env.Redact(s.marker.Reason)
	}
	if s.note != nil {
		f.Note = s.note.ID
	}
	if s.crashed != nil {
		f.Crashed = s.crashed.ID
	}
	if c := s.checkpoint; c != nil {
		f.Checkpoint, f.Written = c.SessionID, c.Timestamp.UTC().Format(time.RFC3339)
		f.Age = max(s.env.Now().Sub(c.Timestamp), 0).Round(time.Second).String()
	}
	for _, n := range s.hooked {
		f.Hooked = append(f.Hooked, n.ID)
	}
	for _, w := range s.work {
		f.Hooked = append(f.Hooked, w.ID)
	}
	return s.env.JSON(f)
}
