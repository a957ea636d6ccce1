package notify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/cli"
)

// A command that goes on for too long is stopped, and what it has started, too.
func TestPatience(t *testing.T) {
	dir := t.TempDir()
	env := &cli.Env{Dir: dir, Environ: append(os.Environ(), "HOME="+dir)}
	began := time.Now()
	err := run(env, 100*time.Millisecond, []string{"sh", "-c", "echo $$ >pid; sleep 600; true"}, "one", "waiting", "done", "line")
	if err == nil || !strings.Contains(err.Error(), "was stopped after 100ms") || time.Since(began) > 5*time.Minute {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "pid")); errors.Is(err, os.ErrNotExist) {
		t.Log("it was stopped before it began")
	}
}
