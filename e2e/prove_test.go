//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// gt-hooks prove --run shows that the hook of a start fires in the real client: the
// model is asked nothing, and neither the person's log nor the project has a trace of
// it. Codex has to be told to trust the hooks first.
//
// S1-10 S2-46
func TestProveRun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "gemini", "qwen", "copilot", "opencode", "pi", "kimi", "cline"} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, name)
			w.setUp(name)
			if name == "gemini" || name == "qwen" { // which read settings with comments
				w.comment(filepath.Join(w.home, "."+name, "settings.json"))
			}
			w.gt("gt-hooks", "install", name)
			if name == "codex" {
				out, err := w.run(w.project, nil, "gt-hooks", "prove", "codex", "--run")
				if err == nil || strings.Contains(string(out), "no hook fired") || !strings.Contains(string(out), "do: start codex and choose 'Trust all and continue'") {
					t.Errorf("without trust: %v\n%s", err, out)
				}
				w.trustHooks()
			}
			out, err := w.run(w.project, nil, "gt-hooks", "prove", name, "--run", "--limit", patience.String())
			if err != nil || !strings.HasPrefix(string(out), name+": proved\n") || !strings.Contains(string(out), "in this run, after") {
				t.Errorf("%v\n%s", err, out)
			}
			if strings.Contains(string(out), w.key) {
				t.Errorf("a key is printed:\n%s", out)
			}
			for _, r := range w.model.Requests() {
				t.Errorf("the model was asked %.300s", r.Asked())
			}
			if all := w.events("", ""); len(all) > 0 {
				t.Errorf("the person's log has %+v", all)
			}
			if _, err := os.Stat(filepath.Join(w.project, ".runtime")); err == nil {
				t.Error("the project has a .runtime")
			}
		})
	}
}

// comment puts comments into a settings file, at its top and in its object.
func (w *world) comment(path string) {
	w.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	w.write(path, "// the person's\n"+strings.Replace(string(text), "{", "{ /* and\nthis */ // line\n", 1))
}
