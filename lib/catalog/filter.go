package catalog

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/session"
)

// Filter selects the sessions that match all fields that are set.
type Filter struct {
	Agent   string // the client's name, the address, or its end (crew/max)
	Role    string // crew, polecat, witness, …
	Rig     string // gastown
	Work    string // the work unit
	Chain   session.ID
	Outcome session.Outcome // also Active and Gone
	Host    string          // the machine
	OwnHost string          // what other hosts call this one; "" for none
	Folders []string        // it worked in one of these or below; absolute paths
	Since   time.Time       // active then or later
	Until   time.Time       // began before then

	// State has the records that tell whether a session still runs.
	State place.State

	Here      bool // something of it is on this host
	Logged    bool // an event log has it
	Subagents bool // include subagents' sessions
}

// Matches reports whether the session matches. It resolves the session's outcome if that matters.
func (f Filter) Matches(s *Session) bool {
	switch {
	case s.SubagentOf != "" && !f.Subagents,
		f.Logged && s.clientOnly,
		f.excludes(s),
		f.Work != "" && s.WorkUnit != f.Work,
		f.Chain != "" && s.ChainID != f.Chain && s.ID != f.Chain,
		f.Here && s.isForeign,
		!f.Until.IsZero() && !s.StartedAt.Before(f.Until):
		return false
	}
	if f.Outcome != "" {
		if s.ResolveOutcome(f.State); s.Outcome != f.Outcome {
			return false
		}
	}
	if f.Since.IsZero() || !s.LastAt.Before(f.Since) {
		return true
	}
	// It may still run, or have ended later than its last event.
	s.ResolveOutcome(f.State)
	return s.Outcome == Active || !s.EndedAt.Before(f.Since)
}

// excludes reports whether the session does not match, by what is known of it before its outcome
// is resolved. A session of this host matches OwnHost under any name. The outcome of a
// session on another host (peer) can change when it is resolved, so it excludes nothing here.
func (f Filter) excludes(s *Session) bool {
	return f.Agent != "" && s.Agent != f.Agent && s.Actor != f.Agent && !strings.HasSuffix(s.Actor, "/"+f.Agent) ||
		f.Role != "" && s.Role != f.Role ||
		f.Rig != "" && s.Rig != f.Rig ||
		f.Host != "" && s.Host != f.Host && (f.Host != f.OwnHost || s.peer != nil) ||
		len(f.Folders) > 0 && !slices.ContainsFunc(f.Folders, func(dir string) bool { return isBelow(s.CWD, dir) || isBelow(s.Moved, dir) }) ||
		f.Outcome != "" && s.Outcome != "" && s.Outcome != f.Outcome && s.peer == nil
}

// isBelow reports whether a folder is top or below it, also if links lead to top.
func isBelow(dir, top string) bool {
	inside := func(dir, top string) bool {
		return dir == top || strings.HasPrefix(dir, strings.TrimSuffix(top, "/")+"/")
	}
	if dir == "" {
		return false
	}
	if inside(filepath.Clean(dir), top) {
		return true
	}
	if real, err := filepath.EvalSymlinks(top); err == nil && real != top {
		return inside(filepath.Clean(dir), real)
	}
	return false
}

// Select returns the newest matching sessions, at most limit (0 is all), with their outcomes resolved.
func (c Catalog) Select(f Filter, limit int) []*Session {
	var found []*Session
	for s := range c.iterMatching(f, byStart, c.keepSession) {
		if found = append(found, s); len(found) == limit {
			break
		}
	}
	return found
}

// MatchingSessions iterates over the matching sessions, newest first, with their outcomes resolved. It
// does not keep them, so that there may be any number.
func (c Catalog) MatchingSessions(f Filter) iter.Seq[*Session] {
	return c.iterMatching(f, byStart, c.completeSession)
}

// MatchingByActivity is MatchingSessions by the last activity, but keeps them.
func (c Catalog) MatchingByActivity(f Filter) iter.Seq[*Session] {
	return c.iterMatching(f, byLast, c.keepSession)
}

// SelectLatest returns matching sessions, at most limit (0 is all): the running ones first, then
// by the last activity, latest first.
func (c Catalog) SelectLatest(f Filter, limit int) (found []*Session) {
	if f.Outcome == "" {
		running := f
		running.Outcome = Active
		found = c.Select(running, 0)
	}
	for s := range c.MatchingByActivity(f) {
		if f.Outcome != "" || s.Outcome != Active {
			found = append(found, s)
		}
		// All sessions that follow were active no later than s, so once limit others were active
		// later than s, none of them is wanted. A crash's LastAt may have gone back since.
		if s.Outcome != session.Crash && limit > 0 && len(found) > limit {
			later := 0
			for _, other := range found {
				if other.Outcome == Active || other.LastAt.After(s.LastAt) {
					later++
				}
			}
			if later >= limit {
				break
			}
		}
	}
	slices.SortFunc(found, byStart.compare)
	SortByActivity(found)
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	return found
}

// iterMatching yields the matching sessions in an order, with their outcomes resolved. keep completes
// each of them, and decides whether the catalog holds it for later callers.
func (c Catalog) iterMatching(f Filter, o order, keep func(*Session) *Session) iter.Seq[*Session] {
	return func(yield func(*Session) bool) {
		all := c.iterSessions(o)
		// These are few, and found by an index instead of reading all sessions.
		if f.Chain != "" || f.Work != "" || f.Outcome == Active {
			all = slices.Values(slices.SortedFunc(slices.Values(c.findMembers(f)), o.compare))
		}
		for s := range all {
			if !f.Matches(s) {
				continue
			}
			s = keep(s)
			s.ResolveOutcome(f.State)
			// ReadErrors has only the errors of sessions that are kept.
			if s.unread != nil {
				c.keepSession(s)
			}
			if !yield(s) {
				return
			}
		}
	}
}

// SortByActivity sorts the running sessions first, then by the last activity, latest first.
func SortByActivity(all []*Session) {
	slices.SortStableFunc(all, func(a, b *Session) int {
		if runs := a.Outcome == Active; runs != (b.Outcome == Active) {
			if runs {
				return -1
			}
			return 1
		}
		return b.LastAt.Compare(a.LastAt)
	})
}

// Logged reports whether an event log has the session; else only its client does.
func (s *Session) Logged() bool { return !s.clientOnly }

// findMembers returns the sessions of the filter's chain, or of its work, or those that may run,
// newest first.
func (c Catalog) findMembers(f Filter) []*Session {
	ids := map[session.ID]bool{f.Chain: f.Chain != ""} // the chain has the id of its first session
	for _, v := range c.allLogs() {
		var found []*row
		switch {
		case f.Chain != "":
			found = v.chained(f.Chain, false)
		case f.Work != "":
			found = v.worked(f.Work)
		default:
			found = v.open()
		}
		for _, r := range found {
			ids[r.id] = true
		}
	}
	if f.Chain+session.ID(f.Work) == "" {
		for id := range c.conversations.running {
			ids[id] = true
		}
		for _, p := range c.peers {
			for id := range p.Runs {
				ids[id] = true
			}
		}
		for id := range c.givenSessions { // a caller may have found that one runs
			ids[id] = true
		}
	}
	return c.findSessions(ids)
}

// findSessions returns the sessions with those ids, newest first.
func (c Catalog) findSessions(ids map[session.ID]bool) (found []*Session) {
	for id, wanted := range ids {
		if s := c.Get(id); wanted && s != nil {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, byStart.compare)
	return found
}

// Chain returns the chain whose id, or the id of a session in it, is name. If there is none,
// it is the one of which such an id begins with name, and an error if several do.
func (c Catalog) Chain(name string) (session.ID, error) {
	var chains []session.ID
	for _, exact := range []bool{true, false} {
		for _, s := range c.Find(name) {
			if !exact || string(s.ID) == name {
				chains = append(chains, s.Chain())
			}
		}
		for _, v := range c.allLogs() {
			for _, r := range v.chained(session.ID(name), !exact) {
				chains = append(chains, r.chain)
			}
		}
		slices.Sort(chains)
		switch chains = slices.Compact(chains); {
		case len(chains) == 1 || exact && len(chains) > 0:
			return chains[0], nil
		case len(chains) > 0:
			return "", fmt.Errorf("'%s' means %d chains", name, len(chains))
		}
	}
	return "", fmt.Errorf("no session or chain '%s'", name)
}

// Linked returns all sessions that are linked with those that name means, directly or through others,
// newest first: name is an id of a session or chain, the beginning of one, or a unit of work.
func (c Catalog) Linked(name string) []*Session {
	ids := map[session.ID]bool{}
	var next []session.ID
	add := func(id session.ID) {
		if s := c.Get(id); s != nil && !ids[id] {
			ids[id] = true
			next = append(next, id, s.ChainID, s.ParentID, s.ForkOf, s.SubagentOf)
		}
	}
	addAll := func(rows []*row) {
		for _, r := range rows {
			add(r.id)
		}
	}
	for _, s := range c.Find(name) {
		add(s.ID)
	}
	for _, v := range c.allLogs() {
		addAll(v.chained(session.ID(name), true))
		addAll(v.worked(name))
	}
	done := map[session.ID]bool{"": true} // the ids whose links were followed
	for len(next) > 0 {
		id := next[len(next)-1]
		if next = next[:len(next)-1]; done[id] {
			continue
		}
		done[id] = true
		add(id)
		for _, v := range c.allLogs() {
			addAll(v.chained(id, false))
			addAll(v.children(id))
		}
		for _, related := range slices.Concat(c.conversations.subagents[id], c.conversations.forks[id]) {
			add(related)
		}
		for _, s := range c.Forks(id) {
			add(s.ID)
		}
	}
	return c.findSessions(ids)
}

// Chain returns the id of the session's chain. A session without a predecessor begins its own.
func (s *Session) Chain() session.ID { return cmp.Or(s.ChainID, s.ID) }

// CountSessions returns the number of sessions, without subagents'.
func (c Catalog) CountSessions() (n int) {
	// The sessions of the first log, mostly the largest, are only counted. isRoot tells of those of
	// all other sources whether they count: subagents do not, even if the first log has them.
	isRoot := map[session.ID]bool{}
	logs := c.allLogs()
	lookups := len(c.conversations.byID) // about how many ids are looked up in the logs
	for i, v := range logs {
		if i == 0 {
			n = v.size
			continue
		}
		for _, id := range v.beginning("") {
			isRoot[id] = true
		}
	}
	for _, p := range c.peers {
		lookups += len(p.records.byID)
	}
	var has []func(session.ID) bool
	for _, v := range c.logs {
		has = append(has, v.finder(lookups+len(isRoot)))
	}
	logged := func(id session.ID) bool {
		return slices.ContainsFunc(has, func(has func(session.ID) bool) bool { return has(id) })
	}
	for _, p := range c.peers {
		for id, t := range p.records.byID {
			if !logged(id) {
				isRoot[id] = parentOf(t.Conversation) == ""
			}
		}
	}
	for id, t := range c.conversations.byID {
		if !t.Metadata.Started.IsZero() || logged(id) {
			isRoot[id] = parentOf(t.Conversation) == ""
		}
	}
	for id, is := range isRoot {
		if was := len(has) > 0 && has[0](id); is && !was {
			n++
		} else if was && !is {
			n--
		}
	}
	return n
}
