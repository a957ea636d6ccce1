package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"gt/internal/testenv"
)

// world is a machine with a repository, a long session's transcript, and towns
// with event logs of several sizes.
type world struct {
	dir        string // everything lies below it
	bin        string
	home       string
	person     []string // the environment of whose home that is
	repo       string
	transcript string
	git        string
	tmux       string
	socket     string // of a tmux server; "" without tmux

	sessions int      // how many ids were given out
	skipped  []string // what could not be measured, and why

	floors, gits, tmuxes []time.Duration
}

func newWorld(below string) (*world, error) {
	dir, err := os.MkdirTemp(below, "gt-bench-")
	if err != nil {
		return nil, err
	}
	w := &world{
		dir: dir, bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "ledger"),
		transcript: filepath.Join(dir, "home", ".claude", "projects", "ledger", "transcript.jsonl"),
	}
	build := func() error {
		return testenv.Build(w.bin, "gt/cmd/...", "gt/bench/hooks/floor", "gt/bench/hooks/peak")
	}
	for _, step := range []func() error{build, w.makeRepo, w.writeTranscript, w.startTmux} {
		if err := step(); err != nil {
			w.remove()
			return nil, err
		}
	}
	return w, nil
}

func (w *world) remove() {
	if w.socket != "" {
		_ = exec.Command(w.tmux, "-S", w.socket, "kill-server").Run()
	}
	os.RemoveAll(w.dir)
}

// files is how many files the repository has.
const files = 4000

// makeRepo makes a repository with a few changes in it.
func (w *world) makeRepo() error {
	var err error
	if w.git, err = exec.LookPath("git"); err != nil {
		return err
	}
	if w.person, err = testenv.Person(w.home); err != nil {
		return err
	}
	// Files as old as the index are read again by each git status.
	old := time.Now().Add(-time.Hour)
	for i := range files {
		path := filepath.Join(w.repo, fmt.Sprintf("internal/d%d/sub%d/f%d.go", i%40, i%7, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "package f%d\n", i), 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-qm", "Begin the ledger"}} {
		c := exec.Command(w.git, args...)
		c.Dir, c.Env = w.repo, w.environ(w.dir)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args[0], err, out)
		}
	}
	for _, path := range []string{"internal/d0/sub0/f0.go", "internal/d1/sub1/f1.go", "changed.go", "internal/new.go"} {
		if err := os.WriteFile(filepath.Join(w.repo, path), []byte("package changed\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// environ is what a client gives its hooks, without anything of the one who
// runs the benchmark. state is the folder that holds the personal town.
func (w *world) environ(state string, more ...string) []string {
	env := append(slices.Clip(w.person),
		"XDG_STATE_HOME="+state, "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_ENV_FILE="+filepath.Join(w.dir, "env.sh"))
	return append(env, more...)
}

type object = map[string]any

// writeLog makes a town with an event log of so many events, and returns the
// folder that holds it.
func (w *world) writeLog(events int) (string, error) {
	state := filepath.Join(w.dir, fmt.Sprintf("state-%d", events))
	path := logIn(state)
	if _, err := os.Stat(path); err == nil {
		return state, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	if events == 0 {
		return state, nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	for i := range events {
		kind, more := "session_start", `,"role":"crew","agent":"claude","source":"startup","cwd":"/home/max/ledger","branch":"main"`
		if i%2 == 1 {
			kind, more = "session_end", `,"outcome":"done","reason":"prompt_input_exit"`
		}
		fmt.Fprintf(out, `{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"%s","actor":"gastown/crew/max","payload":{"session_id":"%s","actor_pid":"gastown/crew/max-%d"%s},"visibility":"feed"}`+"\n",
			kind, id(1<<24+i/2), i, more)
	}
	return state, out.Flush()
}

func logIn(state string) string { return filepath.Join(state, "gt", ".events.jsonl") }

// startTmux starts a server of its own with one pane.
func (w *world) startTmux() error {
	var err error
	if w.tmux, err = exec.LookPath("tmux"); err != nil {
		w.skipped = append(w.skipped, "the rows in tmux, for tmux is not installed")
		return nil
	}
	socket := filepath.Join(w.dir, "tmux")
	c := exec.Command(w.tmux, "-S", socket, "-f", "/dev/null", "new-session", "-d", "-s", "bench", "sleep 86400")
	c.Dir, c.Env = w.repo, w.environ(w.dir)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("tmux: %w\n%s", err, out)
	}
	w.socket = socket
	return nil
}

// id is the n-th session id.
func id(n int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", n) }

// newSessionID is a session id that was not used yet.
func (w *world) newSessionID() string {
	w.sessions++
	return id(w.sessions)
}
