//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pane is a tmux pane with a client in it.
type pane struct {
	w       *world
	session string // the tmux session's name
	id      string // %N
}

// tmuxConf keeps a server whose last session has ended: it would be going away
// while the next session is asked of it.
const tmuxConf = "set -s exit-empty off\n"

// tmuxArgs are the arguments for a command of the world's own tmux server.
func (w *world) tmuxArgs(args []string) []string {
	return append([]string{"-L", "e2e", "-f", w.Path("tmux.conf")}, args...)
}

// tmux runs a command of the world's own tmux server.
func (w *world) tmux(args ...string) string {
	w.Helper()
	out, err := w.run(w.project, nil, "tmux", w.tmuxArgs(args)...)
	if err != nil {
		w.Fatalf("tmux %q: %v", args, err)
	}
	return strings.TrimSpace(string(out))
}

// tmuxOutput is tmux for what may fail.
func (w *world) tmuxOutput(args ...string) string {
	out, _ := w.run(w.Root, nil, "tmux", w.tmuxArgs(args)...)
	return string(out)
}

// open starts a command in a new tmux session, in the project's folder.
func (w *world) open(session string, command ...string) *pane {
	w.Helper()
	args := append([]string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", session,
		"-x", "180", "-y", "50", "-c", w.project}, command...)
	return &pane{w, session, w.tmux(args...)}
}

// claude starts the client in a new tmux session and waits until it takes a
// prompt.
func (w *world) claude(session string, args ...string) *pane {
	w.Helper()
	p := w.open(session, append([]string{"claude"}, args...)...)
	p.awaitPrompt()
	return p
}

// get is what tmux says of the pane, in tmux's own format language.
func (p *pane) get(format string) string {
	p.w.Helper()
	return p.w.tmux("display-message", "-p", "-t", p.id, format)
}

// screen is what a person sees.
func (p *pane) screen() string {
	return p.w.tmuxOutput("capture-pane", "-p", "-t", p.id)
}

// shows reports whether one of the texts is on the screen.
func (p *pane) shows(texts []string) bool {
	screen := p.screen()
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(screen, text) })
}

func (p *pane) awaitScreen(text string) {
	p.w.Helper()
	p.w.waitFor("the screen shows "+strconv.Quote(text), func() bool { return strings.Contains(p.screen(), text) })
}

// awaitMatch waits until the screen has a match, and returns its first group: of a list whose
// head stands there already the rest may not be drawn yet.
func (p *pane) awaitMatch(pattern string) (group string) {
	p.w.Helper()
	re := regexp.MustCompile(pattern)
	p.w.waitFor("the screen has "+pattern, func() bool {
		m := re.FindStringSubmatch(p.screen())
		if m != nil {
			group = m[1]
		}
		return m != nil
	})
	return group
}

// awaitPrompt waits until the client shows its empty input line. What newer
// clients offer at a start is declined.
func (p *pane) awaitPrompt() {
	p.w.Helper()
	p.w.waitFor("the client takes a prompt", func() bool {
		if strings.Contains(p.screen(), "❯ Yes, set auto mode as my default") {
			p.w.tmux("send-keys", "-t", p.id, "Down")
			p.awaitScreen("❯ No, keep")
			p.w.tmux("send-keys", "-t", p.id, "Enter")
		}
		return strings.Contains(p.screen(), "\n❯\u00a0\n") || strings.Contains(p.screen(), "\n❯ \n") || strings.Contains(p.screen(), "\n❯\n")
	})
}

// typ types a line as a person does: what is typed is seen before it is sent.
func (p *pane) typ(line string) {
	p.w.Helper()
	p.awaitPrompt()
	p.submit(line)
}

// submit is typ for a client that may show a hint in its input.
func (p *pane) submit(line string) {
	p.w.Helper()
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	p.awaitScreen("❯\u00a0" + line)
	if line == "/compact" { // stays in the box while its hooks run, and a second Enter compacts again
		time.Sleep(300 * time.Millisecond) // the menu of commands opens
		p.w.tmux("send-keys", "-t", p.id, "Enter")
		return
	}
	// The client may take a key that comes too early for a line break.
	p.pressWhile("Enter", func() bool { return strings.Contains(p.input(), line) })
}

// sendBoxed sends a line that is typed, and waits until the screen shows what follows ("" if
// the pane closes). Enter is pressed again only while the line stands in the input box: one
// more would be for who runs in the pane next, into whom gt may be typing just then.
func (p *pane) sendBoxed(then string, boxed func(screen string) bool) {
	p.w.Helper()
	time.Sleep(300 * time.Millisecond)
	var pressed pause
	p.w.waitFor("the screen shows "+strconv.Quote(then), func() bool {
		screen := p.screen()
		if showsNext(screen, then) {
			return true
		}
		if screen != "" && boxed(screen) && pressed.restart(takesKey) {
			p.w.tmuxOutput("send-keys", "-t", p.id, "Enter")
		}
		return false
	})
}

// showsNext reports whether the screen shows the text, or for "" whether the pane has closed.
func showsNext(screen, text string) bool {
	return (text == "") == (screen == "") && strings.Contains(screen, text)
}

// sendWhile sends a line that is typed for as long as a condition holds. An Enter that comes at
// once would be taken for a line break of something pasted.
func (p *pane) sendWhile(holds func() bool) {
	p.w.Helper()
	time.Sleep(300 * time.Millisecond)
	p.pressWhile("Enter", holds)
}

// typed types a line into a client that does not show that it is busy, sends it once, and waits
// until the screen shows what follows. A command is sent when it stands behind menu, too.
func (p *pane) typed(line, then, busy, menu string) {
	p.w.Helper()
	p.awaitIdle(busy)
	p.w.tmux("send-keys", "-t", p.id, "-l", line)
	p.awaitScreen(line)
	if strings.HasPrefix(line, "/") {
		p.awaitScreen(menu + line)
	}
	time.Sleep(300 * time.Millisecond)
	p.w.tmux("send-keys", "-t", p.id, "Enter")
	p.awaitScreen(then)
}

// awaitIdle waits until the screen does not show that a turn goes on.
func (p *pane) awaitIdle(busy string) {
	p.w.Helper()
	p.w.waitFor("the screen does not show "+strconv.Quote(busy), func() bool { return !strings.Contains(p.screen(), busy) })
}

// press sends a key until the screen shows none of the texts that it stands at: a
// client that has just drawn its screen may not read keys yet.
func (p *pane) press(key string, at ...string) {
	p.w.Helper()
	p.pressWhile(key, func() bool { return p.shows(at) })
}

// pressWhile sends a key for as long as a condition holds.
func (p *pane) pressWhile(key string, holds func() bool) {
	p.w.Helper()
	var pressed pause
	p.w.waitFor(key+" is taken", func() bool {
		if !holds() {
			return true
		}
		if pressed.restart(takesKey) {
			p.w.tmuxOutput("send-keys", "-t", p.id, key)
		}
		return false
	})
}

// takesKey is how long a client is given to take a key before it is sent again.
const takesKey = 2 * time.Second

// A pause lies between two times that the same is sent.
type pause struct {
	began time.Time
	looks int
}

// restart reports whether nothing was sent yet, or the pause after it is over: so much time, and
// on a busy machine, where each look takes longer, so many looks. Then the pause begins anew.
func (p *pause) restart(length time.Duration) bool {
	if p.looks--; p.looks > 0 || time.Since(p.began) < length {
		return false
	}
	p.began, p.looks = time.Now(), int(length/glance)
	return true
}

// input is the client's input box: what stands between its two rules.
func (p *pane) input() string {
	parts := strings.Split(p.screen(), "────────────────────")
	for i := len(parts) - 1; i >= 0; i-- {
		if strings.Contains(parts[i], "❯") {
			return parts[i]
		}
	}
	return ""
}

// pid is the process that tmux started in the pane.
func (p *pane) pid() int {
	p.w.Helper()
	pid, err := strconv.Atoi(p.get("#{pane_pid}"))
	if err != nil {
		p.w.Fatal(err)
	}
	return pid
}

// crash kills the client as the kernel does when memory runs out: without a
// word.
func (p *pane) crash() {
	p.w.Helper()
	pid := p.pid()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		p.w.Fatal(err)
	}
	p.w.waitFor("the client is dead", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") // nobody may have asked for its exit code
	})
}
