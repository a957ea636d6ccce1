package sessioncmd

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/state/peer"
)

// What can be a name is for the other host to resolve: it may have an agent of that name that it
// has not told of.
func TestOnOtherHost(t *testing.T) {
	home := t.TempDir()
	env := &cli.Env{Dir: home, Now: time.Now, Environ: []string{"HOME=" + home}}
	hosts := peer.NewHosts(place.StateOf(env.Getenv))
	testenv.NoError(t, hosts.Put(peer.Host{Name: "box"}))
	told := `{"id":"1","name":"api","title":"web","path":"/src/api","status":"idle"}` + "\n" + `{"id":"2","name":"site","title":"Fix it","path":"/src/site","status":"idle"}` + "\n"
	testenv.NoError(t, os.WriteFile(filepath.Join(hosts.Path("box"), "instances.jsonl"), []byte(told), 0o600))
	for name, want := range map[string]string{"api": "api", "web": "web", "Fix it": "site", "/src/api": "api"} {
		e, err := findOnHost(env, name+"@box")
		if err != nil || e == nil || e.name != want {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}
