package hook

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/cli"
	"gt/lib/client/registry"
	"gt/lib/sys/process"
)

// A client works where it was started, or where its flag says.
func TestWorksIn(t *testing.T) {
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	here, err := os.Getwd()
	testenv.NoError(t, err)
	for _, c := range []struct {
		args, dir string
		want      bool
	}{
		{"codex", here, true}, {"codex", filepath.Dir(here), false}, {"codex", "/nowhere/at/all", false},
		{"codex -C ..", filepath.Dir(here), true}, {"codex --cd=.. x", filepath.Dir(here), true},
		{"codex --cd " + t.TempDir(), here, false}, {"codex -C", here, true},
	} {
		if got := worksIn(registry.FindClient("codex").Dialect.SharedServer, self, strings.Fields(c.args), c.dir); got != c.want {
			t.Errorf("'%s' in %s: %v", c.args, c.dir, got)
		}
	}
}

// without changes a program's environment, not its caller's.
func TestWithout(t *testing.T) {
	env := &cli.Env{Environ: []string{"TMUX=/x,1,0", "HOME=/h", "TMUX_PANE=%1", "TMUXX=y", "CODEX_THREAD_ID=t"}}
	given := env.Environ
	removeVars(env, ofWindow)
	if want := []string{"HOME=/h", "TMUXX=y", "CODEX_THREAD_ID=t"}; !slices.Equal(env.Environ, want) {
		t.Errorf("%q", env.Environ)
	}
	if given[0] != "TMUX=/x,1,0" {
		t.Error("the caller's environment was changed")
	}
}
