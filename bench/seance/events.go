package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// eventRows measure what the event log costs: three events of a session tell of
// it, the others are of others.
func eventRows(w *world) ([]row, error) {
	town, err := w.town("town", w.events, w.sessions)
	if err != nil {
		return nil, err
	}
	grows, err := w.town("grows", w.events, w.sessions)
	if err != nil {
		return nil, err
	}
	small, err := w.town("small", 20*100, 20)
	if err != nil {
		return nil, err
	}
	// A log of nobody's town, as most people have it.
	alone := filepath.Join(w.dir, "alone")
	err = errors.Join(os.MkdirAll(filepath.Join(alone, "gt"), 0o700), os.Mkdir(filepath.Join(w.dir, "home"), 0o700))
	if err != nil {
		return nil, err
	}
	err = appendTo(filepath.Join(alone, "gt", ".events.jsonl"), func(out io.Writer) { sessions(out, w.events, w.sessions) })
	if err != nil {
		return nil, err
	}
	over := func(args ...string) command { return w.seance(w.dir, args...).withEnv("XDG_STATE_HOME=" + alone) }

	events := filepath.Join(town, ".events.jsonl")
	ids, err := loggedIn(events)
	if err != nil {
		return nil, err
	}
	newest := begins(1, ids[:20])
	none := func() error { return os.RemoveAll(filepath.Join(town, ".sessions")) }
	more := w.sessions
	fresh := func() error {
		if err := none(); err != nil {
			return err
		}
		_, err := w.exec(w.seance(town))
		return err
	}
	stores := command{"find", []string{"find", filepath.Join(w.dir, "home"), "-type", "f"}, w.dir}
	wc := command{"wc -l", []string{"wc", "-l", events}, town}
	some := ids[w.sessions/2]
	all := []row{
		{name: "list, nothing new", run: w.seance(town), against: w.floor(town), minus: stores, budget: 4, prepare: fresh, check: newest},
		{name: "the same, outside of a town", run: over(), against: w.floor(town).withEnv("A=1"), minus: stores, budget: 4, check: newest},
		{name: "the same, 2,000 events", run: w.seance(small), against: w.floor(small), minus: stores, budget: 4},
		{name: "list, no cache", run: w.seance(town), against: wc, budget: 3, prepare: none, check: newest, rare: true},
		{name: "the session events, a bare program", run: w.bare("events", events), against: wc, check: says(fmt.Sprint(3 * w.sessions)), rare: true},
		{name: "a SQLite row each, a bare program", run: w.bare("rows", fmt.Sprint(w.sessions)), against: wc, check: says(fmt.Sprint(w.sessions)), rare: true},
		{name: "list --active", run: w.seance(town, "list", "--active"), against: w.floor(town), minus: stores, budget: 4, check: newest, rare: true},
		{name: "list --limit 0 --json", run: w.seance(town, "list", "--limit", "0", "--json"), against: wc, rare: true},
		{name: "find", run: w.seance(town, "find"), against: wc, check: begins(0, ids), rare: true},
		{name: "find --agent", run: w.seance(town, "find", "--agent", "crew/a7"), against: wc, rare: true},
		{name: "show", run: w.seance(town, "show", some), against: w.floor(town), budget: 4, check: says(some)},
		{name: "show, a prefix", run: w.seance(town, "show", some[:8]), against: w.floor(town), budget: 4, check: says(some)},
		{name: "completion of nothing", run: w.seance(town, "__complete", "show", ""), against: w.floor(town), budget: 4, check: begins(0, ids[:50])},
		{name: "completion of a prefix", run: w.seance(town, "__complete", "show", some[:6]), against: w.floor(town), budget: 4, check: says(some)},
		{name: "chain", run: w.seance(town, "chain", some), against: wc, check: says(some[:8])},
		{name: "timeline", run: w.seance(town, "timeline", "--svg", "-"), against: wc, check: says("<svg")},
		{name: "timeline of all", run: w.seance(town, "timeline", "--svg", "-", "--limit", "0"), against: wc, check: says("<svg"), rare: true},
		{name: "list, a session more", run: w.seance(grows), against: w.floor(town), check: says("SESSION"), prepare: func() error {
			more++
			return appendTo(filepath.Join(grows, ".events.jsonl"), func(out io.Writer) { session(out, more, 10) })
		}},
		{
			name: "jq, the starts in the log", against: wc, rare: true,
			run: command{"jq", []string{"jq", "-c", `select(.type == "session_start") | .payload.session_id`, events}, town},
		},
	}
	return append(all, w.pickRow(town)), nil
}

// pickRow measures how long pick takes for its first screen: a finder that reads as much
// and ends stands in for gt-pick.
func (w *world) pickRow(town string) row {
	in := func(line string) command {
		return command{"floors in a terminal", []string{"script", "-qec", line + "; true", "/dev/null"}, town}
	}
	finder := filepath.Join(w.bin, "gt-pick")
	r := row{name: "pick, its first screen", budget: 4, run: in(filepath.Join(w.bin, "gt-seance") + " pick"), against: in(filepath.Join(w.bin, "floor"))}
	r.prepare = func() error {
		return os.WriteFile(finder, []byte("#!/bin/sh\nhead -n 20 | wc -l >&2\nexit 1\n"), 0o700)
	}
	r.check = says("20")
	return r
}

// says is a check for a text.
func says(want string) func(string) error {
	return func(stdout string) error {
		if !strings.Contains(stdout, want) {
			return fmt.Errorf("%q is not in the answer: %.300q", want, stdout)
		}
		return nil
	}
}

// town makes a town with an event log.
func (w *world) town(name string, events, count int) (string, error) {
	dir := filepath.Join(w.dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "town.toml"), nil, 0o600); err != nil {
		return "", err
	}
	if _, err := w.exec(command{"trust", []string{filepath.Join(w.bin, "gt-hooks"), "trust", "--yes", dir}, w.dir}); err != nil {
		return "", err
	}
	return dir, appendTo(filepath.Join(dir, ".events.jsonl"), func(out io.Writer) { sessions(out, events, count) })
}

// sessions writes a log.
func sessions(out io.Writer, events, count int) {
	for n := range count {
		session(out, n, events/count)
	}
}

func appendTo(path string, write func(io.Writer)) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(f, 1<<20)
	write(out)
	return errors.Join(out.Flush(), f.Close())
}

// id is the n-th session's; its beginning differs from all others'.
func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(n)*2654435761, n) }

// session writes the events of the n-th session, so many, of which all but three
// are others'.
func session(out io.Writer, n, events int) {
	begin := time.Date(2025, 1, 17, 1, 0, 0, 0, time.UTC).Add(time.Duration(n) * 5 * time.Minute)
	actor := fmt.Sprintf("gastown/crew/a%d", n%50)
	event := func(i int, kind, actor, payload string) {
		fmt.Fprintf(out, `{"ts":%q,"source":"gt","type":%q,"actor":%q,"payload":{%s},"visibility":"feed"}`+"\n",
			begin.Add(time.Duration(i)*4*time.Minute/time.Duration(events)).Format("2006-01-02T15:04:05.000Z"), kind, actor, payload)
	}
	event(0, "session_start", actor, fmt.Sprintf(`"session_id":%q,"role":"crew","actor_pid":"%s-%d","cwd":"/home/max/src/ledger",`+
		`"topic":"assigned","agent":"claude","source":"startup","chain_id":%q,"transcript_path":"/home/max/.claude/projects/-home-max-src-ledger/%s.jsonl",`+
		`"branch":"main","tmux_session":"gt-crew-a%d","work_unit":"ledger-%d","host":"quarry","pid":%d`, id(n), actor, n, id(n), id(n), n%50, n, n))
	for i := 1; i < events-2; i++ {
		event(i, []string{"patrol_started", "polecat_checked", "nudge", "sling"}[i%4], "gastown/witness", fmt.Sprintf(
			`"rig":"gastown","polecat":"p%d","message":"looked at the pane: the agent is at work and needs nothing; the last output was a while ago"`, i))
	}
	event(events-2, "handoff", actor, fmt.Sprintf(`"session_id":%q,"subject":"Port the parser, part %d","to_session":true,"note":"%08x","kind":"handoff"`, id(n), n, n))
	event(events-1, "session_end", actor, fmt.Sprintf(`"session_id":%q,"outcome":"handoff","reason":"context full"`, id(n)))
}
