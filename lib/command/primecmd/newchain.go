package primecmd

import (
	"errors"
	"fmt"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/client/names"
	"gt/lib/log/eventlog"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// newChain makes the current session, or the home's latest for a person, the first of a new chain,
// which gets what was said in the session. What the session received stays with the old chain.
//
// Every step can be repeated. The record, which ends the change, is written last.
func (g *grammar) newChain(env *cli.Env, call *hook.Invocation) error {
	if err := call.Home.Prepare(); err != nil {
		return err // says why the home is unusable; the steps below would only report missing files
	}
	r, err := call.Store.CurrentRecord(env.Getenv, names.SessionVars())
	if errors.Is(err, session.ErrNone) {
		err = cli.Fail(cli.AnswerNo, err, "a new chain begins with a session; start an agent here first")
	}
	if err != nil {
		return err
	}
	lock, err := call.Home.LockWithin(lockWait)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if r, err = call.Store.Get(r.ID); err != nil || r == nil {
		return errors.Join(err, cli.Failf(cli.IO, "the record of the session is gone"))
	}
	old := r.Chain()
	if old == r.ID {
		return cli.Fail(cli.AnswerNo, fmt.Errorf("session %s began its chain, so there is none to leave", r.ID),
			"for another task: /clear in the client, or a new session, and then gt-prime --new-chain")
	}
	state, now := call.Home.Town.State, env.Now()
	if err := thread.Move(state, old, r.ID, r.ID, atomicfile.Synced, call.Warn); err != nil {
		return err
	}
	log, spare := eventlog.Log(call.Home.Town.Events()), eventlog.Log(call.Home.Town.SpareEvents())
	// A command that is repeated after it was killed may have logged it already.
	if log.LastEvent(spare, string(r.ID), eventlog.SessionStart, eventlog.SessionChain).Type != eventlog.SessionChain {
		call.Warn(log.AppendOr(spare, call.Warn, now, eventlog.SessionChain, r.Actor, struct {
			SessionID session.ID `json:"session_id"`
			ChainID   session.ID `json:"chain_id"`
			Left      session.ID `json:"left"`
		}{r.ID, r.ID, old}))
	}
	r.ChainID, r.ParentID, r.Note, r.Left = r.ID, "", "", old
	if err := call.Store.Put(r, atomicfile.Synced); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Stdout, `Session %[1]s begins a new chain. The earlier work is another task: its first request, standing instructions and hand-overs do not hold here.
It stays as it was: gt-seance thread %[2]s
`, r.ID, old)
	return err
}
