// Package beads asks bd (Beads, the issue tracker that Gas Town keeps its work
// in) what an agent has to do. It is the only package that runs bd.
//
// bd opens a database and may take a second, so it is asked only where the
// home has a .beads folder, within a deadline, a process a question, and never by a
// hook that runs often. Whatever goes wrong is an error that the caller warns
// of: what gt itself keeps is complete without bd.
package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

// Deadline is how long a hook waits for bd.
const Deadline = 700 * time.Millisecond

// Work is one issue.
type Work struct {
	ID          string    `json:"id"`
	Title       string    `json:"title"`
	Status      string    `json:"status"`
	Type        string    `json:"issue_type"`
	Priority    int       `json:"priority"`
	Assignee    string    `json:"assignee"`
	Description string    `json:"description"`
	Updated     time.Time `json:"updated_at"`
}

// Find returns the folder with the .beads that an agent's work is in: its home,
// or else the nearest folder above it in its town, for the worktrees of a rig
// share the rig's. "" where there is none, and outside a trusted town: bd reads
// from there which programs it runs.
func Find(h home.Home) string {
	if h.Town.Trust == nil {
		return ""
	}
	for dir := h.Dir; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ".beads")); err == nil && info.IsDir() {
			return dir
		}
		if dir == h.Town.Root || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Dir returns the folder that bd has to be told of by BEADS_DIR, the rig's; "" where
// bd finds its own, in the home.
func Dir(h home.Home) string {
	if dir := Find(h); dir != "" && dir != h.Dir {
		return filepath.Join(dir, ".beads")
	}
	return ""
}

// maxOutput bounds what is taken from bd: 8 MiB, some thousand issues.
const maxOutput = 8 << 20

// Given returns the issues that are assigned to the agent of that home and are in
// progress or hooked: first what is begun, each in bd's order. Without a .beads folder
// (see Find), or without bd in PATH, there are none, at the cost of a look. With an error
// come those that bd told all the same.
//
// All issues of a status are asked for and the agent's picked here, for the same agent
// has several names there: its address (demo/crew/joe), the short form that gt uses in
// places (demo/joe), and either with a slash at the end. Each status is asked for by
// itself, at the same time: some versions of bd take no list of them and find nothing.
func Given(h home.Home, environ []string, deadline time.Duration) ([]Work, error) {
	given, _, err := Collect(h, environ, deadline, 0)
	return given, err
}

// Collect returns what Given does, and at most so many issues that are ready to be
// worked on, by the agent or by anybody.
func Collect(h home.Home, environ []string, deadline time.Duration, most int) (given, ready []Work, err error) {
	dir := Find(h)
	if dir == "" {
		return nil, nil, nil
	}
	bd := find(h, environ)
	if bd == "" {
		return nil, nil, nil
	}
	end := time.Now().Add(deadline)
	var asked []bounded.Program
	for _, args := range [][]string{
		{"list", "--status=" + InProgress, "--json", "--limit=0", "--readonly"},
		{"list", "--status=" + hooked, "--json", "--limit=0", "--readonly"},
		{"ready", "--json", "--limit=" + strconv.Itoa(most), "--readonly"},
	} {
		if args[0] != "ready" || most > 0 {
			asked = append(asked, question(bd, dir, bdEnviron(h, environ), deadline, args...))
		}
	}
	own := session(environ)
	answers := make([][]byte, len(asked))
	failed := make([]error, len(asked))
	var tasks []*cli.Task
	for i, q := range asked {
		tasks = append(tasks, cli.Go(func() { answers[i], failed[i] = query(q) }))
	}
	for _, t := range tasks {
		t.Wait()
	}
	for i, q := range asked {
		if left := time.Until(end); failed[i] != nil && left > 0 { // they may have been in each other's way
			q.Within = left
			answers[i], failed[i] = query(q)
		}
		var all []Work
		if failed[i] == nil {
			all, failed[i] = parse(answers[i])
		}
		for _, w := range all {
			switch {
			case q.Args[0] == "ready":
				if w.Assignee == "" || w.Assignee == own || means(w.Assignee, h.Identity) {
					ready = append(ready, w)
				}
			case q.Args[1] == "--status="+w.Status && (w.Assignee != "" && w.Assignee == own || means(w.Assignee, h.Identity)):
				given = append(given, w)
			}
		}
		if failed[i] != nil && err == nil {
			err = fmt.Errorf("cannot ask bd for work: %w", failed[i])
		}
	}
	return given, ready, err
}

// The statuses of work that an agent has.
const (
	InProgress = "in_progress"
	hooked     = "hooked"
)

// Molecule returns the molecule that the text of work names in a line of its own, as Gas
// Town writes it: "attached_molecule: mol-7"; "" for none.
func Molecule(text string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if key = strings.ToLower(strings.TrimSpace(key)); ok && (key == "attached_molecule" || key == "molecule") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// parse reads bd's answer: an array of issues, null where there are none. What
// stands before it (bd writes some of its warnings to standard output) is
// passed over.
func parse(out []byte) ([]Work, error) {
	for line := out; len(line) > 0; {
		if line[0] == '[' || bytes.HasPrefix(line, []byte("null")) {
			var issues []json.RawMessage
			if err := json.NewDecoder(bytes.NewReader(line)).Decode(&issues); err != nil {
				return nil, fmt.Errorf("its answer is not a list of issues: %w", err)
			}
			var all []Work
			for _, raw := range issues {
				var issue struct {
					Work
					Updated string `json:"updated_at"`
				}
				// A field that another version writes otherwise is passed over.
				_ = json.Unmarshal(raw, &issue)
				if issue.ID != "" {
					issue.Work.Updated, _ = time.Parse(time.RFC3339, issue.Updated)
					all = append(all, issue.Work)
				}
			}
			return all, nil
		}
		_, line, _ = bytes.Cut(line, []byte("\n"))
	}
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return nil, errors.New("its answer is not a list of issues")
}

// means reports whether the assignee of an issue is that agent.
func means(assignee string, who identity.Identity) bool {
	assignee = strings.TrimSuffix(assignee, "/")
	switch {
	case assignee == "":
		return false
	case assignee == who.Address():
		return true
	case who.Role == identity.Boot:
		return assignee == "deacon/boot"
	}
	return (who.Role == identity.Crew || who.Role == identity.Polecat) && assignee == who.Rig+"/"+who.Name
}

// session is the name of the session of a template that the agent is, by which it claims
// (see Actor); "" for another agent.
func session(environ []string) (name string) {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, "GT_SESSION_NAME="); ok {
			name = value
		}
	}
	return name
}

// find looks for bd on the PATH, where no project's own is found; "" where there
// is none.
func find(h home.Home, environ []string) string {
	bd, err := process.LookPath("bd", h.Dir, environ)
	if err != nil {
		return ""
	}
	return bd
}

// bdEnviron is the environment for bd: what says who and where the person is
// and where the database's server is. BEADS_DIR and the like are not needed, and a
// project's settings of its client can set them; git, which bd runs, has its own.
// No background process of bd's is to outlive the question.
func bdEnviron(h home.Home, environ []string) []string {
	env := process.PersonEnviron(environ)
	for _, kv := range environ {
		if strings.HasPrefix(kv, "BEADS_DOLT_") || strings.HasPrefix(kv, "GT_DOLT_") {
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+process.SearchPath(h.Dir, environ), "BEADS_NO_DAEMON=1")
}

// question is a run of bd, all of whose processes end at the deadline: it may start others.
func question(bd, dir string, environ []string, deadline time.Duration, args ...string) bounded.Program {
	return bounded.Program{Path: bd, Args: args, Dir: dir, Env: environ, Within: deadline, Most: maxOutput, Linger: 50 * time.Millisecond}
}

// query returns bd's answer.
func query(q bounded.Program) ([]byte, error) {
	r, err := q.Run(context.Background())
	var failed *bounded.Failed
	switch {
	case errors.As(err, &failed):
		if line := firstError(failed.Stderr); line != "" {
			return nil, errors.New(line)
		}
		return nil, failed.Err
	case errors.Is(err, bounded.ErrLate):
		return nil, fmt.Errorf("no answer within %v", q.Within.Round(time.Millisecond))
	case errors.Is(err, bounded.ErrTooMuch):
		return nil, fmt.Errorf("its answer is over %d bytes", q.Most)
	}
	return r.Out, err
}

// firstError is what bd complains of: the first line that it calls an error,
// else the first.
func firstError(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if said, ok := strings.CutPrefix(line, "Error: "); ok {
			return said
		}
	}
	return lines[0]
}
