package sessioncmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/launch/send"
	"gt/lib/live/fleet"
	"gt/lib/place"
	"gt/lib/reconcile/agents"
	"gt/lib/reconcile/runtime"
	"gt/lib/reconcile/tick"
	"gt/lib/state/instance"
	"gt/lib/state/peer"
	"gt/lib/sys/process"
	"gt/lib/text/term"
	"gt/lib/view/roster"
)

// hostAgent is an agent on another host of the fleet: NAME@HOST.
type hostAgent struct {
	env   *cli.Env
	state place.State
	host  peer.Host
	name  string
}

// findOnHost returns the agent that NAME@HOST means, or nil if a name has another form or means an
// agent of this host. If NAME can be an agent's name, only HOST can tell whether it has that agent,
// which may be new. Otherwise NAME is the agent's title or folder. Titles and folders of this host,
// which can contain an '@', come first, and HOST must have told of such an agent before.
func findOnHost(env *cli.Env, name string) (*hostAgent, error) {
	state := place.StateOf(env.Getenv)
	hosts := peer.NewHosts(state)
	agent, host, ok := peer.SplitAddress(name)
	if !ok || hosts.LocalName(name) != name {
		return nil, nil
	}
	isName := instance.CheckName(agent) == nil
	if !isName {
		if local, _ := instance.FindListed(state, name, env.Abs(name)); local != nil { // the caller says what is unreadable
			return nil, nil
		}
	}
	h, err := hosts.Get(host)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := hosts.LocalHost(); err != nil || !isName { // in no fleet, or a title
			return nil, nil
		}
		_, err = hosts.Find(host) // its error names the known hosts
	}
	e := &hostAgent{env, state, h, agent}
	if err != nil || isName {
		return e, err
	}
	known, err := agentsNamed(env, h, agent)
	switch {
	case len(known) == 1:
		e.name = known[0].Name
	case len(known) > 1:
		err = cli.Failf(cli.AnswerNo, "'%.80s' is the name of %d agents of %s", agent, len(known), h.Name)
		for _, a := range known[:min(len(known), maxCandidates)] {
			err = cli.WithHint(err, "%s@%s  %s", env.Line(a.Name, 80), h.Name, env.Line(a.Path, 200))
		}
	}
	return e, err
}

// agentsNamed returns the agents that a name means on a host, as it told last.
func agentsNamed(env *cli.Env, h peer.Host, name string) ([]peer.Agent, error) {
	all, err := roster.Peers(env).Agents(h, env.Now())
	if err != nil {
		return nil, err
	}
	found, hint := peer.FindAgents(all, name, "gt-session list --hosts lists them")
	if len(found) == 0 {
		err = cli.Fail(cli.AnswerNo, fmt.Errorf("there is no agent '%.80s' on %s", name, h.Name), env.Line(hint, 400))
	}
	return found, err
}

const askPatience = 10 * time.Second

// askHost has the agent's host run a command. An exit code in the answer is no error.
func (e *hostAgent) askHost(ask peer.Ask, within time.Duration) (a peer.Answer, err error) {
	ask.Name = e.name
	if err := peer.NewHosts(e.state).Blocked(e.host); err != nil {
		return a, err
	}
	now := e.env.Now()
	if e.host.IsAway(now) {
		return a, cli.Fail(cli.Busy, fmt.Errorf("%s does not answer: %s", e.host.Name, e.host.Seen(now)), "gt-relay shows whether this host is connected")
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop() // ctrl-C takes the command back
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	a, err = peer.Call(ctx, e.state, e.host, ask, now)
	refused := new(peer.NotTaken)
	switch {
	case errors.As(err, &refused):
		err = cli.Fail(cli.AnswerNo, fmt.Errorf("%s: %s", e.host.Name, e.env.Line(strings.TrimSpace(refused.Reason), 400)))
	case errors.Is(err, peer.ErrUndelivered), errors.Is(err, peer.ErrUnanswered):
		err = cli.Fail(cli.Busy, fmt.Errorf("%s: %w", e.host.Name, err), "gt-relay shows whether this host is connected")
	}
	return a, err
}

// runThere is askHost, and prints what the command printed there. An exit code other than 0 is an error.
func (e *hostAgent) runThere(ask peer.Ask, within time.Duration) error {
	a, err := e.askHost(ask, within)
	if err != nil {
		return err
	}
	if err := e.env.Print(e.env.Text(a.Stdout)); err != nil {
		return err
	}
	if a.Stderr != "" {
		if _, err := fmt.Fprint(e.env.Stderr, e.env.Text(a.Stderr)); err != nil {
			return err
		}
	}
	if a.Code != 0 {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s@%s: it ended with %d", e.name, e.host.Name, a.Code))
	}
	return nil
}

// attach attaches this terminal to the agent through ssh, where the host is known to be reached by it.
func (e *hostAgent) attach() error {
	by := fmt.Sprintf("ssh -t HOST gt-session attach %s does it, where HOST is %s for ssh", e.name, e.host.Name)
	u, err := url.Parse(e.host.SSH)
	if e.host.SSH == "" || err != nil || u.Hostname() == "" {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("how ssh reaches %s is not known here", e.host.Name), by)
	}
	if !term.IsTerminal(e.env.Stdin) {
		return cli.Fail(cli.Usage, errors.New("attaching needs a terminal"), fmt.Sprintf("gt-session peek %s@%s prints its screen", e.name, e.host.Name))
	}
	path, err := process.LookPath("ssh", "", e.env.ChildEnviron())
	if err != nil {
		return err
	}
	args := []string{path, "-t"}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	to := u.Hostname()
	if u.User != nil && u.User.Username() != "" {
		to = u.User.Username() + "@" + to
	}
	args = append(args, "--", to, `sh -c 'PATH="$PATH:$HOME/.local/bin:$HOME/go/bin:$HOME/bin:/usr/local/bin"; exec gt-session attach "$0"' `+term.Quote(e.name))
	return process.Exec("/", args, e.env.ChildEnviron())
}

// askOtherHosts sends ask to the agents that are named NAME@HOST, and leaves the other names in
// s.Names. done reports that there is nothing left to do here.
func (s *agentSelection) askOtherHosts(env *cli.Env, ask peer.Ask) (done bool, err error) {
	var local []string
	for _, name := range s.Names {
		e, err := findOnHost(env, name)
		if err != nil {
			return true, err
		}
		if e == nil {
			local = append(local, name)
			continue
		}
		if err := e.runThere(ask, time.Minute); err != nil {
			return true, err
		}
	}
	if len(s.Names) > 0 && len(local) == 0 {
		return true, nil
	}
	s.Names = local
	return false, nil
}

// runtimeAgent is a session whose agent is run by a program of the person's instead of tmux.
type runtimeAgent struct {
	in      *instance.Instance
	agents  agents.Agents
	runtime runtime.Remote
	ref     runtime.Ref // the runtime's name for it
}

// findRuntimeAgent returns the named session if its agent runs outside tmux, and nil otherwise.
func findRuntimeAgent(at scope, name string, find func(scope, string) (*instance.Instance, error)) (*runtimeAgent, error) {
	in, err := find(at, name)
	if err != nil || !agents.IsRemote(in) {
		return nil, err
	}
	all, err := agents.NewAgents(at.Env, at.Town, at.Profile)
	if err != nil {
		return nil, err
	}
	r, ref, err := all.RemoteRuntime(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	return &runtimeAgent{in, all, r, ref}, nil
}

// withExitCode adds an exit code and a hint to an error of the runtime.
func (e *runtimeAgent) withExitCode(err error) error {
	switch {
	case errors.Is(err, runtime.ErrNone):
		return notRunningError(e.in)
	case errors.Is(err, runtime.ErrCannot):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s: %w", e.in.Name, err), fmt.Sprintf("gt-session peek %s shows its screen", e.in.Name))
	case errors.Is(err, runtime.ErrUnknown):
		return cli.Fail(cli.Busy, fmt.Errorf("%s: %w", e.in.Name, err), "try again")
	case err != nil:
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%s: %w", e.in.Name, err))
	}
	return nil
}

// peek prints the screen. It returns err, the error of finding the agent, with which e is nil.
func (e *runtimeAgent) peek(env *cli.Env, err error) error {
	if err != nil {
		return err
	}
	text, err := e.runtime.Peek(context.Background(), e.ref)
	if err != nil {
		return e.withExitCode(err)
	}
	return env.Println(strings.TrimRight(env.Text(text), "\n "))
}

// send gives the agent the text. It returns err as peek does.
func (e *runtimeAgent) send(env *cli.Env, c *sendPrompt, text string, err error) error {
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
func (e *runtimeAgent) sendPrompt(env *cli.Env, c *sendPrompt, text string) error {
	ctx := context.Background()
	if _, err := e.runtime.LastAnswer(ctx, e.ref); err != nil {
		return e.withExitCode(err)
	}
	at := env.Now()
	if err := e.runtime.Send(ctx, e.ref, text); err != nil {
		return e.withExitCode(err)
	}
	worked := false
	err := pollUntil(time.Duration(c.Timeout), time.Now(), func() (bool, error) {
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
		// An agent that was not seen at work has answered if it became idle after the prompt.
		// Runtimes report for how many whole seconds it was, so Idle can be up to a second late.
		return worked || s.Idle.Add(-time.Second).After(at), nil
	})
	if errors.Is(err, errTimeout) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("%w: %s has not answered", err, e.in.Name))
	} else if err != nil {
		return err
	}
	return e.printLastAnswer(env)
}

func (e *runtimeAgent) printLastAnswer(env *cli.Env) error {
	said, err := e.runtime.LastAnswer(context.Background(), e.ref)
	if err != nil {
		return e.withExitCode(err)
	}
	return agentAnswer{text: said}.print(env, fleet.Member{Instance: e.in})
}

// attach replaces this process with the runtime's own command for attaching.
func (e *runtimeAgent) attach(env *cli.Env, err error) error {
	switch {
	case err != nil:
		return err
	case !term.IsTerminal(env.Stdin):
		return cli.Fail(cli.Usage, errors.New("this is not a terminal"), fmt.Sprintf("gt-session peek %s prints what it shows", e.in.Name))
	}
	return e.withExitCode(e.runtime.Attach(e.ref))
}
