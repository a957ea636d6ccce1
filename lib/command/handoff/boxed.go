package handoff

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/state/mail"
	"gt/lib/state/request"
	"gt/lib/state/session"
	"gt/lib/sys/process"
)

// asks reports whether we run in a sandbox, as an agent's commands may, out of
// which the agent and tmux cannot be reached, or the state cannot be written. The
// agent's hooks run outside, so the one at the end of the turn does what is asked
// for. That there are hooks, the record shows: one has started the session.
func (h *handover) asks() bool {
	r := h.record
	if h.kind == session.KindAuto || h.remote || r == nil || r.Hook == nil || r.Ended() || h.g.Finish != "" {
		return false
	}
	apart := process.InSandbox()
	if r.PIDNS != "" && r.Process().IsSet() { // a hook has noted where the agent runs
		apart = r.Elsewhere()
	}
	if r.TmuxPane != "" && !h.respawns() && (apart || h.inPane && h.pane.ID == "") {
		return true
	}
	lock, err := h.home.Lock()
	if err != nil {
		return request.Denied(err)
	}
	lock.Unlock()
	return false
}

// ask leaves the hand-over to the hook at the end of the turn.
func (h *handover) ask(work string) error {
	message, err := h.g.message(h.env)
	if err != nil {
		return err
	}
	clean := h.redact()
	said, err := request.Leave(request.HomeOf(h.env.Getenv, h.home, h.record.ID), h.record.ID, request.Item{
		Kind: request.Handoff, At: h.env.Now(), Subject: clean(h.g.Subject), Message: clean(message),
		To: h.g.To, Cycle: h.g.Cycle, Reason: clean(h.g.Reason), Work: work, Bare: !h.g.Collect,
	})
	if err != nil {
		return err
	}
	if said != "" {
		said += "\n"
	}
	does := h.heir.Name + " takes over"
	switch {
	case h.record.TmuxPane == "":
		does = "the note is saved"
	case h.g.Cycle:
		does = "this conversation goes on in a new process"
	}
	_, err = fmt.Fprintf(h.env.Stdout, "%sA sandbox keeps this command from its pane: %s as soon as your turn ends. End it now, and do nothing more.\n", said, does)
	return err
}

// finishWithin is how long after a hand-over its turn may end. One that goes on
// for longer found something else to do.
const finishWithin = 10 * time.Minute

// finishWait is how long the end of a turn waits for others that work in the same
// home: a client gives its hook five seconds.
const finishWait = 3 * time.Second

// finish serves what the session asked for in a sandbox. gt-keepalive turns into
// it, so it is a hook, which says nothing and never fails.
func (g *grammar) finish(env *cli.Env, call *hook.Invocation) error {
	call.Hook = true
	env.Stdout = io.Discard
	id, err := session.ParseID(g.Finish)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	call.ID = id
	if err := call.End(g.serve(env, call)); err != nil {
		env.Warn("%v", err)
	}
	return nil
}

// serve does what was asked for: a hand-over last, for nothing of the session may
// be left after it.
func (g *grammar) serve(env *cli.Env, call *hook.Invocation) error {
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
		call.Warn(s.Do(item)) // none needs the others
	}
	if last == nil || r.Ended() {
		return nil
	}
	h := &handover{env: env, call: call, kind: session.KindHandoff, hold: g.Hold, g: &grammar{
		Finish: g.Finish, Client: hook.Flags{Hook: true, Agent: g.Client.Agent, Dialect: g.Client.Dialect},
		Subject: last.Subject, Message: last.Message, To: last.To, Cycle: last.Cycle, Reason: last.Reason,
		Collect: !last.Bare,
	}}
	if last.Cycle {
		h.kind, h.g.To = session.KindCycle, ""
	}
	if h.hold == "" && env.Now().Sub(left).Abs() > finishWithin {
		h.hold = "its turn went on for over ten minutes"
	}
	return h.serve(g.Mode, last.Work)
}

// serve is a hand-over that was asked for.
func (h *handover) serve(mode, work string) error {
	if err := h.findSelf(false); err != nil {
		return err
	}
	if err := h.nameHeir(); err != nil {
		return err // of what is on nobody's list nothing is run, and nothing told
	}
	gone := h.findProgram()
	switch {
	case h.hold != "":
	case gone != nil:
		h.hold = "its successor cannot be started: " + gone.Error()
	case h.respawns():
		r, err := h.successor()
		if err != nil {
			return err
		}
		h.hold = h.outgrows(mode, r)
	default:
		h.hold = "it has no pane of tmux to itself"
	}
	if h.kind == session.KindCycle {
		if err := h.refuseLoop(h.hold == ""); err != nil {
			return err
		}
	}
	if work = strings.TrimSpace(work); work != "" {
		note, err := mail.Of(h.home, h.home.Identity.Address()).Get(work)
		if work = note.ID; err != nil {
			work = ""
			h.warn(fmt.Errorf("the work that was to be handed over: %w", err))
		}
	}
	if err := h.compose(work); err != nil {
		return err
	}
	if work != "" {
		h.warn(mail.Of(h.home, h.home.Identity.Address()).Hook(work))
	}
	if saved, err := h.save(); err != nil || !saved {
		return errors.Join(gone, err)
	}
	return errors.Join(gone, h.restart())
}
