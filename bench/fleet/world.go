package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
	"gt/lib/state/keepalive"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
)

// paneFormat is as long as what gt asks tmux for.
const paneFormat = "#{pane_id}\t#{pane_pid}\t#{pane_dead}\t#{pane_dead_signal}\t#{session_created}\t#{session_attached}\t#{session_name}\t#{pane_current_path}"

// world is the folder that all is made in.
type world struct {
	dir, bin string
	deck     string // agent-deck; "" for none
	fleets   []*fleet
}

// fleet is a person with so many agents.
type fleet struct {
	size   int
	home   string
	person []string // the environment
	socket string   // of tmux
	end    func()   // ends tmux
	decked bool     // agent-deck knows them, too
}

func (w *world) remove() {
	for _, f := range w.fleets {
		f.end()
	}
	os.RemoveAll(w.dir)
}

// rows are what is measured with so many agents.
func (w *world) rows(n int) []*row {
	ours := filepath.Join(w.bin, "gt-session")
	size := thousands(n)
	lines := func(want int) func(string) error {
		return func(stdout string) error {
			if got := strings.Count(stdout, "\n"); got != want {
				return fmt.Errorf("it has %d lines, not %d: %.500s", got, want, stdout)
			}
			return nil
		}
	}
	counts := func(want int) func(string) error {
		return func(stdout string) error {
			line, _, _ := strings.Cut(stdout, "\n")
			sum := 0
			for _, part := range strings.Split(line, ", ") {
				var n int
				fmt.Sscan(part, &n)
				sum += n
			}
			if sum != want {
				return fmt.Errorf("it counts %d agents, not %d: %.500s", sum, want, line)
			}
			return nil
		}
	}
	rows := []*row{
		{name: "gt-session list", size: size, args: []string{ours, "list"}, check: lines(n + 1)},
		{name: "the same, --json", size: size, args: []string{ours, "list", "--json"}, check: lines(n)},
		{name: "the same, -A", size: size, args: []string{ours, "list", "-A"}, check: lines(n + 1)},
		{name: "gt-session status", size: size, args: []string{ours, "status"}, check: counts(n)},
	}
	if w.deck != "" && n <= 1000 { // it takes minutes with more
		rows = append(rows,
			&row{name: "agent-deck list", size: size, args: []string{w.deck, "list"}, peer: true},
			&row{name: "agent-deck status", size: size, args: []string{w.deck, "status"}, peer: true},
		)
	}
	return rows
}

// thousands writes a number as people read it.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// newFleet makes the state of so many agents, as years of work leave it: each in a folder
// of its own, with the record of a session and a sign of life. The first live of them
// have a pane of tmux, in which nothing but sleep runs, and what Claude Code notes of a
// session that runs; the session of the others is gone.
func (w *world) newFleet(size, live int) (*fleet, error) {
	f := &fleet{size: size, home: filepath.Join(w.dir, "home-"+strconv.Itoa(size)), end: func() {}}
	w.fleets = append(w.fleets, f)
	person, err := testenv.Person(f.home)
	if err != nil {
		return nil, err
	}
	folder, end, err := testenv.Tmux()
	if err != nil {
		return nil, err
	}
	f.end = end
	f.person = append(person, "TMUX_TMPDIR="+folder)
	f.socket = filepath.Join(folder, fmt.Sprintf("tmux-%d", os.Getuid()), "default")

	state := place.State(filepath.Join(f.home, ".local", "state", "gt"))
	store := instance.Personal(state, "")
	if err := state.Prepare(state.Path(store.Dir)); err != nil {
		return nil, err
	}
	now := time.Now().UTC().Round(time.Millisecond)
	var sessions []string // a command of tmux each
	var begun []func(pid int) error
	for i := range size {
		dir := filepath.Join(f.home, "src", fmt.Sprintf("service-%d", i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		began := now.Add(-time.Duration(size-i) * time.Minute)
		id := session.NewID()
		in := &instance.Instance{
			ID: instance.ID(session.NewID()), Name: fmt.Sprintf("service-%d", i), Path: dir, Agent: "claude", Args: []string{"--model", "opus"},
			Desired: instance.Running, SessionID: id, SessionAt: began, TmuxServer: f.socket,
			TmuxSession: fmt.Sprintf("gt-service-%d", i), StartedAt: began, CreatedAt: began, UpdatedAt: began,
		}
		if i%3 > 0 {
			in.Group = fmt.Sprintf("work/team-%d", i%7)
		}
		if err := write(state.Path(store.Dir, string(in.ID)+".json"), in); err != nil {
			return nil, err
		}
		if err := write(state.Path(store.Dir, string(in.ID)+".session"), instance.CurrentSession{SessionID: id, Agent: "claude", At: began.Add(time.Second)}); err != nil {
			return nil, err
		}
		h := home.HomeOutsideTown(state, dir)
		if err := h.Prepare(); err != nil {
			return nil, err
		}
		client := filepath.Join(f.home, ".claude")
		record := &session.Record{
			ID: id, ChainID: id, Agent: "claude", Actor: in.Name, Source: "startup", CWD: dir, StartedAt: began,
			Transcript: filepath.Join(client, "projects", in.Name, string(id)+".jsonl"),
		}
		if err := (session.Store{Home: h}).Put(record, atomicfile.Unsynced); err != nil {
			return nil, err
		}
		if err := state.FixHome(string(id), h.Runtime()); err != nil {
			return nil, err
		}
		if err := activity.Change(h, id, func(s *activity.State) bool {
			s.Status, s.Since, s.Source = activity.Idle, began.Add(time.Minute), "Stop"
			return true
		}); err != nil {
			return nil, err
		}
		beat := keepalive.Heartbeat{LastCommand: "Bash", Timestamp: began.Add(time.Minute), State: keepalive.Running, SessionID: id}
		if err := keepalive.Touch(h, beat); err != nil {
			return nil, err
		}
		if i < live {
			begun = append(begun, func(pid int) error { // what its client notes of a session that runs
				p, err := process.Find(pid)
				if err != nil {
					return err
				}
				record.SetProcess(p)
				if err := (session.Store{Home: h}).Put(record, atomicfile.Unsynced); err != nil {
					return err
				}
				note := map[string]any{"pid": pid, "sessionId": id, "cwd": dir, "procStart": p.Start, "status": "idle", "statusUpdatedAt": began.Add(time.Minute).UnixMilli()}
				return write(filepath.Join(client, "sessions", strconv.Itoa(pid)+".json"), note)
			})
			sessions = append(sessions, fmt.Sprintf("new-session -d -s %s -c '%s' -e '%s=%s:1' 'exec sleep 1000000'", in.TmuxSession, dir, instance.Variable, store.Name(in.ID)))
		}
	}
	groups := &struct {
		Groups []instance.Group `json:"groups"`
	}{[]instance.Group{{Path: "work", Expanded: true, Order: 1}}}
	for i := range 7 {
		groups.Groups = append(groups.Groups, instance.Group{Path: fmt.Sprintf("work/team-%d", i), Expanded: true, Order: i})
	}
	if err := write(state.Path(store.Dir, "groups.json"), groups); err != nil {
		return nil, err
	}
	file := filepath.Join(f.home, "tmux.conf")
	if err := os.WriteFile(file, []byte(strings.Join(sessions, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	if live == 0 {
		return f, nil
	}
	start := exec.Command("tmux", "-f", "/dev/null", "start-server", ";", "source-file", file)
	start.Env, start.Dir = f.person, f.home
	if out, err := start.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot start tmux: %w\n%s", err, out)
	}
	panes, err := tmux.Server(f.socket).Panes()
	if err == nil && len(panes) != live {
		err = fmt.Errorf("%d panes run, not %d", len(panes), live)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Join(f.home, ".claude", "sessions"), 0o700)
	}
	for _, p := range panes {
		var i int
		if _, serr := fmt.Sscanf(p.Session, "gt-service-%d", &i); err == nil && serr == nil && i < live {
			err = begun[i](p.PID)
		}
	}
	return f, err
}

func write(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}

// checkSubprocesses finds out whether a row starts tmux once and nothing else, by a tmux of its own
// on PATH that counts. It is a script, so it is not what is measured.
func (w *world) checkSubprocesses(r *row) error {
	dir, count := filepath.Join(r.fleet.home, "counting"), filepath.Join(r.fleet.home, "count")
	real, err := exec.LookPath("tmux")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\necho \"$@\" >>'%s'\nexec '%s' \"$@\"\n", count, real)
	if err := testenv.WriteProgram(filepath.Join(dir, "tmux"), []byte(script)); err != nil {
		return err
	}
	_ = os.Remove(count)
	p := exec.Command(r.args[0], r.args[1:]...)
	p.Dir = r.fleet.home
	p.Env = append(append([]string{}, r.fleet.person...), "PATH="+dir) // nothing else is there to be started
	out, err := p.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %.500s", err, out)
	}
	if calls, _ := os.ReadFile(count); bytes.Count(calls, []byte("\n")) != 1 {
		return fmt.Errorf("it called tmux otherwise:\n%s", calls)
	}
	return nil
}
