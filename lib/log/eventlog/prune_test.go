package eventlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/sys/flock"
)

var pruneTime = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// line is an event that many hours old.
func line(hours int, kind, payload string) string {
	return fmt.Sprintf(`{"ts":%q,"source":"gt","type":%q,"actor":"a","payload":{%s},"visibility":"feed"}`+"\n",
		pruneTime.Add(-time.Duration(hours)*time.Hour).Format(timeFormat), kind, payload)
}

// older says that what is older than a day may go.
func older(h Head) bool { return pruneTime.Sub(h.Time) > 24*time.Hour }

func newLog(t *testing.T, text string) Log {
	t.Helper()
	l := Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	put(t, string(l), text)
	return l
}

func put(t *testing.T, path, text string) {
	t.Helper()
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func get(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

// tidy fails when a prune left something behind that is not meant to stay.
func tidy(t *testing.T, l Log) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(string(l)))
	testenv.NoError(t, err)
	for _, e := range entries {
		switch e.Name() {
		case ".events.jsonl", ".events.jsonl.lock", ".events.jsonl.prune.lock", ".sessions":
		default:
			t.Errorf("'%s' was left behind", e.Name())
		}
	}
}

func TestPruneTakesOutWhatExpired(t *testing.T) {
	long := strings.Repeat("x", 3*maxHead)
	stay := []string{
		line(1, "nudge", ""), "no event\n", `{"type":"nudge"}` + "\n", `{"ts":"2020-01-01T00:00:00Z"}` + "\n",
		line(2, "mail", `"text":"`+long+`"`), "\n", line(-50, "nudge", ""), "\x00\xff\n",
	}
	go1 := line(30, "nudge", `"text":"`+long+`"`)
	start, end := line(48, SessionStart, `"session_id":"s1"`), line(47, SessionEnd, `"session_id":"s1","outcome":"done"`)
	handoff := line(40, Handoff, `"note":"n"`)
	text := go1 + stay[0] + start + stay[1] + stay[2] + stay[3] + end + stay[4] + line(25, "nudge", "") + stay[5] + handoff + stay[6] + stay[7]
	l := newLog(t, text+`{"torn`)
	testenv.NoError(t, os.Chmod(string(l), 0o640))
	before, err := l.Prune(Pruning{Expired: older, Archive: true, DryRun: true})
	testenv.NoError(t, err)
	if got := get(t, string(l)); got != text+`{"torn` {
		t.Error("a dry run changed the log")
	}
	p, err := l.Prune(Pruning{Expired: older, Archive: true})
	testenv.NoError(t, err)
	want := strings.Join(stay, "") + `{"torn`
	if got := get(t, string(l)); got != want {
		t.Errorf("the log has %d bytes, not %d", len(got), len(want))
	}
	if got := get(t, string(l.Archive())); got != start+end+handoff {
		t.Errorf("the archive has\n%s", got)
	}
	if fmt.Sprint(p) != fmt.Sprint(before) {
		t.Errorf("%+v\nand without changing anything\n%+v", p, before)
	}
	if p.Before != int64(len(text)+6) || p.After != int64(len(want)) || p.TotalRemoved() != 5 || p.Carried != 3 || p.Removed["nudge"] != 2 || p.Events != 8 {
		t.Errorf("%+v", p)
	}
	if info, err := os.Stat(string(l)); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info.Mode(), err)
	}
	tidy(t, l)

	// Once more there is nothing to do, and the file stays the same one.
	was, _ := os.Stat(string(l))
	if p, err := l.Prune(Pruning{Expired: older, Archive: true}); err != nil || p.TotalRemoved() != 0 {
		t.Error(p, err)
	}
	if is, _ := os.Stat(string(l)); !os.SameFile(was, is) {
		t.Error("a log without expired events was rewritten")
	}
	if got := get(t, string(l.Archive())); got != start+end+handoff {
		t.Errorf("the archive has\n%s", got)
	}
	tidy(t, l)
}

// The newest stay, as many as are asked for, and no more than that.
func TestPruneKeepsSomeWhateverTheirAge(t *testing.T) {
	for _, c := range []struct{ fresh, stale, keep, want int }{
		{0, 10, 3, 3}, {2, 10, 3, 3}, {3, 10, 3, 3}, {5, 10, 3, 5}, {0, 2, 3, 2}, {1, 2, 3, 3}, {0, 10, 0, 0},
	} {
		var text strings.Builder
		for i := range c.stale {
			text.WriteString(line(100, SessionEnd, fmt.Sprint(`"n":`, i)))
			if i < c.fresh {
				text.WriteString(line(1, "nudge", ""))
			}
		}
		for range c.fresh - c.stale {
			text.WriteString(line(1, "nudge", ""))
		}
		l := newLog(t, text.String())
		p := Pruning{Expired: older, Keep: c.keep, Archive: true}
		done, err := l.Prune(p)
		testenv.NoError(t, err)
		all := read(t, l)
		if len(all) != c.want || done.TotalRemoved() != c.fresh+c.stale-c.want || done.Carried != done.TotalRemoved() {
			t.Errorf("%+v: %d events are left, %+v", c, len(all), done)
		}
		if got := int64(len(get(t, string(l)))); got != done.After {
			t.Errorf("%+v: %d bytes, not %d", c, got, done.After)
		}
		n := c.stale
		for i := len(all) - 1; i >= 0; i-- { // of the expired ones, the newest
			if all[i].Type == SessionEnd {
				n--
				if want := fmt.Sprintf(`{"n":%d}`, n); string(all[i].Payload) != want {
					t.Errorf("%+v: %s stayed, not %s", c, all[i].Payload, want)
				}
			}
		}
	}
}

func TestPruneLeavesLiveSessionsAlone(t *testing.T) {
	early := line(90, SessionEnd, `"session_id":"live"`)
	live := line(80, SessionStart, `"session_id":"live"`) + line(70, Handoff, `"session_id":"live"`) + line(60, "nudge", `"session_id":"live"`)
	dead := line(80, SessionStart, `"session_id":"dead"`) + line(60, SessionEnd, `"session_id":"dead"`)
	l := newLog(t, early+live+dead+line(60, "nudge", ""))
	p, err := l.Prune(Pruning{Expired: older, Archive: true, StillRuns: func(h Head) bool { return h.Session == "live" }})
	if err != nil || p.TotalRemoved() != 4 || p.Carried != 3 {
		t.Error(p, err)
	}
	if got := get(t, string(l)); got != live {
		t.Errorf("left is\n%s", got)
	}
	if got := get(t, string(l.Archive())); got != early+dead {
		t.Errorf("archived is\n%s", got)
	}
}

func TestRotateSetsTheLogAside(t *testing.T) {
	start := line(2, SessionStart, `"session_id":"s1"`)
	text := line(1, "nudge", "") + start + "no event\n" + `{"type":"session_end","torn`
	l := newLog(t, text)
	r, err := l.Rotate(pruneTime, nil)
	testenv.NoError(t, err)
	if want := filepath.Join(filepath.Dir(string(l)), ".sessions/archive/events-000001-20261121T000000Z.jsonl"); r.Path != want || r.Carried != 2 || r.Bytes != int64(len(text)) {
		t.Errorf("%+v", r)
	}
	if get(t, r.Path) != text || get(t, string(l)) != "" {
		t.Error("the log is not what was set aside")
	}
	if got := get(t, string(l.Archive())); !strings.HasPrefix(got, start) || !strings.HasSuffix(got, "\n") {
		t.Errorf("the archive has\n%s", got)
	}
	tidy(t, l)
	if r, err := l.Rotate(pruneTime, nil); err != nil || r.Path != "" {
		t.Errorf("an empty log was rotated: %+v, %v", r, err)
	}
	if got := l.LastEvent("", "s1", SessionStart, SessionEnd).Type; got != SessionStart {
		t.Errorf("after the rotation the last event of a session is %q", got)
	}
	// A clock that went back changes nothing about the order.
	testenv.NoError(t, l.Append(pruneTime, Handoff, "a", nil))
	if _, err := l.Rotate(pruneTime.Add(-time.Hour), nil); err != nil {
		t.Fatal(err)
	}
	if all := l.Segments(); len(all) != 2 || all[0] != r.Path && filepath.Base(all[0])[:13] != "events-000001" || filepath.Base(all[1])[:13] != "events-000002" {
		t.Error(all)
	}
}

// The log stays its group's, with which it may be shared.
func TestPruneKeepsTheGroup(t *testing.T) {
	groups, err := os.Getgroups()
	other := slices.IndexFunc(groups, func(g int) bool { return g != os.Getegid() })
	group := 12345
	switch {
	case err == nil && other >= 0:
		group = groups[other]
	case os.Geteuid() != 0:
		t.Skip("we are of one group only")
	}
	l := newLog(t, line(48, "nudge", ""))
	testenv.NoError(t, errors.Join(os.Chown(string(l), -1, group), os.Chmod(string(l), 0o660)))
	if p, err := l.Prune(Pruning{Expired: older}); err != nil || p.TotalRemoved() != 1 {
		t.Fatal(p, err)
	}
	info, err := os.Stat(string(l))
	if err != nil || int(info.Sys().(*syscall.Stat_t).Gid) != group || info.Mode().Perm() != 0o660 {
		t.Errorf("%v, %+v, %v", info.Mode(), info.Sys(), err)
	}
}

func TestPruneOfNoLog(t *testing.T) {
	l := Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	if p, err := l.Prune(Pruning{Expired: older}); err != nil || p.TotalRemoved() != 0 {
		t.Error(p, err)
	}
	if p, err := l.Prune(Pruning{Expired: older, DryRun: true}); err != nil || p.TotalRemoved() != 0 {
		t.Error(p, err)
	}
	if r, err := l.Rotate(pruneTime, nil); err != nil || r.Path != "" {
		t.Error(r, err)
	}
	tidy(t, l)
}

// What another has in its hands is not pruned under it, nor is a log that
// somebody else put in its place.
func TestPruneGivesWayToOthers(t *testing.T) {
	text := line(48, SessionEnd, "")
	l := newLog(t, text)
	lock, err := flock.Acquire(string(l)+".prune.lock", 0)
	testenv.NoError(t, err)
	if _, err := l.Prune(Pruning{Expired: older}); !errors.Is(err, flock.ErrBusy) {
		t.Error(err)
	}
	lock.Unlock()
	_, err = l.Prune(Pruning{Archive: true, Expired: func(h Head) bool {
		if get(t, string(l)) == text {
			put(t, string(l)+"2", "another\n")
			testenv.NoError(t, syscall.Rename(string(l)+"2", string(l)))
		}
		return older(h)
	}})
	if !errors.Is(err, ErrReplaced) {
		t.Error(err)
	}
	// What was carried over is kept: the other one may have left it out.
	if got := get(t, string(l)) + get(t, string(l.Archive())); got != "another\n"+text {
		t.Errorf("%q", got)
	}
	tidy(t, l)
}

// A prune that was killed at any point is taken back, or else was done: these
// are the states that it can leave.
func TestPruneClearsAwayWhatAKilledOneLeft(t *testing.T) {
	old, kept := line(48, SessionEnd, `"session_id":"s1"`), line(1, "nudge", "")
	was := line(90, SessionStart, `"session_id":"s1"`)
	// LOG stands for the inode of the log.
	intent := fmt.Sprintf(`{"log":LOG,"archive":%d}`, len(was))
	for name, c := range map[string]struct{ log, archive, new, intent, segment string }{
		"only the new log":          {log: old + kept, archive: was, new: kept[:20]},
		"the intent":                {log: old + kept, archive: was, new: kept[:20], intent: intent},
		"half a line carried over":  {log: old + kept, archive: was + old[:30], new: kept, intent: intent},
		"all but the rename":        {log: old + kept, archive: was + old, new: kept, intent: intent},
		"renamed":                   {log: kept, archive: was + old, intent: intent},
		"rotated but for the name":  {log: old + kept, archive: was + old, new: "", intent: "segment", segment: old + kept},
		"taken back but the intent": {log: old + kept, archive: was, intent: intent},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t, c.log)
			put(t, string(l.Archive()), c.archive)
			segment := filepath.Join(l.archiveFolder().Path(""), "events-000001-20261121T000000Z.jsonl")
			if c.intent == "segment" {
				c.intent = fmt.Sprintf(`{"log":LOG,"archive":%d,"segment":%q}`, len(was), segment)
				testenv.NoError(t, os.Link(string(l), segment))
				put(t, l.newPath(), "")
			}
			if c.new != "" {
				put(t, l.newPath(), c.new)
			}
			if c.intent != "" {
				info, err := os.Lstat(string(l))
				testenv.NoError(t, err)
				put(t, l.intentPath(), strings.ReplaceAll(c.intent, "LOG", fmt.Sprint(inode(info))))
			}
			if _, err := l.Prune(Pruning{Expired: older, Archive: true}); err != nil {
				t.Fatal(err)
			}
			if got := get(t, string(l)); got != kept {
				t.Errorf("the log has\n%s", got)
			}
			if got := get(t, string(l.Archive())); got != was+old {
				t.Errorf("the archive has\n%s", got)
			}
			if all := l.Segments(); len(all) > 0 {
				t.Error(all)
			}
			tidy(t, l)
		})
	}
}

// Another program's prune came after one of ours that was killed, and left out
// what ours had carried over: it stays in the archive, which is the last to have
// it.
func TestPruneAfterAnothersPrune(t *testing.T) {
	old, kept := line(48, SessionEnd, `"session_id":"s1"`), line(1, "nudge", "")
	l := newLog(t, kept)
	put(t, string(l.Archive()), old)
	put(t, l.newPath(), kept)
	put(t, l.intentPath(), `{"log":1,"archive":0}`)
	if _, err := l.Prune(Pruning{Expired: older, Archive: true}); err != nil {
		t.Fatal(err)
	}
	if get(t, string(l)) != kept || get(t, string(l.Archive())) != old {
		t.Errorf("%q, %q", get(t, string(l)), get(t, string(l.Archive())))
	}
	tidy(t, l)
}

// An unreadable intent stops a prune, because nothing shows what to undo.
func TestPruneWithAnIntentThatCannotBeRead(t *testing.T) {
	text := line(48, SessionEnd, "")
	l := newLog(t, text)
	put(t, l.intentPath(), "{")
	put(t, l.newPath(), "half")
	if _, err := l.Prune(Pruning{Expired: older, Archive: true}); err == nil || !strings.Contains(err.Error(), l.intentPath()) {
		t.Error(err)
	}
	if get(t, string(l)) != text {
		t.Error("the log was changed")
	}
}

// Processes append while prunes and rotations follow one another and readers
// look on: each event is in the log, in what was set aside or, as it expires
// by chance, in the archive, once.
func TestAppendDuringPrunesAndRotations(t *testing.T) {
	const processes, each = 64, 300
	l, spare := newSpare(t)
	put(t, string(l), line(-1, SessionStart, ""))
	const last = "last"
	ready, end := make(chan bool, 1), make(chan bool, 1)
	ctx, cancel := context.WithCancel(t.Context())
	var watching, pruning sync.WaitGroup
	told := map[string]int{}
	watching.Go(func() {
		if err := l.Follow(ctx, 1, nil, func(b []byte) bool {
			if told[string(b)]++; len(told) == 1 {
				ready <- true
			}
			if strings.Contains(string(b), last) {
				end <- true
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	})
	<-ready
	var done atomic.Bool
	prunes, rotations := 0, 0
	pruning.Go(func() {
		for n := 0; !done.Load(); n++ {
			if n%2 == 1 {
				if r, err := l.Rotate(time.Now(), nil); err != nil {
					t.Error(err)
				} else if r.Path != "" {
					rotations++
				}
				continue
			}
			p, err := l.Prune(Pruning{Archive: true, Expired: func(h Head) bool {
				return (h.Time.UnixMilli()+int64(n))%3 == 0 // the same answer each time
			}})
			if err != nil {
				t.Error(err)
			}
			if p.TotalRemoved() > 0 {
				prunes++
			}
		}
	})
	watching.Go(func() {
		for ctx.Err() == nil {
			f := map[string]bool{}
			if err := l.Read(func(e Event) bool {
				key := e.Actor + string(e.Payload)
				if f[key] {
					t.Errorf("a reader saw %s twice", key)
				}
				f[key] = true
				return true
			}); err != nil {
				t.Error(err)
			}
		}
	})
	var appending sync.WaitGroup
	for p := range processes {
		appending.Go(func() {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "EVENTLOG_APPEND="+string(l), fmt.Sprint("EVENTLOG_ACTOR=p", p), fmt.Sprint("EVENTLOG_EACH=", each))
			if p%2 == 0 { // as hooks do
				cmd.Env = append(cmd.Env, "EVENTLOG_SPARE="+string(spare))
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	appending.Wait()
	done.Store(true)
	pruning.Wait()
	testenv.NoError(t, l.TakeSpare(spare))
	testenv.NoError(t, l.Append(time.Now(), SessionStart, last, nil))
	<-end // the follower has seen all
	cancel()
	watching.Wait()
	if t.Failed() {
		return
	}
	there, carried := map[string]int{}, map[string]int{}
	count := func(path string, to map[string]int) {
		for b := range strings.Lines(get(t, path)) {
			var e Event
			if err := json.Unmarshal([]byte(b), &e); err != nil || !strings.HasSuffix(b, "\n") {
				t.Fatalf("torn: %q", b)
			}
			to[strings.TrimSuffix(b, "\n")]++
		}
	}
	for _, path := range append(l.Segments(), string(l)) {
		count(path, there)
	}
	count(string(l.Archive()), carried)
	for b, n := range there {
		if n != 1 || told[b] != 1 {
			t.Errorf("there %d times, told %d times: %s", n, told[b], b)
		}
	}
	total := len(there)
	for b, n := range carried {
		if n != 1 || told[b] > 1 { // it may have gone before anybody looked
			t.Errorf("carried over %d times, told %d times: %s", n, told[b], b)
		}
		if there[b] == 0 {
			total++
		}
	}
	if total != 2+processes*each {
		t.Errorf("%d of %d events are there", total, 2+processes*each)
	}
	testenv.NoError(t, os.RemoveAll(filepath.Dir(string(spare))))
	tidy(t, l)
	t.Logf("%d prunes, %d rotations during %d events", prunes, rotations, total)
}

// Somebody who follows is told each line once, whatever becomes of the log.
func TestFollow(t *testing.T) {
	l := Log(filepath.Join(t.TempDir(), ".events.jsonl"))
	lines := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := l.Follow(ctx, 2, nil, func(b []byte) bool { lines <- string(b) + "\n"; return true }); err != nil {
			t.Error(err)
		}
	})
	defer wg.Wait()
	defer cancel()
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			select {
			case got := <-lines:
				if got != w {
					t.Fatalf("told\n%swhere it should be\n%s", got, w)
				}
			case <-time.After(time.Minute):
				t.Fatalf("not told\n%s", w)
			}
		}
	}
	add := func(hours int, kind string) string {
		t.Helper()
		at := pruneTime.Add(-time.Duration(hours) * time.Hour)
		testenv.NoError(t, l.Append(at, kind, "a", map[string]int{"n": rand.Int()}))
		text := get(t, string(l))
		return text[strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1:]
	}
	expect(add(0, "one"))                       // a log that was not there
	expect(add(90, "old"), add(91, SessionEnd)) // which a prune takes out, the last line among them
	prune := func() {
		t.Helper()
		if _, err := l.Prune(Pruning{Expired: older, Archive: true}); err != nil {
			t.Fatal(err)
		}
	}
	rotate := func() {
		t.Helper()
		if _, err := l.Rotate(pruneTime, nil); err != nil {
			t.Fatal(err)
		}
	}
	prune()
	expect(add(0, "after a prune"))
	rotate()
	expect(add(0, "after a rotation"))
	a := add(50, "one that goes at once")
	rotate()
	b := add(0, "then")
	rotate()
	c := add(0, "and then")
	add(80, "lost to a prune between two looks")
	prune()
	d := add(0, "and at last")
	// What expired and was pruned between two looks at the log may be missed.
	got := ""
	for !strings.HasSuffix(got, d) {
		select {
		case s := <-lines:
			if !strings.Contains(s, "lost to a prune") {
				got += s
			}
		case <-time.After(time.Minute):
			t.Fatal("told only\n" + got)
		}
	}
	if got != a+b+c+d {
		t.Errorf("told\n%swhere it should be\n%s", got, a+b+c+d)
	}
	put(t, string(l), line(0, "emptied in place", ""))
	expect(line(0, "emptied in place", ""))
}

func TestFollowBeginsWithTheLast(t *testing.T) {
	text := ""
	for i := range 3000 {
		text += line(1, "nudge", fmt.Sprintf(`"n":%d,"x":%q`, i, strings.Repeat("y", i%200)))
	}
	all := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	all[len(all)-1] += "\n"
	l := newLog(t, text+"torn")
	for _, n := range []int{1, 7, 500, 2999, 3000, 5000} {
		var got []string
		want := all[max(0, len(all)-n):]
		if err := l.Follow(t.Context(), n, nil, func(b []byte) bool {
			got = append(got, string(b)+"\n")
			return len(got) < len(want)
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("%d lines are told as %d", n, len(got))
		}
	}
}

// Follow with wanted begins at the last wanted lines, and also passes on the lines between
// them.
func TestFollowBeginsWithTheLastThatAreWanted(t *testing.T) {
	text := ""
	for i := range 40 {
		text += line(1, []string{"mail", "nudge", "nudge", "nudge"}[i%4], fmt.Sprintf(`"n":%d`, i))
	}
	text += "no event\n"
	all := strings.SplitAfter(text, "\n")
	l := newLog(t, text+"torn")
	for n, want := range map[int][]string{1: all[36:41], 3: all[28:41], 10: all[:41], 50: all[:41]} {
		var got []string
		mail := func(h Head) bool { return h.Type == "mail" }
		if err := l.Follow(t.Context(), n, mail, func(b []byte) bool {
			got = append(got, string(b)+"\n")
			return len(got) < len(want)
		}); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("%d of them are told as\n%s", n, strings.Join(got, ""))
		}
	}
	none := func(Head) bool { return false }
	if at, err := lastWanted(strings.NewReader(text), int64(len(text)), 3, none); err != nil || at != int64(len(text)) {
		t.Error(at, err)
	}
}

// A line that was torn and stays so is not read again with every look.
func TestFollowReadsATornLineOnce(t *testing.T) {
	l := newLog(t, line(1, "mail", "")+strings.Repeat("x", 4<<20))
	told := 0
	f := follower{log: l, each: func([]byte) bool { told++; return true }}
	defer f.close()
	testenv.NoError(t, f.openAt(1, nil))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		testenv.NoError(t, f.catchUp())
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; told != 1 || used > 64<<20 {
		t.Errorf("%d lines are told, for %d bytes", told, used)
	}
	add := func(text string) {
		t.Helper()
		g, err := os.OpenFile(string(l), os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = g.WriteString(text)
			g.Close()
		}
		if err == nil {
			err = f.catchUp()
		}
		testenv.NoError(t, err)
	}
	add("x")
	if add("\n"); told != 2 {
		t.Errorf("%d lines are told once it was ended", told)
	}
}

// BenchmarkPrune takes two of three events out of a log of 200,000, as a ratio
// to what merely reading the same log by the line takes.
func BenchmarkPrune(b *testing.B) {
	var text strings.Builder
	for i := range 200_000 {
		text.WriteString(line(1+i%3*30, []string{"nudge", SessionStart, "mail"}[i%3], fmt.Sprintf(`"session_id":"s%d","text":%q`, i, strings.Repeat("x", 100))))
	}
	l := Log(filepath.Join(b.TempDir(), ".events.jsonl"))
	var reading, pruning time.Duration
	for b.Loop() {
		testenv.NoError(b, os.WriteFile(string(l), []byte(text.String()), 0o600))
		begun := time.Now()
		f, err := os.Open(string(l))
		testenv.NoError(b, err)
		testenv.NoError(b, Scan(f, func([]byte) bool { return true }))
		f.Close()
		reading += time.Since(begun)
		begun = time.Now()
		if p, err := l.Prune(Pruning{Expired: older, Archive: true}); err != nil || p.TotalRemoved() == 0 {
			b.Fatal(p, err)
		}
		pruning += time.Since(begun)
	}
	b.ReportMetric(pruning.Seconds()/reading.Seconds(), "x-reading")
	b.ReportMetric(float64(text.Len())*float64(b.N)/pruning.Seconds()/1e6, "MB/s")
}
