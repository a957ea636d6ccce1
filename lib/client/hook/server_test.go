package hook

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
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

// A window of a server on another machine, or at another port of this one, is none of this
// server.
func TestAnswersAt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not tell where a process listens")
	}
	self, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	here, err := net.Listen("tcp4", "127.0.0.1:0")
	testenv.NoError(t, err)
	defer here.Close()
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	testenv.NoError(t, err)
	other := closed.Addr().(*net.TCPAddr).Port
	testenv.NoError(t, closed.Close())
	name, err := os.Hostname()
	testenv.NoError(t, err)
	for address, want := range map[string]bool{
		"http://127.0.0.1:%d": true, "http://localhost:%d/": true, "http://[::1]:%d": true, "http://0.0.0.0:%d": true, "http://" + name + ":%d": true,
		"http://192.0.2.7:%d": false, "http://other.example:%d": false, "": false, "http://127.0.0.1": false, ":%d": false,
	} {
		address := strings.ReplaceAll(address, "%d", fmt.Sprint(here.Addr().(*net.TCPAddr).Port))
		if got := answersAt(self, address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if address := fmt.Sprintf("http://127.0.0.1:%d", other); answersAt(self, address) {
		t.Errorf("%s, where nothing listens, is this server", address)
	}
}

// without changes a program's environment, not its caller's.
func TestWithout(t *testing.T) {
	env := &cli.Env{Environ: []string{"TMUX=/x,1,0", "HOME=/h", "TMUX_PANE=%1", "TMUXX=y", "CODEX_THREAD_ID=t"}}
	given := env.Environ
	removeVars(env, windowVars)
	if want := []string{"HOME=/h", "TMUXX=y", "CODEX_THREAD_ID=t"}; !slices.Equal(env.Environ, want) {
		t.Errorf("%q", env.Environ)
	}
	if given[0] != "TMUX=/x,1,0" {
		t.Error("the caller's environment was changed")
	}
}
