package catalog

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/conversation"
	"gt/lib/log/eventlog"
	"gt/lib/state/session"
)

// However two towns share the events, as when one was made while sessions ran, joining
// them gives the same as one log, in either order.
func TestJoin(t *testing.T) {
	for seed := range testenv.Seeds(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		dir := t.TempDir()
		logs := [3]eventlog.Log{} // two towns, and one log with everything
		for i := range logs {
			logs[i] = eventlog.Log(filepath.Join(dir, fmt.Sprint(i)+".jsonl"))
		}
		since := map[string]int{} // when the session moved to the other town
		for m := range 40 {
			id := fmt.Sprintf("s%d", rnd.IntN(6))
			if _, ok := since[id]; !ok {
				since[id] = rnd.IntN(60)
			}
			what := [...]string{
				`"type":"session_start","actor":"%s","payload":{"session_id":"%s","cwd":"/w","source":"startup","parent_id":"%s","topic":"t%d"}`,
				`"type":"session_resume","actor":"%s","payload":{"session_id":"%s","cwd":"/w","source":"resume","chain_id":"%s","work_unit":"w%d"}`,
				`"type":"session_end","actor":"%s","payload":{"session_id":"%s","outcome":"crash","x":"%s","reason":"r%d"}`,
				`"type":"handoff","actor":"%s","payload":{"session_id":"%s","to_session":"next","kind":"k","x":"%s","subject":"about %d"}`,
			}[rnd.IntN(4)]
			line := fmt.Sprintf(`{"ts":%q,`+what+"}\n", minutesAfter(m).Format(time.RFC3339), "a/crew/"+id, id, "s"+string('0'+(id[1]-'0')*5%6), m)
			town := 0
			if m >= since[id] {
				town = 1
			}
			appendTo(t, logs[town], line)
			appendTo(t, logs[2], line)
		}
		a, b, both := read(t, logs[0]), read(t, logs[1]), read(t, logs[2])
		want := tell(t, slices.Collect(both.Sessions()), both.IDShortener())
		for _, c := range []Catalog{both, a.Join(b).Merge([]conversation.Conversation{said("s1", "/x", 1, conversation.Metadata{Started: minutesAfter(3), Last: minutesAfter(50)})}, nil)} {
			n := len(slices.Collect(c.Sessions()))
			if latest := slices.Collect(c.iterSessions(byLast)); len(latest) != n || !slices.IsSortedFunc(latest, byLast.compare) {
				t.Errorf("seed %d: by activity, %d sessions are in another order or number: %v", seed, n, latest)
			}
		}
		for _, joined := range []Catalog{read(t, logs[0]).Join(b), read(t, logs[1]).Join(a)} {
			if got := tell(t, slices.Collect(joined.Sessions()), joined.IDShortener()); got != want {
				t.Fatalf("seed %d:\n%s\nwant\n%s", seed, got, want)
			}
		}
	}
}

// A filter that a log's own events exclude matches a session of which something else tells.
func TestFilterOfWhatOthersTell(t *testing.T) {
	here := story(t, [3]string{"session_start", "a/crew/x", `"session_id":"none"`}, [3]string{"session_start", "a/crew/x", `"session_id":"talks"`}, [3]string{"session_start", "a/crew/x", `"session_id":"there"`})
	late := [3]string{"nudge", "a", ""}
	there := story(t, late, late, late, [3]string{"session_resume", "a/crew/x", `"session_id":"there","cwd":"/w"`})
	for _, c := range []Catalog{read(t, here).Join(read(t, there)), read(t, there).Join(read(t, here))} {
		c = c.Merge([]conversation.Conversation{said("talks", "/x", 1, conversation.Metadata{Started: minutesAfter(5), CWD: "/w"})}, nil)
		var ids []string
		for _, s := range c.Select(Filter{Folders: []string{"/w"}}, 0) {
			ids = append(ids, string(s.ID))
		}
		if slices.Sort(ids); !slices.Equal(ids, []string{"talks", "there"}) {
			t.Errorf("%v", ids)
		}
	}
}

// said returns a conversation with session id, as a list has it.
func said(id, path string, changed int64, f conversation.Metadata) conversation.Conversation {
	f.ID = session.ID(id)
	return conversation.Conversation{File: conversation.File{Client: "claude", Path: path, ID: f.ID, Changed: changed}, Metadata: f}
}

// Of several conversations with one id, the latest one with text counts, in whatever
// order they are found.
func TestMergeCopies(t *testing.T) {
	copies := []conversation.Conversation{
		said("a", "/old", 1, conversation.Metadata{Started: minutesAfter(1), Last: minutesAfter(2), CWD: "/was", Title: "old"}),
		said("a", "/new", 2, conversation.Metadata{Started: minutesAfter(1), Last: minutesAfter(3), CWD: "/is", Title: "new"}),
		said("a", "/mute", 3, conversation.Metadata{Title: "mute"}),
	}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var found []conversation.Conversation
		for _, i := range order {
			found = append(found, copies[i])
		}
		all := slices.Collect(Catalog{}.Merge(found, nil).Sessions())
		if len(all) != 1 || all[0].File.Path != "/new" || all[0].Title != "new" || all[0].CWD != "/is" || !all[0].StartedAt.Equal(minutesAfter(1)) || !all[0].LastAt.Equal(minutesAfter(3)) {
			t.Errorf("%v: %d sessions, %+v", order, len(all), all[0])
		}
	}
}

// A session began when the log says so, unless the log began later.
func TestMergeStart(t *testing.T) {
	for name, c := range map[string]struct {
		kind, payload string
		want          time.Time
	}{
		"started":          {"session_start", `"source":"startup","cwd":"/w"`, minutesAfter(5)},
		"Gas Town's start": {"session_start", `"cwd":"/w"`, minutesAfter(5)},
		"resumed":          {"session_start", `"source":"resume","cwd":"/w"`, minutesAfter(1)},
		"compacted":        {"session_start", `"source":"compact","cwd":"/w"`, minutesAfter(1)},
		"its end":          {"session_end", `"outcome":"done"`, minutesAfter(1)},
		"its hand-over":    {"handoff", `"subject":"s","kind":"k"`, minutesAfter(1)},
	} {
		log := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
		appendTo(t, log, fmt.Sprintf(`{"ts":%q,"type":%q,"actor":"a","payload":{"session_id":"one",%s}}`+"\n", minutesAfter(5).Format(time.RFC3339), c.kind, c.payload))
		s := read(t, log).Merge([]conversation.Conversation{said("one", "/x", 1, conversation.Metadata{Started: minutesAfter(1), Last: minutesAfter(9)})}, nil).Find("one")
		if len(s) != 1 || !s[0].StartedAt.Equal(c.want) {
			t.Errorf("%s: %+v, want %s", name, s, c.want)
		}
	}
}

// Subagents with the same name but different parents are two sessions, and a copy is not
// another one.
func TestMergeNamesakes(t *testing.T) {
	of := func(path, parent string) conversation.Conversation {
		return said("agent-call_1", path, 1, conversation.Metadata{Started: minutesAfter(1), Parent: session.ID(parent)})
	}
	all := Catalog{}.Merge([]conversation.Conversation{of("/one", "p1"), of("/two", "p2"), of("/two again", "p2"), of("/one again", "p1")}, nil)
	below, n := all.Subagents, 0
	for range all.Sessions() {
		n++
	}
	if one, two := below("p1"), below("p2"); n != 2 || len(one) != 1 || one[0].File.Path != "/one" || len(two) != 1 || two[0].File.Path != "/two" || one[0].ID == two[0].ID {
		t.Errorf("%d sessions, %+v, %+v", n, one, two)
	}
}

// Subagents are below their session, also those of subagents. One that names itself as
// its parent does not loop. One whose session is gone is an orphan.
func TestSubagents(t *testing.T) {
	of := func(id, parent string, m int) conversation.Conversation {
		return said(id, "/"+id, 1, conversation.Metadata{Started: minutesAfter(m), Parent: session.ID(parent)})
	}
	all := Catalog{}.Merge([]conversation.Conversation{
		of("top", "", 1), of("one", "top", 2), of("below", "one", 3), of("two", "top", 4),
		of("lost", "gone", 5), of("self", "self", 6), of("x", "y", 7), of("y", "x", 8),
	}, nil)
	below, orphan := all.Subagents, all.IsOrphan
	ids := func(all []*Session) (ids string) {
		for _, s := range all {
			ids += string(s.ID) + " "
		}
		return ids
	}
	for id, want := range map[session.ID]string{"top": "one below two ", "one": "below ", "gone": "lost ", "self": "", "x": "y "} {
		if got := ids(below(id)); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	for s := range all.Sessions() {
		if orphan(s) != (s.ID == "lost") {
			t.Errorf("an orphan: %s %v", s.ID, orphan(s))
		}
	}
}

// Each fork of a conversation names the one that started first. What a list of them costs grows
// with their number, not with its square: so do the sessions that it puts together, each of
// which is an allocation.
func TestManyForks(t *testing.T) {
	list := func(n int) (forks int, allocations float64) {
		var found []conversation.Conversation
		for i := range n {
			id := fmt.Sprintf("fork-%04d", i)
			found = append(found, said(id, "/"+id, 1, conversation.Metadata{FirstID: "first", Started: minutesAfter(1 + (i+n/2)%n)}))
		}
		other := said("other", "/other", 1, conversation.Metadata{FirstID: "first", Started: minutesAfter(0)})
		other.File.Client = "codex"
		found = append(found, other)
		original := session.ID(fmt.Sprintf("fork-%04d", n-n/2))
		allocations = testing.AllocsPerRun(1, func() {
			forks = 0
			for s := range (Catalog{}).Merge(found, nil).Sessions() {
				switch {
				case s.ForkOf == original:
					forks++
				case s.ForkOf != "":
					t.Errorf("%s is a fork of %s, want %s", s.ID, s.ForkOf, original)
				}
			}
		})
		return forks, allocations
	}
	few, little := list(100)
	many, much := list(400)
	if few != 99 || many != 399 || much > 8*little {
		t.Errorf("%d and %d forks, %.0f and %.0f allocations", few, many, little, much)
	}
}
