// Package prime is the gt-prime command: it tells a session who it is, what
// happened before it, and what to do now.
package prime

import (
	"io"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/text/term"
)

// Main runs gt-prime and returns its exit code.
func Main(env *cli.Env) int {
	env.Args = hook.Args(env, "--hook")
	return cli.Run(env, cli.Program{
		Name: "gt-prime",
		Summary: `
Tells a session who it is, what happened before it, and what to do now.

An agent's client runs it when a session starts; gt-hooks install wires it.
By hand it shows what a session that starts here would be told:

  gt-prime                              the start-up text, changing nothing
  gt-prime --state                      normal, post-handoff, crash-recovery
                                        or autonomous
  gt-handoff --print | ssh box gt-prime --handoff -
                                        a hand-over to another machine`,
		Exits:   `0  the text was printed; with --hook always`,
		Grammar: &grammar{},
		Hot:     wired,
	})
}

// wired reads the call that clients make at every start.
func wired(args []string) cli.Command {
	if f, ok := hook.Wired(args); ok {
		return &grammar{Client: f}
	}
	return nil
}

type grammar struct {
	cli.Flags
	Client  hook.Flags `embed:""`
	State   bool       `help:"Print the situation in one word, and change nothing."`
	JSON    bool       `name:"json" help:"With --state: print it with every fact behind it."`
	DryRun  bool       `help:"Print what a session would be told, and change nothing."`
	Explain bool       `help:"Say on standard error why the text is what it is."`
	Handoff string     `help:"Take this hand-over note instead of the one that waits here; - reads standard input." placeholder:"FILE"`
}

// Validate refuses flags that do not go together; kong calls it.
func (g *grammar) Validate() error {
	switch {
	case g.State && (g.Client.Hook || g.DryRun || g.Explain || g.Handoff != ""):
		return cli.Failf(cli.Usage, "--state goes with no other flag but --json")
	case g.JSON && !g.State:
		return cli.Failf(cli.Usage, "--json goes with --state")
	case g.Handoff != "" && g.Client.Hook:
		return cli.Failf(cli.Usage, "--handoff does not go with --hook")
	}
	return nil
}

// Run looks at the situation, notes the session, prints what it should know,
// and only when that is out, acknowledges what was delivered.
func (g *grammar) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, g.Client)
	if g.Handoff != "" {
		return g.tellNote(env, call)
	}
	if call.Idle() {
		return g.excuse(env, call)
	}
	if g.Client.Hook && !due(call) {
		return call.End(nil)
	}
	s := newStart(env, call)
	if g.State {
		s.look()
		return s.printState(g.JSON)
	}
	acts := s.acts() && !g.DryRun
	if acts {
		s.warn(s.begin()) // what cannot be noted is no reason to leave the session blind
	} else {
		s.look()
	}
	if g.Explain {
		s.explain(env.Stderr)
	}
	if s.again {
		return nil
	}
	text := s.text()
	if g.Client.Hook {
		event := "SessionStart"
		if atPrompt(call) {
			event = call.Input.Event
		}
		text = s.call.Dialect.Reply(event, text)
	}
	if _, err := io.WriteString(env.Stdout, text); err != nil {
		return call.End(err) // it was not delivered, so it stays where it waits
	}
	if acts {
		s.warn(s.acknowledge())
		_ = call.End(nil) // for the log; it was said already
	} else if !g.DryRun && !g.Client.Hook {
		env.Hint("this is what a session that starts here is told; nothing was changed")
	}
	return nil
}

// excuse tells the person, once a session, why nothing is kept here. The model can do
// nothing about it and is not told.
func (g *grammar) excuse(env *cli.Env, call *hook.Invocation) error {
	if call.Input.Kind() != "SessionStart" || call.Input.Source != "startup" && call.Input.Source != "resume" {
		return nil
	}
	why := term.Clean(env.Redact(call.Home.Problem.Error()))
	_, err := io.WriteString(env.Stdout, call.Dialect.Notice("gt keeps nothing of this session: "+why))
	return err
}
