// Package handoffcmd is the gt-handoff command: it saves what a session knows and then,
// unless told otherwise, puts a fresh agent into the same pane.
package handoffcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/launch/respawn"
	"gt/lib/place/identity"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

func Program() cli.Program {
	return cli.Program{
		Name: "gt-handoff",
		Summary: `
Hands a session's work over to a fresh session in the same tmux pane: writes a
note of what it knows, then replaces the agent. The new one reads the note
first.

  gt-handoff -s 'auth: 2 of 5 done' -m 'next: session.go; do not touch the API'
  git log -3 | gt-handoff -s 'see the log' -m -
  gt-handoff %3                         hand over the agent in another pane
  gt-handoff --to codex                 continue with another agent
  gt-handoff --to codex --with-conversation
                                        the same, with the whole conversation
  gt-handoff --cancel                   take back a hand-over that still waits
  gt-handoff --auto                     save only (the hook before a compaction)
  gt-handoff --print | ssh box gt-prime --handoff -

Outside tmux it saves the note and says what to type.`,
		Exits: `
0  saved, and handed over if that was asked for; with --hook always
1  no such session or work; no such hand-over to cancel; the agent is not on PATH, or cannot --cycle`,
		Prepare:  hook.DefaultArgs("--auto", "--hook", "--reason", "compaction"),
		Grammar:  &grammar{},
		FastPath: parseWired,
	}
}

// parseWired parses the call that hooks make before a compaction, without kong; nil for another.
func parseWired(args []string) cli.Command {
	if len(args) < 2 || args[0] != "--auto" {
		return nil
	}
	g := &grammar{Auto: true, Collect: true, Watch: true} // the last two are kong's defaults
	rest := args[1:]
	if len(rest) >= 3 && rest[0] == "--hook" && rest[1] == "--reason" && !strings.HasPrefix(rest[2], "-") {
		g.Reason = rest[2]
		rest = append([]string{"--hook"}, rest[3:]...)
	}
	f, ok := hook.ParseWired(rest)
	if !ok {
		return nil
	}
	g.Client = f
	return g
}

type grammar struct {
	cli.Flags
	Client hook.Flags `embed:""`

	What    *string `arg:"" optional:"" help:"Work to give first (an id), or the agent to hand over instead of yourself: its name in gt-session, a tmux session, a pane (%3), or a session's id; with --cancel, a note."`
	Subject string  `short:"s" help:"The subject of the note, one line." placeholder:"TEXT"`
	Message string  `short:"m" help:"What the successor must know; - reads standard input." placeholder:"TEXT"`
	Collect bool    `short:"c" default:"true" negatable:"" help:"Add what the conversation, git and gt-mail say (on by default)."`

	Auto    bool   `help:"Save, and leave the agent alone: for a hook before a compaction." xor:"how"`
	Cycle   bool   `help:"Continue the same conversation in a new process." xor:"how"`
	To      string `help:"The agent that takes over: claude, codex, gemini, ... (default: the one that runs now)." placeholder:"AGENT"`
	Along   bool   `name:"with-conversation" help:"With --to: the other agent continues the conversation itself, which gt-record converts."`
	Reason  string `help:"Why; 'compaction' makes the next start a brief one." placeholder:"WORD"`
	Cancel  bool   `help:"Take back the hand-over that waits; of several, the one whose note is named." xor:"how"`
	Print   bool   `help:"Write the note to standard output, and change nothing." xor:"how"`
	DryRun  bool   `help:"Print what would be done, and change nothing."`
	Restart bool   `name:"restart-command" help:"Print the command that starts the successor, quoted for a shell, and change nothing." xor:"how"`

	Now        bool   `help:"Hand over another agent even while it is busy: in a turn, or with commands in the background."`
	Watch      bool   `short:"w" default:"true" negatable:"" help:"Show the other agent's session after handing it over (on by default)."`
	NoGitCheck bool   `help:"Do not warn about uncommitted or unpushed work."`
	Finish     string `hidden:"" help:"Do what this session asked for in a sandbox." placeholder:"ID"`
	Mode       string `hidden:"" help:"With --finish: what the agent may do without asking." placeholder:"WORD"`
	Hold       string `hidden:"" help:"With --finish: why the pane is not given away." placeholder:"TEXT"`
	Exec       string `hidden:"" help:"Become the agent that this buffer of tmux describes." placeholder:"NAME"`
}

func (g *grammar) Validate() error {
	switch {
	case g.What != nil && strings.TrimSpace(*g.What) == "":
		return cli.Failf(cli.Usage, "the argument is empty; without one, this session is handed over")
	case g.Cancel && (g.To != "" || g.Subject != "" || g.Message != "" || g.Client.Hook):
		return cli.Failf(cli.Usage, "--cancel takes a hand-over back, and writes none: it can be combined only with --dry-run and a note")
	case g.Along && (g.To == "" || g.Print || g.Restart || g.Client.Hook):
		return cli.Failf(cli.Usage, "--with-conversation is for a hand-over to another agent: it needs --to")
	case g.To != "" && (g.Auto || g.Cycle):
		return cli.Failf(cli.Usage, "--to is for a hand-over: with --auto no agent takes over, and --cycle continues the same conversation")
	}
	return nil
}

// Run saves first and touches tmux last.
func (g *grammar) Run(env *cli.Env) error {
	if g.Exec != "" {
		return respawn.Exec(env, g.Exec)
	}
	call := hook.NewInvocation(env, g.Client)
	if call.IsIdle() {
		return nil
	}
	if g.Client.Hook {
		if err := call.Home.Prepare(); err != nil {
			return call.End(err) // nothing can be saved, and every later step would report it again
		}
	}
	if g.Finish != "" {
		return g.finishRequested(env, call)
	}
	if g.Cancel {
		return g.cancelHandover(env, call)
	}
	if done, err := g.deferPolecat(env, call.Home.Identity); done {
		return err
	}
	if g.Auto && g.Client.Hook && call.Input.AgentID != "" {
		return call.End(nil) // a subagent's conversation is compacted, not the session's
	}
	if g.Auto && g.Client.Hook {
		call.Warn(call.KeepConversation(g.Client, hook.TurnEnded)) // the client may rewrite its file
	}
	return call.End(g.handOver(env, call))
}

func (g *grammar) order() order {
	o := order{
		kind: session.KindHandoff, subject: g.Subject, to: g.To, reason: g.Reason, collect: g.Collect,
		isHook: g.Client.Hook, watch: g.Watch, quietGit: g.NoGitCheck, dryRun: g.Print || g.DryRun,
	}
	switch {
	case g.Auto:
		o.kind = session.KindAuto
	case g.Cycle:
		o.kind = session.KindCycle
	}
	return o
}

// handOver resolves the hand-over, writes the note, saves it and starts the successor.
// Nothing changes before all is resolved, and no process ends before all is saved.
func (g *grammar) handOver(env *cli.Env, call *hook.Invocation) error {
	changes := !g.Print && !g.DryRun && !g.Restart
	if changes && call.ID != "" && call.Home.Problem == nil {
		call.Warn(call.EnsureRecord()) // save even without a record
	}
	h, work, err := resolve(env, call, g.order(), g.What)
	if err != nil {
		return err
	}
	if h.folderReplaced != nil && (g.Restart || g.DryRun) {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start a successor: %w", h.folderReplaced))
	}
	if g.Restart {
		return h.printCommand()
	}
	if changes && h.remote && !g.Now {
		if err := h.allowBusy(); err != nil {
			return err
		}
	}
	if changes && h.home.Problem != nil {
		return h.home.Problem // nothing can be saved, and every later step would report it again
	}
	if g.Auto && g.Client.Hook {
		full, early, err := h.checkEarly()
		if early {
			return err
		}
		h.isFull = full
	}
	asks := !g.Print && h.mustRequest() // a hook has to do it, outside this command's sandbox
	if h.kind == session.KindCycle && changes {
		if err := h.refuseLoop(!asks); err != nil {
			return err
		}
	}
	message, err := g.readMessage(env)
	if err != nil {
		return err
	}
	if asks && changes && g.Along {
		return h.cannotTakeAlong()
	}
	if asks && changes {
		return h.leaveRequest(message, work)
	}
	return g.carryOut(env, h, h.composeNote(message, work), work, asks)
}

// carryOut prints the note or the plan, or saves the note and starts the successor. asks
// reports whether a hook will do that instead, which the plan then says.
func (g *grammar) carryOut(env *cli.Env, h handover, d draft, work string, asks bool) (err error) {
	if g.Print {
		d.note.Body = term.CleanText(d.note.Body) // the output may go to a terminal
		_, err := d.note.WriteTo(env.Stdout)
		return err
	}
	if d.isEmpty && work == "" && h.kind == session.KindHandoff && !g.DryRun {
		return cli.Fail(cli.AnswerNo, errors.New("there is nothing to hand over: no session is known here, and nothing was said"),
			"-m TEXT says what the next session has to know")
	}
	h.warnOfGit(d.state)
	if g.Along {
		if h, err = h.carryConversation(g.DryRun, asks); err != nil {
			return err
		}
	}
	if g.DryRun {
		h.printPlan(d, work, asks)
		return nil
	}
	if work != "" {
		if err := h.hookWork(work); err != nil {
			return err
		}
	}
	note, saved, err := h.save(d)
	if err != nil || !saved {
		return err
	}
	if h.kind == session.KindAuto {
		return h.tellSummariser(note.ID, d.essentials)
	}
	return h.startSuccessor(note)
}

// deferPolecat leaves a polecat's hand-over to Gas Town's gt, if that is installed, because
// the witness there manages polecats. done is false if the hand-over is gt-handoff's own.
func (g *grammar) deferPolecat(env *cli.Env, who identity.Identity) (done bool, err error) {
	if who.Role != identity.Polecat || g.What != nil || g.Auto || g.Cycle || g.Print || g.Restart {
		return false, nil
	}
	gt, err := process.LookPath("gt", env.Dir, env.ChildEnviron())
	if err != nil {
		return false, nil
	}
	if g.DryRun {
		fmt.Fprintf(env.Stdout, "would run: gt done --status DEFERRED\n")
		return true, nil
	}
	err = syscall.Exec(gt, []string{"gt", "done", "--status", "DEFERRED"}, env.ChildEnviron())
	return true, fmt.Errorf("cannot run '%s': %w", gt, err)
}

// maxMessage limits a message, in bytes. Longer texts belong in a file.
const maxMessage = 256 << 10

// readMessage returns the text of -m. - is standard input, but not in a hook: it has the client's data.
func (g *grammar) readMessage(env *cli.Env) (string, error) {
	if g.Message != "-" || g.Client.Hook {
		return g.Message, nil
	}
	data, err := io.ReadAll(io.LimitReader(env.Stdin, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("cannot read the message: %w", err)
	}
	if len(data) > maxMessage {
		return "", cli.Failf(cli.IO, "the message is over %d KiB", maxMessage>>10)
	}
	return strings.TrimRight(string(data), "\n"), nil
}
