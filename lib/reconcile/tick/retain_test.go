package tick

import (
	"fmt"
	"testing"
	"time"

	"gt/lib/state/lifecycle"
)

// The oldest archived sessions of a pool are closed where there are more than it keeps;
// one that is not taken back loses its secrets in time, once. [S4-134 to S4-136]
func TestRetain(t *testing.T) {
	now := start.Add(100 * time.Hour)
	archived := func(n int, age time.Duration) (all []Session) {
		for i := range n {
			all = append(all, Session{Alive: Dead, Session: lifecycle.Session{
				ID: fmt.Sprintf("s%02d", i), Template: "w", Pool: "w", State: lifecycle.Archived, ArchivedAt: now.Add(-age + time.Duration(i)*time.Second),
			}})
		}
		return all
	}
	facts := func(mode WakeMode, keep int, all []Session) Facts {
		return Facts{Now: now, Sessions: all, Templates: []Template{template("w", pooled(0, 3, func(p *Pool) { p.MaxArchived = keep }), func(t *Template) { t.WakeMode = mode })}}
	}
	said := func(actions []Action) (text string) {
		for _, a := range actions {
			text += fmt.Sprintf("%s %s %s;", a.Change, a.Before.ID, a.Session.State)
		}
		return text
	}
	for _, c := range []struct {
		what  string
		facts Facts
		plan  Plan
		want  string
	}{
		{"few", facts(Fresh, 2, archived(2, time.Hour)), Plan{}, ""},
		{"too many", facts(Fresh, 2, archived(4, time.Hour)), Plan{}, "close s00 closed;close s01 closed;"},
		{"one is taken back", facts(Resume, 2, archived(3, time.Hour)), Plan{Actions: []Action{{Before: lifecycle.Session{ID: "s02"}}}}, ""},
		{"none is kept", facts(Resume, 0, archived(1, 0)), Plan{}, "close s00 closed;"},
		{"old secrets", facts(Fresh, 2, archived(2, 24*time.Hour)), Plan{}, "note s00 archived;"},
		{"of one that can be taken back", facts(Resume, 2, archived(2, 48*time.Hour)), Plan{}, ""},
		{"its template is gone", Facts{Now: now, Sessions: archived(11, 25*time.Hour)}, Plan{}, "close s00 closed;" + "note s01 archived;note s02 archived;note s03 archived;note s04 archived;note s05 archived;note s06 archived;note s07 archived;note s08 archived;note s09 archived;note s10 archived;"},
	} {
		if got := said(Retain(c.facts, c.plan)); got != c.want {
			t.Errorf("%s: %s", c.what, got)
		}
	}
	f := facts(Fresh, 2, archived(1, 48*time.Hour))
	f.Sessions[0].ScrubbedAt = now
	if got := said(Retain(f, Plan{})); got != "" {
		t.Errorf("again: %s", got)
	}
	f.Sessions[0].Alive, f.Sessions[0].ScrubbedAt = Unknown, time.Time{}
	if got := said(Retain(f, Plan{})); got != "" {
		t.Errorf("unknown: %s", got)
	}
}
