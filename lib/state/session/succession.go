package session

import (
	"slices"
	"time"
)

// Liveness is what is known of a session's process.
type Liveness int

const (
	Unclear Liveness = iota // it has no end, and nobody can tell whether it runs
	Ended                   // its end was noted
	Running                 // it has no end, and its process runs
	Dead                    // it has no end, and its process is gone: it crashed
)

// Candidate is an existing session that a new one may follow.
type Candidate struct {
	*Record
	Liveness Liveness
}

func Observe(now time.Time, records []*Record) []Candidate {
	candidates := make([]Candidate, len(records))
	for i, r := range records {
		candidates[i] = Candidate{r, r.liveness(now)}
	}
	return candidates
}

// Find returns the candidate with an id, or nil.
func Find(all []Candidate, id ID) *Candidate {
	if i := slices.IndexFunc(all, func(c Candidate) bool { return c.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// liveness checks for silence before the process, because another host's may have its number.
func (r *Record) liveness(now time.Time) Liveness {
	switch {
	case r.Ended():
		return Ended
	case r.Crashed(now):
		return Dead
	case r.live(now):
		return Running
	}
	return Unclear
}

// succession is how a new session follows another of its home. The highest possible counts.
//
//	succession    the other session                            ends or ended by
//	afterHandoff  left the hand-over that is taken up          handoff
//	afterClear    ran in the new one's process until now       done
//	afterLossHere broke off in the new one's tmux pane         crash, killed
//	afterLoss     broke off elsewhere                          crash, killed
//	afterHeadless was a headless run and broke off             crash, killed
//	afterUnused   broke off before it was asked for anything   crash, killed
//	unrelated     runs, ended well, or has its successor       -
//
// An adopted session, which already runs when gt notices it, follows no session that broke
// off. A headless one follows only the one that its own process ran until now: what broke
// off waits for a session that a person sees.
type succession int

const (
	unrelated succession = iota
	afterUnused
	afterHeadless
	afterLoss
	afterLossHere
	afterClear
	afterHandoff
)

type newcomer struct {
	StartParams
	now  time.Time
	home []Candidate
}

// FindPredecessor returns the session that a new one follows and the outcome by which that
// one ends, or nil. It depends on its arguments only. home is sorted newest first; the
// newer of two equal candidates counts.
func FindPredecessor(now time.Time, home []Candidate, p StartParams) (*Record, Outcome) {
	return newcomer{p, now, home}.predecessor()
}

func (n newcomer) predecessor() (*Record, Outcome) {
	var predecessor *Record
	strongest := unrelated
	for _, c := range n.home {
		if how := n.successionTo(c); how > strongest {
			predecessor, strongest = c.Record, how
		}
	}
	switch strongest {
	case afterHandoff:
		return predecessor, Handoff
	case afterClear:
		return predecessor, Done
	case afterLossHere, afterLoss, afterHeadless, afterUnused:
		if predecessor.Ended() {
			return predecessor, predecessor.Outcome
		}
		return predecessor, Crash
	}
	return nil, ""
}

// successionTo returns how the new session follows a session of its home. The first case counts.
func (n newcomer) successionTo(c Candidate) succession {
	switch {
	case c.ID == n.ID:
		return unrelated
	case c.ID == n.Predecessor:
		return afterHandoff
	case n.replaces(c.Record):
		return afterClear
	case n.Adopted || n.Headless || !n.awaitsSuccessor(c):
		return unrelated
	case slices.Contains(n.Unused, c.ID):
		return afterUnused
	case c.Headless:
		return afterHeadless
	case c.InPane(n.StartParams):
		return afterLossHere
	}
	return afterLoss
}

// awaitsSuccessor reports whether the session broke off and waits for a successor. A session that is
// found dead now always waits. One that was killed, or was found dead before, waits until
// another session follows it, but no longer than the time recent.
func (n newcomer) awaitsSuccessor(c Candidate) bool {
	return c.Liveness == Dead || c.brokeOff() && n.now.Sub(c.EndedAt).Abs() < recent && !n.followedByAnother(c.Record)
}

func (r *Record) brokeOff() bool { return r.Outcome == Killed || r.Outcome == Crash }

// recent is how long a session that broke off can be followed.
const recent = 24 * time.Hour

// followedByAnother reports whether another session has followed r. A successor without a
// record does not count: its start was killed.
func (n newcomer) followedByAnother(r *Record) bool {
	return r.ChildID != "" && r.ChildID != n.ID &&
		slices.ContainsFunc(n.home, func(c Candidate) bool { return c.ID == r.ChildID })
}

// replaces reports whether the newcomer's process ran r until now, as after /clear.
func (n newcomer) replaces(r *Record) bool {
	return n.Process.IsSet() && r.Process() == n.Process && (!r.Ended() || n.wasCleared(r) || n.wasLeft(r))
}

// clearTime is how long a session may take to begin after /clear.
const clearTime = time.Minute

// wasCleared reports whether /clear ended the session, just now or without a successor since.
func (n newcomer) wasCleared(r *Record) bool {
	return r.Reason == "clear" && (n.now.Sub(r.EndedAt) < clearTime || r.ChildID == "")
}

// wasLeft reports whether the session ended with a reason that its client gives both after
// /clear and after the person left.
func (n newcomer) wasLeft(r *Record) bool {
	return r.Outcome == Done && n.ClearReason != "" && r.Reason == n.ClearReason
}
