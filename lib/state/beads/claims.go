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

// Database is a database of issues of a trusted town.
type Database struct {
	dir     string // the folder that contains .beads
	bd      string
	environ []string
}

// Databases returns a trusted town's databases: its own and, for each of the folders in it,
// the nearest one above. If there is one, bd has to be on the PATH, because otherwise
// claims are unknown.
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
	bd := findProgram(h, environ)
	if bd == "" {
		return nil, fmt.Errorf("cannot tell what is claimed in '%s': bd is not on the PATH", filepath.Join(dirs[0], ".beads"))
	}
	all := make([]Database, len(dirs))
	for i, dir := range dirs {
		all[i] = Database{dir, bd, bdEnviron(h, environ)}
	}
	return all, nil
}

// claimed are the statuses of issues that the assignee has to do. Blocked and deferred ones
// wait for somebody else.
var claimed = []string{InProgress, hooked, "open"}

// Bounds of a question. The answer decides which sessions end, so a partial one counts as an error.
const (
	listTime   = 30 * time.Second
	mostIssues = 64 << 20
)

func (d Database) list(status string) ([]Work, error) {
	q := question(d.bd, d.dir, d.environ, listTime, "list", "--status="+status, "--json", "--limit=0", "--readonly")
	q.Most = mostIssues
	out, err := runProgram(q)
	var found []Work
	if err == nil {
		found, err = parse(out)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot ask bd in '%s' what is claimed: %w", d.dir, err)
	}
	return slices.DeleteFunc(found, func(w Work) bool { return w.Assignee == "" || w.Status != status }), nil
}

// Check returns an error if bd does not work.
func (d Database) Check() error {
	_, err := d.list(InProgress)
	return err
}

// Claims returns the issues that are assigned and not done.
func (d Database) Claims() ([]Work, error) {
	var all []Work
	for _, status := range claimed { // in sequence: an embedded database has one reader
		found, err := d.list(status)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// freeTime bounds a write, which may wait for another one.
const freeTime = 10 * time.Second

// tries is how often Free reads again after a change.
const tries = 3

// Free frees the issues that are assigned to one of the names. It gives them back, or blocks them
// with the reason in the notes and keeps the assignee. An issue that changes meanwhile cannot be
// freed, so Free reads them again.
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
			failed = d.freeIssue(all[0], reason, giveBack)
		}
		if failed == nil {
			return nil
		}
	}
	return failed
}

// freeIssue frees an issue unless it has changed: its agent may have just finished it.
func (d Database) freeIssue(w Work, reason string, giveBack bool) error {
	args := []string{"update", w.ID, "--actor=gt-reconcile", "--append-notes=" + reason + ": " + w.Assignee + " had it"}
	if giveBack {
		args = append(args, "--status=open", "--assignee=")
	} else {
		args = append(args, "--status=blocked")
	}
	_, err := runProgram(question(d.bd, d.dir, d.environ, freeTime, append(slices.Clip(args), "--if-assignee="+w.Assignee, "--if-status="+w.Status)...))
	if err != nil && strings.Contains(err.Error(), "unknown flag: --if-") { // bd before 1.3
		found, lerr := d.list(w.Status) // whether it has changed
		if lerr != nil || !slices.ContainsFunc(found, func(n Work) bool { return n.ID == w.ID && n.Assignee == w.Assignee }) {
			return lerr // nil if the issue has changed
		}
		_, err = runProgram(question(d.bd, d.dir, d.environ, freeTime, args...))
	}
	if err != nil {
		return fmt.Errorf("cannot change '%s' in '%s': %w", w.ID, d.dir, err)
	}
	return nil
}

// Actor returns the variables, the newer and the older, that tell bd who claims an issue.
func Actor(name string) [][2]string {
	return [][2]string{{"BEADS_ACTOR", name}, {"BD_ACTOR", name}}
}
