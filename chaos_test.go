package gt_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
)

var chaos = flag.Duration("chaos", 0, "for how long TestChaos kills, cuts, fills disks and moves sessions, such as 480s")

const (
	chaosDisk   = 48 << 20 // of each host, in bytes
	chaosAgents = 4
)

// wire forwards a host's connections to the hub.
type wire struct {
	listener net.Listener
	mu       sync.Mutex
	conns    []net.Conn
	down     bool // new connections are refused
	stalled  bool // nothing goes through, and nothing says so
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.NoError(t, err)
	w := &wire{listener: l}
	t.Cleanup(func() {
		l.Close()
		w.set(true, false)
	})
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.forwardConn(c, to)
		}
	}()
	return w
}

func (w *wire) forwardConn(c net.Conn, to string) {
	defer c.Close()
	up, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer up.Close()
	w.mu.Lock()
	down := w.down
	w.conns = append(w.conns, c, up)
	w.mu.Unlock()
	if down {
		return
	}
	pump := func(to, from net.Conn) {
		defer to.Close()
		buf := make([]byte, 4096)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			for w.isStalled() {
				time.Sleep(10 * time.Millisecond)
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	go pump(up, c)
	pump(c, up)
}

func (w *wire) isStalled() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stalled
}

// set says whether the wire is down, which ends its connections, or stalled.
func (w *wire) set(down, stalled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.stalled = down, stalled
	if down {
		for _, c := range w.conns {
			c.Close()
		}
		w.conns = nil
	}
}

// chaosWorld is a fleet of three hosts that each have a disk of their own, a wire to the hub and
// their own tmux server.
type chaosWorld struct {
	*relayWorld
	hosts []string
	wires map[string]*wire
	moves sync.WaitGroup
	mu    sync.Mutex
	busy  map[string]bool // agents on their way
	done  map[string]int  // what happened how often
}

func (w *chaosWorld) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[what]++
}

func newChaosWorld(t *testing.T) *chaosWorld {
	t.Helper()
	w := &chaosWorld{hosts: []string{"a", "b", "c"}, wires: map[string]*wire{}, busy: map[string]bool{}, done: map[string]int{}}
	w.relayWorld = newRelayFleet(t, func(dir string) {
		out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=700", chaosDisk), "tmpfs", dir).CombinedOutput()
		testenv.NoError(t, explain(out, err))
		t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	}, w.hosts...)
	for _, host := range w.hosts {
		dir, end, err := testenv.Tmux()
		testenv.NoError(t, err)
		t.Cleanup(end)
		w.env[host] = []string{"TMUX_TMPDIR=" + dir, "WORK=" + w.pathOf(host), "SCREEN=1", "TERM=xterm", "LANG=C.UTF-8"}
		w.wires[host] = newWire(t, w.address())
		name := w.pathOf(host, ".local/state/gt/relay/hub.json")
		data, err := os.ReadFile(name)
		testenv.NoError(t, err)
		text := strings.Replace(string(data), w.address(), w.wires[host].listener.Addr().String(), 1)
		testenv.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		w.run(host, "git", "config", "--global", "user.email", "max@example.org")
		w.run(host, "git", "config", "--global", "user.name", "max")
		w.run(host, "git", "init", "-q", "box")
		w.run(host, "sh", "-c", "cd box && gt-mail send self -s first -m x")
		w.start(host)
	}
	w.run("a", "git", "init", "-q", "-b", "main", "src")
	w.run("a", "git", "-C", "src", "commit", "-q", "--allow-empty", "-m", "first")
	for _, host := range w.hosts[1:] {
		w.run(host, "git", "clone", "-q", w.pathOf("a/src"), "src")
	}
	for _, host := range w.hosts {
		w.run(host, "sh", "-c", "cd src && gt-mail send self -s first -m x") // so that its clone is known
		for _, other := range w.hosts {
			if other != host {
				w.waitUntil("its hosts know each other", func() error {
					out, err := w.command(host, "gt-relay", "allow", other, "move").CombinedOutput()
					return explain(out, err)
				})
			}
		}
	}
	for n := range chaosAgents {
		name := fmt.Sprintf("agent%d", n)
		w.run("a", "git", "-C", "src", "worktree", "add", "-q", "-b", name, w.pathOf("a", name))
		w.run("a", "gt-session", "new", w.pathOf("a", name), "-n", name, "-m", "fix the parser")
	}
	t.Log("the fleet is there")
	return w
}

func explain(out []byte, err error) error {
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func (w *chaosWorld) run(host string, args ...string) {
	w.t.Helper()
	w.requireOutput(w.command(host, args...).CombinedOutput())
}

// waitUntil waits until something holds.
func (w *chaosWorld) waitUntil(what string, holds func() error) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(250 * time.Millisecond) {
		err := holds()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("not after ten minutes: %s: %v", what, err)
		}
	}
}

// places returns the hosts that have an agent, which did not leave them.
func (w *chaosWorld) places(agent string) (hosts []string, all []*instance.Instance) {
	for _, host := range w.hosts {
		own, err := instance.Personal(w.state(host), "").ReadInstances()
		if err != nil {
			w.t.Error(err)
		}
		for _, in := range own {
			if in.Name == agent && in.Moved == nil {
				hosts, all = append(hosts, host), append(all, in)
			}
		}
	}
	return hosts, all
}

// goOn goes on with the move of an agent that no host has: its person stopped the command in the middle,
// and the host that had it last says how to go on. It returns what each host says.
func (w *chaosWorld) goOn(agent string) (said string) {
	var last *instance.Instance
	from := ""
	for _, host := range w.hosts {
		own, _ := instance.Personal(w.state(host), "").ReadInstances()
		for _, in := range own {
			if in.Name != agent || in.Moved == nil {
				continue
			}
			said += fmt.Sprintf("%s, generation %d: %+v; ", host, in.Generation, *in.Moved)
			if last == nil || in.Generation > last.Generation {
				last, from = in, host
			}
		}
	}
	if last != nil {
		out, err := w.command(from, "gt-session", "move", agent, "--to", last.Moved.To, "--now").CombinedOutput()
		said += fmt.Sprintf("%s from %s to %s again: %v: %s", agent, from, last.Moved.To, err, out)
		w.t.Log(said)
	}
	return said
}

// inOnePlace reports an agent that two hosts have, for longer than it takes to look at them.
func (w *chaosWorld) inOnePlace(agent string) {
	w.t.Helper()
	for range 3 {
		if hosts, _ := w.places(agent); len(hosts) < 2 {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	hosts, all := w.places(agent)
	w.t.Errorf("%s is in %v: %+v", agent, hosts, all)
}

// fill leaves no room on a host's disk until it is emptied.
func (w *chaosWorld) fill(host string) (empty func()) {
	name := w.pathOf(host, "filler")
	if err := os.WriteFile(name, make([]byte, 2*chaosDisk), 0o600); !errors.Is(err, syscall.ENOSPC) {
		w.t.Errorf("the disk of %s was not filled: %v", host, err)
	}
	return func() { os.Remove(name) }
}

// move has an agent move to another host, and the person there stop the command after a while.
func (w *chaosWorld) move(agent, from, to string, stop time.Duration) {
	w.mu.Lock()
	w.busy[agent] = true
	w.mu.Unlock()
	w.moves.Go(func() {
		c := w.command(from, "gt-session", "move", agent, "--to", to, "--now")
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		err := c.Start()
		if err == nil {
			timer := time.AfterFunc(stop, func() { _ = c.Process.Kill() })
			err = c.Wait()
			timer.Stop()
		}
		switch {
		case err == nil:
			w.count("moved")
		case out.Len() == 0 || strings.Contains(err.Error(), "killed"):
			w.count("moves killed")
		default:
			w.count("moves refused")
			w.t.Logf("%s from %s to %s: %v: %s", agent, from, to, err, &out)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, agent)
	})
}

// TestChaos has the hub and three hosts killed, cut off and without room on their disks for eight
// minutes, while they send each other notes and agents move from host to host. At rest each note is
// once in its box, each copy of a log is as its original, and each agent is on one host, with its
// newest work.
func TestChaos(t *testing.T) {
	if *chaos == 0 {
		t.Skip("takes eight minutes; -chaos 480s does it")
	}
	if os.Getenv("MOUNTS") == "" { // a name space of mounts of its own
		program, err := os.Executable()
		testenv.NoError(t, err)
		c := exec.Command("unshare", "--user", "--map-root-user", "--mount", program, "-test.run", "^TestChaos$", "-test.v", "-test.timeout", "0", "-chaos", chaos.String())
		c.Env = append(os.Environ(), "MOUNTS=1")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		testenv.NoError(t, c.Run())
		return
	}
	w := newChaosWorld(t)
	seed := uint64(testenv.Turn())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	pick := func(from []string) string { return from[dice.IntN(len(from))] }
	other := func(host string) string {
		return pick(slices.DeleteFunc(slices.Clone(w.hosts), func(h string) bool { return h == host }))
	}
	sent := map[string]map[string]bool{} // the subjects by host, and whether they have to be there
	for _, host := range w.hosts {
		sent[host] = map[string]bool{"first": true}
	}
	turns := map[string]int{} // the newest work of an agent
	heals := map[string]func(){}
	var last string // what is broken for the moment
	for end, n := time.Now().Add(*chaos), 0; time.Now().Before(end); n++ {
		if heal := heals[last]; heal != nil && dice.IntN(3) == 0 {
			heal()
			delete(heals, last)
		}
		switch what := dice.IntN(100); {
		case what < 55:
			from := pick(w.hosts)
			to := other(from)
			subject := fmt.Sprintf("note %04d", n)
			c := w.command(from, "gt-mail", "send", w.pathOf(to, "box")+"@"+to, "-s", subject, "-m", strings.Repeat("x", dice.IntN(3000)))
			c.Dir = w.pathOf(from, "box")
			err := c.Run()
			sent[to][subject] = err == nil
			w.count(map[bool]string{true: "notes", false: "notes that could not be sent"}[err == nil])
		case what < 75:
			name := pick(append([]string{"hub"}, w.hosts...))
			w.kill(name)
			w.start(name)
			w.count("kills")
		case what < 85 && len(heals) == 0:
			last = pick(w.hosts)
			w.wires[last].set(dice.IntN(2) == 0, true)
			heals[last] = func() { w.wires[last].set(true, false); w.wires[last].set(false, false) }
			w.count("partitions")
		case what < 90:
			wire := w.wires[pick(w.hosts)]
			wire.set(true, wire.isStalled())
			wire.set(false, wire.isStalled())
			w.count("cuts")
		case what < 94 && len(heals) == 0:
			last = pick(append([]string{"hub"}, w.hosts...))
			heals[last] = w.fill(last)
			w.count("full disks")
		default:
			agent := fmt.Sprintf("agent%d", dice.IntN(chaosAgents))
			w.mu.Lock()
			busy := w.busy[agent]
			w.mu.Unlock()
			hosts, all := w.places(agent)
			if busy || len(hosts) != 1 {
				break
			}
			if heals[hosts[0]] == nil {
				turns[agent] = n
				testenv.NoError(t, os.WriteFile(filepath.Join(all[0].Path, "turn"), fmt.Append(nil, n), 0o600))
			}
			stop := time.Minute
			if dice.IntN(4) == 0 {
				stop = time.Duration(dice.IntN(15000)) * time.Millisecond
			}
			w.move(agent, hosts[0], other(hosts[0]), stop)
		}
		for n := range chaosAgents {
			w.inOnePlace(fmt.Sprintf("agent%d", n))
		}
		time.Sleep(time.Duration(dice.IntN(500)) * time.Millisecond)
	}
	if heal := heals[last]; heal != nil {
		heal()
	}
	for _, name := range append([]string{"hub"}, w.hosts...) {
		w.kill(name)
		w.start(name)
	}
	w.moves.Wait()
	t.Log(w.done)

	w.waitUntil("each letter is where it belongs", func() error {
		for _, host := range w.hosts {
			waiting, err := peer.OutboxOf(w.state(host)).ReadLetters()
			if err != nil || len(waiting) > 0 {
				return fmt.Errorf("%d letters of %s wait, %v", len(waiting), host, err)
			}
			log, err := os.ReadFile(w.state(host).Path(".events.jsonl"))
			if err != nil {
				return err
			}
			for _, other := range w.hosts {
				copied, _ := os.ReadFile(w.state(other).Path("peers", host, ".events.jsonl"))
				if other != host && !bytes.Equal(log, copied) {
					return fmt.Errorf("%s has %d of %d bytes of the log of %s", other, len(copied), len(log), host)
				}
			}
		}
		return nil
	})
	for n := range chaosAgents {
		agent := fmt.Sprintf("agent%d", n)
		w.waitUntil(agent+" is on one host", func() error {
			hosts, all := w.places(agent)
			if len(hosts) != 1 {
				return fmt.Errorf("it is on %v; %s", hosts, w.goOn(agent))
			}
			if turns[agent] == 0 {
				return nil
			}
			data, err := os.ReadFile(filepath.Join(all[0].Path, "turn"))
			if err == nil && string(data) != fmt.Sprint(turns[agent]) {
				err = fmt.Errorf("its newest work is %q, not %d", data, turns[agent])
			}
			return err
		})
	}
	for _, host := range w.hosts {
		times := map[string]int{}
		for _, subject := range w.notesOf(host, "box") {
			times[subject]++
		}
		for subject, must := range sent[host] {
			if n := times[subject]; n > 1 || must && n == 0 {
				t.Errorf("%s is %d times on %s", subject, n, host)
			}
			delete(times, subject)
		}
		for subject := range times {
			t.Errorf("nobody sent %s to %s", subject, host)
		}
	}
}
