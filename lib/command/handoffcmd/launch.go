package handoffcmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/launch/gtexec"
	"gt/lib/launch/launcher"
	"gt/lib/launch/respawn"
	"gt/lib/live"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/state/instance"
	"gt/lib/state/mail"
	"gt/lib/state/pidfile"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
	"gt/lib/text/frame"
	"gt/lib/text/redact"
	"gt/lib/text/term"
)

// startSuccessor gives the pane to the successor, or prints what to type if that does not get it.
// It starts nothing for an agent that moves to another machine. The note is saved already: if the
// start fails, the next session in the folder gets it.
func (h handover) startSuccessor(note mail.Note) error {
	if h.folderReplaced != nil {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("cannot start a successor: %w", h.folderReplaced), "the note is saved: gt-mail read "+note.ID)
	}
	if h.whyPaneLost != "" {
		return h.env.Printf("saved; to read the note: gt-mail read %s\n%s\n", note.ID, h.whyPaneLost)
	}
	if !h.replaces {
		return h.printStartByHand(note.ID)
	}
	if _, in := instance.OfAgent(h.home.Town.State, process.Variable(h.environ, instance.Variable)); in != nil && in.Moved != nil { // mutant never: . TestScripts/session_pack$
		return h.env.Printf("saved; %s moves to another machine after this turn, and the note with it\n", in.Name)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	at := respawn.RunPane{Server: h.server, Pane: h.pane, Self: self, Now: h.env.Now(), Warn: h.warn}
	if h.remote {
		at.OldAgent = h.agent
	}
	run := h.successorRun(note.Subject)
	restore, err := h.changeAgent(run)
	h.warn(err) // its hook will tell
	if err := h.successor.Replace(at, run); err != nil {
		h.warn(restore())
		h.warn(h.releaseNote())
		return cli.WithHint(err, "the note is saved: the next session that starts in %s gets it", h.home.Dir)
	}
	if h.home.Identity.Role != "" {
		h.warn(h.trackSuccessor())
	}
	if h.remote {
		fmt.Fprintf(h.env.Stdout, "handed over %s in tmux session %s\n", h.home.Identity.Address(), h.pane.Session)
		if h.watch && h.env.Getenv("TMUX") != "" {
			if err := h.server.SwitchClient(h.pane); err != nil { // this client stays where it is
				h.env.Hint("tmux attach -t %s shows it", term.Quote(h.pane.Session))
			}
		}
	} else if h.record != nil && h.record.Server().IsSet() {
		// A client's server runs the turn, which goes on although its window is
		// gone. Only the agent can end it.
		fmt.Fprintln(h.env.Stdout, "handed over: a fresh agent continues in your window. End your turn now, and do nothing more.")
	}
	return nil
}

// trackSuccessor puts the successor's process in the place of the agent's, where that was tracked.
func (h handover) trackSuccessor() error {
	pids := pidfile.NewDir(h.home.Town)
	if f, err := pids.Get(h.pane.Session); err != nil || f.Process.PID != h.agent.PID {
		return nil // nobody tracks it
	}
	pane, err := h.server.Pane(h.pane.ID, paneWait)
	if err != nil {
		return err
	}
	p, err := process.Find(pane.PID)
	if err != nil {
		return err
	}
	return pids.Track(pane.Session, p)
}

// changeAgent records in the agent's instance that another client follows. restore undoes that.
func (h handover) changeAgent(run respawn.Run) (restore func() error, err error) {
	restore = func() error { return nil }
	c, variable := h.successor.Client, process.Variable(h.environ, instance.Variable)
	if c.Name == h.client().Name || variable == "" {
		return restore, nil
	}
	parent := 0
	if up := process.Ancestors(h.agent.PID); len(up) > 0 {
		parent = up[0]
	}
	store, in := instance.OfProcess(h.home.Town.State, variable, h.agent.PID, parent)
	if in == nil {
		return restore, nil
	}
	change := func(change func(in *instance.Instance)) error {
		held, err := store.Hold(in.ID, instanceWait)
		if err != nil {
			return err
		}
		defer held.Release()
		change(held.Instance)
		return held.Put(h.env.Now())
	}
	account := process.Variable(run.Env, c.StoreEnv)
	if !filepath.IsAbs(account) {
		account = ""
	}
	before := *in
	restore = func() error {
		return change(func(in *instance.Instance) {
			in.ChangeAgent(before.StartedAt, before.Agent, before.Args, before.Account, before.SessionID)
			in.SessionAt, in.ForkOf = before.SessionAt, before.ForkOf
		})
	}
	return restore, change(func(in *instance.Instance) {
		in.ChangeAgent(h.env.Now(), c.Name, c.ChosenArgs(run.Args), account, session.ID(h.successor.ID))
	})
}

const instanceWait = 2 * time.Second // bounds the wait for another command that holds the instance

// printStartByHand prints the id of the saved note, and how a person starts the successor.
func (h handover) printStartByHand(note string) error {
	line, then := h.startByHand()
	lead := "for the person: end this session, then type: " // the agent reads this and cannot do it
	switch {
	case h.startedIn.Why != "" && h.remote:
		lead = h.redact(notSameText(h.startedIn.Why)) + "\nend that session, then type: "
	case h.startedIn.Why != "":
		lead = h.redact(notSameText(h.startedIn.Why)) + "\n" + lead
	case h.hasEnded:
		lead = fmt.Sprintf("session %s, which ended here at %s, is handed over\nto start the next one, type: ", h.id, h.record.EndedAt.Local().Format("15:04"))
	case h.id == "" && !h.agent.IsSet():
		lead = h.describeReceiver() + "\nto start one, type: "
	}
	return h.env.Printf("saved; to read the note: gt-mail read %s\n%s%s\n%s\n", note, lead, line, then)
}

// describeReceiver tells a person who gets their own note, and how to hand over an agent that runs here.
func (h handover) describeReceiver() string {
	records, _ := h.store.ReadRecords() // unreadable records are not listed
	for _, r := range records {
		if r.Live() {
			line := fmt.Sprintf("the next session in this folder will get the note; %s still runs here (session %s)", r.Agent, r.ID)
			if r.TmuxPane != "" {
				line += "\nto replace it by a fresh agent now, type: gt-handoff " + r.TmuxPane
			}
			return line
		}
	}
	return "no agent runs here; the next session in this folder will get the note"
}

// startByHand returns the command by which a person starts the successor, and what happens then or
// where to type it. One without hooks gets an id for its record, and must be told to run gt-prime.
func (h handover) startByHand() (line, then string) {
	next := agent.NextRun{ID: h.successor.ID}
	if h.kind == session.KindCycle && h.record != nil {
		next.Resume = string(h.record.ID)
	}
	if h.carriedCopy != "" {
		next.Resume = string(h.carriedCopy)
	}
	then = "the new session will read the note first"
	var how []string // the words of the command
	if next.ID != "" {
		then = "then tell it to run gt-prime, because it has no hooks that show it the note"
		how = h.successorVars()
	}
	c := h.successor.Client
	var args []string
	// The agent runs, but in a sandbox or container, where its process cannot be seen.
	hidden := h.record != nil && !h.hasEnded && !h.agent.IsSet() && (h.record.IsElsewhere() || process.IsContained())
	switch same := c.Name == h.client().Name; {
	case same && (h.hasEnded || hidden):
		args = process.TypedCommand(h.record.Args, h.dir)
	case same && h.agent.IsSet():
		given, _ := h.agentArgs() // without readable arguments the agent is started without any
		args = append(slices.Clone(c.Command), c.ChosenArgs(given)...)
	}
	how = append(how, c.Restart(args, next)...)
	const inside = "in the sandbox, container or account that this session runs in, and not outside of it; "
	switch {
	case h.agent.IsSet():
		// As its start is seen from here: what it runs in, or the whole line that a person typed.
		in, whole, unseen := launcher.TypedWords(h.clientTable(), h.client(), h.agent)
		switch how = launcher.WrapCommand(in, how); {
		case unseen, h.startedIn.Isolated, h.startedIn.Why != "" && len(in) == 0:
			then = inside + then
		case whole:
			how = in
			then = "that is how this session was started; " + then
		}
	case hidden:
		then = inside + then
	}
	words := term.TypedWords(how)
	return term.Clean("cd " + term.Typed(h.home.Dir) + " && " + h.redact(words)), then
}

func notSameText(why string) string {
	return "no agent was started, for it would not run in what this one was started in: " + why
}

func (h handover) successorVars() []string {
	words := []string{"env"}
	for _, kv := range h.successor.Vars() {
		words = append(words, kv[0]+"="+kv[1])
	}
	return words
}

// printCommand prints the command that starts the successor, for a shell. It leaves out the
// environment, which holds keys and which a person's shell has anyway, and redacts secrets
// in the arguments.
func (h handover) printCommand() error {
	if h.startedIn.Why != "" {
		line, _ := h.startByHand()
		return cli.Fail(cli.AnswerNo, errors.New(h.redact(notSameText(h.startedIn.Why))), "a person can type: "+line)
	}
	r := h.successorRun(h.redact(h.subject))
	line := term.QuoteWords(append(h.successorVars(), launcher.WrapCommand(r.Launcher, r.Args)...))
	if clean := h.redact(line); clean != line {
		line = clean
		h.env.Warn("the agent was started with a secret among its arguments: insert it again in the place of %s", redact.Mark)
	}
	return h.env.Printf("cd %s && exec %s\n", term.Quote(r.Dir), line)
}

// printPlan prints what --dry-run would do. asks reports that a hook does it when the turn ends.
func (h handover) printPlan(d draft, work string, asks bool) {
	say := func(format string, args ...any) {
		fmt.Fprintln(h.env.Stdout, term.Clean(h.redact(fmt.Sprintf(format, args...))))
	}
	if work != "" {
		say("would make this the work of the next session: %s", work)
	}
	say("would write a note to %s: %s", h.home.Identity.Address(), frame.Line(d.note.Subject))
	for line := range strings.Lines(frame.Words(d.note.Body)) { // as the successor will read it
		say("    %s", strings.TrimRight(line, "\n"))
	}
	say("would tell the next session of it by %s", frame.Line(h.home.Path("handoff")))
	say("would log a handoff event in %s", frame.Line(h.home.Town.Events()))
	switch {
	case h.kind == session.KindAuto:
		say("would leave the agent alone")
	case asks && h.record.TmuxPane != "":
		say("would have %s take over in pane %s when the turn ends: this runs in a sandbox", h.successor.Client.Name, h.record.TmuxPane)
	case asks:
		say("would have the note saved when the turn ends: this runs in a sandbox")
	case !h.replaces:
		if h.startedIn.Why != "" {
			say("%s", notSameText(h.startedIn.Why))
			say("would say what to type")
			break
		}
		say("would say what to type: no agent runs in a tmux pane here")
	default:
		r := h.successorRun(d.note.Subject)
		say("would respawn pane %s of tmux session %s in %s", h.pane.ID, h.pane.Session, r.Dir)
		say("    %s", term.QuoteWords(launcher.WrapCommand(r.Launcher, r.Args)))
	}
}

// alongWait limits each run of gt-record: sync and convert read a long conversation whole,
// and a client may have to import it.
const alongWait = 6 * time.Minute

// carryConversation converts the conversation for the successor's client and makes the successor
// resume the copy. looks is --dry-run; asks says that this is a sandbox, where it fails.
func (h handover) carryConversation(looks, asks bool) (handover, error) {
	switch {
	case h.id == "" || h.id.Invented() || h.hasNoHooks:
		return h, cli.Fail(cli.AnswerNo, errors.New("gt does not know which conversation this is"),
			"without --with-conversation a fresh session takes over, with the note")
	case asks:
		return h, h.cannotTakeAlong()
	case looks:
		_, err := fmt.Fprintf(h.env.Stdout, "would write the conversation for %s: gt-record convert %s --to %s\n",
			h.successor.Client.Name, h.id, h.successor.Client.Name)
		return h, err
	}
	run := func(args ...string) ([]byte, error) {
		return gtexec.Output("gt-record", h.home.Dir, h.env.Environ, alongWait, args...)
	}
	if _, err := run("sync", string(h.id)); err != nil {
		return h, cli.Fail(cli.AnswerNo, err)
	}
	dir := cmp.Or(h.dir, h.home.Dir)
	out, err := run("convert", string(h.id), "--to", h.successor.Client.Name, "--cwd", dir, "--json")
	if err != nil {
		return h, cli.Fail(cli.AnswerNo, err, "without --with-conversation a fresh session takes over, with the note")
	}
	var written struct {
		Session string `json:"session_id"`
	}
	if err := json.Unmarshal(out, &written); err != nil {
		return h, fmt.Errorf("cannot understand what gt-record says: %w", err)
	}
	if h.carriedCopy, err = session.ParseID(written.Session); err != nil {
		return h, fmt.Errorf("cannot understand what gt-record says: %w", err)
	}
	h.successor = respawn.NewSuccessor(h.successor.Client, h.home, h.carriedCopy)
	h.env.Hint("%s goes on with conversation %s", h.successor.Client.Name, term.Clean(string(h.carriedCopy)))
	return h, nil
}

// cannotTakeAlong returns the error for a hand-over inside a sandbox, where the other
// client's folder is out of reach.
func (h handover) cannotTakeAlong() error {
	return cli.Fail(cli.AnswerNo, errors.New("the conversation cannot be written from within the sandbox"),
		"outside of it: gt-handoff PANE --to AGENT --with-conversation, where PANE is that of this session; without --with-conversation the note is handed over")
}

// allowBusy asks at the terminal before another agent is cut off in a turn or in what it runs
// in the background, and refuses elsewhere.
func (h handover) allowBusy() error {
	if !h.agent.IsSet() || h.id == "" {
		return nil
	}
	is := status.OfActivity(status.Hook, activity.Read(h.home, h.id))
	h.correctByScreen(&is)
	busy := status.WhyBusy(is.Status, is.Reason, is.Background)
	if busy == "" {
		return nil
	}
	return h.env.ConfirmBusy([]string{"it is busy: " + busy}, "nothing was handed over")
}

// correctByScreen corrects by the agent's screen what the hooks report. They tell neither of each
// question nor of a turn that a person interrupted. After an interruption the screen waits for a
// prompt, and its input box has no draft or question.
func (h handover) correctByScreen(is *status.Observation) {
	table, err := h.table()
	if err != nil || h.pane.ID == "" {
		return
	}
	styled, err := h.server.CaptureStyled(h.pane.ID)
	if err != nil {
		return
	}
	client := table.FindClient(h.name)
	box, _ := client.Input(styled)
	switch {
	case live.ShowsQuestion(client, styled, *is):
		is.Status, is.Reason = status.Waiting, status.Question
	case is.Status == status.Running && box != agent.Draft && box != agent.Asks && client.ScreenState(agent.Plain(styled)) == agent.Waiting:
		is.Status = status.Waiting
	}
}

// checkEarly reports whether there is nothing to save yet, because some clients run the hook
// before every request to the model. A save is due only when the conversation is full, so
// that the client compacts it, and only once until it is short again: a client whose
// compaction fails tries again each time. The record keeps that it was saved. A compaction
// that the person starts is never early.
//
// full comes from the client's own rule, its transcript and settings.
func (h handover) checkEarly() (full, early bool, err error) {
	policy := h.call.Dialect.CompactionPolicy
	if policy == nil {
		return false, false, nil
	}
	own, _ := account.FindCurrent(h.transcriptForm(), h.env.Getenv) // without a HOME the project's settings count
	full, err = policy(h.transcript(), h.call.Dir, own.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.warn(err)
	}
	if h.call.Input.Trigger != "auto" {
		return full, false, nil
	}
	if full {
		return full, h.record != nil && h.record.Full, nil
	}
	if h.record == nil || !h.record.Full {
		return full, true, nil
	}
	lock, err := h.home.LockWithin(saveWait)
	if err != nil {
		return full, true, err
	}
	defer lock.Unlock()
	r, err := h.store.Get(h.record.ID)
	if err != nil || r == nil {
		return full, true, err
	}
	r.Full = false
	return full, true, h.store.Put(r, atomicfile.Unsynced)
}
