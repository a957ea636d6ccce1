package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gt/internal/testenv"
)

// agent is a client that is ready as soon as it runs: it tells its session to gt's hook, as
// Claude Code does, and waits. What a start takes beyond it is gt's and tmux's.
const agent = `#!/bin/sh
source=startup
for word; do
	case $before in
	--resume) source=resume old=$word ;;
	--session-id) source=startup id=$word ;;
	esac
	before=$word
done
: ${id:=$old}
conversation=$HOME/.claude/projects/starts/$id.jsonl
: >>"$conversation"
printf '{"session_id":"%s","hook_event_name":"SessionStart","source":"%s","cwd":"%s","transcript_path":"%s"}' \
	"$id" $source "$PWD" "$conversation" | gt-prime --hook >/dev/null
exec sleep 1000000
`

// otherAgents is how many agents there are besides the one that is started.
const otherAgents = 11

// starts are the rows that start an agent.
func (w *world) starts() []*row {
	ours := filepath.Join(w.bin, "gt-session")
	size := fmt.Sprint(otherAgents)
	says := func(what string) func(string) error {
		return func(stdout string) error {
			if !strings.HasPrefix(stdout, what) {
				return fmt.Errorf("it said %.500s", stdout)
			}
			return nil
		}
	}
	stop := []string{ours, "stop", "--now", "started"}
	return []*row{
		{name: "gt-session start", size: size, args: []string{ours, "start", "started"}, before: [][]string{stop}, check: says("started started"), starts: true},
		{name: "gt-session restart", size: size, args: []string{ours, "restart", "started"}, before: [][]string{{ours, "start", "started"}}, check: says("restarted started"), starts: true},
		{
			name: "gt-session fork", size: size, args: []string{ours, "fork", "started", "-n", "forked"}, check: says("started forked"), starts: true,
			before: [][]string{{"sh", "-c", ours + " stop --now forked 2>/dev/null && " + ours + " rm forked; :"}},
		},
	}
}

// prepareStarts makes the agent that is started, and has it say something once.
func (w *world) prepareStarts(f *fleet) error {
	if err := testenv.WriteProgram(filepath.Join(w.bin, "claude"), []byte(agent)); err != nil {
		return err
	}
	dir := filepath.Join(f.home, "src", "started")
	for _, dir := range []string{dir, filepath.Join(f.home, ".claude", "projects", "starts")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	f.person[0] = "PATH=" + w.bin + ":" + os.Getenv("PATH")
	_, err := w.exec(f, filepath.Join(w.bin, "gt-session"), "new", dir, "-n", "started")
	return err
}
