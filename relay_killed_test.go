package gt_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/state/mail"
	"gt/lib/state/peer"
)

// relayWorld is a hub and two hosts, each a folder that is its HOME, and their programs.
type relayWorld struct {
	t    *testing.T
	dir  string
	path string
	env  map[string][]string // more variables of a host
	runs map[string]*exec.Cmd
}

// newRelayFleet starts a hub that the hosts have joined. prepare sees to the folder of each.
func newRelayFleet(t *testing.T, prepare func(dir string), hosts ...string) *relayWorld {
	t.Helper()
	bin, _, _ := strings.Cut(os.Getenv("PATH"), ":") // see TestMain
	w := &relayWorld{t: t, dir: t.TempDir(), path: bin + ":/usr/bin:/bin", env: map[string][]string{}, runs: map[string]*exec.Cmd{}}
	for _, name := range append([]string{"hub"}, hosts...) {
		testenv.NoError(t, os.Mkdir(w.pathOf(name), 0o700))
		prepare(w.pathOf(name))
	}
	t.Cleanup(func() {
		for name := range w.runs {
			w.kill(name)
		}
	})
	w.start("hub")
	for _, name := range hosts {
		c := w.command(name, "gt-relay", "join", "--name", name, "-")
		c.Stdin = strings.NewReader(w.invitation())
		w.requireOutput(c.CombinedOutput())
	}
	return w
}

func newRelayWorld(t *testing.T) *relayWorld {
	t.Helper()
	testenv.Sample(t, 3)
	w := newRelayFleet(t, func(string) {}, "a", "b")
	w.requireOutput(w.command("a", "gt-relay", "sync", "--wait", "10m").CombinedOutput()) // it joined before b
	w.requireOutput(w.command("a", "gt-relay", "allow", "b", "records").CombinedOutput())
	for _, name := range []string{"a", "b"} {
		w.requireOutput(w.command(name, "git", "init", "-q", "work").CombinedOutput())
	}
	w.requireOutput(w.command("b", "sh", "-c", "cd work && gt-mail send self -s 'note 000' -m x").CombinedOutput())
	return w
}

func (w *relayWorld) pathOf(elem ...string) string {
	return filepath.Join(append([]string{w.dir}, elem...)...)
}

func (w *relayWorld) state(name string) place.State {
	return place.State(w.pathOf(name, ".local/state/gt"))
}

func (w *relayWorld) command(name string, args ...string) *exec.Cmd {
	c := exec.Command("env", slices.Concat([]string{"-i", "HOME=" + w.pathOf(name), "PATH=" + w.path}, w.env[name], args)...)
	c.Dir = w.pathOf(name)
	return c
}

func (w *relayWorld) requireOutput(out []byte, err error) string {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func (w *relayWorld) invitation() string {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		out, err := w.command("hub", "gt-hub", "invite").Output()
		if err == nil {
			return string(out)
		}
		if time.Now().After(end) {
			w.t.Fatal(err)
		}
	}
}

// start starts the hub, or a host's relay.
func (w *relayWorld) start(name string) {
	w.t.Helper()
	args := []string{"gt-relay", "run"}
	if name == "hub" {
		listen := "127.0.0.1:0"
		if address := w.address(); address != "" {
			listen = address
		}
		args = []string{"gt-hub", "--listen", listen}
	}
	c := w.command(name, args...)
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.runs[name] = c
}

// address returns where the hosts look for the hub, "" before its first start.
func (w *relayWorld) address() string {
	address, _ := os.ReadFile(w.pathOf("hub/.local/state/gt/relay/hub/address"))
	return strings.TrimSpace(string(address))
}

func (w *relayWorld) kill(name string) {
	if c := w.runs[name]; c != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		delete(w.runs, name)
	}
}

// notes returns the subjects of the notes in b's box, sorted.
func (w *relayWorld) notes() []string { return w.notesOf("b", "work") }

// notesOf returns the subjects of the notes that came to a folder of a host, sorted.
func (w *relayWorld) notesOf(host, folder string) (all []string) {
	boxes, _ := filepath.Glob(w.state(host).Path("homes", folder+"-*", "mail/*/*"))
	for _, path := range boxes {
		data, err := os.ReadFile(path)
		if err != nil {
			w.t.Fatal(err)
		}
		n, err := mail.Parse(bytes.NewReader(data))
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, n.Subject)
	}
	slices.Sort(all)
	return all
}

// check has the two hosts send and take what is left, and compares.
func (w *relayWorld) check(want []string) {
	w.t.Helper()
	if w.runs["hub"] == nil && w.address() != "" { // in this process otherwise
		w.start("hub")
	}
	for _, name := range []string{"a", "b"} {
		w.kill(name)
		w.start(name)
	}
	out := peer.OutboxOf(w.state("a"))
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		waiting, err := out.ReadLetters()
		if err != nil {
			w.t.Fatal(err)
		}
		a, _ := os.ReadFile(w.pathOf("a/.local/state/gt/.events.jsonl"))
		b, _ := os.ReadFile(w.pathOf("b/.local/state/gt/peers/a/.events.jsonl"))
		r, _ := os.ReadFile(w.record())
		c, _ := os.ReadFile(w.pathOf("b/.local/state/gt/peers/a/records", filepath.Base(w.record())))
		if len(waiting) == 0 && slices.Equal(w.notes(), want) && bytes.Equal(a, b) && bytes.Equal(r, c) {
			return
		}
		if time.Now().After(end) {
			w.t.Fatalf("%d letters wait; b has %d of %d notes: %q; its copy of the log has %d of %d bytes, of the record %d of %d", len(waiting), len(w.notes()), len(want), w.notes(), len(b), len(a), len(c), len(r))
		}
	}
}

// record returns the path of a's record of a conversation.
func (w *relayWorld) record() string {
	return w.pathOf("a/.agent/sessions/session-m0000001-abcdef.jsonl")
}

// send leaves a note at a for b, an event in a's log, and a line in a's record, which is now
// and then another one.
func (w *relayWorld) send(subject string) {
	w.t.Helper()
	c := w.command("a", "gt-mail", "send", w.pathOf("b/work")+"@b", "-s", subject, "-m", "text of "+subject)
	c.Dir = w.pathOf("a/work")
	w.requireOutput(c.CombinedOutput())
	line := func(path string, flag int) {
		f, err := os.OpenFile(path, flag|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			w.t.Fatal(err)
		}
		defer f.Close()
		if _, err := fmt.Fprintf(f, `{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"news","actor":"a","payload":{"subject":%q}}`+"\n", subject); err != nil {
			w.t.Fatal(err)
		}
	}
	line(w.pathOf("a/.local/state/gt/.events.jsonl"), os.O_APPEND)
	flag := os.O_APPEND
	if strings.HasSuffix(subject, "5") {
		flag = os.O_TRUNC
	}
	if err := os.MkdirAll(filepath.Dir(w.record()), 0o700); err != nil {
		w.t.Fatal(err)
	}
	line(w.record(), flag)
}

// TestRelayKilled kills the hub and both relays again and again while notes and events are
// on their way. Each note arrives once, and the log is copied whole.
func TestRelayKilled(t *testing.T) {
	t.Parallel()
	w := newRelayWorld(t)
	want := []string{"note 000"}
	w.start("a")
	w.start("b")
	rounds := 20
	if testing.Short() {
		rounds = 6
	}
	names, dice := []string{"hub", "a", "b"}, rand.New(rand.NewPCG(1, 0)) // the same ones each time
	for n := range rounds {
		subject := fmt.Sprintf("note %03d", n+1)
		w.send(subject)
		want = append(want, subject)
		time.Sleep(time.Duration(dice.IntN(250)) * time.Millisecond)
		name := names[dice.IntN(len(names))]
		w.kill(name)
		w.start(name)
	}
	w.check(want)
}

// changes are the calls that change files.
const changes = "openat,write,pwrite64,fsync,fdatasync,ftruncate,fchmod,mkdirat,linkat,renameat,renameat2,unlinkat"

// killedAt runs a program of a host, or of the hub, and kills it right after its nth call that
// changes a file of its home. killed reports whether it came to that. strace counts its
// injections by thread, and a goroutine changes threads, so the calls are counted here; the
// delay keeps the program where it is meanwhile.
func (w *relayWorld) killedAt(name string, n int, args ...string) (killed func() bool) {
	w.t.Helper()
	from, to, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	c := w.command(name, append([]string{"strace", "-D", "-f", "-y", "-qq", "-o", "/dev/fd/3", "-e", "trace=" + changes, "-e", "inject=" + changes + ":delay_exit=5000"}, args...)...)
	c.ExtraFiles = []*os.File{to}
	if err := c.Start(); err != nil {
		w.t.Fatal(err)
	}
	to.Close()
	w.runs[name] = c
	home := w.pathOf(name)
	done := make(chan struct{})
	came := false
	go func() {
		defer close(done)
		defer from.Close()
		lines := bufio.NewScanner(from)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			if !strings.Contains(line, home) || strings.Contains(line, "openat(") && !strings.Contains(line, "O_CREAT") || strings.Contains(line, "resumed>") {
				continue
			}
			if n--; n == 0 {
				pid, _, _ := strings.Cut(line, " ")
				if id, err := strconv.Atoi(pid); err == nil { // of a thread, which stands for all
					_ = syscall.Kill(id, syscall.SIGKILL)
					came = true
				}
			}
		}
	}()
	return func() bool {
		<-done
		_ = c.Wait()
		delete(w.runs, name)
		return came
	}
}

// TestRelayKilledAtEachCall kills the sender's relay, the receiver's and the hub right after
// their calls that change a file, each fourth of them.
func TestRelayKilledAtEachCall(t *testing.T) {
	t.Parallel()
	if !full {
		t.Skip("takes ten minutes; GT_THOROUGH=1 has it")
	}
	if _, err := exec.LookPath("strace"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs strace")
	}
	w := newRelayWorld(t)
	if out, err := exec.Command("strace", "-o", w.pathOf("log"), "true").CombinedOutput(); err != nil {
		t.Skipf("may not trace: %s", out)
	}
	want := []string{"note 000"}
	send := func() {
		subject := fmt.Sprintf("note %03d", len(want))
		w.send(subject)
		want = append(want, subject)
	}
	sync := []string{"gt-relay", "sync", "--wait", "10s"}
	const step = 4 // all of the 553 take an hour
	points := 0
	for _, name := range []string{"a", "b"} {
		for n := 1; ; n += step {
			send()
			if name == "b" { // the note is at the hub
				_, _ = w.command("a", sync...).CombinedOutput()
			}
			if !w.killedAt(name, n, sync...)() {
				break
			}
			points++
		}
	}
	for n := 1; ; n += step {
		w.kill("hub")
		killed := w.killedAt("hub", n, "gt-hub", "--listen", w.address())
		send()
		for _, name := range []string{"a", "b"} {
			_, _ = w.command(name, "gt-relay", "sync", "--wait", "3s").CombinedOutput()
		}
		hub := w.runs["hub"]
		_ = hub.Process.Signal(os.Interrupt)
		if !killed() {
			break
		}
		points++
	}
	t.Logf("%d kill points", points)
	w.check(want)
}
