package eventlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"gt/internal/testenv"
)

var testTime = time.Date(2026, 1, 17, 1, 0, 0, 123_456_789, time.FixedZone("", 3600))

// TestMain lets the test binary stand for a process that appends.
func TestMain(m *testing.M) {
	if path := os.Getenv("EVENTLOG_APPEND"); path != "" {
		each, err := strconv.Atoi(os.Getenv("EVENTLOG_EACH"))
		if err != nil {
			each = 20
		}
		for i := range each {
			log, spare := Log(path), Log(os.Getenv("EVENTLOG_SPARE"))
			now, actor, payload := time.Now(), os.Getenv("EVENTLOG_ACTOR"), map[string]any{"n": i}
			var err error
			if spare == "" {
				err = log.Append(now, SessionStart, actor, payload)
			} else {
				err = log.AppendOr(spare, func(err error) { panic(err) }, now, SessionStart, actor, payload)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func read(t *testing.T, l Log) []Event {
	t.Helper()
	var all []Event
	testenv.NoError(t, l.Read(func(e Event) bool { all = append(all, e); return true }))
	return all
}

func TestAppendWritesGasTownsLine(t *testing.T) {
	l := Log(filepath.Join(t.TempDir(), "town", ".events.jsonl"))
	testenv.NoError(t, l.Append(testTime, SessionStart, "gastown/crew/max", map[string]any{"session_id": "s1"}))
	data, err := os.ReadFile(string(l))
	testenv.NoError(t, err)
	want := `{"ts":"2026-01-17T00:00:00.123Z","source":"gt","type":"session_start","actor":"gastown/crew/max","payload":{"session_id":"s1"},"visibility":"feed"}` + "\n"
	if string(data) != want {
		t.Errorf("\n%s\nwant\n%s", data, want)
	}
	modes := func(lock fs.FileMode) {
		t.Helper()
		for path, want := range map[string]fs.FileMode{string(l): 0o600, string(l) + ".lock": lock} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Error(path, info.Mode(), err)
			}
		}
	}
	modes(0o200)
	// Gas Town opens its lock for reading.
	dir := filepath.Dir(string(l))
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "mayor"), 0o700))
	testenv.NoError(t, os.WriteFile(filepath.Join(dir, "mayor", "town.json"), nil, 0o600))
	testenv.NoError(t, l.Append(testTime, SessionStart, "gastown/crew/max", map[string]any{"session_id": "s2"}))
	modes(0o600)
}

func TestAppendEndsATornLineFirst(t *testing.T) {
	l := Log(filepath.Join(t.TempDir(), "log"))
	testenv.NoError(t, os.WriteFile(string(l), []byte(`{"type":"whole"}`+"\n"+`{"type":"session_e`), 0o600))
	testenv.NoError(t, l.Append(testTime, Handoff, "a", nil))
	all := read(t, l)
	if len(all) != 2 || all[0].Type != "whole" || all[1].Type != Handoff {
		t.Errorf("%+v", all)
	}
}

// A town may be a symbolic link to a folder elsewhere; the log itself may not.
func TestAppendFollowsALinkToTheTownAndNoOther(t *testing.T) {
	dir := t.TempDir()
	town := filepath.Join(dir, "town")
	testenv.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o700))
	testenv.NoError(t, os.Symlink("real", town))
	l := Log(filepath.Join(town, ".events.jsonl"))
	testenv.NoError(t, l.Append(testTime, Handoff, "a", nil))
	if all := read(t, Log(filepath.Join(dir, "real", ".events.jsonl"))); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	testenv.NoError(t, os.Rename(string(l), filepath.Join(dir, "elsewhere")))
	testenv.NoError(t, os.Symlink(filepath.Join(dir, "elsewhere"), string(l)))
	if err := l.Append(testTime, Handoff, "a", nil); err == nil {
		t.Error("a log that is a link was written")
	}
}

// Many processes, each with several goroutines' worth of lines: every line is
// there, whole.
func TestAppendOfManyProcesses(t *testing.T) {
	l := Log(filepath.Join(t.TempDir(), "log"))
	var wg sync.WaitGroup
	for p := range 16 {
		wg.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "EVENTLOG_APPEND="+string(l), fmt.Sprint("EVENTLOG_ACTOR=p", p))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	long := strings.Repeat("x", 9000)
	for g := range 48 {
		wg.Go(func() {
			for i := range 10 {
				if err := l.Append(time.Now(), SessionStart, fmt.Sprint("g", g), map[string]any{"n": i, "long": long}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	f, err := os.Open(string(l))
	testenv.NoError(t, err)
	defer f.Close()
	lines, next := 0, map[string]int{}
	in := bufio.NewScanner(f)
	for ; in.Scan(); lines++ {
		var e struct {
			Actor   string
			Payload struct{ N int }
		}
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatalf("a torn line: %.80s", in.Text())
		}
		if next[e.Actor] != e.Payload.N {
			t.Fatalf("%s: %d came where %d was due", e.Actor, e.Payload.N, next[e.Actor])
		}
		next[e.Actor]++
	}
	if want := 16*20 + 48*10; lines != want {
		t.Errorf("%d lines, not %d", lines, want)
	}
}

// Who can write to a town can put another name of any file of the person's in the
// place of the log, of its lock and of its archive.
func TestAnotherNameOfAFile(t *testing.T) {
	dir := t.TempDir()
	own, spare := filepath.Join(dir, "own"), Log(filepath.Join(dir, "spare"))
	l := Log(filepath.Join(dir, "town", ".events.jsonl"))
	testenv.NoError(t, os.MkdirAll(filepath.Dir(string(l.Archive())), 0o700))
	const text = "{\"precious\":true}\n"
	for _, path := range []string{string(l), string(l) + ".lock", string(l.Archive())} {
		testenv.NoError(t, os.WriteFile(own, []byte(text), 0o600))
		testenv.NoError(t, os.Link(own, path))
		if err := l.AppendOr(spare, func(error) {}, testTime, SessionEnd, "x", map[string]any{"session_id": "s"}); err != nil {
			t.Error(err)
		}
		_, _ = l.Prune(Pruning{Expired: func(Head) bool { return true }, Archive: true})
		info, err := os.Stat(own)
		if data, _ := os.ReadFile(own); err != nil || string(data) != text || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %q, %v, %v", path, data, info.Mode(), err)
		}
		for _, name := range []string{string(l), string(l) + ".lock", string(l.Archive()), own} {
			os.Remove(name)
		}
	}
}

// newSpare returns a log and its spare log.
func newSpare(t *testing.T) (l, spare Log) {
	dir := t.TempDir()
	return Log(filepath.Join(dir, ".events.jsonl")), Log(filepath.Join(dir, "spare", ".events.jsonl"))
}

// An event that finds the lock held is kept, and moves to the log.
func TestAppendOrToALockedLog(t *testing.T) {
	l, spare := newSpare(t)
	appendOr := func(n int) {
		t.Helper()
		testenv.NoError(t, l.AppendOr(spare, func(err error) { t.Error(err) }, testTime, SessionStart, "a", n))
	}
	contents := func(l Log) (all string) {
		for _, e := range read(t, l) {
			all += string(e.Payload)
		}
		return all
	}
	lock, err := l.lock(0, nil)
	testenv.NoError(t, err)
	appendOr(1)
	appendOr(2)
	if in, kept := contents(l), contents(spare); in != "" || kept != "12" {
		t.Errorf("while the lock is held, the log has %q, the spare log %q", in, kept)
	}
	lock.Unlock()
	busy, err := spare.lock(0, nil)
	testenv.NoError(t, err)
	appendOr(3) // another process writes to the spare log just now
	if in, kept := contents(l), contents(spare); in != "3" || kept != "12" {
		t.Errorf("while the spare log is written, the log has %q, the spare log %q", in, kept)
	}
	busy.Unlock()
	appendOr(4)
	if in := contents(l); in != "3124" {
		t.Errorf("the log has %q", in)
	}
	if left, err := os.ReadDir(filepath.Dir(string(spare))); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	testenv.NoError(t, l.TakeSpare(spare))
	if in := contents(l); in != "3124" {
		t.Errorf("the log has %q", in)
	}
}

// A process that is killed after its copy of the spare log leaves both. A torn end of
// either spoils no other line.
func TestTakeInAfterAKill(t *testing.T) {
	l, spare := newSpare(t)
	testenv.NoError(t, os.Mkdir(filepath.Dir(string(spare)), 0o700))
	var want strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&want, "{\"type\":\"%d\"}\n", i)
	}
	half := want.String()[:want.Len()/2]
	testenv.NoError(t, os.WriteFile(string(l), []byte(half), 0o600))
	testenv.NoError(t, os.WriteFile(string(spare), []byte(want.String()+`{"type":"to`), 0o600))
	testenv.NoError(t, l.TakeSpare(spare))
	testenv.NoError(t, l.Append(testTime, Handoff, "a", nil))
	found := map[string]int{}
	for _, e := range read(t, l) {
		found[e.Type]++
	}
	if len(found) != 20_001 {
		t.Errorf("%d events", len(found))
	}
	for kind, n := range found {
		if n != 1 {
			t.Errorf("%s is there %d times", kind, n)
		}
	}
}

func TestReadPassesOverWhatIsNoEvent(t *testing.T) {
	l := Log(filepath.Join(t.TempDir(), "log"))
	text := strings.Join([]string{
		`{"ts":"2026-01-17T01:00:00Z","type":"one","payload":{"new":[1,{"a":2}]},"unknown":true}`,
		``, `garbage`, `{"ts":"never","type":"x"}`, `{"type":""}`, `{"type":7}`, `[]`, `null`, "\x00\xff",
		`{"type":"torn","payload":{"a`,
		`{"type":"two"}`,
		`{"type":"no line end"}`,
	}, "\n")
	testenv.NoError(t, os.WriteFile(string(l), []byte(text), 0o600))
	all := read(t, l)
	if len(all) != 2 || all[0].Type != "one" || all[1].Type != "two" {
		t.Fatalf("%+v", all)
	}
	if string(all[0].Payload) != `{"new":[1,{"a":2}]}` {
		t.Errorf("the payload became %s", all[0].Payload)
	}
}

func TestReadOfNoLog(t *testing.T) {
	dir := t.TempDir()
	if all := read(t, Log(filepath.Join(dir, "none"))); len(all) > 0 {
		t.Error(all)
	}
	if err := Log(dir).Read(nil); err == nil {
		t.Error("a folder was read")
	}
	// A reader that has enough stops.
	l := Log(filepath.Join(dir, "log"))
	testenv.NoError(t, os.WriteFile(string(l), []byte("{\"type\":\"a\"}\n{\"type\":\"b\"}\n"), 0o600))
	n := 0
	if err := l.Read(func(Event) bool { n++; return false }); err != nil || n != 1 {
		t.Error(n, err)
	}
}

// Lines just under, at and over the size of the buffer, and far over it.
func TestScanOfLinesOfAnyLength(t *testing.T) {
	const size = 64 << 10
	var want []string
	for i, n := range []int{0, 1, size - 2, size - 1, size, size + 1, 0, 2*size - 1, 2 * size, 5 << 20, 3} {
		want = append(want, strings.Repeat(string(rune('a'+i)), n))
	}
	text := strings.Join(want, "\n") + "\n"
	for name, end := range map[string]string{"whole": "", "torn": "the rest"} {
		r := strings.NewReader(text + end)
		var got []string
		if err := Scan(r, func(line []byte) bool { got = append(got, string(line)); return true }); err != nil {
			t.Fatal(name, err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %d lines, not %d", name, len(got), len(want))
		}
	}
	lines := 0
	short := "a\nbb\n\nccc\ntorn"
	for _, r := range []func(string) error{
		func(s string) error {
			return Scan(iotest.OneByteReader(strings.NewReader(s)), func([]byte) bool { lines++; return true })
		},
		func(s string) error {
			return Scan(iotest.DataErrReader(strings.NewReader(s)), func([]byte) bool { lines++; return true })
		},
	} {
		lines = 0
		if err := r(short); err != nil || lines != 4 {
			t.Error(lines, err)
		}
	}
	broken := errors.New("broken")
	if err := Scan(iotest.ErrReader(broken), func([]byte) bool { return true }); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("a\n\nb\ntorn"), 3)
	f.Add([]byte("\n"), 1)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		lines := bytes.SplitAfter(data, []byte("\n"))
		lines = lines[:len(lines)-1] // what has no line end is no line
		i := 0
		err := Scan(iotest.HalfReader(bytes.NewReader(data)), func(line []byte) bool {
			if i >= len(lines) || !bytes.Equal(append(bytes.Clone(line), '\n'), lines[i]) {
				t.Fatalf("line %d of %q is %q", i, data, line)
			}
			i++
			return i != n
		})
		if err != nil || i != len(lines) && i != n {
			t.Fatalf("%d lines of %d, %v", i, len(lines), err)
		}
	})
}

// Whatever stands in a line, reading an event and writing it again keeps it.
func FuzzEvent(f *testing.F) {
	f.Add([]byte(`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"handoff","actor":"a","payload":{"x":[1]},"visibility":"feed"}`))
	f.Add([]byte(`{"ts":"2026-01-17T01:00:00+09:00","type":"x","payload":"text"}`))
	f.Add([]byte(`{"ts":null,"type":"x"}`))
	f.Add([]byte(`{"ts":"9999-12-31T23:59:59-23:59","type":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var e, again Event
		if json.Unmarshal(data, &e) != nil || e.Type == "" {
			return
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if err := json.Unmarshal(line, &again); err != nil && e.Time.UTC().Year() < 10_000 {
			t.Fatalf("%q: %v", line, err)
		}
	})
}

func TestLast(t *testing.T) {
	start := `{"type":"session_start","payload":{"session_id":"s1"}}` + "\n"
	end := `{"type":"session_end","payload":{"session_id":"s1"}}` + "\n"
	filler := strings.Repeat(`{"type":"handoff","payload":{"session_id":"s2"}}`+"\n", 2000)
	for name, c := range map[string]struct{ log, want string }{
		"empty":                        {"", ""},
		"one":                          {start, SessionStart},
		"the last":                     {start + end, SessionEnd},
		"gone on":                      {end + start, SessionStart},
		"another type":                 {start + `{"type":"handoff","payload":{"session_id":"s1"}}` + "\n", SessionStart},
		"another session":              {`{"type":"session_end","payload":{"session_id":"s10"}}` + "\n", ""},
		"named elsewhere":              {`{"type":"session_end","payload":{"session_id":"x","parent_id":"s1"}}` + "\n", ""},
		"torn":                         {start + `{"type":"session_end","payload":{"session_id":"s1","outcome":"do`, SessionStart},
		"torn before its end alone":    {start + strings.TrimSuffix(end, "\n"), SessionStart},
		"torn and ended by the next":   {start + `{"type":"session_end","payload":{"session_id":"s1","outc` + "\n", SessionStart},
		"far back":                     {start + filler, ""},
		"cut by the look at the end":   {end + filler[:tailSize-20], ""},
		"garbage around":               {"garbage s1\n" + start + "\x00\xff s1\n", SessionStart},
		"at the very end of much else": {filler + start, SessionStart},
	} {
		t.Run(name, func(t *testing.T) {
			l := Log(filepath.Join(t.TempDir(), "log"))
			testenv.NoError(t, os.WriteFile(string(l), []byte(c.log), 0o600))
			if got := l.LastEvent("", "s1", SessionStart, SessionEnd).Type; got != c.want {
				t.Errorf("%q, not %q", got, c.want)
			}
		})
	}
	if got := Log(filepath.Join(t.TempDir(), "none")).LastEvent("", "s1", SessionStart).Type; got != "" {
		t.Error(got)
	}
}

func TestAppendSaysWhatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	err := Log(filepath.Join(file, "log")).Append(testTime, Handoff, "a", nil)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := Log(filepath.Join(t.TempDir(), "log")).Append(testTime, Handoff, "a", func() {}); err == nil {
		t.Error("a function was marshalled")
	}
}

// Whatever a log ends with, what is appended to it is a line of its own, nothing
// before it changes, and its session's last event is found.
func FuzzAppend(f *testing.F) {
	for _, seed := range []string{"", "torn", "{}\n", `{"type":"session_start","payload":{"session_id":"s"}}`, "\x00\n\xff", "\n\n", strings.Repeat("[", 20_000)} {
		f.Add([]byte(seed), "a\n\x1b\u2028", "s")
	}
	path := filepath.Join(f.TempDir(), ".events.jsonl")
	f.Fuzz(func(t *testing.T, before []byte, actor, session string) {
		testenv.NoError(t, os.WriteFile(path, before, 0o600))
		log := Log(path)
		err := log.Append(time.Now(), SessionEnd, actor, map[string]string{"session_id": session})
		testenv.NoError(t, err)
		after, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(after, before) {
			t.Fatalf("%q became %q, %v", before, after, err)
		}
		added := bytes.TrimPrefix(after, before)
		if len(before) > 0 && before[len(before)-1] != '\n' {
			added = bytes.TrimPrefix(added, []byte("\n"))
		}
		if bytes.Count(added, []byte("\n")) != 1 || !json.Valid(added) {
			t.Fatalf("to %q was added %q", before, added)
		}
		var last Event
		if err := log.Read(func(e Event) bool { last = e; return true }); err != nil || last.Type != SessionEnd ||
			last.Actor != strings.ToValidUTF8(actor, "\ufffd") && utf8.ValidString(actor) {
			t.Fatalf("%+v, %v", last, err)
		}
		if got := log.LastEvent("", "s", SessionEnd); session == "s" && got.Type != SessionEnd {
			t.Fatalf("after %q the last event is %q", before, got)
		}
	})
}
