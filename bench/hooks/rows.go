package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	kept "gt/lib/place"
)

// place is where hooks run: a folder, a town, and what the environment has
// besides.
type place struct {
	*world
	dir   string
	state string // the folder of the town
	vars  []string
}

// hook is a hook as a client runs it. No two inputs are the same.
func (p place) hook(session, event string, more object, program string, args ...string) command {
	// What every hook is told comes first.
	input := fmt.Sprintf(`{"session_id":%q,"transcript_path":%q,"cwd":%q,"prompt_id":%q,"hook_event_name":%q`,
		session, p.transcript, p.dir, p.newSessionID(), event)
	rest, err := json.Marshal(more)
	if err != nil {
		panic(err) // they are texts
	}
	if len(more) > 0 {
		input += "," + string(rest[1:len(rest)-1])
	}
	return command{
		path: filepath.Join(p.bin, program), args: append(args, "--agent", "claude"), dir: p.dir,
		env: p.environ(p.state, append([]string{"CLAUDE_PROJECT_DIR=" + p.dir}, p.vars...)...), stdin: input + "}\n",
	}
}

func (p place) start(session, source string) command {
	return p.hook(session, "SessionStart", object{"source": source}, "gt-prime", "--hook")
}

func (p place) end(session string) command {
	return p.hook(session, "SessionEnd", object{"reason": "prompt_input_exit"}, "gt-keepalive", "end", "--hook")
}

func (p place) touch(session string, bytes int) command {
	return p.hook(session, "PostToolUse", object{
		"tool_name": "Bash", "tool_input": object{"command": "go test ./..."},
		"tool_response": object{"stdout": strings.Repeat("ok  \tledger/internal\t0.4s\n", bytes/25), "stderr": ""},
	}, "gt-keepalive", "touch", "--hook")
}

func (p place) checkpoint(session string) command {
	return p.hook(session, "Stop", object{"stop_hook_active": false, "last_assistant_message": "The second booking came from the retry."},
		"gt-checkpoint", "write", "--hook")
}

func (p place) handoff(session string) command {
	return p.hook(session, "PreCompact", object{"trigger": "auto", "custom_instructions": nil},
		"gt-handoff", "--auto", "--hook", "--reason", "compaction")
}

// reset takes away everything that was kept in the home. It deletes nothing: ext4 looks
// for a new file's inode past all that were freed in the last seconds, which nobody frees
// by the hundred in practice.
func (p place) reset() error {
	gone := filepath.Join(p.world.dir, "gone", p.newSessionID())
	err := os.MkdirAll(gone, 0o700)
	for _, path := range []string{
		filepath.Join(p.state, "gt", "homes"), filepath.Join(p.state, "gt", "sessions"), filepath.Join(p.state, "gt", "threads"),
		filepath.Join(p.world.dir, "env.sh"),
	} {
		if e := os.Rename(path, filepath.Join(gone, filepath.Base(path))); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// play resets the home and runs the commands that lead to a situation.
func (p place) play(commands ...command) error {
	if err := p.reset(); err != nil {
		return err
	}
	for _, c := range commands {
		if _, err := c.run(); err != nil {
			return err
		}
	}
	return nil
}

// logged reports whether the end of the log tells of the session's event.
func (p place) logged(session, event string) error {
	tail, err := end(logIn(p.state), 4096)
	if err != nil {
		return err
	}
	for line := range strings.Lines(tail) {
		if strings.Contains(line, session) && strings.Contains(line, `"`+event+`"`) {
			return nil
		}
	}
	return fmt.Errorf("the log has no %s of session %s", event, session)
}

// end returns the last bytes of a file.
func end(path string, bytes int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if _, err := f.Seek(max(info.Size()-bytes, 0), io.SeekStart); err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	return string(data), err
}

// holds reports whether a file of the place has that text.
func (p place) holds(file, text string) error {
	data, err := os.ReadFile(filepath.Join(kept.State(filepath.Join(p.state, "gt")).Home(p.dir, false).At, file))
	if err == nil && !strings.Contains(string(data), text) {
		err = fmt.Errorf("%s does not hold %q: %s", file, text, data)
	}
	return err
}

// says is a check for a text on standard output.
func says(want string) func(string) error {
	return func(stdout string) error {
		if !strings.Contains(stdout, want) {
			return fmt.Errorf("%q is not in the answer: %q", want, stdout)
		}
		return nil
	}
}

// rows are the lines of the table.
func (w *world) rows() []row {
	p := place{world: w, dir: w.repo, state: filepath.Join(w.dir, "state-0")}
	rows := []row{
		w.touchRow("gt-keepalive touch", p, 500),
		w.touchRow("the same, a tool's result of 256 KB", p, 256<<10),
		w.toldRow("the same of Cursor, which is recorded", p, 256<<10),
	}
	for _, s := range []struct {
		name   string
		events int
	}{{"gt-prime, startup, no event log", 0}, {"the same, 100,000 events", 100_000}, {"the same, 1,000,000 events", 1_000_000}} {
		rows = append(rows, w.startRow(s.name, place{world: w, dir: w.repo}, s.events))
	}
	rows = append(rows, w.manyRow(p))
	in := p
	in.vars = []string{"TMUX=" + w.socket + ",1,0", "TMUX_PANE=%0"}
	if w.socket != "" {
		rows = append(rows, w.startRow("gt-prime, startup in tmux", in, 0))
	}
	rows = append(rows,
		w.resumeRow(p), w.compactRow(p), w.handedOverRow(p), w.crashRow(p),
		w.endRow(p), w.checkpointRow(p),
	)
	if w.socket != "" {
		rows = append(rows, w.namingRow(in))
	}
	rows = append(rows, w.handoffRow(p))
	return append(rows, w.peers(p)...)
}

func (w *world) touchRow(name string, p place, bytes int) row {
	session := ""
	return row{
		name: name, budget: touchBudget, reads: bytes > 64<<10,
		prepare: func() (command, error) {
			session = w.newSessionID()
			return p.touch(session, bytes), p.play(p.start(session, "startup"), p.touch(session, 100))
		},
		check: func(stdout string) error {
			return errors.Join(says("")(stdout), p.holds("keepalive.json", `"last_command":"Bash"`))
		},
	}
}

// toldRow is the same of a client whose hooks are its record: what a tool gave is redacted
// and kept.
func (w *world) toldRow(name string, p place, bytes int) row {
	session := ""
	line := "ok  \tledger/internal\t0.4s\n"
	return row{
		name: name, budget: primeBudget, reads: true,
		prepare: func() (command, error) {
			session = w.newSessionID()
			c := p.hook(session, "postToolUse", object{
				"conversation_id": session, "workspace_roots": []string{p.dir}, "tool_name": "Shell",
				"tool_input": object{"command": "go test ./..."}, "tool_output": strings.Repeat(line, bytes/len(line)),
			}, "gt-keepalive", "touch", "--hook", "--record", "on")
			c.args[len(c.args)-1] = "cursor"
			return c, p.play(p.start(session, "startup"), p.touch(session, 100))
		},
		check: func(stdout string) error {
			told := filepath.Join(w.home, ".agent", "told", "cursor", session+".jsonl")
			var err error
			for range 500 { // who keeps it is not waited for by the hook
				var info os.FileInfo
				if info, err = os.Stat(told); err == nil && info.Size() >= int64(bytes) {
					return nil
				}
				time.Sleep(10 * time.Millisecond)
			}
			return fmt.Errorf("%s does not have the result: %v", told, err)
		},
	}
}

// startRow is a start with a new id in a home that had one session before.
func (w *world) startRow(name string, p place, events int) row {
	session := ""
	return row{
		name: name, budget: primeBudget,
		prepare: func() (command, error) {
			var err error
			if p.state, err = w.writeLog(events); err != nil {
				return command{}, err
			}
			before := w.newSessionID()
			if err := p.play(p.start(before, "startup"), p.end(before)); err != nil {
				return command{}, err
			}
			if events == 0 {
				if err := os.Remove(logIn(p.state)); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return command{}, err
				}
			}
			session = w.newSessionID()
			return p.start(session, "startup"), nil
		},
		check: func(stdout string) error {
			err := errors.Join(says("ledger")(stdout), p.logged(session, "session_start"))
			if len(p.vars) > 0 {
				err = errors.Join(err, p.holds("sessions/"+session+".json", `"tmux_pane": "%0"`))
			}
			return err
		},
	}
}

// manyRow is a start in a home that has had more sessions than it keeps
// records of.
func (w *world) manyRow(p place) row {
	p.dir = filepath.Join(w.dir, "many") // which no other row resets
	session := ""
	return row{
		name: "the same, many sessions before", budget: primeBudget,
		prepare: func() (command, error) {
			var err error
			if session == "" {
				err = os.Mkdir(p.dir, 0o700)
				for range 60 {
					s := w.newSessionID()
					_, err1 := p.start(s, "startup").run()
					_, err2 := p.end(s).run()
					err = errors.Join(err, err1, err2)
				}
			} else {
				_, err = p.end(session).run()
			}
			session = w.newSessionID()
			return p.start(session, "startup"), err
		},
		check: func(stdout string) error {
			return errors.Join(says("many")(stdout), p.logged(session, "session_start"))
		},
	}
}

func (w *world) resumeRow(p place) row {
	session := ""
	return row{
		name: "gt-prime, resume", budget: primeBudget,
		prepare: func() (command, error) {
			session = w.newSessionID()
			return p.start(session, "resume"), p.play(p.start(session, "startup"), p.end(session))
		},
		check: func(stdout string) error {
			return errors.Join(says("ledger")(stdout), p.logged(session, "session_resume"))
		},
	}
}

// compactRow is the start after a compaction, with what was saved before it.
func (w *world) compactRow(p place) row {
	return row{
		name: "gt-prime, compact", budget: primeBudget,
		prepare: func() (command, error) {
			session := w.newSessionID()
			return p.start(session, "compact"), p.play(p.start(session, "startup"), p.handoff(session))
		},
		check: says("ledger"),
	}
}

// handedOverRow is a start that is told what the session before it left.
func (w *world) handedOverRow(p place) row {
	const message = "The second booking comes from the retry."
	session := ""
	return row{
		name: "gt-prime, startup after a hand-over", budget: primeBudget,
		prepare: func() (command, error) {
			before := w.newSessionID()
			over := p.hook(before, "", nil, "gt-handoff", "-s", "settlement", "-m", message, "--no-git-check")
			over.stdin, over.env = "", append(over.env, "CLAUDE_CODE_SESSION_ID="+before, "GT_HOME="+p.dir, "GT_SESSION_UUID="+before)
			session = w.newSessionID()
			return p.start(session, "startup"), p.play(p.start(before, "startup"), over, p.end(before))
		},
		check: func(stdout string) error {
			return errors.Join(says(message)(stdout), p.logged(session, "session_start"))
		},
	}
}

// crashRow is a start after a session whose process is gone. Peak plays the
// client that dies: what it runs is its child, and then it ends.
func (w *world) crashRow(p place) row {
	session := ""
	dying := func(c command) command {
		c.args = append([]string{filepath.Join(w.dir, "peak"), c.path}, c.args...)
		c.path = filepath.Join(w.bin, "peak")
		return c
	}
	return row{
		name: "gt-prime, startup after a crash", budget: readBudget,
		prepare: func() (command, error) {
			before := w.newSessionID()
			session = w.newSessionID()
			return p.start(session, "startup"), p.play(dying(p.start(before, "startup")), dying(p.checkpoint(before)))
		},
		check: func(stdout string) error {
			return errors.Join(says("Request")(stdout), says("changed.go")(stdout), p.logged(session, "session_start"))
		},
	}
}

func (w *world) endRow(p place) row {
	session := ""
	return row{
		name: "gt-keepalive end",
		prepare: func() (command, error) {
			session = w.newSessionID()
			return p.end(session), p.play(p.start(session, "startup"), p.touch(session, 100))
		},
		check: func(string) error {
			return errors.Join(p.logged(session, "session_end"), p.holds("keepalive.json", `"state":"ended"`))
		},
	}
}

func (w *world) checkpointRow(p place) row {
	return row{
		name: "gt-checkpoint write", budget: savesBudget, git: true,
		prepare: func() (command, error) {
			session := w.newSessionID()
			return p.checkpoint(session), p.play(p.start(session, "startup"), p.checkpoint(session))
		},
		check: func(string) error { return p.holds("checkpoint.json", "changed.go") },
	}
}

// namingRow is a session's first checkpoint in a pane, which asks tmux for the
// name that the records go by.
func (w *world) namingRow(p place) row {
	session := ""
	return row{
		name: "the same, the first in a tmux pane", budget: savesBudget, git: true, tmux: true,
		prepare: func() (command, error) {
			session = w.newSessionID()
			return p.checkpoint(session), p.play(p.start(session, "startup"))
		},
		check: func(string) error {
			return p.holds("sessions/"+session+".json", `"tmux_session": "bench"`)
		},
	}
}

func (w *world) handoffRow(p place) row {
	session := ""
	return row{
		name: "gt-handoff --auto", budget: savesBudget, git: true,
		prepare: func() (command, error) {
			before := w.newSessionID() // whose note made the box
			session = w.newSessionID()
			return p.handoff(session), p.play(p.start(before, "startup"), p.handoff(before), p.end(before),
				p.start(session, "startup"), p.checkpoint(session))
		},
		check: func(stdout string) error {
			return errors.Join(says("gt-mail read")(stdout), p.holds("handoff", "compaction"), p.logged(session, "handoff"))
		},
	}
}

// peers are what a person would wire instead of gt-keepalive touch, to do no
// more than to look at the input.
func (w *world) peers(p place) []row {
	c := p.touch(id(1), 500)
	var rows []row
	add := func(name, program string, args ...string) {
		path, err := exec.LookPath(program)
		if err != nil {
			w.skipped = append(w.skipped, name+", for "+program+" is not installed")
			return
		}
		if program == "python3" {
			// What is on PATH may be a script that looks for the real one.
			if out, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output(); err == nil {
				path = strings.TrimSpace(string(out))
			}
		}
		c := c
		c.path, c.args = path, args
		rows = append(rows, row{name: name, peer: true, prepare: func() (command, error) { return c, nil }})
	}
	if _, err := exec.LookPath("jq"); err != nil {
		w.skipped = append(w.skipped, "bash with three calls of jq, for jq is not installed")
	} else {
		add("bash with three calls of jq", "bash", "-c", `
in=$(cat)
id=$(jq -r .session_id <<<"$in")
event=$(jq -r .hook_event_name <<<"$in")
dir=$(jq -r .cwd <<<"$in")`)
	}
	add("python3, the input parsed", "python3", "-c", "import json, sys; json.load(sys.stdin)")
	add("node, the input parsed", "node", "-e", `JSON.parse(require("fs").readFileSync(0, "utf8"))`)
	return rows
}
