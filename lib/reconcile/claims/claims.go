// Package claims is the work that sessions have claimed and not done: notes from gt-mail,
// and in a trusted town issues of bd.
package claims

import (
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"gt/lib/reconcile/perform"
	"gt/lib/state/beads"
	"gt/lib/state/work"
)

// Work implements perform.Work. One value serves all ticks of a process, and caches bd's
// answers.
type Work struct {
	Notes work.Work
	// Databases returns bd's databases of the town and these folders; nil disables bd.
	Databases func(folders []string) ([]beads.Database, error)
	// Release reports whether the work of a template's gone sessions is given back.
	Release func(template string) (bool, error)
	Now     func() time.Time

	mu      sync.Mutex
	askedAt time.Time
	folder  []string
	issues  []beads.Work
}

// cacheTime is how long bd's answer is reused if no session's end depends on it. Asking bd
// costs processes that open a database, and ticks are seconds apart.
const cacheTime = time.Minute

// Claims implements perform.Work: it counts the notes and issues that each session has, by name. An
// issue counts if its assignee is a session's name or id.
func (w *Work) Claims(ctx context.Context, all []perform.Claimant) (map[string]int, error) {
	claims, err := w.Notes.Claims(ctx)
	if err != nil || w.Databases == nil || len(all) == 0 {
		return claims, err
	}
	issues, err := w.queryIssues(all)
	if err != nil {
		return nil, err
	}
	byAssignee := map[string]string{}
	for _, c := range all {
		for _, name := range assigneeNames(c) {
			byAssignee[name] = c.Name
		}
	}
	for _, i := range issues {
		if name, ok := byAssignee[i.Assignee]; ok {
			claims[name]++
		}
	}
	return claims, nil
}

func assigneeNames(c perform.Claimant) []string {
	if c.ID == "" {
		return []string{c.Name}
	}
	return []string{c.Name, string(c.ID)}
}

// queryIssues returns the assigned issues of the claimants' folders, each once: the worktrees of a
// repository share a database. It reuses bd's last answer for cacheTime, unless a session may end
// because of the answer (Ends).
func (w *Work) queryIssues(all []perform.Claimant) ([]beads.Work, error) {
	var folders []string
	ends := false
	for _, c := range all {
		folders, ends = append(folders, c.Dir), ends || c.Ends
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	w.mu.Lock()
	defer w.mu.Unlock()
	if since := w.Now().Sub(w.askedAt); !ends && since >= 0 && since < cacheTime && slices.Equal(folders, w.folder) {
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
	sort.Slice(issues, func(i, j int) bool { return issues[i].ID < issues[j].ID })
	issues = slices.CompactFunc(issues, func(a, b beads.Work) bool { return a.ID == b.ID })
	w.askedAt, w.folder, w.issues = now, folders, issues
	return issues, nil
}

// Leave sets aside the notes that a session has claimed, before the session goes. Its issues stay
// assigned until it is gone. Leave checks that bd works, which is needed to release them then.
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

func (w *Work) Keep(ctx context.Context, name string) error { return w.Notes.Keep(ctx, name) }

// Free frees a session's work. Issues are claimed without a marker, so they are freed only
// after the agent has ended. If that is interrupted, the next tick continues.
func (w *Work) Free(ctx context.Context, c perform.Claimant, reason string) error {
	if err := w.Notes.Free(ctx, c.Name, reason); err != nil || w.Databases == nil || c.ID == "" || !c.Gone {
		return err
	}
	databases, err := w.Databases([]string{c.Dir})
	if err != nil {
		return err
	}
	release, err := w.Release(c.Template)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.askedAt = time.Time{} // the cached answer is outdated
	for _, d := range databases {
		if err := d.Free(assigneeNames(c), reason, release); err != nil {
			return err
		}
	}
	return nil
}
