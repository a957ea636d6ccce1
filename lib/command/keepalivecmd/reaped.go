package keepalivecmd

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"gt/lib/cli"
	"gt/lib/live/closing"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// reaped are the sessions of the processes that reap ends. Each is closed as killed:
// who finds its process gone would take it for crashed.
type reaped struct {
	env *cli.Env
	all []reapedSession
}

type reapedSession struct {
	*session.Record
	store session.Store
}

// sessionsOf returns the live sessions whose client is one of the targets or runs below
// one.
func sessionsOf(env *cli.Env, targets []*target) reaped {
	of := reaped{env: env}
	if len(targets) == 0 {
		return of
	}
	state := place.StateOf(env.Getenv)
	entries, err := atomicfile.ReadDir(state.Path("sessions"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		env.Warn("%v", err)
	}
	for _, e := range entries {
		r, err := session.Lookup(state, session.ID(e.Name()))
		if err != nil {
			env.Warn("%v", err)
		}
		if err != nil || r == nil || !r.Live() || !slices.ContainsFunc(targets, func(t *target) bool {
			return r.Process() == t.Process || r.Process().DescendsFrom(t.Process)
		}) {
			continue
		}
		at, dir, err := state.Fixed(e.Name())
		if err != nil || at == "" {
			continue
		}
		// Its town is the one that it was started in.
		client := &cli.Env{Environ: env.Environ}
		if environ, err := r.Process().Environ(); err == nil && len(environ) > 0 {
			client.Environ = environ
		}
		of.all = append(of.all, reapedSession{r, session.Store{
			Home: home.Fixed(state, client.Getenv, at, dir, r.CWD, e.Name()),
			Warn: func(err error) { env.Warn("%v", err) },
		}})
	}
	return of
}

// reason is why such a session ended.
const reason = "gt-keepalive pid reap"

// announce notes in the records that the sessions are about to be ended, for a client
// tells of its own end, and we may be killed. A session that lives after until was
// spared.
func (of reaped) announce(until time.Time) {
	for _, s := range of.all {
		lock, err := s.store.Home.LockWithin(endWait)
		if err == nil {
			err = s.store.Stop(s.ID, session.Stop{Reason: reason, Until: until})
			lock.Unlock()
		}
		if err != nil {
			of.env.Warn("%v", err) // the process is ended all the same
		}
	}
}

// close notes the end of the sessions whose process is gone.
func (of reaped) close(now time.Time) {
	for _, s := range of.all {
		if !s.Process().Gone() {
			continue
		}
		end := closing.End{ID: s.ID, Outcome: session.Killed, Reason: reason, At: now}
		if err := end.Close(s.store, endWait); err != nil && !errors.Is(err, session.ErrEnded) {
			of.env.Warn("%v", err)
		}
	}
}
