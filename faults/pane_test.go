//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// paned are the hand-overs that give a pane away. Each is run by the agent in
// the first pane; the pane of the session that it names is the one that changes
// hands.
var paned = []struct {
	name   string
	before []string // is run first, and left alone
	args   []string
	pane   string // the tmux session that is given away, which is its folder too
	told   string // what the successor is told
}{
	{"pane-handoff", nil, handoff, "work", message},
	{"pane-cycle", nil, []string{"gt-handoff", "--cycle", "-m", message}, "work", "gt-mail read"},
	{"pane-remote", nil, []string{"gt-handoff", "--no-watch", "other", "-m", message}, "other", message},
	// What gt-keepalive turns into after a hand-over that could not reach tmux.
	{"pane-sandbox", append([]string{"bwrap", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc", "--"}, handoff...), []string{"gt-handoff", "--finish", "claude-1", "--agent", "claude"}, "work", message},
}

// TestPane kills a hand-over in a tmux pane before each of its calls. The pane
// is never left dead without a note that the next session picks up.
func TestPane(t *testing.T) {
	needsTrace(t)
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("no tmux")
	}
	for i, c := range paned {
		if testing.Short() && i > 0 {
			break
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.before != nil {
				if _, err := exec.LookPath(c.before[0]); err != nil {
					t.Skip("no ", c.before[0])
				}
			}
			p := &panes{w: newWorld(t, c.name), before: c.before, args: c.args, pane: c.pane, told: c.told}
			t.Cleanup(func() {
				removeAll(p.w.Root)
				removeAll(p.w.Root + ".kept")
			})
			for _, dir := range []string{"work", "other"} {
				p.w.repository(t, dir)
			}
			p.w.keep(t)

			log := p.run(t, "trace="+watched)
			calls := parseTrace(log, false)
			if problems := p.check(t, true); len(problems) > 0 {
				t.Fatalf("undisturbed: %s", strings.Join(problems, "\n"))
			}
			n := &tried{T: t}
			points := slices.DeleteFunc(calls[begins(calls):], func(c call) bool { return !c.changes() })
			for i, c := range points {
				// A pane takes long to set up; what comes last is what matters.
				if !nth(i, 8) && (i < len(points)-6 || !nth(i, 2)) {
					continue
				}
				n.kill(c, p.kill(t, c))
			}
			n.logTotals()
		})
	}
}

// panes is a world with a tmux server, an agent in each of its two sessions.
type panes struct {
	w            *world
	before, args []string
	pane, told   string
	pid          string // of what ran in the pane before
}

func (p *panes) tmux(t *testing.T, args ...string) result {
	t.Helper()
	return p.w.run(t, "", ".", append([]string{"tmux", "-S", p.w.Path("tmp/s"), "-f", os.DevNull}, args...)...)
}

// run sets the world anew, starts the agents, and has the one in work/ hand over
// under strace. It returns the trace, once that is whole.
func (p *panes) run(t *testing.T, expressions ...string) []byte {
	t.Helper()
	p.w.restore(t)
	for i, dir := range []string{"work", "other"} {
		if r := p.tmux(t, "new-session", "-d", "-s", dir, "-x", "80", "-y", "24", "-c", p.w.Path(dir), "--", "claude", "begin"); r.code != 0 {
			t.Fatal(r)
		}
		await(t, p.w.Path("tmp", fmt.Sprintf("claude-%d.start", i+1)), "")
	}
	p.pid, _ = p.inPane(t)
	log := p.w.Path("tmp/log")
	// The tracer is in a session of its own: the pane's end is not its own.
	args := []string{"strace", "-DDD", "-y", "-s", "64", "-o", log}
	for _, e := range expressions {
		args = append(args, "-e", e)
	}
	args = append(args, filepath.Join(bin, p.args[0]))
	if p.before != nil {
		p.agent(t, p.before)
	}
	p.agent(t, append(args, p.args[1:]...))
	return await(t, log, "+++ ")
}

// agent has the one in work/ run a command, until that is done or the agent gone.
func (p *panes) agent(t *testing.T, command []string) {
	t.Helper()
	conn, err := net.Dial("unix", p.w.Path("tmp/claude-1"))
	noError(t, err)
	defer conn.Close()
	noError(t, json.NewEncoder(conn).Encode(command))
	_, _ = io.Copy(io.Discard, conn)
}

// stop ends the server and all that runs in it.
func (p *panes) stop(t *testing.T) {
	t.Helper()
	p.tmux(t, "kill-server")
	for _, agent := range []string{"claude-1", "claude-2", "claude-3"} {
		for deadline := time.Now().Add(10 * time.Second); p.lives(agent) && time.Now().Before(deadline); {
			time.Sleep(2 * time.Millisecond)
		}
	}
}

func (p *panes) kill(t *testing.T, c call) (problems []string) {
	t.Helper()
	n := c.nth
	for range tries {
		log := p.run(t, "trace="+c.name, fmt.Sprintf("inject=%s:signal=KILL:when=%d", c.name, n))
		passed, met := 0, false
		for _, d := range parseTrace(log, false) {
			if d.at == c.at {
				met, passed = strings.HasPrefix(d.ret, "?"), d.nth
			}
		}
		if met {
			return p.check(t, false)
		}
		p.stop(t)
		// How many threads the runtime has started by then differs.
		if n++; passed > 0 {
			n = passed
		} else if n > c.nth+3 {
			n = max(1, c.nth-2)
		}
	}
	return notMet(t, t.Name(), c, "")
}

// check says what is wrong after a hand-over: the old agent lives, or a
// successor was told, or the next to start is.
func (p *panes) check(t *testing.T, whole bool) (problems []string) {
	t.Helper()
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	old := map[string]string{"work": "claude-1", "other": "claude-2"}[p.pane]
	successor := p.w.Path("tmp/claude-3.start")

	// What tmux was told takes a while, and so does an agent that begins or ends.
	alive, settled := false, 0
	for deadline := time.Now().Add(3 * time.Minute); settled < 10; time.Sleep(20 * time.Millisecond) {
		pid, dead := p.inPane(t)
		_, err := os.Stat(successor)
		alive = pid == p.pid && !dead && p.lives(old)
		if err == nil && !p.lives(old) {
			break
		}
		if settled++; !alive && !dead {
			settled = 0
		}
		if time.Now().After(deadline) {
			wrong("neither the old agent nor a new one runs in the pane")
			break
		}
	}
	dir := p.pane
	h := p.w.home(dir)
	markers, _ := filepath.Glob(h.Path("handoff*"))
	now, more := p.w.sound(dir, snapshot{})
	problems = append(problems, more...)
	text, err := os.ReadFile(successor)
	switch {
	case err == nil:
		if !strings.Contains(string(text), p.told) {
			wrong("the successor was told %q", text)
		}
	case whole:
		wrong("no successor started")
	case alive && len(markers) == 0: // nothing was handed over
	case alive && p.args[1] == "--cycle": // its own, and it goes on
	default:
		if len(markers) == 0 {
			wrong("the agent is gone, and there is no marker: %v", now.state)
		}
		p.stop(t)
		r := p.w.run(t, strings.Replace(start("s-next", "startup"), "WORLD/work", "WORLD/"+dir, 1), dir, prime...)
		if !strings.Contains(r.stdout, p.told) {
			wrong("the next session is not told: %v", r)
		}
	}
	p.stop(t)
	return problems
}

// inPane is the process of the pane, and whether it is dead.
func (p *panes) inPane(t *testing.T) (pid string, dead bool) {
	t.Helper()
	r := p.tmux(t, "list-panes", "-t", "="+p.pane+":", "-F", "#{pane_pid} #{pane_dead}")
	pid, state, _ := strings.Cut(strings.TrimSpace(r.stdout), " ")
	return pid, state != "0"
}

// lives reports whether an agent does.
func (p *panes) lives(name string) bool {
	conn, err := net.Dial("unix", p.w.Path("tmp", name))
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// await waits until a file is there and holds a text.
func await(t *testing.T, path, text string) []byte {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		data, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(data), text) {
			return data
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s to hold %q: %q %v", path, text, data, err)
		}
	}
}

// claude stands for an agent in a tmux pane: it runs gt-prime, as its hook would,
// and then what it is asked to over a socket, as its child. The n-th of a world
// leaves claude-n.start, what it was told.
func claude() {
	tmp := filepath.Join(os.Getenv("SCENE"), "tmp")
	path, id := "", ""
	for n := 1; ; n++ {
		id = fmt.Sprint("claude-", n)
		path = filepath.Join(tmp, id)
		f, err := os.OpenFile(path+".args", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Fprintln(f, strings.Join(os.Args[1:], "\n"))
		f.Close()
		break
	}
	source := "startup"
	if i := slices.Index(os.Args, "--resume"); i >= 0 {
		id, source = os.Args[i+1], "resume"
	}
	dir, _ := os.Getwd()
	hook := func(event, key, value string, args ...string) []byte {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"session_id":%q,"hook_event_name":%q,"cwd":%q,%q:%q}`, id, event, dir, key, value))
		out, _ := cmd.Output()
		return out
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	told := hook("SessionStart", "source", source, prime...)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGHUP, syscall.SIGTERM)
	go func() {
		<-end
		hook("SessionEnd", "reason", "other", ends...)
		os.Exit(0)
	}()
	_ = os.WriteFile(path+".part", told, 0o600)
	_ = os.Rename(path+".part", path+".start")
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() {
			defer conn.Close()
			var args []string
			if json.NewDecoder(conn).Decode(&args) == nil {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Env = append(os.Environ(), "CLAUDE_CODE_SESSION_ID="+id)
				_ = cmd.Run()
			}
		}()
	}
}
