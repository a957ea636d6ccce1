package tick

import (
	"cmp"
	"fmt"
	"slices"

	"gt/lib/state/lifecycle"
	"gt/lib/text/duration"
)

// Retain returns actions for archived sessions that the plan does not change. It closes the
// oldest above the pool's max_archived. Sessions with the wake mode fresh, which are never
// reactivated, lose their secrets after archived_secret_ttl.
func Retain(f Facts, plan Plan) (more []Action) {
	d := decision{Facts: f}
	acted := map[string]bool{}
	for _, a := range plan.Actions {
		acted[a.Before.ID] = true
	}
	by := map[string][]lifecycle.Session{}
	for _, s := range f.Sessions {
		if s.State == lifecycle.Archived && !acted[s.ID] && !s.Routed && s.Alive == No {
			by[s.Pool] = append(by[s.Pool], s.Session)
		}
	}
	retain := func(name string, mode WakeMode, pool *Pool) {
		all := by[name]
		slices.SortFunc(all, func(a, b lifecycle.Session) int {
			return cmp.Or(a.ArchivedAt.Compare(b.ArchivedAt), cmp.Compare(a.ID, b.ID))
		})
		for i, s := range all {
			switch {
			case len(all)-i > pool.MaxArchived:
				more = append(more, Action{
					Change: lifecycle.Close, Before: s, Session: d.into(s, lifecycle.Closed, lifecycle.Pruned), Block: workClosed,
					Why: fmt.Sprintf("%d archived, %d kept", len(all), pool.MaxArchived),
				})
			case mode == Fresh && s.ScrubbedAt.IsZero() && f.Now.Sub(s.ArchivedAt) >= pool.ArchivedSecretTTL:
				after := s
				after.ScrubbedAt = f.Now
				more = append(more, Action{
					Change: lifecycle.Note, Before: s, Session: after,
					Why: fmt.Sprintf("its secrets go, %s after it was archived", duration.Format(pool.ArchivedSecretTTL)),
				})
			}
		}
		delete(by, name)
	}
	for _, t := range f.Templates {
		if t.Pool != nil {
			retain(t.Name, t.WakeMode, t.Pool)
		}
	}
	_, pool := Defaults()
	gone := make([]string, 0, len(by))
	for name := range by {
		gone = append(gone, name)
	}
	slices.Sort(gone)
	for _, name := range gone {
		retain(name, Fresh, &pool)
	}
	return more
}
