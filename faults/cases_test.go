//go:build linux

package faults

import (
	"strings"
	"testing"
)

// A scenario is one command that writes, in a world in which it has something
// to do. The table below is what the loops go through: a new command is a new
// entry.
type scenario struct {
	name    string
	args    []string // the command line
	input   string   // its standard input, WORLD standing for the world's path
	dir     string   // where it runs, in the world; "work" where empty
	env     []string
	prepare func(t *testing.T, w *world)

	// grows says that a command which is run again does its work again, so that
	// after a run that was killed there may be one note or event more.
	grows bool
}

func (s scenario) folder() string {
	if s.dir == "" {
		return "work"
	}
	return s.dir
}

// hook says whether a client runs it, and asks for the exit code 0.
func (s scenario) hook() bool {
	for _, a := range s.args {
		if a == "--hook" {
			return true
		}
	}
	return false
}

// again is the input of the same command when it is run another time: hooks
// that bring the same input twice are taken for one that is wired twice.
func (s scenario) again() string {
	if strings.HasPrefix(s.input, "{") {
		return `{"again":true,` + s.input[1:]
	}
	return s.input
}

func input(w *world, text string) string { return strings.ReplaceAll(text, "WORLD", w.root) }

const (
	startOld = `{"session_id":"s-old","hook_event_name":"SessionStart","source":"startup","cwd":"WORLD/work","transcript_path":"WORLD/t.jsonl"}`
	startNew = `{"session_id":"s-new","hook_event_name":"SessionStart","source":"startup","cwd":"WORLD/work"}`
	stopOld  = `{"session_id":"s-old","hook_event_name":"Stop","cwd":"WORLD/work","last_assistant_message":"The lexer is done, the parser is next."}`
	prompt   = `{"session_id":"s-old","hook_event_name":"UserPromptSubmit","cwd":"WORLD/work"}`
	compact  = `{"session_id":"s-old","hook_event_name":"PreCompact","trigger":"auto","cwd":"WORLD/work","transcript_path":"WORLD/t.jsonl"}`
)

func repository(t *testing.T, w *world) { w.repository(t, "work") }

var scenarios = []scenario{
	{
		name: "prime-first", args: []string{"gt-prime", "--hook", "--agent", "claude"}, input: startNew,
		prepare: repository,
	},
	{
		name: "prime-handed-over", args: []string{"gt-prime", "--hook", "--agent", "claude"}, input: startNew,
		prepare: func(t *testing.T, w *world) {
			repository(t, w)
			w.gone(t, input(w, startOld), "work", "gt-prime", "--hook")
			w.env = []string{"CLAUDE_CODE_SESSION_ID=s-old"}
			w.gone(t, "", "work", "gt-handoff", "-s", "half done", "-m", "the parser is next")
			w.env = nil
		},
	},
	{
		name: "keepalive-touch", args: []string{"gt-keepalive", "touch", "--hook", "--agent", "claude"}, input: prompt,
		prepare: func(t *testing.T, w *world) {
			repository(t, w)
			w.must(t, input(w, startOld), "work", "gt-prime", "--hook")
			w.must(t, input(w, strings.Replace(prompt, "UserPromptSubmit", "Stop", 1)), "work", "gt-keepalive", "touch", "--hook")
		},
	},
}
