package tail

import (
	"cmp"
	"time"

	"gt/lib/conversation/summary"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/state/thread"
	"gt/lib/sys/atomicfile"
)

// Carry adds a session's conversation to the thread of its chain and returns the thread.
// At the end of a turn, beside is what works beside the session; else it is nil.
func Carry(h home.Home, r *session.Record, fold *summary.Fold, beside *thread.Beside, now time.Time, warn func(error)) (*thread.Thread, error) {
	p := thread.Part{
		Session: r.ID, Agent: r.Agent, Standing: fold.Standing, Beside: beside, Time: now.UTC().Truncate(time.Second),
		First: thread.Quote{Text: cmp.Or(fold.Origin, fold.First.Text), Time: fold.First.Time},
	}
	s := summary.Of(fold)
	for _, t := range s.Todos {
		p.Todos = append(p.Todos, thread.Todo{Text: t.Text, Status: t.Status})
	}
	p.Done = s.Done
	return thread.Update(h.Town.State, r.Chain(), atomicfile.Unsynced, warn, func(t *thread.Thread) { t.Take(p) })
}
