//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gt/e2e/model"
)

// Each line of gt-session list is true of a fleet of twelve agents of four clients at every
// look, whatever people do to tmux: rename, join, break, move, link, group, swap, resize,
// attach, kill, interrupt, clear, hand over, crash, and remove the server's socket.
//
// The truth is what processes and panes show without gt, and what the model was asked. The
// order of what is done is random with a fixed seed. GT_E2E_FLEET is how long it goes on (a
// duration), GT_E2E_SEED another seed, GT_E2E_AGENTS how many agents there are of the twelve.
//
// S1-13 S2-6 S2-7 S2-9 S2-31
func TestFleet(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"codex", "gemini", "opencode"} {
		w.addClient(name)
		w.wireAgent(name)
	}
	seed, _ := strconv.ParseUint(os.Getenv("GT_E2E_SEED"), 10, 64)
	f := &soak{
		agents: w.agents(), random: rand.New(rand.NewPCG(seed, 42)), held: map[string]chan struct{}{},
		lies: map[string]int{}, said: map[string]bool{}, done: map[string]int{},
	}
	t.Cleanup(f.releaseAll) // before the model's server is closed
	w.model.Answer(f.answer)
	clients := slices.Concat(slices.Repeat([]string{"claude", "codex"}, 4), []string{"claude", "gemini", "opencode", "claude"})
	if n, err := strconv.Atoi(os.Getenv("GT_E2E_AGENTS")); err == nil {
		clients = clients[:n]
	}
	for i, client := range clients {
		f.begin(fmt.Sprintf("%c%d", client[0], i), client)
	}
	f.check("all were started")

	limit := 2 * time.Minute
	if d, err := time.ParseDuration(os.Getenv("GT_E2E_FLEET")); err == nil {
		limit = d
	}
	for end := time.Now().Add(limit); time.Now().Before(end) && !f.stuck; {
		f.step()
	}
	t.Logf("%d steps, %d looks, %d lines; false: %v; refused: %d; longest list %v, longest until quiet %v",
		f.steps, f.looks, f.lines, f.lies, f.refused, f.longest.Round(time.Millisecond), f.settled.Round(time.Second))
	t.Logf("what was done: %v", f.done)
}

// soak is a fleet, and what is known of it without gt.
type soak struct {
	agents
	random *rand.Rand
	all    []*soaked
	marks  int

	mu   sync.Mutex
	held map[string]chan struct{} // by mark: the model answers once it is closed

	made                []string // tmux sessions that a person made, which hold no agent of their own
	steps, looks, lines int
	refused             int
	lies                map[string]int
	said                map[string]bool
	done                map[string]int
	longest, settled    time.Duration
	stuck               bool
}

// soaked is an agent that has to be listed truly.
type soaked struct {
	name, client, id string
	session          string // its client's, "" if it is not known
	mark             string // of the last prompt
	busy, stopped    bool
}

// spot is where an agent is, by the processes of the panes.
type spot struct {
	pane     string
	pid      int
	sessions []string
}

func (f *soak) answer(r *model.Request) model.Reply {
	asked := r.Asked()
	f.mu.Lock()
	var wait chan struct{}
	for mark, held := range f.held {
		if strings.Contains(asked, mark) {
			wait = held
		}
	}
	f.mu.Unlock()
	if wait != nil {
		<-wait
	}
	return model.Say("It is done.")
}

func (f *soak) hold(mark string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[mark] = make(chan struct{})
}

func (f *soak) release(mark string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.held[mark]; c != nil {
		close(c)
		delete(f.held, mark)
	}
}

func (f *soak) releaseAll() {
	for _, a := range f.all {
		f.release(a.mark)
	}
}

func (f *soak) begin(name, client string) {
	f.Helper()
	a := &soaked{name: name, client: client}
	a.mark = f.newMark()
	args := []string{"new", "-n", name, "-a", client, "-m", "please say " + a.mark}
	if client == "gemini" {
		args = append(args, "--", "-m", "gemini-2.5-pro")
	}
	f.session(args...)
	f.all = append(f.all, a)
	a.id = f.listed()[name].ID
	f.learn(a)
}

func (f *soak) newMark() string {
	f.marks++
	return fmt.Sprintf("MARK-%04d.", f.marks)
}

// learn waits until the model was asked the last mark, and takes the session from that.
func (f *soak) learn(a *soaked) bool {
	f.Helper()
	r := f.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool { return strings.Contains(r.Asked(), a.mark) }).LastRequest()
	})
	if r == nil {
		f.lie("prompt lost", "%s was not asked %s; its screen:\n%s", a.name, a.mark, f.screenOf(a))
		return false
	}
	a.session = r.Session
	return true
}

func (f *soak) screenOf(a *soaked) string {
	p, ok := f.truth()[a.id]
	if !ok {
		return "(no pane)"
	}
	return trimLines(f.tmuxOutput("capture-pane", "-p", "-t", p.pane))
}

func (f *soak) lie(kind, form string, args ...any) {
	f.Helper()
	f.lies[kind]++
	f.Errorf("FALSE (%s): "+form, append([]any{kind}, args...)...)
}

// truth is where each agent is, by the environment of the panes' processes.
func (f *soak) truth() map[string]spot {
	all := map[string]spot{}
	for line := range strings.Lines(f.tmuxOutput("list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{pane_dead} #{session_name}")) {
		words := strings.Fields(line)
		if len(words) < 4 || words[2] != "0" {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", words[1], "environ"))
		for _, kv := range bytes.Split(environ, []byte{0}) {
			if value, ok := bytes.CutPrefix(kv, []byte("GT_INSTANCE=")); ok {
				path, _, _ := strings.Cut(string(value), ":")
				id := path[strings.LastIndex(path, "/")+1:]
				p := all[id]
				if p.pane != "" && p.pane != words[0] {
					f.lie("doubled", "agent %s runs in %s and in %s", id, p.pane, words[0])
				}
				p.pane, p.sessions = words[0], append(p.sessions, words[3])
				p.pid, _ = strconv.Atoi(words[1])
				all[id] = p
			}
		}
	}
	return all
}

type soakLine struct {
	ID, Name, Agent, Status, Reason, Pane string
	Session                               string `json:"session_id"`
	Tmux                                  string `json:"tmux_session"`
}

func (f *soak) listed() map[string]soakLine {
	f.Helper()
	start := time.Now()
	out := f.session("list", "--json")
	f.longest = max(f.longest, time.Since(start))
	all := map[string]soakLine{}
	for line := range strings.Lines(out) {
		var l soakLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			f.Fatalf("%v: %s", err, line)
		}
		all[l.Name] = l
	}
	return all
}

// wrong returns what is false in the list, by kind.
func (f *soak) wrong() (kinds, told []string) {
	truth, listed := f.truth(), f.listed()
	f.looks++
	say := func(kind, form string, args ...any) {
		if what := fmt.Sprintf(form, args...); !f.said[what] { // a lie is told once
			kinds, told = append(kinds, kind), append(told, what)
		}
	}
	sessions := map[string]string{}
	for _, a := range f.all {
		l, is := listed[a.name]
		f.lines++
		p, alive := truth[a.id]
		switch {
		case !is:
			say("line missing", "%s is not listed", a.name)
		case !alive && a.stopped && l.Status != "stopped":
			say("status", "%s was stopped, and is listed as %+v", a.name, l)
		case !alive && !a.stopped && l.Status != "error":
			say("status", "%s is gone, and is listed as %+v", a.name, l)
		case !alive && l.Pane != "" && strings.TrimSpace(f.tmuxOutput("display-message", "-p", "-t", l.Pane, "#{pane_dead}")) != "1": // one that remains shows its last words
			say("pane", "%s is gone, and is listed as %+v", a.name, l)
		case !alive:
		case a.busy && l.Status != "running":
			say("status", "%s works, and is listed as %+v", a.name, l)
		case !a.busy && l.Status == "unknown" && f.screenOf(a) == "": // a client that starts slowly
		case !a.busy && l.Status != "waiting" && l.Status != "idle":
			say("status", "%s waits, and is listed as %+v", a.name, l)
		case l.Pane != p.pane:
			say("pane", "%s is in %s, and is listed as %+v", a.name, p.pane, l)
		case !slices.Contains(p.sessions, l.Tmux):
			say("tmux session", "%s is in %q, and is listed as %+v", a.name, p.sessions, l)
		}
		if is && alive && a.session != "" && l.Session != a.session {
			say("conversation", "%s is in %s, and is listed as %+v", a.name, a.session, l)
		}
		if l.Agent != a.client && is {
			say("client", "%s is a %s, and is listed as %+v", a.name, a.client, l)
		}
		if other := sessions[l.Session]; l.Session != "" && other != "" {
			say("conversation", "%s and %s have the session %s", other, a.name, l.Session)
		}
		sessions[l.Session] = a.name
	}
	return kinds, told
}

// drawn waits until a client that was started has drawn its screen: on a busy machine some
// need minutes.
func (f *soak) drawn(a *soaked) {
	f.Helper()
	for end := time.Now().Add(5 * time.Minute); f.screenOf(a) == "" && time.Now().Before(end); {
		time.Sleep(time.Second)
	}
}

// settlingLooks is how many looks a client is given to do what it was told, beside a minute: on a
// busy machine a look takes longer, as all that the client does.
const settlingLooks = 100

// check waits until the list is true, and says what stays false.
func (f *soak) check(what string) {
	f.Helper()
	start := time.Now()
	for looks := 1; ; looks++ {
		kinds, told := f.wrong()
		took := time.Since(start)
		if len(kinds) == 0 {
			f.settled = max(f.settled, took)
			return
		}
		if took > time.Minute && looks > settlingLooks {
			for i := range kinds {
				f.said[told[i]] = true
				f.lie(kinds[i], "after %s: %s", what, told[i])
			}
			for _, a := range f.all {
				if l := f.listed()[a.name]; slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, a.name+" ") }) {
					f.Logf("%s, listed as %+v:\n%s", a.name, l, f.screenOf(a))
				}
			}
			f.stuck = len(f.lies) > 0 && f.lieCount() > 25
			return
		}
		time.Sleep(300 * time.Millisecond)
	}
}

func (f *soak) lieCount() (n int) {
	for _, k := range f.lies {
		n += k
	}
	return n
}

// try runs a command of tmux's that may have nothing to do.
func (f *soak) try(args ...string) {
	f.tmuxOutput(args...)
}

// gtMay runs gt-session, which may refuse, and reports whether it did not.
func (f *soak) gtMay(args ...string) bool {
	out, err := f.run(f.project, f.around, "gt-session", args...)
	if err != nil {
		f.refused++
		f.Logf("  gt-session %q: %v\n%s", args, err, out)
	}
	return err == nil
}

// prompt types a prompt, or has gt send it.
func (f *soak) prompt(a *soaked, typed bool) bool {
	p, ok := f.truth()[a.id]
	if !ok {
		return false
	}
	a.mark = f.newMark()
	text := "please say " + a.mark
	if !typed {
		return f.gtMay("send", a.name, text) && f.learn(a)
	}
	return f.typeLine(a, p.pane, text, func() bool {
		return len(f.model.Turns().Filter(func(r *model.Request) bool { return strings.Contains(r.Asked(), a.mark) })) > 0
	}) && f.learn(a)
}

// typeLine types a line as a person does, and presses Enter until it was taken.
func (f *soak) typeLine(a *soaked, pane, text string, taken func() bool) bool {
	f.try("send-keys", "-t", pane, "-X", "cancel") // out of copy mode
	f.tmux("send-keys", "-t", pane, "-l", text)
	for i := range 12 {
		time.Sleep(500 * time.Millisecond)
		if i%4 == 3 && !strings.Contains(f.screenOf(a), text) { // a client that begins a conversation loses keys
			f.try("send-keys", "-t", pane, "C-u")
			f.tmux("send-keys", "-t", pane, "-l", text)
			time.Sleep(500 * time.Millisecond)
		}
		f.try("send-keys", "-t", pane, "Enter")
		for range 30 {
			if taken() {
				return true
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	f.Logf("  %s took no %q; its screen:\n%s", a.name, text, f.screenOf(a))
	return false
}

func (f *soak) step() {
	f.Helper()
	a := f.all[f.random.IntN(len(f.all))]
	p, alive := f.truth()[a.id]
	f.steps++
	if !alive {
		f.revive(a)
		return
	}
	other := f.all[f.random.IntN(len(f.all))]
	o, otherAlive := f.truth()[other.id]
	does := soakSteps[f.random.IntN(len(soakSteps))]
	what := fmt.Sprintf("%d: %s of %s (%s)", f.steps, does.name, a.name, p.pane)
	f.Logf("%s %s", time.Now().Format("15:04:05"), what)
	f.done[does.name]++
	if does.two && (!otherAlive || other == a) {
		o = spot{}
	}
	does.do(f, a, p, o)
	f.check(what)
}

func (f *soak) revive(a *soaked) {
	f.Helper()
	what := fmt.Sprintf("%d: start of %s", f.steps, a.name)
	f.Logf("%s %s", time.Now().Format("15:04:05"), what)
	if a.stopped || f.random.IntN(2) == 0 {
		f.done["start"]++
		f.gtMay("start", a.name)
		a.stopped = false
	} else {
		f.done["restore"]++
		f.gtMay("restore")
	}
	f.check(what)
	f.drawn(a)
	if f.prompt(a, f.random.IntN(2) == 0) {
		f.check(what + ", asked")
	}
}

// soakSteps are what people do. A step that cannot be done in the moment does nothing.
var soakSteps = []struct {
	name string
	two  bool
	do   func(f *soak, a *soaked, p, other spot)
}{
	{"rename-session", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("rename-session", "-t", "="+p.sessions[0], fmt.Sprintf("mine-%d", f.steps))
	}},
	{"rename-window", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("rename-window", "-t", p.pane, "vim")
	}},
	{"join-pane", true, func(f *soak, a *soaked, p, o spot) {
		if o.pane != "" {
			f.try("join-pane", "-d", "-s", p.pane, "-t", o.pane)
		}
	}},
	{"break-pane", false, func(f *soak, a *soaked, p, _ spot) { f.try("break-pane", "-d", "-s", p.pane) }},
	{"move-window", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("move-window", "-d", "-s", p.pane, "-t", "=keep:")
	}},
	{"link-window", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("link-window", "-d", "-s", p.pane, "-t", "=keep:")
	}},
	{"group", false, func(f *soak, a *soaked, p, _ spot) {
		name := fmt.Sprintf("group-%d", f.steps)
		f.try("new-session", "-d", "-s", name, "-t", "="+p.sessions[0])
		f.made = append(f.made, name)
	}},
	{"kill-session of a group", false, func(f *soak, a *soaked, p, _ spot) {
		if len(f.made) > 0 {
			i := f.random.IntN(len(f.made))
			f.try("kill-session", "-t", "="+f.made[i])
			f.made = slices.Delete(f.made, i, i+1)
		}
	}},
	{"swap-pane", true, func(f *soak, a *soaked, p, o spot) {
		if o.pane != "" {
			f.try("swap-pane", "-d", "-s", p.pane, "-t", o.pane)
		}
	}},
	{"resize", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("resize-window", "-t", p.pane, "-x", strconv.Itoa(70+f.random.IntN(120)), "-y", strconv.Itoa(20+f.random.IntN(40)))
	}},
	{"split", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("split-window", "-t", p.pane, "sleep 20")
	}},
	{"copy-mode", false, func(f *soak, a *soaked, p, _ spot) { f.try("copy-mode", "-t", p.pane) }},
	{"zoom and layout", false, func(f *soak, a *soaked, p, _ spot) {
		f.try("resize-pane", "-Z", "-t", p.pane)
		f.try("next-layout", "-t", p.pane)
	}},
	{"attach and detach", false, func(f *soak, a *soaked, p, _ spot) {
		inner := append([]string{f.look("tmux")}, f.tmuxArgs([]string{"attach", "-t", "=" + p.sessions[0]})...)
		outer := exec.Command("tmux", append([]string{"-L", "outer", "new-session", "-d", "-x", "90", "-y", "30", "env", "-u", "TMUX"}, inner...)...)
		outer.Env = f.Env
		_ = outer.Run()
		time.Sleep(time.Second)
		f.try("detach-client", "-s", "="+p.sessions[0])
	}},
	{"send", false, func(f *soak, a *soaked, p, _ spot) { f.prompt(a, false) }},
	{"typed prompt", false, func(f *soak, a *soaked, p, _ spot) { f.prompt(a, true) }},
	{"work and interrupt", false, func(f *soak, a *soaked, p, _ spot) { f.holdUp(a, p, true) }},
	{"work", false, func(f *soak, a *soaked, p, _ spot) { f.holdUp(a, p, false) }},
	{"clear", false, func(f *soak, a *soaked, p, _ spot) {
		command := map[string]string{"claude": "/clear", "codex": "/new", "gemini": "/clear", "opencode": "/new"}[a.client]
		f.try("send-keys", "-t", p.pane, "-X", "cancel")
		f.try("send-keys", "-t", p.pane, "-l", command)
		time.Sleep(time.Second)
		f.try("send-keys", "-t", p.pane, "Enter")
		time.Sleep(time.Second)
		if strings.Contains(f.screenOf(a), "Where should the new conversation run?") {
			f.check("a menu of " + a.name)
			f.try("send-keys", "-t", p.pane, "Enter")
		}
		time.Sleep(4 * time.Second) // Codex loses keys that come while it begins a conversation
		a.session = ""              // known with the next prompt
		if f.random.IntN(2) == 0 {
			f.check("clear of " + a.name)
		}
		f.prompt(a, true)
	}},
	{"hand-over", false, func(f *soak, a *soaked, p, _ spot) {
		a.session = ""
		if out, err := f.run(f.project, f.around, "gt-handoff", a.name, "--now", "-m", "go on"); err != nil {
			f.Logf("  gt-handoff: %v\n%s", err, out)
		}
		f.check("hand-over of " + a.name)
		f.drawn(a)
		f.check("hand-over of " + a.name + ", whose screen is drawn")
		f.prompt(a, false)
	}},
	{"hand-over to another client", false, func(f *soak, a *soaked, p, _ spot) {
		to := map[string]string{"claude": "codex", "codex": "claude", "gemini": "claude", "opencode": "codex"}[a.client]
		a.session = ""
		if out, err := f.run(f.project, f.around, "gt-handoff", a.name, "--now", "--to", to, "-m", "go on"); err != nil {
			f.Logf("  gt-handoff: %v\n%s", err, out)
			return
		}
		a.client = to
		f.check("hand-over to another client of " + a.name)
		f.drawn(a)
		f.check("hand-over to another client of " + a.name + ", whose screen is drawn")
		f.prompt(a, false)
	}},
	{"kill -9", false, func(f *soak, a *soaked, p, _ spot) { syscall.Kill(p.pid, syscall.SIGKILL) }},
	{"kill-pane", false, func(f *soak, a *soaked, p, _ spot) { f.try("kill-pane", "-t", p.pane) }},
	{"restart", false, func(f *soak, a *soaked, p, _ spot) {
		f.gtMay("restart", a.name)
	}},
	{"stop", false, func(f *soak, a *soaked, p, _ spot) {
		f.gtMay("stop", a.name)
		a.stopped = true
	}},
	{"socket removed", false, func(f *soak, a *soaked, p, _ spot) {
		pid, _ := strconv.Atoi(f.tmux("display-message", "-p", "#{pid}"))
		socket := filepath.Join(f.Path("tmux"), fmt.Sprintf("tmux-%d", os.Getuid()), "e2e")
		before := f.truth()
		if err := os.Remove(socket); err != nil || pid == 0 {
			f.Fatal(err)
		}
		for _, b := range f.all {
			if l := f.listed()[b.name]; before[b.id].pane != "" && (l.Status == "error" || l.Status == "stopped") {
				f.lie("socket removed", "%s runs, and is listed as %+v", b.name, l)
			}
		}
		f.lines += len(f.all)
		syscall.Kill(pid, syscall.SIGUSR1)
		f.waitFor("the socket is there again", func() bool { return exists(socket) })
	}},
}

// holdUp has an agent work until it is interrupted, or until its model answers.
func (f *soak) holdUp(a *soaked, p spot, interrupt bool) {
	f.Helper()
	a.mark = f.newMark()
	f.hold(a.mark)
	defer f.release(a.mark)
	if !f.typeLine(a, p.pane, "please say "+a.mark, func() bool {
		return len(f.model.Turns().Filter(func(r *model.Request) bool { return strings.Contains(r.Asked(), a.mark) })) > 0
	}) || !f.learn(a) {
		return
	}
	a.busy = true
	f.check("a prompt that is held of " + a.name)
	if interrupt {
		f.try("send-keys", "-t", p.pane, "Escape")
		if a.client == "opencode" {
			time.Sleep(300 * time.Millisecond)
			f.try("send-keys", "-t", p.pane, "Escape")
		}
	} else {
		f.release(a.mark)
	}
	a.busy = false
	f.check(fmt.Sprintf("the end of the turn of %s (interrupted: %v)", a.name, interrupt))
}
