package handoff

import (
	"io"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/cli"
	"gt/lib/hook"
	"gt/lib/mail"
	"gt/lib/process"
	"gt/lib/session"
)

// boxed says whether we run in a sandbox, as an agent's commands may: out of it
// neither the agent nor tmux can be reached, but note, marker and record can be
// written. The agent's hooks run outside, so the one at the end of the turn does
// the rest. That there are hooks, the record shows: one has started the session.
func (h *handover) boxed() bool {
	r := h.record
	if h.kind == session.KindAuto || h.remote || r == nil || r.Hook == nil || r.TmuxPane == "" || h.respawns() {
		return false
	}
	if r.PIDNS != "" && r.Process().Known() { // a hook has noted where the agent runs
		return r.Elsewhere() || h.inPane && h.pane.ID == ""
	}
	return process.Boxed() || h.inPane && h.pane.ID == ""
}

// finishWithin is how long after a hand-over its turn may end. One that goes on
// for longer found something else to do.
const finishWithin = 10 * time.Minute

// finishWait is how long the end of a turn waits for others that work in the same
// home: a client gives its hook five seconds.
const finishWait = 3 * time.Second

// finish is the rest of a hand-over that ran in a sandbox: the log is told, and
// the successor is put into the pane. gt-keepalive turns into it at the end of a
// turn, so it is a hook, which says nothing and never fails.
func (g *grammar) finish(env *cli.Env, call *hook.Call) error {
	call.Hook = true
	env.Stdout = io.Discard
	id, err := session.ParseID(g.Finish)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	call.ID = id
	h := &handover{env: env, call: call, g: g}
	if err := h.finish(); err != nil {
		env.Warn("%v", call.End(err))
	} else {
		_ = call.End(nil) // for the log; it was said already
	}
	return nil
}

func (h *handover) finish() error {
	if err := h.findSelf(false); err != nil {
		return err
	}
	if ready, err := h.take(); !ready {
		return err
	}
	return h.restart()
}

// take notes that the hand-over is being finished, and reports whether it can
// be: one that cannot waits for whoever starts next.
func (h *handover) take() (ready bool, err error) {
	lock, err := h.home.LockWithin(finishWait)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	r, err := h.store.Get(h.call.ID)
	if err != nil || r == nil || r.Ended() || r.Handoff == nil || r.Handoff.Next == "" {
		return false, err
	}
	h.record, h.kind, h.heir = r, r.Handoff.Kind, h.known().Of(r.Handoff.Next)
	r.Handoff.Next = ""
	now := h.env.Now()
	if err = h.findProgram(); err == nil && now.Sub(r.Handoff.At).Abs() < finishWithin && h.respawns() {
		ready = true
		r.Handoff.Respawn, r.Handoff.At = true, now
	}
	if perr := h.store.Put(r, atomicfile.Synced); perr != nil {
		return false, perr
	}
	note, nerr := mail.Of(h.home, h.home.Identity.Address()).Get(r.Handoff.Note)
	h.warn(nerr) // it is the successor's to read
	if h.note = note; note.ID == "" {
		h.note.ID = r.Handoff.Note
	}
	h.log(now)
	return ready, err
}
