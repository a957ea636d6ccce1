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

// reaped are the sessions of the processes that reap ends. They are closed as killed;
// otherwise they would count as crashed.
type reaped struct {
	env *cli.Env
	all []reapedSession
}

type reapedSession struct {
	*session.Record
	store session.Store
}

// sessionsOf returns the live sessions whose client is a target or runs below one.
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
		// Its town is that of its own start environment.
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

// reason is the recorded reason for the end of these sessions.
const reason = "gt-keepalive pid reap"

// announce records that the sessions are about to be ended, because their clients report an
// end themselves and this process may be killed. A session that lives after until was
// spared.
func (of reaped) announce(until time.Time) {
	for _, s := range of.all {
		lock, err := s.store.Home.LockWithin(endWait)
		if err == nil {
			err = s.store.Stop(s.ID, session.Stop{Reason: reason, Until: until})
			lock.Unlock()
		}
		if err != nil {
			of.env.Warn("%v", err) // the process is ended anyway
		}
	}
}

// close records the end of the sessions whose process is gone.
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
