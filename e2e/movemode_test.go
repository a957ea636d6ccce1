//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A conversation from another machine gives its agent no more freedom than it has here.
func TestMoveWidensNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"acceptEdits", "bypassPermissions"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			here := w.agents()
			there := agents{w.machine("there"), here.around}
			w.git("clone", "-q", ".", there.project)
			here.session("new", "-n", "api", "-m", "please remember MARK-ONE")
			w.asked("MARK-ONE")
			here.becomes("api", "waiting")
			w.awaitWritten("MARK-ONE")
			here.session("stop", "api")
			files, _ := filepath.Glob(filepath.Join(w.home, ".claude/projects/*/*.jsonl"))
			for _, file := range files {
				text := w.read(file)
				if !strings.Contains(text, `"permissionMode":"default"`) {
					t.Errorf("the client writes no mode: %s", text)
				}
				w.write(file, strings.ReplaceAll(text, `"permissionMode":"default"`, `"permissionMode":"`+mode+`"`))
			}
			here.shell("gt-session pack api >'" + w.Path("parcel") + "'")
			var made struct{ Path string }
			if err := json.Unmarshal(there.shell("gt-session unpack --json --folder . <'"+w.Path("parcel")+"'"), &made); err != nil {
				t.Fatal(err)
			}
			there.trust(there.project, made.Path)
			there.session("start", "api")
			p := there.pane("api")
			p.typ("please remember MARK-TWO")
			w.asked("MARK-TWO")
			there.becomes("api", "waiting")
			time.Sleep(time.Second)
			screen := p.screen()
			if os.Getenv("SHOW") != "" {
				t.Log(screen)
			}
			if strings.Contains(screen, "accept edits on") || strings.Contains(screen, "bypass permissions on") {
				t.Errorf("it has the freedom of a parcel:\n%s", screen)
			}
			there.session("stop", "api")
		})
	}
}
