// Package primecmd is the gt-prime command: it tells a session who it is, what happened
// before it, and what to do now.
package primecmd

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/state/activity"
	"gt/lib/state/mail"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

func Program() cli.Program {
	return cli.Program{
		Name: "gt-prime",
		Summary: `
Tells a session who it is, what happened before it, and what to do now.

An agent runs it in a hook when a session starts; gt-hooks install adds that
hook. Typed by hand, it shows what a session that starts here would be told:

  gt-prime                              the start-up text, changing nothing
  gt-prime --state                      normal, post-handoff, crash-recovery
                                        or autonomous
  gt-prime --new-chain                  after /clear: this is another task
  gt-handoff --print | ssh box gt-prime --handoff -
                                        a hand-over to another machine`,
		Exits:    `0  the text was printed; with --hook always`,
		Prepare:  hook.DefaultArgs("--hook"),
		Grammar:  &grammar{},
		FastPath: hook.FastPath(func(f hook.Flags) cli.Command { return &grammar{Client: f} }),
	}
}

type grammar struct {
	cli.Flags
	Client   hook.Flags `embed:""`
	State    bool       `help:"Print the situation in one word, and change nothing."`
	JSON     bool       `name:"json" help:"With --state: print it with every fact behind it."`
	DryRun   bool       `help:"Print what a session would be told, and change nothing."`
	Explain  bool       `help:"Explain on standard error how the text was chosen."`
	NewChain bool       `help:"Have this session begin a new chain: the work before it was another task."`
	Handoff  string     `help:"Take this hand-over note instead of the one that waits here; - reads standard input." placeholder:"FILE"`
}

func (g *grammar) Validate() error {
	switch {
	case g.NewChain && (g.State || g.Client.Hook || g.DryRun || g.Explain || g.Handoff != ""):
		return cli.Failf(cli.Usage, "--new-chain cannot be combined with other flags")
	case g.State && (g.Client.Hook || g.DryRun || g.Explain || g.Handoff != ""):
		return cli.Failf(cli.Usage, "--state can be combined only with --json")
	case g.JSON && !g.State:
		return cli.Failf(cli.Usage, "--json needs --state")
	case g.Handoff != "" && g.Client.Hook:
		return cli.Failf(cli.Usage, "--handoff cannot be combined with --hook")
	}
	return nil
}

// Run gathers the facts, assesses the situation and prints the text. For a session that
// starts, it records before it prints, and acknowledges after that.
func (g *grammar) Run(env *cli.Env) error {
	call := hook.NewInvocation(env, g.Client)
	switch {
	case g.Handoff != "":
		return g.tellNote(env, call)
	case g.NewChain:
		return g.newChain(env, call)
	case call.IsIdle():
		return g.excuse(env, call)
	case g.Client.Hook && !deliversText(call):
		return call.End(repeatStart(env, call))
	}
	s := newStart(env, call)
	if g.State || g.DryRun || !s.inSession {
		return g.show(s)
	}

	// Write.
	c := &commit{start: s}
	s.warn(c.begin()) // a failed record must not cost the session its text
	if g.Explain {
		s.explain(c.facts, c.situation)
	}
	if c.duplicate {
		return nil
	}
	// Deliver.
	if err := g.printText(s, c.situation, c.others); err != nil { // mutant swap: ./faults TestKill/prime-handed-over
		return call.End(err) // not delivered, so not acknowledged
	}
	// Acknowledge.
	s.warn(c.acknowledge())
	s.warn(c.shareSessionID())
	_ = call.End(nil) // reports to the log only; warn has printed it
	return nil
}

// show prints the text for a person or for a fork whose id is not known yet, and changes nothing.
func (g *grammar) show(s *start) error {
	f, situation := s.assessUnlocked()
	if g.State {
		return s.printState(f, situation, g.JSON)
	}
	if g.Explain {
		s.explain(f, situation)
	}
	if err := g.printText(s, situation, nil); err != nil {
		return s.call.End(err)
	}
	if !g.DryRun && !g.Client.Hook {
		s.env.Hint("this is the text for a session that starts here; nothing was changed")
	}
	return nil
}

// printText prints the start-up text, for a hook as the client's reply, with a notice to the person
// if the session could not be recorded. It keeps the text for repeatStart.
func (g *grammar) printText(s *start, situation situation, others []*session.Record) error {
	text := s.page(situation, others).render()
	if g.Client.Hook {
		notice := ""
		if s.unrecordedReason != "" && isFirstStart(s.call) {
			notice = keepsNothing + s.unrecordedReason
		}
		event := "SessionStart"
		if atPrompt(s.call) {
			event = s.call.Input.Event
		}
		reply := s.call.Dialect.ReplyWith(event, text, notice)
		// A client may drop the text after a request; repeatStart then gives it again.
		if s.call.Dialect.ForgetsContext && s.call.ID != "" {
			s.warn(keepRepeated(s.call, text))
		}
		text = reply
	}
	return s.env.Print(text)
}

func keepRepeated(call *hook.Invocation, text string) error {
	return activity.Change(call.Home, call.ID, func(a *activity.State) bool {
		a.Repeated = text
		return true
	})
}

// repeatStart prints the text of a start again after each tool call of the turn, for a client that
// forgets it. A new prompt ends that.
func repeatStart(env *cli.Env, call *hook.Invocation) error {
	if !call.Dialect.ForgetsContext || call.ID == "" || call.Input.AgentID != "" {
		return nil
	}
	text := activity.Read(call.Home, call.ID).Repeated
	switch {
	case text == "":
	case atPrompt(call):
		return keepRepeated(call, "")
	case call.Input.Kind() == "PostToolUse":
		return env.Print(call.Dialect.Reply(call.Input.Event, text))
	}
	return nil
}

// keepsNothing begins what the person is told once a session if gt can keep nothing of it.
const keepsNothing = "gt keeps nothing of this session: "

func isFirstStart(call *hook.Invocation) bool {
	return call.Input.Kind() == "SessionStart" && (call.Input.Source == "startup" || call.Input.Source == "resume")
}

// excuse tells the person why gt keeps nothing here. The model could not do anything about
// it, so it is not told.
func (g *grammar) excuse(env *cli.Env, call *hook.Invocation) error {
	if call.Home.Problem == nil || !isFirstStart(call) {
		return nil
	}
	why := term.Clean(env.Redact(call.Home.Problem.Error()))
	return env.Print(call.Dialect.Notice(keepsNothing + why))
}

// tellNote prints the text of a session that takes over the note of --handoff. It changes nothing.
func (g *grammar) tellNote(env *cli.Env, call *hook.Invocation) error {
	var in io.Reader = env.Stdin
	if g.Handoff != "-" {
		f, err := atomicfile.Open(env.Abs(g.Handoff))
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	note, err := mail.Parse(in)
	if err != nil {
		return cli.Fail(cli.IO, fmt.Errorf("cannot read the note: %w", err), "gt-handoff --print writes one")
	}
	s := newStart(env, call)
	_, situation := s.assessUnlocked()
	return env.Print(s.page(situation.bring(note), nil).render())
}

// deliversText reports whether this event delivers a start-up text. A start does, unless the client
// drops it; then the next prompt does. The same holds for the start after a compaction in a
// client that reports none. For such a prompt it sets call.Input.Source to that of the start. Any
// other prompt only costs reading the session's record.
func deliversText(call *hook.Invocation) bool {
	if call.Input.AgentID != "" { // a subagent gets its task from its parent
		return false
	}
	if !atPrompt(call) {
		return !slices.Contains(call.Dialect.DroppedSources, call.Input.Source)
	}
	if call.ID == "" {
		return false
	}
	r, err := call.Store.Get(call.ID)
	process := call.Process()
	switch {
	case err != nil:
		call.Warn(err)
		return false
	case call.Dialect.Overlaps && (r == nil || r.Ended() || process.IsSet() && r.Process() != process):
		return false // the start hook runs at the same time and delivers it
	case r == nil:
		call.Input.Source = sourceOfUnseen(call, process)
	case r.Ended() || process.IsSet() && r.Process() != process:
		call.Input.Source = "resume"
	case r.Handoff != nil && r.Handoff.Kind == session.KindAuto:
		call.Input.Source = "compact"
	default:
		return false
	}
	return true
}

// sourceOfUnseen returns the source of a session whose start was not recorded: "clear" if the same
// process ran another session until /clear, else "startup".
func sourceOfUnseen(call *hook.Invocation, p process.Proc) string {
	all, err := call.Store.ReadRecords()
	call.Warn(err)
	for _, r := range all {
		if p.IsSet() && r.Process() == p && (r.Reason == "clear" || r.Reason == cmp.Or(call.Dialect.ClearReason, "clear")) {
			return "clear"
		}
	}
	return "startup"
}

func atPrompt(call *hook.Invocation) bool {
	return call.Hook && call.Input.Kind() == "UserPromptSubmit"
}
