// Package beads asks bd (Beads, the issue tracker that Gas Town keeps its work
// in) what is hooked to an agent. It is the only package that runs bd.
//
// bd opens a database and may take a second, so it is asked only where the
// home has a .beads folder, by one process, within a deadline, and never by a
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
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/sys/process"
)

// Deadline is how long a hook waits for bd.
const Deadline = 700 * time.Millisecond

// Work is one issue that is hooked to an agent.
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

// Hooked returns the issues with the status hooked that are assigned to the
// agent of that home, in bd's order. Without a .beads folder (see Find), or
// without bd in PATH, there are none, at the cost of a look.
//
// All hooked issues are asked for and the agent's picked here, for the same
// agent has several names there: its address (demo/crew/joe), the short form
// that gt uses in places (demo/joe), and either with a slash at the end.
func Hooked(h home.Home, environ []string, deadline time.Duration) ([]Work, error) {
	dir := Find(h)
	if dir == "" {
		return nil, nil
	}
	bd := find(h, environ)
	if bd == "" {
		return nil, nil
	}
	out, err := run(bd, dir, surroundings(h, environ), deadline, "list", "--status=hooked", "--json", "--limit=0", "--readonly")
	if err != nil {
		return nil, fmt.Errorf("cannot ask bd for hooked work: %w", err)
	}
	all, err := parse(out)
	if err != nil {
		return nil, fmt.Errorf("cannot ask bd for hooked work: %w", err)
	}
	var own []Work
	for _, w := range all {
		if w.Status == "hooked" && means(w.Assignee, h.Identity) {
			own = append(own, w)
		}
	}
	return own, nil
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

// find looks for bd on the PATH, where no project's own is found; "" where there
// is none.
func find(h home.Home, environ []string) string {
	bd, err := process.LookPath("bd", h.Dir, environ)
	if err != nil {
		return ""
	}
	return bd
}

// surroundings is the environment for bd: what says who and where the person is
// and where the database's server is. BEADS_DIR and the like are not needed, and a
// project's settings of its client can set them; git, which bd runs, has its own.
// No background process of bd's is to outlive the question.
func surroundings(h home.Home, environ []string) []string {
	env := process.Surroundings(environ)
	for _, kv := range environ {
		if strings.HasPrefix(kv, "BEADS_DOLT_") || strings.HasPrefix(kv, "GT_DOLT_") {
			env = append(env, kv)
		}
	}
	return append(env, "PATH="+process.SearchPath(h.Dir, environ), "BEADS_NO_DAEMON=1")
}

// run runs bd in a process group of its own and kills all of it at the
// deadline: bd may start others.
func run(bd, dir string, environ []string, deadline time.Duration, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, bd, args...)
	cmd.Dir = dir
	cmd.Env = environ
	out, said := front{max: maxOutput}, front{max: 4096}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 50 * time.Millisecond // for what left the group and holds a pipe open
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("no answer within %v", deadline)
	case out.over:
		return nil, fmt.Errorf("its answer is over %d bytes", maxOutput)
	case errors.Is(err, exec.ErrWaitDelay): // it answered and is gone, though not all that it started
		return out.data, nil
	case err != nil:
		if line := firstError(string(said.data)); line != "" {
			return nil, errors.New(line)
		}
		return nil, err
	}
	return out.data, nil
}

// front keeps the front of what is written to it and drops the rest.
type front struct {
	data []byte
	max  int
	over bool
}

func (f *front) Write(p []byte) (int, error) {
	keep := min(len(p), f.max-len(f.data))
	f.data = append(f.data, p[:keep]...)
	f.over = f.over || keep < len(p)
	return len(p), nil
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
