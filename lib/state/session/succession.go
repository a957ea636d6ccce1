package session

import (
	"slices"
	"time"

	"gt/lib/sys/process"
)

// Liveness is what is known of a session's process.
type Liveness int

const (
	Unclear Liveness = iota // it has no end, and nobody can tell whether it runs
	Ended                   // its end was noted
	Running                 // it has no end, and its process runs
	Dead                    // it has no end, and its process is gone: it crashed
)

// A Candidate is a session of the home as a new one finds it.
type Candidate struct {
	*Record
	Liveness Liveness
}

// Observe looks at the processes of the sessions.
func Observe(now time.Time, records []*Record) []Candidate {
	candidates := make([]Candidate, len(records))
	for i, r := range records {
		candidates[i] = Candidate{r, r.liveness(now)}
	}
	return candidates
}

// liveness looks at the session's process. What has been silent for too long is
// dead before it is running: a process of another host may have a number of ours.
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

// succession is how a new session follows another of its home. Of several that it
// might follow it takes the one with the highest.
//
//	succession    the other session                            ends or ended by
//	afterHandoff  left the hand-over that is taken up          handoff
//	afterClear    ran in the new one's process until now       done
//	afterLossHere broke off in the new one's tmux pane         crash, killed
//	afterLoss     broke off elsewhere                          crash, killed
//	unrelated     runs, ended well, or has its successor       -
//
// A session that is adopted runs already when it is first noticed: it follows no
// session that broke off.
type succession int

const (
	unrelated succession = iota
	afterLoss
	afterLossHere
	afterClear
	afterHandoff
)

// newcomer is a session that begins in a home with these others.
type newcomer struct {
	StartParams
	now  time.Time
	home []Candidate
}

// FindPredecessor returns the session that a new one follows, nil where it follows
// none, and the outcome by which that one ends or ended. It is a function of its
// arguments alone. home are the sessions of the home, the newest first; of two that
// are followed in the same way, the newer counts.
func FindPredecessor(now time.Time, home []Candidate, p StartParams) (*Record, Outcome) {
	return newcomer{p, now, home}.predecessor()
}

func (n newcomer) predecessor() (*Record, Outcome) {
	var predecessor *Record
	strongest := unrelated
	for _, c := range n.home {
		if how := n.follows(c); how > strongest {
			predecessor, strongest = c.Record, how
		}
	}
	switch strongest {
	case afterHandoff:
		return predecessor, Handoff
	case afterClear:
		return predecessor, Done
	case afterLossHere, afterLoss:
		if predecessor.Ended() {
			return predecessor, predecessor.Outcome
		}
		return predecessor, Crash
	}
	return nil, ""
}

// follows returns how the newcomer follows the other session.
func (n newcomer) follows(c Candidate) succession {
	switch {
	case c.ID == n.ID:
		return unrelated
	case c.ID == n.Predecessor:
		return afterHandoff
	case n.replaces(c.Record):
		return afterClear
	case n.Adopted || !n.lost(c):
		return unrelated
	case inPane(c.Record, n.StartParams):
		return afterLossHere
	}
	return afterLoss
}

// lost reports whether the session broke off and is still waiting for a successor.
// One that is found dead now always is. One that an earlier start found dead, or
// that was ended from outside, is for a while: until another session has followed it.
func (n newcomer) lost(c Candidate) bool {
	return c.Liveness == Dead || c.brokeOff() && n.recently(c.EndedAt) && !n.followedByAnother(c.Record)
}

// brokeOff reports whether the session ended without a word, or from outside.
func (r *Record) brokeOff() bool { return r.Outcome == Killed || r.Outcome == Crash }

// recent is how long ago a session may have broken off for the next one to
// follow it.
const recent = 24 * time.Hour

func (n newcomer) recently(t time.Time) bool { return n.now.Sub(t).Abs() < recent }

// followedByAnother reports whether another session than the newcomer has followed
// r. A start that was killed after it had named itself as the successor has left no
// record, and has followed nobody.
func (n newcomer) followedByAnother(r *Record) bool {
	return r.ChildID != "" && r.ChildID != n.ID &&
		slices.ContainsFunc(n.home, func(c Candidate) bool { return c.ID == r.ChildID })
}

// replaces reports whether the newcomer's process ran r until now, as after /clear.
func (n newcomer) replaces(r *Record) bool {
	return runs(n.Process, r) && (!r.Ended() || n.wasCleared(r) || n.wasLeft(r))
}

// runs reports whether p is known, and is the process of r.
func runs(p process.Proc, r *Record) bool { return p.IsSet() && r.Process() == p }

// clearTime is how long the session after a /clear takes to begin.
const clearTime = time.Minute

// wasCleared reports whether /clear ended the session for the newcomer: a moment ago,
// or whenever it was, if nobody has followed it.
func (n newcomer) wasCleared(r *Record) bool {
	return r.Reason == "clear" && (n.now.Sub(r.EndedAt) < clearTime || r.ChildID == "")
}

// wasLeft reports whether the session ended in the way in which its client ends one
// that is cleared, and one that the person leaves.
func (n newcomer) wasLeft(r *Record) bool {
	return r.Outcome == Done && n.ClearReason != "" && r.Reason == n.ClearReason
}
