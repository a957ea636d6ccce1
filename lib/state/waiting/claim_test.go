package waiting

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/state/handover"
	"gt/lib/state/mail"
	"gt/lib/state/marker"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

func newHome(t *testing.T) home.Home {
	t.Helper()
	root := t.TempDir()
	trust, err := place.Survey(root)
	testenv.NoError(t, err)
	id, _ := identity.FromDir("rig/crew/max")
	h := home.NewHome(town.Town{Root: root, State: place.State(t.TempDir()), Trust: trust}, id, root+"/rig/crew/max")
	testenv.NoError(t, os.MkdirAll(h.Dir+"/"+place.Runtime, 0o700))
	testenv.NoError(t, h.Prepare())
	return h
}

// What the markers and the notes of a home are to a session: "name>note" is a claim with a
// marker of that sender, "note" one without, "name>" one without a note.
func TestClaims(t *testing.T) {
	old := func(l session.Liveness, p *handover.Handover) session.Candidate {
		return session.Candidate{Record: &session.Record{ID: "old", Handoff: p}, Liveness: l}
	}
	pending := &handover.Handover{Kind: session.KindHandoff, Note: "n-old", Marker: "handoff"}
	person := mail.Note{ID: "n-person", Type: mail.Handoff}
	earlier := mail.Note{ID: "n-earlier", Type: mail.Handoff}
	read := mail.Note{ID: "n-read", Type: mail.Handoff, Seen: true}
	work := mail.Note{ID: "n-work", Type: mail.Plain}
	its := mail.Note{ID: "n-old", Type: mail.Handoff, Session: "old"}
	mine := mail.Note{ID: "n-me", Type: mail.Handoff, Session: "me"}
	told := session.Candidate{Record: &session.Record{ID: "other", Note: "n-person", DeliveredNotes: []string{"n-earlier"}}, Liveness: session.Running}
	wasTold := told
	wasTold.Liveness = session.Dead
	hidden := mail.Note{ID: "n-hidden", Type: mail.Handoff, Session: "hidden"} // its record cannot be read
	for name, c := range map[string]struct {
		markers string // their names, senders and reasons
		known   []session.Candidate
		notes   []mail.Note
		by      Reader
		want    string
		rest    string // the claims after the last was taken
		next    string // what is found beside it when it is a file
	}{
		"nothing":                               {},
		"Gas Town's marker":                     {markers: ".runtime/handoff gt-mayor", want: "gt-mayor>"},
		"Gas Town's older name":                 {markers: ".runtime/handoff_to_successor gt-mayor", want: "gt-mayor>"},
		"both of Gas Town's":                    {markers: ".runtime/handoff a,.runtime/handoff_to_successor b", want: "a>", rest: "b>", next: "b>"},
		"a person's marker and note":            {markers: "handoff work", notes: []mail.Note{person}, want: "work>n-person"},
		"a marker and two notes":                {markers: "handoff work", notes: []mail.Note{earlier, person}, want: "n-earlier work>n-person", rest: "n-earlier"},
		"two markers and two notes":             {markers: "handoff work,handoff.x work", notes: []mail.Note{earlier, person}, want: "work>n-earlier work>n-person", rest: "work>n-earlier"},
		"two markers and a note":                {markers: "handoff work,handoff.x work", notes: []mail.Note{person}, want: "work>n-person"},
		"a marker, and a note that was read":    {markers: "handoff work", notes: []mail.Note{read}, want: "work>"},
		"a marker, and work":                    {markers: "handoff work", notes: []mail.Note{work}, want: "work>"},
		"notes":                                 {notes: []mail.Note{earlier, person}, want: "n-earlier n-person", rest: "n-earlier"},
		"the marker of a hand-over that waits":  {markers: "handoff old", known: []session.Candidate{old(session.Ended, pending)}, notes: []mail.Note{its}},
		"Gas Town's beside it":                  {markers: "handoff old,.runtime/handoff gt-mayor", known: []session.Candidate{old(session.Ended, pending)}, notes: []mail.Note{its}, want: "gt-mayor>"},
		"a person's note beside it":             {markers: "handoff old,handoff.x work", known: []session.Candidate{old(session.Ended, pending)}, notes: []mail.Note{its, person}, want: "work>n-person"},
		"killed before it recorded it":          {known: []session.Candidate{old(session.Ended, nil)}, notes: []mail.Note{its}, want: "n-old"},
		"about to record it":                    {known: []session.Candidate{old(session.Running, nil)}, notes: []mail.Note{its}},
		"a lost hand-over with its marker":      {markers: "handoff old", known: []session.Candidate{old(session.Ended, nil)}, notes: []mail.Note{its}, want: "old>n-old"},
		"another's marker beside that":          {markers: "handoff work", known: []session.Candidate{old(session.Ended, nil)}, notes: []mail.Note{its}, want: "n-old work>"},
		"of a session that nobody knows":        {notes: []mail.Note{its}, want: "n-old"},
		"of a session with a hidden record":     {notes: []mail.Note{hidden}},
		"being told to another that runs":       {markers: "handoff work", known: []session.Candidate{told}, notes: []mail.Note{earlier, person}},
		"being told to the reader":              {markers: "handoff work", known: []session.Candidate{told}, notes: []mail.Note{person}, by: Reader{ID: "other"}, want: "work>n-person"},
		"was being told to one that died":       {markers: "handoff work", known: []session.Candidate{wasTold}, notes: []mail.Note{person}, want: "work>n-person"},
		"others change the home":                {markers: "handoff work", notes: []mail.Note{person}, by: Reader{Busy: true}},
		"others change it, and a session ended": {known: []session.Candidate{old(session.Ended, nil)}, notes: []mail.Note{its}, by: Reader{Busy: true}, want: "n-old"},
		"resumed":                               {markers: ".runtime/handoff gt-mayor", notes: []mail.Note{person}, by: Reader{ID: "me", Continues: true}},
		"compacted, its record lost":            {markers: "handoff me compaction", notes: []mail.Note{its, mine}, by: Reader{ID: "me", Continues: true}, want: "me>n-me"},
		"compacted, record and note lost":       {markers: "handoff me compaction", notes: []mail.Note{its}, by: Reader{ID: "me", Continues: true}, want: "me>"},
		"compacted, nothing saved":              {notes: []mail.Note{mine}, by: Reader{ID: "me", Continues: true}},
		"a compaction's that no session made":   {markers: "handoff work compaction", notes: []mail.Note{person}, want: "work>n-person"},
		"a compaction's after a plain one":      {markers: "handoff work,handoff.x me compaction", notes: []mail.Note{person}, want: "work>n-person", rest: "me>", next: "me>"},
	} {
		h := newHome(t)
		for line := range strings.SplitSeq(c.markers, ",") {
			name, text, _ := strings.Cut(line, " ")
			path := h.Path(name)
			if strings.HasPrefix(name, place.Runtime) {
				path = h.Dir + "/" + name
			}
			if name != "" {
				testenv.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, " ", "\n")+"\n"), 0o600))
			}
		}
		s := session.Store{Home: h}
		if len(c.notes) > 0 && c.notes[0].Session == "hidden" {
			if os.Geteuid() == 0 {
				continue // reads every file
			}
			testenv.NoError(t, os.Mkdir(h.Path("sessions"), 0))
		}
		claims, err := FindUnowned(s, c.known, c.notes, c.by)
		if got := shown(claims); got != c.want || err != nil {
			t.Errorf("%s: the claims are %q, want %q: %v", name, got, c.want, err)
			continue
		}
		if len(claims) == 0 {
			continue
		}
		last := claims[len(claims)-1]
		again, _ := FindUnowned(s, c.known, c.notes, c.by)
		if !isSame(last, again[len(again)-1]) {
			t.Errorf("%s: it is another claim the second time", name)
		}
		// A note that a session is about to be told is a file, and found once.
		testenv.NoError(t, Promise(last, h, "me", &mail.Note{Subject: "s", Body: "b"}, strings.Clone))
		found, err := FindUnowned(s, c.known, c.notes, c.by)
		testenv.NoError(t, err)
		if last.Note == "" {
			c.next = ""
		}
		got, want := strings.Fields(shown(found)), strings.Fields(c.want+" "+c.next)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: with a file it is %q, want %q", name, got, want)
		}
		i := slices.IndexFunc(found, func(u *Unowned) bool { return isSame(u, last) })
		if i < 0 || !found[i].Claim || last.Note != "" && (found[i].ID != last.ID || found[i].TakenBy != "me" || found[i].Text == nil) || found[i].Marked() != last.Marked() {
			t.Errorf("%s: its file is not what it was", name)
			continue
		}
		testenv.NoError(t, Take(found[i], h))
		for i := range c.notes {
			c.notes[i].Seen = c.notes[i].Seen || last.Note == c.notes[i].ID
		}
		left, _ := FindUnowned(s, c.known, c.notes, c.by)
		if c.rest == "" && len(claims) > 1 && !strings.Contains(c.want, "work> ") {
			c.rest = shown(claims[:len(claims)-1])
		}
		if got := shown(left); got != c.rest {
			t.Errorf("%s: after one was taken it is %q, want %q", name, got, c.rest)
		}
	}
}

func shown(all []*Unowned) string {
	var words []string
	for _, u := range all {
		text := ""
		if u.Marked() {
			text = u.From + ">"
		}
		words = append(words, text+u.Note)
	}
	return strings.Join(words, " ")
}

// A file that no session's record has is found, unless its session has a record that cannot be
// read. That of a session whose record is lost is for it, and otherwise for the next one.
func TestFiles(t *testing.T) {
	h := newHome(t)
	s := session.Store{Home: h}
	for _, id := range []string{"known", "hidden", "lost", "person"} {
		o := &handover.Handover{Kind: session.KindHandoff, Note: "n-" + id, Marker: "handoff." + id, From: "work"}
		testenv.NoError(t, new(handover.Slot).Put(h, id, o, atomicfile.Synced))
	}
	testenv.NoError(t, os.WriteFile(h.Path("handover", "waiting", "old.bad"), []byte("{"), 0o600))
	testenv.NoError(t, os.MkdirAll(h.Path("sessions"), 0o700))
	testenv.NoError(t, os.WriteFile(h.Path("sessions", "hidden.json"), []byte("{}"), 0o600))
	known := []session.Candidate{{Record: &session.Record{ID: "known"}}}
	notes := []mail.Note{{ID: "n-person", Type: mail.Handoff}, {ID: "n-lost", Type: mail.Handoff, Session: "lost"}}
	testenv.NoError(t, marker.Write(h, "handoff.person", "work", "", atomicfile.Synced))
	for _, by := range []Reader{{}, {Busy: true}} {
		all, err := FindUnowned(s, known, notes, by)
		if got := shown(all); got != "work>n-lost work>n-person" || err != nil {
			t.Errorf("%+v: it is %q, %v", by, got, err)
		}
	}
	if all, err := FindUnowned(s, known, notes, Reader{ID: "hidden", Continues: true}); shown(all) != "work>n-hidden work>n-lost work>n-person" || err != nil {
		t.Errorf("for the hidden one it is %q, %v", shown(all), err)
	}
}

// A damaged file is set aside by who holds the lock, and so is what an older gt told or closed: that
// reads the note and removes the marker, and does not know the file.
func TestOlderAndDamaged(t *testing.T) {
	h := newHome(t)
	s := session.Store{Home: h}
	box := mail.NewBox(h, h.Identity.Address())
	put := func(id string) string {
		note, err := box.Deliver(mail.Note{Type: mail.Handoff, From: "work", To: "work", Subject: id, Date: time.Now()}, true)
		testenv.NoError(t, err)
		o := &handover.Handover{Kind: session.KindHandoff, Note: note, Marker: "handoff." + id, From: "work"}
		testenv.NoError(t, new(handover.Slot).Put(h, id, o, atomicfile.Synced))
		testenv.NoError(t, marker.Write(h, o.Marker, "work", "", atomicfile.Synced))
		return note
	}
	told, closed, read, waits := put("told"), put("closed"), put("read"), put("waits")
	testenv.NoError(t, box.MarkSeen(told))
	testenv.NoError(t, marker.FromPath("handoff.told").Remove(h))
	testenv.NoError(t, box.DoneWith(closed))
	testenv.NoError(t, marker.FromPath("handoff.closed").Remove(h))
	testenv.NoError(t, box.MarkSeen(read))
	testenv.NoError(t, os.WriteFile(h.Path("handover", "waiting", "damaged"), []byte("{"), 0o600))
	for _, repairs := range []bool{false, true} {
		hooked, err := box.Hooked()
		testenv.NoError(t, err)
		all, err := FindUnowned(s, nil, hooked, Reader{Repairs: repairs})
		if got := shown(all); err == nil || len(all) != 2 || !strings.Contains(got, read) || !strings.Contains(got, waits) {
			t.Errorf("it is %q, %v", got, err)
		}
	}
	names, err := handover.Waiting(h)
	if testenv.NoError(t, err); len(names) != 2 || !atomicfile.Exists(h.Path("handover", "waiting", "damaged.bad")) {
		t.Errorf("there are %q", names)
	}
	if _, err := FindUnowned(s, nil, nil, Reader{Repairs: true}); err != nil {
		t.Error(err)
	}
}

// Of a person's two hand-overs one is cancelled, and the other keeps its marker, also if it
// is the only one.
func TestCancelClaim(t *testing.T) {
	for _, names := range [][]string{{"handoff", "handoff.x"}, {"handoff"}} {
		h := newHome(t)
		warn := func(err error) { testenv.NoError(t, err) }
		for _, name := range names {
			testenv.NoError(t, marker.Write(h, name, "work", "", atomicfile.Synced))
		}
		for _, subject := range []string{"one", "two"} {
			_, err := mail.NewBox(h, h.Identity.Address()).Deliver(mail.Note{Type: mail.Handoff, From: "work", To: "work", Subject: subject, Date: time.Now()}, true)
			testenv.NoError(t, err)
		}
		for left := 2; left > 0; left-- {
			all, err := ListHandovers(h, warn)
			testenv.NoError(t, err)
			markers, err := marker.List(h)
			testenv.NoError(t, err)
			if len(all) != left || len(markers) != min(left, len(names)) {
				t.Fatalf("%d hand-overs wait with %d markers, want %d", len(all), len(markers), left)
			}
			testenv.NoError(t, all[len(all)-1].Cancel(h, time.Now(), warn))
		}
		if all, err := marker.List(h); len(all) != 0 || err != nil {
			t.Errorf("markers are left: %v, %v", all, err)
		}
	}
}

// isSame reports whether two are claims of the same origin.
func isSame(u, v *Unowned) bool { return u.Note == v.Note && slices.Equal(u.Markers, v.Markers) }
