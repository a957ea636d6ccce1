package catalog

import (
	"slices"

	"gt/lib/state/session"
)

// ExternalFork returns the session of which this one is a fork, if its conversation
// refers to that one's instead of copying it, as in Codex. It returns nil if the
// conversation is complete.
func (c Catalog) ExternalFork(s *Session) *Session {
	if s.ForkOf == "" || s.first == "" {
		return nil
	}
	if o := c.session(s.ForkOf); o != nil && o != s && o.Agent == s.Agent && o.first != s.first {
		return o
	}
	return nil
}

// Forks returns the sessions that began as a copy of that one, oldest first.
func (c Catalog) Forks(id session.ID) (found []*Session) {
	t := c.talks.byID[id]
	if t == nil {
		return nil
	}
	for _, of := range slices.Concat(c.talks.forks[id], c.talks.families[t.family()]) {
		if s := c.session(of); s.ForkOf == id {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *Session) int { return byStart.compare(b, a) })
	return slices.Compact(found)
}
