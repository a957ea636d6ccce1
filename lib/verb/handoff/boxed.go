package handoff

import (
	"io"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/cli"
	"gt/lib/hook"
	"gt/lib/keepalive"
	"gt/lib/mail"
	"gt/lib/process"
	"gt/lib/session"
)

// boxed says whether we run in a sandbox, as an agent's commands may: out of it
// neither the agent nor tmux can be reached, but note, marker and record can be
// written. The agent's hooks run outside, so the one at the end of the turn does
// the rest. That there are hooks, the last sign of life shows.
func (h *handover) boxed() bool {
	if h.kind == session.KindAuto || h.remote || h.record == nil || h.record.TmuxPane == "" || h.respawns() {
		return false
	}
	if h.pane.ID != "" && !process.Boxed() {
		return false // it is at hand, and none to be given away
	}
	sign := keepalive.Read(h.home)
	return sign != nil && sign.SessionID == h.record.ID
}

// finishWithin is how long after a hand-over its turn may end. A person who goes
// on afterwards did not mean it.
const finishWithin = 10 * time.Minute

// finish is the rest of a hand-over that ran in a sandbox: the log is told, and
// the successor is put into the pane. gt-keepalive turns into it at the end of a
// turn, so it is a hook.
func (g *grammar) finish(env *cli.Env, call *hook.Call) error {
	call.Hook = true
	env.Stdout = io.Discard
	id, err := session.ParseID(g.Finish)
	if err != nil {
		return cli.Fail(cli.Usage, err)
	}
	call.ID = id
	h := &handover{env: env, call: call, g: g}
	if err := h.findSelf(false); err != nil {
		return call.End(err)
	}
	if ready, err := h.take(); !ready {
		return call.End(err)
	}
	return call.End(h.restart())
}

// take notes that the hand-over is being finished, and reports whether it can
// be: one that cannot waits for whoever starts next.
func (h *handover) take() (ready bool, err error) {
	lock, err := h.home.LockWithin(saveWait)
	if err != nil {
		return false, err
	}
	defer lock.Unlock()
	r, err := h.store.Get(h.call.ID)
	if err != nil || r == nil || r.Ended() || r.Handoff == nil || r.Handoff.Next == "" {
		return false, err
	}
	h.record, h.kind, h.g.To = r, r.Handoff.Kind, r.Handoff.Next
	r.Handoff.Next = ""
	err = h.findHeir()
	now := h.env.Now()
	ready = err == nil && now.Sub(r.Handoff.At).Abs() < finishWithin && h.respawns()
	r.Handoff.Respawn = ready
	if perr := h.store.Put(r, atomicfile.Synced); perr != nil {
		return false, perr
	}
	note, nerr := mail.Of(h.home, h.home.Identity.Address()).Get(r.Handoff.Note)
	h.warn(nerr) // it is the successor's to read
	if h.note = note; note.ID == "" {
		h.note.ID = r.Handoff.Note
	}
	h.log(now, ready, r.Handoff.Reason)
	return ready, err
}
