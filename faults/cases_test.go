//go:build linux

package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gt/lib/place"
	"gt/lib/state/peer"
	"gt/lib/state/request"
)

// A scenario is one command that writes, in a world in which it has something
// to do. The table below is what the loops go through: a new command is a new
// entry.
type scenario struct {
	name  string
	args  []string // the command line
	input string   // its standard input
	env   []string
	dir   string // where it runs, in the world; "work" where empty

	// prepare makes the world. What differs from world to world it puts in vars,
	// by whose names it can be used in args, input and env: WORLD is one.
	prepare func(t *testing.T, w *world)

	// live starts what the command meets and what a copy of the world cannot
	// hold, a process for one. It is called before every run, and what it
	// returns after it.
	live func(t *testing.T, w *world) (stop func())

	// next is what is done after a hand-over: the session that follows, and what
	// it has to be told where there is a marker.
	next string

	// drops are files that a start takes away without a word, because nobody
	// needs to be told of them.
	drops []string

	// unsure is the exit code of an answer that is no where nothing can be found
	// out; 0 for none.
	unsure int

	again int // the exit code of the command when it is run again

	short bool // -short has it, see covering_test.go
}

func (s scenario) folder() string {
	if s.dir == "" {
		return "work"
	}
	return s.dir
}

// hook reports whether a client runs it, and asks for the exit code 0.
func (s scenario) hook() bool { return slices.Contains(s.args, "--hook") }

// laterInput is the input of the same command when it is run another time: hooks
// that bring the same input twice are taken for one that is wired twice.
func laterInput(input string) string {
	if strings.HasPrefix(input, "{") {
		return `{"again":true,` + input[1:]
	}
	return input
}

// event is a hook's input.
func event(session, event string, more ...string) string {
	text := fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":"WORLD/work","transcript_path":"WORLD/home/.claude/projects/work/s-old.jsonl"`, session, event)
	for i := 0; i < len(more); i += 2 {
		text += fmt.Sprintf(",%q:%q", more[i], more[i+1])
	}
	return text + "}"
}

func start(session, source string) string { return event(session, "SessionStart", "source", source) }

var (
	// Copilot says nothing of a start after a compaction: a prompt is told.
	primeCopilot = []string{"gt-prime", "--hook", "--agent", "copilot"}

	touchCopilot = []string{"gt-keepalive", "touch", "--hook", "--agent", "copilot"}

	prime     = []string{"gt-prime", "--hook", "--agent", "claude"}
	touch     = []string{"gt-keepalive", "touch", "--hook", "--agent", "claude"}
	ends      = []string{"gt-keepalive", "end", "--hook", "--agent", "claude"}
	write     = []string{"gt-checkpoint", "write", "--hook", "--agent", "claude"}
	auto      = []string{"gt-handoff", "--auto", "--hook", "--reason", "compaction", "--agent", "claude"}
	message   = "the parser is next"
	lastWords = "The lexer is done"
	handoff   = []string{"gt-handoff", "-s", "half done", "-m", message}
	stop      = event("s-old", "Stop", "last_assistant_message", lastWords+", and all of it.")
	compact   = event("s-old", "PreCompact", "trigger", "auto")
	asOld     = []string{"CLAUDE_CODE_SESSION_ID=s-old"}
)

// transcript is the conversation of s-old.
const transcript = `{"type":"user","uuid":"1","sessionId":"s-old","cwd":"/w","timestamp":"2026-01-17T01:00:00.000Z","message":{"role":"user","content":"Add the export command, but never touch the schema"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s-old","timestamp":"2026-01-17T01:01:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"The command parses its flags now."}]}}
`

// The worlds. In each a session s-old works, or worked, in work/.

func empty(t *testing.T, w *world) {
	w.repository(t, "work")
	noError(t, os.MkdirAll(w.Path("home/.claude/projects/work"), 0o700))
	noError(t, os.WriteFile(w.Path("home/.claude/projects/work/s-old.jsonl"), []byte(transcript), 0o600))
}

// lives has s-old alive, for its client is the test itself.
func lives(t *testing.T, w *world) {
	empty(t, w)
	w.mustRun(t, start("s-old", "startup"), "work", prime...)
}

// asks has s-old waiting for a permission.
func asks(t *testing.T, w *world) {
	lives(t, w)
	w.mustRun(t, event("s-old", "PermissionRequest", "tool_name", "Bash"), "work", touch...)
}

// saved has s-old alive with a checkpoint, a note that is hooked and a hand-over
// from before a compaction.
func saved(t *testing.T, w *world) {
	lives(t, w)
	w.mustRun(t, stop, "work", write...)
	w.mustRun(t, "", "work", "gt-mail", "hook", "--new", "-s", "fix the lamp", "-m", "It flickers.")
	w.mustRun(t, compact, "work", auto...)
}

// typed has s-old alive with a thread, and a message in its conversation that the thread
// does not have yet.
func typed(t *testing.T, w *world) {
	saved(t, w)
	f, err := os.OpenFile(w.Path("home/.claude/projects/work/s-old.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	noError(t, err)
	_, err = f.WriteString(`{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s-old","timestamp":"2026-01-17T01:02:00.000Z","message":{"role":"user","content":"the staging box listens on 7443"}}` + "\n")
	noError(t, errors.Join(err, f.Close()))
}

// compactedSilently has a session s-old of Copilot after a compaction, of which
// only its hand-over tells.
func compactedSilently(t *testing.T, w *world) {
	empty(t, w)
	w.mustRun(t, start("s-old", "startup"), "work", primeCopilot...)
	w.mustRun(t, compact, "work", "gt-handoff", "--auto", "--hook", "--reason", "compaction", "--agent", "copilot")
}

// unborn has s-old gone, and a message to s-new whose start is not recorded yet.
func unborn(t *testing.T, w *world) {
	crashed(t, w)
	w.mustRun(t, event("s-new", "UserPromptSubmit", "prompt", "the staging box listens on 7443"), "work", touchCopilot...)
}

// table has two agents of the person's own, one with hooks and one without, and
// s-old of Claude Code gone.
func table(t *testing.T, w *world) {
	crashed(t, w)
	noError(t, os.MkdirAll(w.Path("home/.config/gt"), 0o700))
	noError(t, os.WriteFile(w.Path("home/.config/gt/agents.toml"), []byte(`
[agents.next]
command = "true"
dialect = "claude"
[agents.plain]
command = "true"
`), 0o600))
}

// crashed has s-old gone without a word, and a checkpoint of it.
func crashed(t *testing.T, w *world) {
	empty(t, w)
	w.gone(t, start("s-old", "startup"), "work", prime...)
	w.mustRun(t, stop, "work", write...)
}

// handed has s-old gone after a hand-over.
func handed(t *testing.T, w *world) {
	crashed(t, w)
	w.withEnv(asOld...).gone(t, "", "work", handoff...)
}

// byPerson has s-old gone, and a hand-over of the person's, which no session's record has.
func byPerson(t *testing.T, w *world) {
	crashed(t, w)
	w.mustRun(t, "", "work", handoff...)
}

// byOther has s-old gone, and a marker and a note without a file, as v0.2.0 and Gas Town's gt leave them.
func byOther(t *testing.T, w *world) {
	byPerson(t, w)
	noError(t, os.RemoveAll(w.home("work").Path("handover")))
}

// longAgo has s-old gone, and a hand-over note that was told long ago.
func longAgo(t *testing.T, w *world) {
	crashed(t, w)
	w.mustRun(t, "", "work", "gt-mail", "hook", "--new", "-s", "fix the lamp", "-m", "It flickers.")
	text := "Subject: long ago\nX-Gt-Type: handoff\n\nAll of it.\n"
	noError(t, os.WriteFile(w.home("work").Path("mail", "cur", "1737075600.M000001R0000000a.vm:2,S"), []byte(text), 0o600))
}

// loaded is a buffer of tmux that describes the successor: true(1).
const loaded = "gt-AAAAAAAAAAAAAAAAAAAAAAAAAA"

// restarted has a tmux server that holds that.
func restarted(t *testing.T, w *world) func() {
	tmux := func(stdin string, args ...string) {
		w.mustRun(t, stdin, ".", append([]string{"tmux", "-S", w.Path("tmp/s"), "-f", os.DevNull}, args...)...)
	}
	noError(t, os.MkdirAll(w.Path("tmp"), 0o700))
	tmux("", "new-session", "-d", "sleep", "600")
	tmux(fmt.Sprintf(`{"dir":%q,"args":["true","x"],"env":["PATH=%s"],"pane":"%%0","remain_on_exit":{"set":false}}`,
		w.Path("work"), os.Getenv("PATH")), "load-buffer", "-b", loaded, "-")
	return func() { tmux("", "kill-server") }
}

// asked has s-old of Claude Code ask, in its sandbox, for a note and a checkpoint. It
// shows LINE.
func asked(t *testing.T, w *world) {
	lives(t, w)
	text := []byte(`{"kind":"note","at":"2026-01-17T01:00:00Z","subject":"asked"}
{"kind":"checkpoint","at":"2026-01-17T01:00:00Z","notes":"the lamp is lit"}
`)
	noError(t, place.RequestOf(w.Path("work"), "s-old").Write(text))
	w.vars["LINE"] = request.Line(text)
}

// noted has a note for the agent, NOTE.
func noted(t *testing.T, w *world) {
	empty(t, w)
	r := w.mustRun(t, "", "work", "gt-mail", "send", "self", "-s", "fix the lamp", "-m", "It flickers.")
	w.vars["NOTE"] = strings.Fields(r.stdout)[0]
}

// joined knows another host, and has a letter for it, NOTE.
func joined(t *testing.T, w *world) {
	noted(t, w)
	hosts := peer.NewHosts(place.State(w.Path("home/.local/state/gt")))
	// The host was last seen long ago, so that every run prints the same.
	noError(t, errors.Join(hosts.SetOwn(peer.Host{Name: "laptop"}), hosts.Put(peer.Host{Name: "box", LastSeen: time.Now().Add(-240 * time.Hour)})))
	r := w.mustRun(t, "", "work", "gt-mail", "send", "api@box", "-s", "fix the lamp", "-m", "It flickers.")
	w.vars["NOTE"] = strings.Fields(r.stdout)[0]
}

// placed has a place for an agent, in a group.
func placed(t *testing.T, w *world) {
	empty(t, w)
	w.mustRun(t, "", "work", "gt-session", "new", "-n", "one", "-g", "work/back", "--no-start")
}

// exported has that, and a file with more.
func exported(t *testing.T, w *world) {
	placed(t, w)
	const file = `{"instances": [
		{"id": "a1", "title": "two", "tool": "claude", "project_path": "/src", "group_path": "work/back", "created_at": "2026-01-15T10:00:00Z", "mine": 1},
		{"id": "a2", "title": "two", "tool": "codex", "project_path": "/src", "parent_session_id": "a1", "created_at": "2026-01-15T10:00:00Z"}
	], "groups": [{"name": "Play", "path": "play", "order": 3}]}`
	noError(t, os.WriteFile(w.Path("work/sessions.json"), []byte(file), 0o600))
}

// talked has a place for an agent with a conversation.
func talked(t *testing.T, w *world) {
	empty(t, w)
	w.mustRun(t, "", "work", "gt-session", "new", "-n", "talks", "--resume", "s-old", "--no-start")
}

// hooked has that note hooked.
func hooked(t *testing.T, w *world) {
	noted(t, w)
	w.mustRun(t, "", "work", "gt-mail", "hook", w.vars["NOTE"])
}

// town has a town with two agents, max and joe of the rig gastown.
func town(t *testing.T, w *world) {
	for _, dir := range []string{"max", "joe"} {
		noError(t, os.MkdirAll(w.Path("town/gastown/crew", dir), 0o700))
	}
	noError(t, os.WriteFile(w.Path("town/town.toml"), []byte("[rigs.gastown]\nprefix = \"gt\"\n"), 0o600))
	w.mustRun(t, "", "town", "gt-hooks", "trust", "--yes")
	w.mustRun(t, "", "town/gastown/crew/joe", "gt-mail", "hook", "--new", "-s", "the tests", "-m", "Make them pass.")
}

// worn has what others left there: a torn log, a record that cannot be parsed,
// a checkpoint that is none, and temporary files.
func worn(t *testing.T, w *world) {
	crashed(t, w)
	h := w.home("work")
	old := time.Now().Add(-48 * time.Hour)
	for path, text := range map[string]string{
		h.Path("sessions", "s-new.json"):                 `{"id":"s-n`,
		h.Path("checkpoint-s-new.json"):                  `{"notes":`,
		h.Path(".session_id.gt-tmp-0000000000000000"):    "s-",
		h.Path("sessions", ".x.gt-tmp-0000000000000000"): "{",
	} {
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		noError(t, os.Chtimes(path, old, old))
	}
	log := h.Town.Events()
	data, err := os.ReadFile(log)
	noError(t, err)
	noError(t, os.WriteFile(log, append(data, `{"ts":"2026-01-17T01:0`...), 0o600))
}

// settings has a person's own settings file, with hooks of another's.
func settings(t *testing.T, w *world) {
	w.repository(t, "work")
	noError(t, os.MkdirAll(w.Path("home/.claude"), 0o700))
	noError(t, os.WriteFile(w.Path("home/.claude/settings.json"), []byte(`{
  "model": "opus",
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}
}
`), 0o644))
}

func installed(t *testing.T, w *world) {
	settings(t, w)
	w.mustRun(t, "", "work", "gt-hooks", "install", "claude")
}

// linked has the settings in a dotfile manager's folder, behind a link.
func linked(t *testing.T, w *world) {
	settings(t, w)
	noError(t, os.Rename(w.Path("home/.claude/settings.json"), w.Path("home/dotfiles.json")))
	noError(t, os.Symlink("../dotfiles.json", w.Path("home/.claude/settings.json")))
}

// tracked tracks a process that is gone.
func tracked(t *testing.T, w *world) {
	w.repository(t, "work")
	w.mustRun(t, "", "work", "client", "gt-keepalive", "pid", "track", "gone")
}

// sleeper starts a process and tracks it.
func sleeper(t *testing.T, w *world) func() {
	cmd := exec.Command("sleep", "600")
	noError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	w.mustRun(t, "", "work", "gt-keepalive", "pid", "track", "sleeper", strconv.Itoa(cmd.Process.Pid))
	return func() {
		_ = cmd.Process.Kill() // unless it was reaped
		<-ended
	}
}

var scenarios = []scenario{
	{name: "prime-first", args: prime, input: start("s-new", "startup"), prepare: empty},
	{name: "prime-handed-over", short: true, args: prime, input: start("s-new", "startup"), prepare: handed},
	{name: "prime-by-person", args: prime, input: start("s-new", "startup"), prepare: byPerson},
	{name: "prime-claim", args: prime, input: start("s-new", "startup"), prepare: byOther},
	{name: "prime-crash", args: prime, input: start("s-new", "startup"), prepare: crashed},
	{name: "prime-clear", args: prime, input: start("s-new", "clear"), prepare: saved,
		drops: []string{"handoff", "s-old"}}, // what s-old left for itself: without words, and it has ended
	{name: "prime-compact", args: prime, input: start("s-old", "compact"), prepare: saved},
	{name: "prime-resume", args: prime, input: start("s-old", "resume"), prepare: func(t *testing.T, w *world) {
		saved(t, w)
		w.mustRun(t, event("s-old", "SessionEnd", "reason", "logout"), "work", ends...)
	}},
	{name: "prime-worn", args: prime, input: start("s-new", "startup"), prepare: worn,
		env: []string{"CLAUDE_ENV_FILE=WORLD/env.sh"}},
	{name: "prime-by-agent", args: []string{"gt-prime"}, env: []string{"CLAUDE_CODE_SESSION_ID=s-new"}, prepare: handed},
	{name: "prime-prompt", args: primeCopilot, input: event("s-old", "UserPromptSubmit", "prompt", "go on"), prepare: compactedSilently},
	{name: "prime-overlap", args: primeCopilot, input: start("s-new", "startup"), prepare: unborn},
	{name: "prime-new-chain", args: []string{"gt-prime", "--new-chain"}, env: []string{"CLAUDE_CODE_SESSION_ID=s-new"}, prepare: func(t *testing.T, w *world) {
		handed(t, w)
		w.mustRun(t, start("s-new", "startup"), "work", prime...)
	}, again: 1},
	{name: "hooks-trust", args: []string{"gt-hooks", "trust", "--yes"}, dir: "town", prepare: town},
	{name: "hooks-untrust", args: []string{"gt-hooks", "untrust", "."}, dir: "town", prepare: town, again: 1},
	{name: "prime-town", args: prime, input: strings.Replace(start("s-new", "startup"), "WORLD/work", "WORLD/town/gastown/crew/joe", 1),
		dir: "town/gastown/crew/joe", prepare: town},

	{name: "handoff-auto", args: auto, input: compact, prepare: lives},
	{name: "handoff-auto-again", args: auto, input: event("s-old", "PreCompact", "trigger", "manual"), prepare: saved},
	{name: "handoff-save", short: true, args: handoff, env: asOld, prepare: func(t *testing.T, w *world) {
		empty(t, w)
		w.gone(t, start("s-old", "startup"), "work", prime...)
	}, next: message},
	{name: "handoff-retires", args: handoff, env: asOld, prepare: longAgo, next: message},
	{name: "handoff-again", args: []string{"gt-handoff", "-s", "the rest", "-m", "and the lamp"}, env: asOld, prepare: handed, next: message},
	{name: "handoff-by-person", args: handoff, prepare: empty, next: message},
	{name: "handoff-work", args: append(slices.Clone(handoff), "NOTE"), prepare: noted, next: message},

	{name: "handoff-to", args: append(slices.Clone(handoff), "--to", "next"), env: asOld, prepare: table, next: message},
	{name: "handoff-to-unhooked", args: append(slices.Clone(handoff), "--to", "plain"), env: asOld, prepare: table, next: message},

	{name: "handoff-cancel", args: []string{"gt-handoff", "--cancel"}, prepare: handed, next: message, again: 1},
	{name: "handoff-cancel-person", args: []string{"gt-handoff", "--cancel"}, prepare: byPerson, next: message, again: 1},
	{name: "handoff-cancel-claim", args: []string{"gt-handoff", "--cancel"}, prepare: byOther, next: message, again: 1},
	{name: "mail-done-handoff", args: []string{"gt-mail", "done", "NOTE"}, prepare: func(t *testing.T, w *world) {
		handed(t, w)
		_, id, _ := strings.Cut(w.mustRun(t, "", "work", "gt-mail", "inbox", "--json").stdout, `"id":"`)
		w.vars["NOTE"], _, _ = strings.Cut(id, `"`)
	}, next: message},

	{name: "handoff-exec", args: []string{"gt-handoff", "--exec", loaded}, env: []string{"TMUX=WORLD/tmp/s,1,0"}, prepare: handed, live: restarted, again: 74},

	{name: "checkpoint-first", args: write, input: stop, prepare: empty},
	{name: "checkpoint-hook", short: true, args: write, input: stop, prepare: saved},
	{name: "checkpoint-said", args: write, input: stop, prepare: typed},
	{name: "checkpoint-second", args: write, input: event("s-new", "Stop"), prepare: saved},
	{name: "checkpoint-notes", args: []string{"gt-checkpoint", "write", "--notes", "tests pass", "--step", "p2"}, env: asOld, prepare: worn},
	{name: "checkpoint-clear", args: []string{"gt-checkpoint", "clear"}, env: asOld, prepare: saved},

	{name: "keepalive-first", args: touch, input: event("s-old", "UserPromptSubmit"), prepare: empty},
	{name: "keepalive-touch", args: touch, input: event("s-old", "UserPromptSubmit"), prepare: func(t *testing.T, w *world) {
		lives(t, w)
		w.mustRun(t, event("s-old", "Stop"), "work", touch...)
	}},
	{name: "keepalive-asked", args: touch, input: event("s-old", "UserPromptSubmit", "prompt", "Add the export command"), prepare: lives},
	{name: "keepalive-said", args: touch, input: event("s-old", "UserPromptSubmit", "prompt", "the staging box listens on 7443"), prepare: saved},
	{name: "keepalive-unborn", args: touchCopilot, input: event("s-new", "UserPromptSubmit", "prompt", "and 7444 next"), prepare: unborn},
	// What a session does now, for gt-session: <id>.state, as it is made and as it changes.
	{name: "keepalive-asks", args: touch, input: event("s-old", "PermissionRequest", "tool_name", "Bash"), prepare: lives},
	{name: "keepalive-answered", args: touch, input: event("s-old", "PostToolUse", "tool_name", "Bash"), prepare: asks},
	{name: "keepalive-moved", args: touch, input: strings.Replace(event("s-old", "PostToolUse", "tool_name", "EnterWorktree"), "WORLD/work", "WORLD/tree", 1), prepare: func(t *testing.T, w *world) {
		lives(t, w)
		w.mustRun(t, event("s-old", "UserPromptSubmit"), "work", touch...)
		w.mustRun(t, "", "work", "git", "worktree", "add", "-q", "../tree", "-b", "tree")
	}},
	{name: "keepalive-failed", args: touch, input: event("s-old", "StopFailure", "error", "rate_limit"), prepare: asks},
	{name: "keepalive-take", args: touch, input: event("s-old", "PostToolUse", "tool_input", "gt-mail", "tool_response", "LINE"), prepare: asked},
	{name: "keepalive-by-hand", args: []string{"gt-keepalive", "touch", "make"}, env: asOld, prepare: lives},
	{name: "keepalive-end", short: true, args: ends, input: event("s-old", "SessionEnd", "reason", "logout"), prepare: func(t *testing.T, w *world) {
		handed(t, w)
		w.mustRun(t, start("s-old", "resume"), "work", prime...)
		w.mustRun(t, stop, "work", touch...)
		w.mustRun(t, stop, "work", write...)
	}},
	{name: "keepalive-end-unused", args: ends, input: event("s-new", "SessionEnd", "reason", "logout"), prepare: func(t *testing.T, w *world) {
		byPerson(t, w)
		w.mustRun(t, start("s-new", "startup"), "work", prime...)
	}},
	{name: "keepalive-killed", args: []string{"gt-keepalive", "end", "s-old", "--outcome", "killed"}, prepare: lives, again: 1},
	{name: "pid-track", args: []string{"gt-keepalive", "pid", "track", "gone", "PID"}, prepare: func(t *testing.T, w *world) {
		tracked(t, w)
		w.vars["PID"] = strconv.Itoa(os.Getpid())
	}},
	{name: "pid-reap", args: []string{"gt-keepalive", "pid", "reap", "--grace", "300ms"}, prepare: tracked, live: sleeper, unsure: 1},

	{name: "mail-first", args: []string{"gt-mail", "send", "self", "-s", "work", "-m", "text"}, prepare: empty},
	{name: "mail-send", args: []string{"gt-mail", "send", "self", "-s", "work", "-m", "text"}, prepare: noted},
	{name: "mail-send-town", args: []string{"gt-mail", "send", "gastown/crew/joe", "-s", "work", "-m", "text"}, dir: "town/gastown/crew/max", prepare: town},
	{name: "mail-send-host", args: []string{"gt-mail", "send", "api@box", "-s", "work", "-m", "text"}, prepare: joined},
	{name: "mail-unsend", args: []string{"gt-mail", "unsend", "NOTE"}, again: 1, prepare: joined},
	{name: "mail-hook-new", args: []string{"gt-mail", "hook", "--new", "-s", "work", "-m", "text"}, prepare: noted},
	{name: "mail-hook", args: []string{"gt-mail", "hook", "NOTE"}, prepare: noted},
	{name: "mail-unhook", args: []string{"gt-mail", "unhook", "NOTE"}, prepare: hooked},
	{name: "mail-read", args: []string{"gt-mail", "read", "NOTE"}, prepare: noted},
	{name: "mail-done", args: []string{"gt-mail", "done", "NOTE"}, prepare: hooked},

	{name: "session-new", args: []string{"gt-session", "new", "-n", "two", "-g", "work/back", "--no-start"}, prepare: empty, again: 1},
	{name: "session-fork", args: []string{"gt-session", "fork", "talks", "-n", "two", "--no-start"}, prepare: talked, again: 1},
	{name: "session-import", args: []string{"gt-session", "import", "sessions.json"}, prepare: exported},
	{name: "session-ack", args: []string{"gt-session", "ack", "one"}, prepare: placed},
	{name: "session-archive", args: []string{"gt-session", "archive", "one"}, prepare: placed},
	{name: "session-rename", args: []string{"gt-session", "rename", "one", "two"}, prepare: placed, again: 1},
	{name: "session-move", args: []string{"gt-session", "move", "one", "play/music"}, prepare: placed},
	{name: "session-group", args: []string{"gt-session", "group", "rename", "work", "play"}, prepare: placed, again: 1},
	{name: "session-rm", args: []string{"gt-session", "rm", "one"}, prepare: placed, again: 1},

	{name: "hooks-install-first", args: []string{"gt-hooks", "install", "claude"}, prepare: repository},
	{name: "hooks-install", args: []string{"gt-hooks", "install", "claude"}, prepare: settings},
	{name: "hooks-install-linked", args: []string{"gt-hooks", "install", "claude"}, prepare: linked},
	{name: "hooks-install-record", args: []string{"gt-hooks", "install", "claude", "--record"}, prepare: settings},
	{name: "hooks-install-project", args: []string{"gt-hooks", "install", "claude", "--scope", "project"}, prepare: settings},
	{name: "hooks-install-script", args: []string{"gt-hooks", "install", "opencode"}, prepare: repository},
	{name: "hooks-install-own-file", args: []string{"gt-hooks", "install", "copilot"}, prepare: repository},
	{name: "hooks-uninstall-script", args: []string{"gt-hooks", "uninstall", "opencode"}, prepare: func(t *testing.T, w *world) {
		repository(t, w)
		w.mustRun(t, "", "work", "gt-hooks", "install", "opencode")
	}},
	{name: "hooks-uninstall", args: []string{"gt-hooks", "uninstall"}, prepare: installed},
}

func repository(t *testing.T, w *world) { w.repository(t, "work") }
