package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gt/lib/cli"
	reconciled "gt/lib/reconcile/agents"
	"gt/lib/reconcile/runtime"
	"gt/lib/state/instance"
	"gt/lib/text/term"
)

// distant is a session whose agent a program of the person's runs, as its town has it.
type distant struct {
	in     *instance.Instance
	agents reconciled.Agents
}

// away returns the session that a person means where its agent runs elsewhere; nil for
// one that runs in tmux.
func (p profile) away(env *cli.Env, name string) (*distant, error) {
	in, _, err := p.find(env, name)
	if err != nil || !reconciled.Away(in) {
		return nil, err
	}
	w, err := p.world(env)
	if err != nil {
		return nil, err
	}
	return &distant{in, w.Agents.(reconciled.Agents)}, nil
}

// told adds codes and hints to what went wrong.
func (e *distant) told(err error) error {
	switch {
	case errors.Is(err, runtime.ErrNone):
		return cli.Fail(cli.No, fmt.Errorf("%s does not run", e.in.Name), fmt.Sprintf("gt-session start %s starts it", e.in.Name))
	case errors.Is(err, runtime.ErrUnknown):
		return cli.Fail(cli.Busy, fmt.Errorf("%s: %w", e.in.Name, err), "try again")
	case err != nil:
		return cli.Fail(cli.No, fmt.Errorf("%s: %w", e.in.Name, err))
	}
	return nil
}

// peek prints what it shows.
func (e *distant) peek(env *cli.Env, err error) error {
	if err != nil {
		return err
	}
	text, err := e.agents.Peek(context.Background(), e.in)
	if err != nil {
		return e.told(err)
	}
	_, err = fmt.Fprintln(env.Stdout, strings.TrimRight(env.Text(text), "\n "))
	return err
}

// send gives it a prompt.
func (e *distant) send(env *cli.Env, c *send, text string, err error) error {
	switch {
	case err != nil:
		return err
	case c.Wait, c.Command:
		return cli.Failf(cli.Usage, "--wait and --command: %s runs elsewhere (%s), which takes prompts only", e.in.Name, e.in.Managed.Runtime)
	}
	if err := e.agents.Send(context.Background(), e.in, text); err != nil {
		return e.told(err)
	}
	_, err = fmt.Fprintln(env.Stdout, "sent to "+e.in.Name)
	return err
}

// attach becomes what shows it.
func (e *distant) attach(env *cli.Env, err error) error {
	switch {
	case err != nil:
		return err
	case !term.IsTerminal(env.Stdin):
		return cli.Fail(cli.Usage, errors.New("this is no terminal"), fmt.Sprintf("gt-session peek %s prints what it shows", e.in.Name))
	}
	return e.told(e.agents.Attach(e.in))
}
