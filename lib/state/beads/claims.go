package beads

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/place/home"
	"gt/lib/place/town"
)

// A Database is one that a trusted town keeps issues in.
type Database struct {
	dir     string // the folder with the .beads
	bd      string
	environ []string
}

// Databases returns those of a trusted town: its own, and for each of the folders, which lie
// in it, the nearest one from there up. Where there is one, bd has to be on the PATH: what
// sessions have claimed is not known otherwise.
func Databases(t town.Town, folders, environ []string) ([]Database, error) {
	if t.Trust == nil {
		return nil, nil
	}
	var dirs []string
	for _, dir := range append([]string{t.Root}, folders...) {
		rel, err := filepath.Rel(t.Root, dir)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		h := home.Home{Dir: dir, Town: t}
		if dir = Find(h); dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	slices.Sort(dirs)
	h := home.Home{Dir: t.Root, Town: t}
	bd := find(h, environ)
	if bd == "" {
		return nil, fmt.Errorf("cannot tell what is claimed in '%s': bd is not on the PATH", filepath.Join(dirs[0], ".beads"))
	}
	all := make([]Database, len(dirs))
	for i, dir := range dirs {
		all[i] = Database{dir, bd, bdEnviron(h, environ)}
	}
	return all, nil
}

// claimed are the statuses of an issue that has to be done by whom it is assigned to. A
// blocked or deferred one waits for somebody else.
var claimed = []string{InProgress, hooked, "open"}

// listTime bounds each question, and mostIssues its answer: who has a claim there decides
// what is ended, so that half an answer is none.
const (
	listTime   = 30 * time.Second
	listLinger = 2 * time.Second // a machine that is busy reads slowly
	mostIssues = 64 << 20
)

// list returns the issues of a status that are somebody's.
func (d Database) list(status string) ([]Work, error) {
	q := question(d.bd, d.dir, d.environ, listTime, "list", "--status="+status, "--json", "--limit=0", "--readonly")
	q.Most, q.Linger = mostIssues, listLinger
	out, err := query(q)
	var found []Work
	if err == nil {
		found, err = parse(out)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask bd in '%s' what is claimed: %w", d.dir, err)
	}
	return slices.DeleteFunc(found, func(w Work) bool { return w.Assignee == "" || w.Status != status }), nil
}

// Check reports whether bd can be asked.
func (d Database) Check() error {
	_, err := d.list(InProgress)
	return err
}

// Claims returns the issues that are somebody's and not done.
func (d Database) Claims() ([]Work, error) {
	var all []Work
	for _, status := range claimed { // one after the other: an embedded database has one reader
		found, err := d.list(status)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// freeTime bounds a write of bd's: another may be under way.
const freeTime = 10 * time.Second

// tries is how often what has changed meanwhile is looked at again.
const tries = 3

// Free makes the issues nobody's that are assigned to one of the names: blocked, with the
// reason among the notes and still assigned to who had it, or given back.
func (d Database) Free(names []string, reason string, giveBack bool) error {
	var failed error
	for range tries {
		all, err := d.Claims()
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(w Work) bool { return !slices.Contains(names, w.Assignee) })
		if len(all) == 0 {
			return nil
		}
		for failed = nil; len(all) > 0 && failed == nil; all = all[1:] {
			failed = d.free(all[0], reason, giveBack)
		}
		if failed == nil {
			return nil
		}
	}
	return failed
}

// free is Free of one issue, if it still is as it was read: an agent may just be done
// with it.
func (d Database) free(w Work, reason string, giveBack bool) error {
	args := []string{"update", w.ID, "--actor=gt-reconcile", "--append-notes=" + reason + ": " + w.Assignee + " had it"}
	if giveBack {
		args = append(args, "--status=open", "--assignee=")
	} else {
		args = append(args, "--status=blocked")
	}
	_, err := query(question(d.bd, d.dir, d.environ, freeTime, append(slices.Clip(args), "--if-assignee="+w.Assignee, "--if-status="+w.Status)...))
	if err != nil && strings.Contains(err.Error(), "unknown flag: --if-") { // before 1.3
		_, err = query(question(d.bd, d.dir, d.environ, freeTime, args...))
	}
	if err != nil {
		return fmt.Errorf("cannot change '%s' in '%s': %w", w.ID, d.dir, err)
	}
	return nil
}

// Actor are the variables by which bd knows who claims an issue: the newer one and the
// older one.
func Actor(name string) [][2]string {
	return [][2]string{{"BEADS_ACTOR", name}, {"BD_ACTOR", name}}
}
