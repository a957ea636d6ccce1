package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/log/eventlog"
	"gt/lib/state/session"
	"gt/lib/text/term"
)

// naive builds the catalog from all lines in memory, parsed and sorted by time. Read must
// return the same.
func naive(t testing.TB, log eventlog.Log) []*Session {
	t.Helper()
	var events []*event
	for _, path := range []eventlog.Log{log.Archive(), log} {
		data, err := os.ReadFile(string(path))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			if !bytes.HasSuffix(line, []byte("\n")) || !(eventlog.Head{Type: gjson.GetBytes(line, "type").Str}).IsLifecycle() {
				continue
			}
			var in struct {
				Time    string         `json:"ts"`
				Type    string         `json:"type"`
				Actor   string         `json:"actor"`
				Payload map[string]any `json:"payload"`
			}
			var wrongType *json.UnmarshalTypeError
			if err := json.Unmarshal(line, &in); err != nil && !errors.As(err, &wrongType) {
				continue
			}
			e := &event{Time: in.Time, Type: in.Type, Actor: in.Actor}
			for i, text := range e.Payload.texts() {
				*text, _ = in.Payload[names[i]].(string)
			}
			if e.checkFields() {
				if to := gjson.GetBytes(line, "payload.to_session"); to.Exists() && to.Raw != "false" {
					e.Payload.ToSession = "yes"
				}
				events = append(events, e)
			}
		}
	}
	slices.SortStableFunc(events, func(a, b *event) int {
		switch {
		case !a.loggedAt.Equal(b.loggedAt):
			return a.loggedAt.Compare(b.loggedAt)
		case a.unnamed() && !b.unnamed():
			return -1
		case b.unnamed() && !a.unnamed():
			return 1
		}
		return 0
	})
	byID, last := map[session.ID]*Session{}, map[string]*Session{}
	var all []*Session
	for _, e := range events {
		if e.unnamed() {
			if s := last[e.Actor]; s != nil {
				s.applyEvent(e)
			}
			continue
		}
		id := session.ID(e.Payload.SessionID)
		s := byID[id]
		if s == nil {
			s = sessionOf(id, slices.Values([]*event{e}))
			byID[id], all = s, append(all, s)
		} else {
			s.applyEvent(e)
		}
		last[s.Actor] = s
	}
	slices.SortFunc(all, byStart.compare)
	for _, s := range slices.Backward(all) {
		if p := byID[s.ParentID]; p != nil && p != s {
			p.ChildID = s.ID
		}
	}
	return all
}

// tell returns all that is known of the sessions, and their short ids.
func tell(t testing.TB, all []*Session, short func(session.ID) string) string {
	t.Helper()
	var b strings.Builder
	for _, s := range all {
		line, err := term.JSON(s)
		testenv.NoError(t, err)
		fmt.Fprintf(&b, "%s %v %s", short(s.ID), s.handedOver, line)
	}
	return b.String()
}

// toldOf returns what Read says of a log.
func toldOf(t testing.TB, log eventlog.Log) string {
	t.Helper()
	r := read(t, log)
	all := slices.Collect(r.Sessions())
	if latest := slices.Collect(r.iterSessions(byLast)); len(latest) != len(all) || !slices.IsSortedFunc(latest, byLast.compare) {
		t.Errorf("by activity, %d sessions are in another order or number: %v", len(all), latest)
	}
	return tell(t, all, r.IDShortener())
}

// filtered checks that filters find what matches.
func filtered(t *testing.T, log eventlog.Log) {
	t.Helper()
	all, anew := slices.Collect(read(t, log).Sessions()), read(t, log)
	filters := []Filter{{Agent: "crew/1"}, {Agent: "claude"}, {Outcome: session.Done}, {Outcome: Gone}, {Outcome: Active}}
	for _, s := range all[:min(4, len(all))] {
		filters = append(filters, Filter{Folders: []string{s.CWD}}, Filter{Role: s.Role, Outcome: Gone})
	}
	for _, f := range filters {
		matching := slices.DeleteFunc(slices.Clone(all), func(s *Session) bool { one := *s; return !f.Matches(&one) })
		if found := anew.Select(f, 0); !slices.EqualFunc(found, matching, func(a, b *Session) bool { return a.ID == b.ID }) {
			t.Errorf("%+v finds %d, not %d", f, len(found), len(matching))
		}
	}
}

func naively(t testing.TB, log eventlog.Log) string {
	t.Helper()
	all := naive(t, log)
	return tell(t, all, func(id session.ID) string {
		n := minShort
		for _, s := range all {
			if s.ID != id {
				n = max(n, commonPrefixLen(string(id), string(s.ID))+1)
			}
		}
		return string(id[:min(n, len(id))])
	})
}

// chance makes logs that can happen, and some that should not.
type chance struct {
	*rand.Rand
	second int
}

// line returns an event of some session at about this time, or a broken line.
func (r *chance) line() string {
	if r.IntN(3) > 0 {
		r.second++
	}
	second := r.second
	if r.IntN(12) == 0 {
		second = max(0, second-r.IntN(8)) // it comes late
	}
	ts := base.Add(time.Duration(second) * time.Second).Format(time.RFC3339)
	if r.IntN(3) == 0 {
		ts = base.Add(time.Duration(second)*time.Second + time.Duration(r.IntN(900))*time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	}
	session := max(0, r.second/8-r.IntN(6))
	actor := fmt.Sprint("demo/crew/", session%3)
	id := fmt.Sprintf("%08d-%d", session/3, session)
	payload := fmt.Sprintf(`"session_id":"%s"`, id)
	kind := []string{"session_start", "session_resume", "session_end", "handoff", "handoff", "nudge", "patrol"}[r.IntN(7)]
	switch kind {
	case "session_start":
		payload += fmt.Sprintf(`,"role":"crew","cwd":"/c%d","topic":"about \"%d\"","agent":"claude"`, second, second)
		if r.IntN(2) == 0 {
			payload += fmt.Sprintf(`,"parent_id":"%08d-%d","chain_id":"ü"`, max(0, session-r.IntN(3))/3, session-r.IntN(3))
		}
	case "session_end":
		payload += `,"outcome":"done","reason":"r"`
	case "handoff":
		switch r.IntN(3) {
		case 0: // Gas Town's
			payload = fmt.Sprintf(`"subject":"about %d","to_session":true`, second)
		case 1: // a person's
			payload = `"subject":"by hand","kind":"handoff"`
		default:
			payload += fmt.Sprintf(`,"subject":"about %d","to_session":true,"kind":"handoff","note":"n"`, second)
		}
	}
	switch r.IntN(40) {
	case 0:
		return "no JSON\n"
	case 1:
		return fmt.Sprintf(`{"actor":%q,"payload":{%s,"role":5},"type":%q,"ts":%q}`+"\n", actor, payload, kind, ts)
	case 2:
		return fmt.Sprintf(`{"ts":%q,"source":"gt","type":%q,"actor":%q,"payload":{%s`, ts, kind, actor, payload) // torn
	case 3:
		return fmt.Sprintf(`{"ts":"yesterday","source":"gt","type":%q,"actor":%q,"payload":{%s}}`+"\n", kind, actor, payload)
	}
	return fmt.Sprintf(`{"ts":%q,"source":"gt","type":%q,"actor":%q,"payload":{%s},"visibility":"feed"}`+"\n", ts, kind, actor, payload)
}

func (r *chance) lines(n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(r.line())
	}
	return b.String()
}

func appendTo(t testing.TB, log eventlog.Log, text string) {
	t.Helper()
	f, err := os.OpenFile(string(log), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	testenv.NoError(t, err)
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	testenv.NoError(t, f.Close())
}

func write(t testing.TB, path string, data []byte, mode os.FileMode) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(path, data, mode))
	testenv.NoError(t, os.Chmod(path, mode))
}

// oftenWritten makes Read write the index after so many bytes, and read the log in chunks of
// that size.
func oftenWritten(t testing.TB, worth, part int64) {
	t.Helper()
	was, wasPart := worthWriting, chunk
	worthWriting, chunk = worth, part
	t.Cleanup(func() { worthWriting, chunk = was, wasPart })
}

// Whatever happens to the log, its archive and the index, in any order and with reads in
// between, Read returns what the whole log says.
func TestIndexChangesNoAnswer(t *testing.T) {
	seeds := uint64(20) // each kind of change some fifty times
	if testing.Short() {
		seeds = 4 // a race would be in any of them
	}
	for seed := range seeds {
		r := &chance{Rand: rand.New(rand.NewPCG(seed, 7))}
		oftenWritten(t, []int64{1, 500, 256 << 10}[r.IntN(3)], []int64{100, 1000, 1 << 20}[r.IntN(3)])
		dir := t.TempDir()
		log := eventlog.Log(filepath.Join(dir, ".events.jsonl"))
		path := indexPath(log)
		used := 0
		for step := range 60 {
			what := "append"
			index, _ := os.ReadFile(path)
			switch n := r.IntN(24); {
			case n == 0:
				what = "prune"
				_, err := log.Prune(eventlog.Pruning{Archive: true, Keep: r.IntN(5), Expired: func(h eventlog.Head) bool {
					return len(h.Type)%3 != step%3 && h.Time.Second()%2 == 0
				}})
				testenv.NoError(t, err)
			case n == 1:
				what = "rotate"
				if _, err := log.Rotate(base, nil); err != nil {
					t.Fatal(err)
				}
			case n == 2:
				what = "another log"
				write(t, string(log)+".new", []byte(r.lines(r.IntN(30))), 0o600)
				testenv.NoError(t, os.Rename(string(log)+".new", string(log)))
			case n == 3:
				what = "the log emptied in its place"
				write(t, string(log), []byte(r.lines(r.IntN(3))), 0o600)
			case n == 4:
				what = "the archive grows"
				if _, err := os.Stat(filepath.Dir(string(log.Archive()))); err == nil {
					appendTo(t, log.Archive(), r.lines(3))
				}
			case len(index) == 0:
			case n == 5:
				what = "no index"
				os.Remove(path)
			case n == 6:
				what = "a torn index"
				write(t, path, index[:r.IntN(len(index))], 0o600)
			case n == 7:
				what = "a changed index"
				index[r.IntN(len(index))] ^= byte(1 + r.IntN(255))
				write(t, path, index, 0o600)
			case n == 8:
				what = "another index"
				write(t, path, []byte([]string{"", "\n", "{}\n", "SQLite format 3\x00", strings.Repeat("SQLite format 3\x00", 500)}[r.IntN(5)]), 0o600)
			case n == 9:
				what = "an index that others may write"
				write(t, path, bytes.ReplaceAll(index, []byte("crew"), []byte("wrec")), 0o620)
			}
			if what == "append" {
				appendTo(t, log, r.lines(r.IntN(12)))
			}
			x := openIndex(path)
			if x != nil && what == "append" {
				used++
			}
			if got, want := toldOf(t, log), naively(t, log); got != want {
				t.Fatalf("seed %d, step %d (%s):\n%s\nnot\n%s", seed, step, what, got, want)
			}
			if step%20 == 19 {
				filtered(t, log)
			}
		}
		if used == 0 && worthWriting < 1000 {
			t.Errorf("seed %d: the index was never used", seed)
		}
	}
}

// An index that is truncated anywhere, or has any changed byte, changes no answer.
func TestIndexIsWhole(t *testing.T) {
	oftenWritten(t, 1, 1<<20)
	r := &chance{Rand: rand.New(rand.NewPCG(1, 1))}
	log := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	appendTo(t, log, r.lines(80))
	want := toldOf(t, log)
	path := indexPath(log)
	index, err := os.ReadFile(path)
	testenv.NoError(t, err)
	check := func(what string, at int, data []byte) {
		write(t, path, data, 0o600)
		if toldOf(t, log) != want {
			t.Fatalf("%s at %d: another answer", what, at)
		}
	}
	step := 97
	if testing.Short() {
		step = 997
	}
	for at := 0; at < len(index); at += step {
		check("cut", at, index[:at])
		other := bytes.Clone(index)
		other[at] ^= 1
		check("changed", at, other)
	}
	check("longer", 0, append(bytes.Clone(index), index...))

	// An index that another user could have written is not trusted.
	write(t, path, index, 0o644)
	if openIndex(path) == nil {
		t.Fatal("the whole one is not believed")
	}
	for _, mode := range []os.FileMode{0o620, 0o602} {
		write(t, path, index, mode)
		if openIndex(path) != nil {
			t.Errorf("it is believed with mode %o", mode)
		}
	}
	if os.Geteuid() == 0 {
		write(t, path, index, 0o600)
		testenv.NoError(t, os.Chown(path, 1, 1))
		if openIndex(path) != nil {
			t.Error("another's is believed")
		}
	}
}

// The index is private to the user. A log that is read as fast has none.
func TestIndexFile(t *testing.T) {
	log := story(t, [3]string{"session_start", "a", `"session_id":"one"`})
	toldOf(t, log)
	if _, err := os.Stat(indexPath(log)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a small log: %v", err)
	}
	oftenWritten(t, 1, 1<<20)
	toldOf(t, log)
	info, err := os.Stat(indexPath(log))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if dir, err := os.Stat(filepath.Dir(indexPath(log))); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir, err)
	}
}

// A few new lines are read each time. Only many of them make Read write the index.
func TestIndexIsWrittenWhenItPays(t *testing.T) {
	oftenWritten(t, 1000, 1<<20)
	log := story(t, [3]string{"session_start", "a", `"session_id":"one"`}, [3]string{"nudge", "a", `"text":"` + strings.Repeat("x", 1000) + `"`})
	written := func() os.FileInfo {
		toldOf(t, log)
		info, err := os.Stat(indexPath(log))
		testenv.NoError(t, err)
		return info
	}
	first := written()
	event := `{"ts":"2026-01-17T02:00:00Z","source":"gt","type":"session_end","actor":"a","payload":{"session_id":"one","outcome":"done"}}` + "\n"
	appendTo(t, log, event)
	if !os.SameFile(first, written()) {
		t.Error("it was written for an event")
	}
	appendTo(t, log, strings.Repeat(event, 10))
	second := written()
	if os.SameFile(first, second) {
		t.Error("it was not written for ten")
	}
	// A late event makes Read read everything.
	appendTo(t, log, strings.Replace(event, "02:00:00", "01:30:00", 1))
	third := written()
	if os.SameFile(second, third) {
		t.Error("it was not written after an event that came too late")
	}
	if !os.SameFile(third, written()) {
		t.Error("it was written for nothing")
	}
	if got, want := toldOf(t, log), naively(t, log); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

// Without write permission, the result is the same.
func TestNoIndex(t *testing.T) {
	log := story(t, [3]string{"session_start", "a", `"session_id":"one"`})
	elsewhere := t.TempDir()
	testenv.NoError(t, os.Symlink(elsewhere, filepath.Join(filepath.Dir(string(log)), ".sessions")))
	if got, want := toldOf(t, log), naively(t, log); got != want || got == "" {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	// Nothing is written if there is no log.
	dir := t.TempDir()
	toldOf(t, eventlog.Log(filepath.Join(dir, ".events.jsonl")))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

// Several processes may read and write the index while the log grows.
func TestIndexTogether(t *testing.T) {
	oftenWritten(t, 1, 1000)
	r := &chance{Rand: rand.New(rand.NewPCG(2, 2))}
	log := eventlog.Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	appendTo(t, log, r.lines(20))
	var all sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := Read(log, nil); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		appendTo(t, log, r.lines(5))
		if got, want := toldOf(t, log), naively(t, log); got != want {
			t.Errorf("%s\nnot\n%s", got, want)
			break
		}
	}
	close(stop)
	all.Wait()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(indexPath(log)), ".*")); len(left) > 0 {
		t.Error(left)
	}
}

// More logs are read as if all were one.
func TestReadMore(t *testing.T) {
	here := story(t, [3]string{"session_start", "a", `"session_id":"one","host":"h1"`})
	there := story(t, [3]string{"session_end", "a", `"session_id":"one","outcome":"done"`},
		[3]string{"session_start", "a", `"session_id":"two","parent_id":"one","host":"h2"`})
	r, err := Read(here, nil, there)
	testenv.NoError(t, err)
	all := slices.Collect(r.Sessions())
	if len(all) != 2 || all[0].ID != "two" || all[1].ID != "one" || all[1].ChildID != "two" || all[1].Host != "h1" {
		t.Errorf("%+v", all)
	}
	if _, err := os.Stat(indexPath(there)); !errors.Is(err, os.ErrNotExist) {
		t.Error("an index was written beside another's log")
	}
}
