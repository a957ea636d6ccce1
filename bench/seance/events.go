package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// eventRows measure what the event log costs: a hundred events a session, three
// of which tell of it.
func eventRows(w *world) ([]row, error) {
	sessions := max(w.events/100, 1)
	town, err := w.town("town", w.events, sessions)
	if err != nil {
		return nil, err
	}
	small, err := w.town("small", 20*100, 20)
	if err != nil {
		return nil, err
	}
	events := filepath.Join(town, ".events.jsonl")
	lines := func(n int) func(string) error {
		return func(stdout string) error {
			if got := strings.Count(stdout, "\n"); got != n {
				return fmt.Errorf("%d lines, not %d", got, n)
			}
			return nil
		}
	}
	none := func() error { return os.RemoveAll(filepath.Join(town, ".sessions")) }
	more := sessions
	fresh := func() error {
		if err := none(); err != nil {
			return err
		}
		_, err := w.exec(w.seance(town))
		return err
	}
	wc := command{"wc -l", []string{"wc", "-l", events}, town}
	size := fmt.Sprintf("%d events", w.events)
	all := []row{
		{name: "list, " + size + ", nothing new", run: w.seance(town), against: w.floor(town), budget: 4, prepare: fresh, check: lines(21)},
		{name: "the same, a log of 2000", run: w.seance(small), against: w.floor(small), check: lines(21)},
		{name: "list, " + size + ", no cache", run: w.seance(town), against: wc, budget: 2, prepare: none, check: lines(21)},
		{name: "list --limit 0 --json, nothing new", run: w.seance(town, "list", "--limit", "0", "--json"), against: wc},
		{name: "find --agent, nothing new", run: w.seance(town, "find", "--agent", "crew/a7"), against: wc},
		{name: "show, nothing new", run: w.seance(town, "show", id(7)), against: w.floor(town)},
		{name: "list, a session more", run: w.seance(town), against: w.floor(town), check: lines(21), prepare: func() error {
			more++
			return appendTo(events, func(out io.Writer) { session(out, more, 100) })
		}},
	}
	if jq, err := exec.LookPath("jq"); err == nil {
		all = append(all, row{
			name: "jq, the starts in the log", against: wc, rare: true,
			run: command{"jq", []string{jq, "-c", `select(.type == "session_start") | .payload.session_id`, events}, town},
		})
	}
	return all, nil
}

// town makes a town with an event log.
func (w *world) town(name string, events, sessions int) (string, error) {
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
	return dir, appendTo(filepath.Join(dir, ".events.jsonl"), func(out io.Writer) {
		for s := range sessions {
			session(out, s, events/sessions)
		}
	})
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
	begin := time.Date(2025, 1, 17, 1, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Hour)
	actor := fmt.Sprintf("gastown/crew/a%d", n%50)
	event := func(i int, kind, actor, payload string) {
		fmt.Fprintf(out, `{"ts":%q,"source":"gt","type":%q,"actor":%q,"payload":{%s},"visibility":"feed"}`+"\n",
			begin.Add(time.Duration(i)*time.Hour/time.Duration(events)).Format("2006-01-02T15:04:05.000Z"), kind, actor, payload)
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
