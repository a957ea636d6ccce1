package launch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"gt/lib/client/agent"
	"gt/lib/launch/respawn"
	"gt/lib/launch/send"
	"gt/lib/sys/process"
	"gt/lib/sys/tmux"
	"gt/lib/text/term"
)

// Settled is how long an agent has to run until it counts as started, if no hook reports it
// and its screen is unknown. A client that cannot run ends within a second or two. Drawn is
// the limit for a client whose screen is known but not drawn yet.
const (
	Settled = 3 * time.Second
	Drawn   = 15 * time.Second
)

const (
	pollInterval  = 200 * time.Millisecond // between two captures of a screen; each is a call of tmux
	goneAfter     = 100 * time.Millisecond // until a process that is gone counts as ended
	promptSettled = time.Second            // until an agent counts as ended whose shell waits for a command
	reapWait      = 300 * time.Millisecond // for tmux to reap a process
	// drainWait is how long tmux may take to read all that an agent printed. A process that the
	// agent left can keep the terminal open for longer.
	drainWait = 3 * time.Second
	// dialogsLimit bounds AcceptDialogs. A busy client can lose a key, which takes send.Patience until
	// it is noticed.
	dialogsLimit = 2 * time.Minute
)

// deadPrefix is the beginning of the line that tmux writes into a pane that remains on exit.
const deadPrefix = "Pane is dead ("

// EndedError reports that an agent ended while it was being started.
type EndedError struct {
	LastWords string
	Shell     string // in whose prompt its program ended, "" if it left none
}

func (e *EndedError) Error() string {
	if e.Shell != "" {
		return fmt.Sprintf("the agent ended at once, and %s asks for a command in its pane: %s", e.Shell, e.LastWords)
	}
	return "the agent ended at once: " + e.LastWords
}

// AwaitBegin waits until a pane runs the agent and returns its process. The process that tmux
// starts is gt's own program, which becomes the agent by exec.
func AwaitBegin(server tmux.Server, pane tmux.Pane, within time.Duration) (process.Proc, error) {
	self, err := os.Executable()
	if err != nil {
		return process.Proc{}, err
	}
	forked := "" // tmux's server, whose copy the pane's process is until its exec
	if p, err := process.Find(process.Parent(pane.PID)); err == nil {
		forked, _ = p.Executable()
	}
	var goneSince time.Time
	for deadline := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		p, err := process.Find(pane.PID)
		switch {
		case err == nil && p.IsAlive():
			goneSince = time.Time{}
			if at, err := p.Executable(); err == nil && at != self && at != forked {
				return p, nil
			}
		case goneSince.IsZero():
			goneSince = time.Now()
		case time.Since(goneSince) > goneAfter:
			return process.Proc{}, &EndedError{LastWords: lastLine(lastScreen(server, pane))}
		}
		if time.Now().After(deadline) {
			return process.Proc{}, fmt.Errorf("the agent did not start within %v", within)
		}
	}
}

// AwaitReady waits until the agent in a pane is ready: one of its hooks ran, its screen shows that
// it works, takes a prompt or asks something, or it has run for settled (see ReadyPatience). It
// fails if the agent ends first, or falls back to a shell. asks reports that the client asks the
// person something.
func AwaitReady(server tmux.Server, pane tmux.Pane, c agent.Client, p process.Proc, hookReported func() bool, settled time.Duration) (asks bool, err error) {
	begin := time.Now()
	var lookedAt, goneSince, promptSince time.Time
	text := ""
	for ; ; time.Sleep(20 * time.Millisecond) {
		switch {
		case p.IsAlive():
			goneSince = time.Time{}
		case goneSince.IsZero():
			goneSince = time.Now()
			continue
		case time.Since(goneSince) > goneAfter:
			if last := lastScreen(server, pane); last != "" {
				text = last
			}
			return false, &EndedError{LastWords: lastLine(text)}
		default:
			continue
		}
		if hookReported() {
			return false, nil
		}
		now := time.Now()
		switch shell := fallbackShell(c, p); {
		case shell == "":
			promptSince = time.Time{}
		case promptSince.IsZero():
			promptSince = now
		case now.Sub(promptSince) > promptSettled:
			lines := strings.Split(strings.TrimSpace(text), "\n")
			return false, &EndedError{LastWords: lastLine(strings.Join(lines[:len(lines)-1], "\n")), Shell: shell} // the last one is the prompt
		}
		if now.Sub(lookedAt) >= pollInterval || now.Sub(begin) < pollInterval { // at first always
			lookedAt = now
			styled, err := server.CaptureStyled(pane.ID)
			if err == nil {
				text = agent.Plain(styled)
				switch shown, _ := c.Input(styled); {
				case shown == agent.Asks:
					return true, nil
				case shown != agent.NoInput, c.ScreenState(text) == agent.Busy:
					return false, nil
				}
			}
		}
		if now.Sub(begin) >= settled && promptSince.IsZero() {
			return false, nil
		}
	}
}

// AwaitSurvival waits until the agent has begun in a pane and told reports one of its hooks, or it
// has run for settled. It is for callers that look at their agents again anyway.
func AwaitSurvival(server tmux.Server, pane tmux.Pane, within, settled time.Duration, told func() bool) error {
	p, err := AwaitBegin(server, pane, within)
	if err == nil {
		_, err = AwaitReady(server, pane, agent.Client{}, p, told, settled)
	}
	return err
}

// ReadyPatience returns how long a client's start waits for it to be ready.
func ReadyPatience(c agent.Client) time.Duration {
	if c.KnowsInput() {
		return Drawn
	}
	return Settled
}

// fallbackShell returns the shell to whose prompt an agent's program fell back, "" if there is
// none. A client can be a shell itself.
func fallbackShell(c agent.Client, p process.Proc) string {
	if len(c.Command) > 0 && process.IsShell(c.Command[0]) {
		return ""
	}
	return process.ShellAtPrompt(p.PID)
}

// AcceptDialogs accepts the dialogs that a client shows at its start, and returns the options that
// it chose. It ends when the client takes a prompt, works, or keeps asking something unknown: a
// half-drawn dialog is unknown for a moment. After dialogsLimit it gives up without an error.
// asks says that the client will ask about the folder, by its own files.
func AcceptDialogs(server tmux.Server, pane tmux.Pane, c agent.Client, p process.Proc, asks bool) (accepted []string, err error) {
	quietTime := respawn.Undisturbed // how long an input box stays before no dialog is expected any more
	if asks {
		quietTime = respawn.DialogDue
	}
	to := send.Target{Server: server, Pane: pane.ID, Client: c}
	var takesSince, unknownSince time.Time // since when it shows an input box, or asks something unknown
	for deadline := time.Now().Add(dialogsLimit); time.Now().Before(deadline) && p.IsAlive(); time.Sleep(pollInterval) {
		styled, err := server.CaptureStyled(pane.ID)
		switch {
		case errors.Is(err, tmux.ErrNoAnswer): // it is busy
			continue
		case err != nil:
			return accepted, nil // the pane is gone; the next step finds out
		}
		plain := agent.Plain(styled)
		shown, _ := c.Input(styled)
		switch now := time.Now(); {
		case c.MayAskTrust(plain):
			takesSince = time.Time{}
		case c.ScreenState(plain) == agent.Busy:
			return accepted, nil
		case shown != agent.EmptyInput && shown != agent.Draft:
			takesSince = time.Time{}
		case takesSince.IsZero():
			takesSince = now
		case now.Sub(takesSince) > quietTime:
			return accepted, nil
		}
		q, asks := c.Question(styled)
		choice := 0
		if asks {
			choice = c.AcceptingOption(q)
		}
		switch {
		case !asks || choice > 0:
			unknownSince = time.Time{}
		case unknownSince.IsZero():
			unknownSince = time.Now()
		case time.Since(unknownSince) > respawn.Undisturbed:
			return accepted, nil
		}
		if choice == 0 {
			continue
		}
		option, err := to.Answer(choice, q.Digest(), send.Patience)
		switch {
		case err == nil:
			accepted, quietTime = append(accepted, option.Text), respawn.Undisturbed
		case !errors.Is(err, send.ErrNoQuestion) && !errors.Is(err, send.ErrNotTaken) && !errors.Is(err, send.ErrChanged) &&
			!errors.Is(err, tmux.ErrNoAnswer) && p.IsAlive():
			return accepted, err
		}
	}
	return accepted, nil
}

// lastScreen returns what a pane shows after its process has ended.
func lastScreen(server tmux.Server, pane tmux.Pane) string {
	for end := time.Now().Add(drainWait); ; time.Sleep(20 * time.Millisecond) {
		dead, err := server.IsDead(pane.ID)
		if err == nil && !dead && time.Now().Before(end) {
			continue
		}
		text, _ := server.CaptureEnd(pane.ID) // a pane that is gone shows nothing
		return text
	}
}

// DescribeEnd describes how the agent of a remaining pane ended: its exit status and its last
// line.
func DescribeEnd(server tmux.Server, pane tmux.Pane) string {
	text := lastScreen(server, pane)
	// The pane is dead once its terminal is closed. tmux reaps the process a little later.
	for end := time.Now().Add(reapWait); ; time.Sleep(20 * time.Millisecond) {
		switch how, err := server.HowEnded(pane.ID); {
		case how != "":
			return how + ": " + lastLine(cmp.Or(lastScreen(server, pane), text))
		case err != nil || time.Now().After(end):
			return lastLine(text)
		}
	}
}

// lastLine returns the last line of a screen that is neither empty nor tmux's own.
func lastLine(screen string) string {
	if i := strings.LastIndex(screen, deadPrefix); i >= 0 && (i == 0 || screen[i-1] == '\n') {
		screen = screen[:i]
	}
	return cmp.Or(term.LastLine(screen), "it printed nothing")
}
