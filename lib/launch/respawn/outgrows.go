package respawn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/place"
	"gt/lib/sys/process"
)

// Outgrows says why the successor's run would have more than the session has that
// asks for it out of its sandbox, where the client calls what that may do without
// asking mode; "" where it would not. Then a person has to give the pane away.
func (s Successor) Outgrows(mode string, r Run) string {
	if mode != "" && agent.Freedom(mode) < agent.FreedomOf(r.Args) {
		return fmt.Sprintf("its successor would start with more freedom than it has now (%s)", mode)
	}
	project := []string{place.Real(s.Home.Dir), place.Real(r.Dir)}
	within := func(path string) bool {
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
	program, err := process.LookPath(r.Args[0], r.Dir, r.Env)
	if err != nil {
		return err.Error()
	}
	if within(program) {
		return "its successor's program lies in the project"
	}
	for _, path := range agent.Files(r.Args) {
		if within(path) {
			return "its successor's program or settings lie in the project"
		}
	}
	for _, kv := range r.Env {
		if name, value, _ := strings.Cut(kv, "="); name == s.Client.StoreEnv && filepath.IsAbs(value) && within(value) {
			return "its successor's settings lie in the project"
		}
	}
	return ""
}
