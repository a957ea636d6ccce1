// Package claims is what the sessions of a place have claimed and not done: notes that
// gt-mail gave, and in a trusted town the issues that bd has assigned to them.
package claims

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"gt/lib/reconcile/perform"
	"gt/lib/state/beads"
	"gt/lib/state/work"
)

// Work is that of a place. One value serves all ticks of a process.
type Work struct {
	Notes work.Work
	// Databases returns those of bd that the town or these folders have; nil where bd is
	// not asked.
	Databases func(folders []string) ([]beads.Database, error)
	// Release reports whether the work of a template's sessions is given back that are gone.
	Release func(template string) (bool, error)
	Now     func() time.Time

	mu     sync.Mutex
	asked  time.Time // when bd was
	folder []string  // for which
	issues []beads.Work
}

// fresh is how long an answer of bd's does where nobody's end depends on it: each costs
// processes that open a database, and ticks are made each few seconds.
const fresh = time.Minute

// Claims counts what sessions have claimed, by their names.
func (w *Work) Claims(ctx context.Context, all []perform.Claimant) (map[string]int, error) {
	claims, err := w.Notes.Claims(ctx)
	if err != nil || w.Databases == nil || len(all) == 0 {
		return claims, err
	}
	issues, err := w.query(all)
	if err != nil {
		return nil, err
	}
	by := map[string]string{}
	for _, c := range all {
		for _, name := range names(c) {
			by[name] = c.Name
		}
	}
	for _, i := range issues {
		if name, ok := by[i.Assignee]; ok {
			claims[name]++
		}
	}
	return claims, nil
}

// names are those by which bd knows a session.
func names(c perform.Claimant) []string {
	if c.ID == "" {
		return []string{c.Name}
	}
	return []string{c.Name, string(c.ID)}
}

// query returns the issues that are somebody's, each once: the worktrees of a repository
// share a database.
func (w *Work) query(all []perform.Claimant) ([]beads.Work, error) {
	var folders []string
	ends := false
	for _, c := range all {
		folders, ends = append(folders, c.Dir), ends || c.Ends
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := w.Now().Sub(w.asked); !ends && since >= 0 && since < fresh && slices.Equal(folders, w.folder) {
		return w.issues, nil
	}
	databases, err := w.Databases(folders)
	if err != nil {
		return nil, err
	}
	now, issues := w.Now(), []beads.Work{}
	for _, d := range databases {
		found, err := d.Claims()
		if err != nil {
			return nil, err
		}
		issues = append(issues, found...)
	}
	slices.SortFunc(issues, func(a, b beads.Work) int { return strings.Compare(a.ID, b.ID) })
	issues = slices.CompactFunc(issues, func(a, b beads.Work) bool { return a.ID == b.ID })
	w.asked, w.folder, w.issues = now, folders, issues
	return issues, nil
}

// Leave puts aside the notes that a session has claimed. An issue stays its own until the
// session is gone: only that bd can be asked is made sure of.
func (w *Work) Leave(ctx context.Context, c perform.Claimant, reason string) error {
	if w.Databases != nil && c.ID != "" {
		databases, err := w.Databases([]string{c.Dir})
		if err != nil {
			return err
		}
		for _, d := range databases {
			if err := d.Check(); err != nil {
				return err
			}
		}
	}
	return w.Notes.Leave(ctx, c.Name, reason)
}

// Keep takes back what was put aside.
func (w *Work) Keep(ctx context.Context, name string) error { return w.Notes.Keep(ctx, name) }

// Free makes what a session has claimed nobody's: blocked for that reason or, where its
// template's is released, given back. An issue is claimed without a marker, so that its turn
// comes when the agent has ended; the next tick finds what a kill has left.
func (w *Work) Free(ctx context.Context, c perform.Claimant, reason string) error {
	if err := w.Notes.Free(ctx, c.Name, reason); err != nil || w.Databases == nil || c.ID == "" || !c.Gone {
		return err
	}
	databases, err := w.Databases([]string{c.Dir})
	if err != nil {
		return err
	}
	release := false
	if w.Release != nil {
		if release, err = w.Release(c.Template); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = time.Time{} // what it said is over
	for _, d := range databases {
		if err := d.Free(names(c), reason, release); err != nil {
			return err
		}
	}
	return nil
}
