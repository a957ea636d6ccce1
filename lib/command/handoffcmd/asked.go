package handoffcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/launch/gtexec"
	"gt/lib/place"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// mustRequest reports whether the hand-over has to be requested, because this command runs in a sandbox that
// hides tmux or the agent, or that does not let it write the state. Hooks run outside the sandbox, so
// the one at the end of the turn serves the request. The record shows whether a hook exists.
func (h handover) mustRequest() bool {
	r := h.record
	if h.kind == session.KindAuto || h.remote || r == nil || r.Hook == nil || r.Ended() {
		return false
	}
	apart := process.InSandbox()
	if r.PIDNS != "" && r.Process().IsSet() { // a hook recorded where the agent runs
		apart = r.IsElsewhere()
	}
	// A closed pane is not found either, so the agent must also run outside of this sandbox.
	hidden := h.inPane && h.pane.ID == "" && h.agent.IsSet() && process.Freer(h.agent.PID)
	if r.TmuxPane != "" && !h.replaces && (apart || hidden) {
		return true
	}
	lock, err := h.home.Lock()
	if err != nil {
		return request.Denied(err)
	}
	lock.Unlock()
	return false
}

// leaveRequest leaves the hand-over for the hook at the end of the turn, and tells the agent to end it.
func (h handover) leaveRequest(message, work string) error {
	said, err := request.Leave(request.HomeOf(place.ScopeOf(h.env.Getenv), h.home, h.record.ID), h.record.ID, request.Item{
		Kind: request.Handoff, At: h.env.Now(), Subject: h.redact(h.subject), Message: h.redact(message),
		To: h.to, Cycle: h.kind == session.KindCycle, Reason: h.redact(h.reason), Work: work, Bare: !h.collect,
	})
	if err != nil {
		return err
	}
	// The hook trusts the request only if the client's account of the turn shows this line.
	if said != "" {
		said += "\n"
	}
	does := h.successor.Client.Name + " takes over"
	switch {
	case h.record.TmuxPane == "":
		does = "the note is saved"
	case h.kind == session.KindCycle:
		does = "this conversation goes on in a new process"
	}
	return h.env.Printf("%sThe sandbox does not let this command reach its pane: %s as soon as your turn ends. End it now, and do nothing more.\n", said, does)
}

// finishWithin is how long after a request its turn may end. An agent whose turn goes on
// for longer is busy with something else.
const finishWithin = 10 * time.Minute

// finishWait limits the wait for the home's lock at the end of a turn: a client gives its
// hook five seconds.
const finishWait = 3 * time.Second

// finishRequested serves what the session requested from its sandbox. gt-keepalive executes it in a
// hook, so it prints nothing and never fails.
func (g *grammar) finishRequested(env *cli.Env, call *hook.Invocation) error {
	call.Hook = true
	env.Stdout = io.Discard
	id, err := session.ParseID(g.Finish)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	call.ID = id
	env.WarnError(call.End(g.serveRequests(env, call)))
	return nil
}

// serveRequests serves what commands of the session requested from its sandbox, a hand-over last,
// because it ends the session.
func (g *grammar) serveRequests(env *cli.Env, call *hook.Invocation) error {
	lock, err := call.Home.LockWithin(finishWait)
	if err != nil {
		return err
	}
	items, left, err := request.Serve(call.Home, call.ID)
	lock.Unlock()
	if err != nil || len(items) == 0 {
		return err
	}
	r, err := call.Store.Get(call.ID)
	if err != nil || r == nil {
		return err
	}
	s := request.Session{Home: call.Home, Record: r, Now: env.Now(), Redact: env.Redact, Warn: call.Warn}
	var last *request.Item
	for _, item := range items {
		if item.Kind == request.Handoff {
			last = &item
			continue
		}
		if item.OfWork() {
			call.Warn(serveWork(env, call, item))
			continue
		}
		call.Warn(s.PerformItem(item)) // the requests are independent
	}
	if last == nil || r.Ended() {
		return nil
	}
	o := order{
		kind: session.KindHandoff, subject: last.Subject, to: last.To, reason: last.Reason,
		collect: !last.Bare, isHook: true,
	}
	if last.Cycle {
		o.kind, o.to = session.KindCycle, ""
	}
	held := g.Hold // why the pane is kept, or ""
	if held == "" && env.Now().Sub(left).Abs() > finishWithin {
		held = "its turn went on for over ten minutes"
	}
	h, err := currentTarget(env, call, false).withSuccessor(o)
	if err != nil {
		return err // an agent that is not on the person's list: run nothing
	}
	gone := h.findPlace()
	if h.whyPaneKept = held; held == "" {
		h.whyPaneKept = h.whyKeepPane(g.Mode, gone)
	}
	h.replaces = h.whyPaneKept == ""
	return errors.Join(gone, h.handOver(last.Message, strings.TrimSpace(last.Work)))
}

// whyKeepPane returns why the pane is not given away, "" if it is. mode is what the agent may do
// without asking, gone why the successor cannot be started.
func (h handover) whyKeepPane(mode string, gone error) string {
	switch {
	case h.folderReplaced != nil:
		return h.redact(h.folderReplaced.Error())
	case h.folder.Inode == 0:
		return "its folder is gone"
	case gone != nil:
		return "its successor cannot be started: " + gone.Error()
	case h.startedIn.Why != "":
		return h.redact(notSameText(h.startedIn.Why))
	case h.canReplace():
		return h.redact(h.successor.WidensPermissions(mode, h.successorRun("")))
	}
	return "it has no pane of tmux to itself"
}

// handOver serves a request: it saves the note and starts the successor. work is the id of the work
// that the successor gets, or "". If that is gone, handOver warns and hands over without it.
func (h handover) handOver(message, work string) error {
	if h.kind == session.KindCycle {
		if err := h.refuseLoop(h.replaces); err != nil {
			return err
		}
	}
	box := mail.NewBox(h.home, h.home.Identity.Address())
	if work != "" {
		note, err := box.Get(work)
		if work = note.ID; err != nil {
			work = ""
			h.warn(fmt.Errorf("the work that was to be handed over: %w", err))
		}
	}
	d := h.composeNote(message, work)
	if work != "" {
		h.warn(box.Hook(work))
	}
	note, saved, err := h.save(d)
	if err != nil || !saved {
		return err
	}
	return h.startSuccessor(note)
}

const workWait = 5 * time.Second

// serveWork lets gt-mail serve a request about work of the session's template.
func serveWork(env *cli.Env, call *hook.Invocation, item request.Item) error {
	_, err := gtexec.Output("gt-mail", call.Dir, env.Environ, workWait, "work", "asked", "--session="+string(call.ID), item.Kind, "--", item.Work)
	return err
}
