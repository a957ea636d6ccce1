package fleet

import (
	"slices"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/instance"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// An agent's sessions of a day are its own and those that it follows, and neither the one that it
// was forked from, nor those of other agents or of the day before.
func TestSessions(t *testing.T) {
	h := home.HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	midnight := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	for id, r := range map[session.ID]session.Record{
		"old":    {EndedAt: midnight.Add(-time.Hour), Outcome: session.Handoff},
		"first":  {ParentID: "old", EndedAt: midnight.Add(time.Hour), Outcome: session.Handoff},
		"second": {ParentID: "first", EndedAt: midnight.Add(2 * time.Hour), Outcome: session.Handoff},
		"third":  {ParentID: "second"},
		"forked": {ParentID: "second", EndedAt: midnight.Add(3 * time.Hour), Outcome: session.Handoff},
		"after":  {ParentID: "forked"},
		"loop":   {ParentID: "loop"},
	} {
		r.ID, r.ChainID, r.StartedAt = id, "old", midnight.Add(-2*time.Hour)
		testenv.NoError(t, session.Store{Home: h}.Put(&r, atomicfile.Unsynced))
	}
	for _, c := range []struct {
		now, fork session.ID
		others    map[session.ID]bool
		want      []session.ID
	}{
		{now: "third", want: []session.ID{"third", "second", "first"}},
		{now: "third", others: map[session.ID]bool{"third": true, "first": true}, want: []session.ID{"third", "second"}},
		{now: "after", fork: "second", want: []session.ID{"after", "forked"}},
		{now: "loop", want: []session.ID{"loop"}},
		{now: "nowhere", want: []session.ID{"nowhere"}},
	} {
		m := Member{Instance: &instance.Instance{ForkOf: c.fork}, CurrentID: c.now, home: h}
		m.Record, _ = session.Store{Home: h}.Get(c.now)
		if got := m.Sessions(c.others, midnight); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.now, got, c.want)
		}
	}
}
