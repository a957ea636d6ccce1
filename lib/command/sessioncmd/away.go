package sessioncmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/launch/send"
	"gt/lib/live/fleet"
	"gt/lib/reconcile/agents"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/text/term"
)

// remote is a session whose agent is run by a program of the person's instead of tmux.
type remote struct {
	in      *instance.Instance
	agents  agents.Agents
	runtime runtime.Remote
	ref     runtime.Ref // the runtime's name for it
}

// findRemote returns the named session if its agent runs outside tmux, and nil otherwise.
func findRemote(at scope, name string, find func(scope, string) (*instance.Instance, error)) (*remote, error) {
	in, err := find(at, name)
	if err != nil || !agents.Remote(in) {
		return nil, err
	}
	all, err := agents.NewAgents(at.Env, at.Town, at.Profile)
	if err != nil {
		return nil, err
	}
	r, ref, err := all.Remote(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	return &remote{in, all, r, ref}, nil
}

func (e *remote) withExitCode(err error) error {
	switch {
	case errors.Is(err, runtime.ErrNone):
		return notRunning(e.in)
	case errors.Is(err, runtime.ErrCannot):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s: %w", e.in.Name, err), fmt.Sprintf("gt-session peek %s shows its screen", e.in.Name))
	case errors.Is(err, runtime.ErrUnknown):
		return cli.Fail(cli.Busy, fmt.Errorf("%s: %w", e.in.Name, err), "try again")
	case err != nil:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s: %w", e.in.Name, err))
	}
	return nil
}

func (e *remote) peek(env *cli.Env, err error) error {
	if err != nil {
		return err
	}
	text, err := e.runtime.Peek(context.Background(), e.ref)
	if err != nil {
		return e.withExitCode(err)
	}
	return env.Println(strings.TrimRight(env.Text(text), "\n "))
}

func (e *remote) send(env *cli.Env, c *sendPrompt, text string, err error) error {
	if err != nil {
		return err
	}
	if c.Wait {
		return e.sendPrompt(env, c, text)
	}
	give := e.runtime.Send
	if c.Command {
		give = e.runtime.Command
	}
	if err := give(context.Background(), e.ref, text); err != nil {
		return e.withExitCode(err)
	}
	return env.Println("sent to " + e.in.Name)
}

// sendPrompt sends a prompt, waits for the answer and prints it. It sends nothing if the runtime
// cannot report answers.
func (e *remote) sendPrompt(env *cli.Env, c *sendPrompt, text string) error {
	ctx := context.Background()
	if _, err := e.runtime.LastAnswer(ctx, e.ref); err != nil {
		return e.withExitCode(err)
	}
	at := env.Now()
	if err := e.runtime.Send(ctx, e.ref, text); err != nil {
		return e.withExitCode(err)
	}
	worked := false
	err := watch(time.Duration(c.Timeout), time.Now(), func() (bool, error) {
		s := e.agents.Status(ctx, []*instance.Instance{e.in})[0]
		switch {
		case s.Alive == tick.Unknown: // a later look may succeed
			return false, nil
		case s.Alive == tick.Dead:
			return false, cli.Failf(cli.AnswerNo, "%s did not answer: it is no longer running", e.in.Name)
		case s.Asks:
			return false, cli.Fail(cli.Busy, fmt.Errorf("%s has not answered yet: %w", e.in.Name, send.ErrAsks), fmt.Sprintf("gt-session peek %s shows its screen", e.in.Name))
		case s.Limited:
			return false, cli.Failf(cli.AnswerNo, "%s did not answer: its account is at a limit", e.in.Name)
		case s.Idle.IsZero():
			worked = true
			return false, nil
		}
		// Runtimes report whole seconds, so Idle can be up to a second early.
		return worked || s.Idle.Add(-time.Second).After(at), nil
	})
	if errors.Is(err, errTimeout) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%w: %s has not answered", err, e.in.Name))
	} else if err != nil {
		return err
	}
	return e.printLastAnswer(env)
}

func (e *remote) printLastAnswer(env *cli.Env) error {
	said, err := e.runtime.LastAnswer(context.Background(), e.ref)
	if err != nil {
		return e.withExitCode(err)
	}
	return answer{text: said}.print(env, fleet.Member{Instance: e.in})
}

// attach replaces this process with the runtime's own command for attaching.
func (e *remote) attach(env *cli.Env, err error) error {
	switch {
	case err != nil:
		return err
	case !term.IsTerminal(env.Stdin):
		return cli.Fail(cli.Usage, errors.New("this is not a terminal"), fmt.Sprintf("gt-session peek %s prints what it shows", e.in.Name))
	}
	return e.withExitCode(e.runtime.Attach(e.ref))
}
