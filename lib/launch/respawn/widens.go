package respawn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/place"
	"gt/lib/sys/process"
)

// WidensPermissions returns why the successor's run would have more than the session that
// asks for it from its sandbox, or "". mode is what the client calls the permission that
// the session has. If the run would have more, a person has to give away the pane.
func (s Successor) WidensPermissions(mode string, r Run) string {
	if mode != "" && agent.Freedom(mode) < agent.FreedomOf(r.Args) { // mutant never: TestOutgrows
		return fmt.Sprintf("its successor would start with more freedom than it has now (%s)", mode)
	}
	if s.BringsLauncher(r) {
		return "what its successor is started in lies in the project"
	}
	within := s.within(r)
	program, err := process.LookPath(r.Args[0], r.Dir, r.Env)
	if err != nil {
		return err.Error()
	}
	if within(program) {
		return "its successor's program lies in the project"
	}
	if slices.ContainsFunc(agent.Files(r.Args), within) {
		return "its successor's program or settings lie in the project"
	}
	for _, kv := range r.Env {
		if name, value, _ := strings.Cut(kv, "="); name == s.Client.StoreEnv && filepath.IsAbs(value) && within(value) {
			return "its successor's settings lie in the project"
		}
	}
	return ""
}

// BringsLauncher reports whether a program or file of a run's launcher is in the project,
// where an agent in a sandbox could have changed it. It ignores bwrap's own arguments:
// mounts, and what runs inside.
func (s Successor) BringsLauncher(r Run) bool {
	if len(r.In) == 0 {
		return false
	}
	within := s.within(r)
	if program, err := process.LookPath(r.In[0], r.Dir, r.Env); err != nil || within(program) {
		return true
	}
	words := r.In
	if n := slices.IndexFunc(words, func(word string) bool { return filepath.Base(word) == "bwrap" }); n >= 0 {
		words = words[:n+1]
	}
	return slices.ContainsFunc(words[1:], func(word string) bool {
		if !filepath.IsAbs(word) {
			word = filepath.Join(r.Dir, word)
		}
		info, err := os.Stat(word)
		return err == nil && info.Mode().IsRegular() && within(word)
	})
}

func (s Successor) within(r Run) func(path string) bool {
	project := []string{place.Real(s.Home.Dir), place.Real(r.Dir)}
	return func(path string) bool {
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.Dir, path)
		}
		if _, err := os.Lstat(path); err != nil {
			return false
		}
		if process.Within(path, r.Dir, r.Env) {
			return true
		}
		path = place.Real(path)
		for _, dir := range project {
			if place.Inside(path, dir) {
				return true
			}
		}
		return false
	}
}
