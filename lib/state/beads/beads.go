// Package beads asks bd (Beads, the issue tracker that Gas Town uses) for an agent's work.
// It is the only package that runs bd.
//
// bd opens a database and can take a second. So it runs only if the home has a .beads
// folder, with a deadline, and never in a hook that runs often. Callers treat errors as
// warnings, because gt's own state is complete without bd.
package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/lib/cli"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

// deadline bounds bd, whose first call after a while takes a second.
const deadline = 2 * time.Second

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

// Find returns the folder that contains the .beads of an agent: its home, or the nearest one above
// in its town, because the worktrees of a rig share the rig's. It returns "" if there is none, or
// outside a trusted town, because .beads configures which programs bd runs.
func Find(h home.Home) string {
	if h.Town.Trust == nil {
		return ""
	}
	for dir := h.Dir; ; dir = filepath.Dir(dir) {
		if atomicfile.IsFolder(filepath.Join(dir, ".beads")) {
			return dir
		}
		if dir == h.Town.Root || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Dir returns the value for BEADS_DIR, or "" if bd finds the folder itself, in the home.
func Dir(h home.Home) string {
	if dir := Find(h); dir != "" && dir != h.Dir {
		return filepath.Join(dir, ".beads")
	}
	return ""
}

// maxOutput bounds bd's output: 8 MiB, some thousand issues.
const maxOutput = 8 << 20

// Given returns the issues that are assigned to the home's agent: first those in progress,
// then hooked ones, each in bd's order. It returns none without a .beads folder or bd. With
// an error it returns what it got.
//
// It asks for all issues of a status and filters them, because an agent has several names
// there: its address (demo/crew/joe), a short form that Gas Town uses in places (demo/joe),
// and each with a slash at the end. It asks for each status in parallel, because some
// versions of bd find nothing for a list of them.
func Given(h home.Home, environ []string) ([]Work, error) {
	given, _, err := Collect(h, environ, 0)
	return given, err
}

// Collect returns what Given does, and as ready up to most issues that the agent could work on,
// because nothing blocks them and nobody else has them.
func Collect(h home.Home, environ []string, most int) (given, ready []Work, err error) {
	dir := Find(h)
	if dir == "" {
		return nil, nil, nil
	}
	bd := findProgram(h, environ)
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
	own := process.Variable(environ, "GT_SESSION_NAME") // by which a template's session claims issues (see Actor)
	answers := make([][]byte, len(asked))
	failed := make([]error, len(asked))
	cli.ParallelAtMost(len(asked), cli.Numbers(len(asked)), func(i int) { answers[i], failed[i] = runProgram(asked[i]) })
	for i, q := range asked {
		if left := time.Until(end); failed[i] != nil && left > 0 { // they may have delayed each other
			q.Within = left
			// An error says more than that there was no time to ask again.
			if answer, err := runProgram(q); !errors.Is(err, bounded.ErrLate) {
				answers[i], failed[i] = answer, err
			}
		}
		var all []Work
		if failed[i] == nil {
			all, failed[i] = parse(answers[i])
		}
		for _, w := range all {
			switch {
			case q.Args[0] == "ready":
				if w.Assignee == "" || w.Assignee == own || isAssignee(w.Assignee, h.Identity) {
					ready = append(ready, w)
				}
			case q.Args[1] == "--status="+w.Status && (w.Assignee != "" && w.Assignee == own || isAssignee(w.Assignee, h.Identity)):
				given = append(given, w)
			}
		}
		if failed[i] != nil && err == nil {
			err = fmt.Errorf("cannot ask bd for work: %w", failed[i])
		}
	}
	return given, ready, err
}

const (
	InProgress = "in_progress"
	hooked     = "hooked"
)

// Molecule returns the molecule that an issue names in a line of its own, as Gas Town
// writes it ("attached_molecule: mol-7"), or "".
func Molecule(text string) string {
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if key = strings.ToLower(strings.TrimSpace(key)); ok && (key == "attached_molecule" || key == "molecule") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// parse reads bd's answer: an array of issues, or null. It skips text before it, because bd
// prints some warnings to standard output.
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
				// Skip fields whose type differs in another version.
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

// isAssignee reports whether an assignee is the agent, in any form of address that Gas Town writes.
func isAssignee(assignee string, who identity.Identity) bool {
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

// findProgram returns bd's path, or "". It does not search projects.
func findProgram(h home.Home, environ []string) string {
	bd, err := process.LookPath("bd", h.Dir, environ)
	if err != nil {
		return ""
	}
	return bd
}

// bdEnviron returns bd's environment: who and where the person is, and where the database's
// server is. It leaves out BEADS_DIR and others, which a project's client settings can set.
// bd must not start a background process.
func bdEnviron(h home.Home, environ []string) []string {
	env := process.PersonEnviron(environ) // mutant without process.PersonEnviron: ./attacks TestBeadsOutsideTowns
	for _, kv := range environ {
		if strings.HasPrefix(kv, "BEADS_DOLT_") || strings.HasPrefix(kv, "GT_DOLT_") {
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+process.SearchPath(h.Dir, environ), "BEADS_NO_DAEMON=1")
}

// question returns a run of bd. All its processes end at the deadline.
func question(bd, dir string, environ []string, deadline time.Duration, args ...string) bounded.Program {
	return bounded.Program{Path: bd, Args: args, Dir: dir, Env: environ, Within: deadline, Most: maxOutput, Linger: 50 * time.Millisecond}
}

// runProgram runs bd and returns its output. If bd failed, the error has bd's own words.
func runProgram(q bounded.Program) ([]byte, error) {
	r, err := q.Run(context.Background())
	var failed *bounded.Failed
	switch {
	case errors.As(err, &failed):
		if line := firstError(failed.Stderr); line != "" {
			return nil, errors.New(line)
		}
		return nil, failed.Err
	case errors.Is(err, bounded.ErrLate):
		return nil, lateError(fmt.Sprintf("no answer within %v", q.Within.Round(time.Millisecond)))
	case errors.Is(err, bounded.ErrTooMuch):
		return nil, fmt.Errorf("its answer is over %d bytes", q.Most)
	}
	return r.Out, err
}

type lateError string

func (e lateError) Error() string { return string(e) }
func (e lateError) Unwrap() error { return bounded.ErrLate }

// firstError returns bd's first line that begins with "Error: ", or else its first line.
func firstError(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if said, ok := strings.CutPrefix(line, "Error: "); ok {
			return said
		}
	}
	return lines[0]
}

const hookDeadline = 5 * time.Second

// Hook gives an issue to the home's agent as work.
func Hook(h home.Home, id string, environ []string) error {
	dir, bd := Find(h), findProgram(h, environ)
	var err error
	switch {
	case dir == "":
		err = errors.New("there is no .beads")
	case bd == "":
		err = errors.New("bd is not on the PATH")
	default:
		_, err = runProgram(question(bd, dir, bdEnviron(h, environ), hookDeadline, "update", id, "--status=hooked", "--assignee="+h.Identity.Address()))
	}
	if err != nil {
		return fmt.Errorf("cannot hook '%s': %w", id, err)
	}
	return nil
}
