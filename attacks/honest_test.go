package attacks

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// The honest twins of what is brought: wherever a person works, and wherever they
// keep their own, their thread goes on; and outside a town the project stays as it
// was.
func TestHonestPlaces(t *testing.T) {
	for name, twin := range map[string]func(w *world) (*world, string){
		"a repository":  func(w *world) (*world, string) { return w, "work" },
		"a folder of it": func(w *world) (*world, string) { return w, "work/folder" },
		"no repository": func(w *world) (*world, string) { w.put("plain/file", ""); return w, "plain" },
		"a linked worktree": func(w *world) (*world, string) {
			w.must("work", "git", "worktree", "add", "-q", w.at("linked"))
			return w, "linked"
		},
		"a worktree in the repository": func(w *world) (*world, string) {
			w.must("work", "git", "worktree", "add", "-q", w.at("work/.worktrees/side"))
			return w, "work/.worktrees/side"
		},
		"a checkout that cannot be written": func(w *world) (*world, string) {
			return w.boxed("--bind", w.root, w.root, "--ro-bind", w.at("work"), w.at("work")), "work"
		},
		"settings and state that are links": func(w *world) (*world, string) {
			w.put("dotfiles/gt/roles/default.md", "TWIN-ROLE\n")
			w.put("disk/state/x", "")
			w.link("../../dotfiles/gt", "home/.config/gt")
			w.link("../../disk/state", "home/.local/state")
			return w, "work"
		},
		"a state folder that is a link": func(w *world) (*world, string) {
			w.put("disk/gt/x", "")
			w.must("disk", "chmod", "700", "gt")
			w.link("../../../disk/gt", "home/.local/state/gt")
			return w, "work"
		},
		"a state folder elsewhere": func(w *world) (*world, string) {
			return w.with("XDG_STATE_HOME=" + w.at("disk/state")), "work"
		},
		"a home folder on another volume": func(w *world) (*world, string) {
			return w.boxed("--bind", w.root, w.root, "--bind", "/dev/shm", w.at("home"), "--setenv", "XDG_STATE_HOME", w.volume()), "work"
		},
		"a project with a link to it": func(w *world) (*world, string) { w.link("work", "there"); return w, "there" },
		"a project with an odd name": func(w *world) (*world, string) {
			w.repository("o dd\n$(touch x)\x1b[31m")
			return w, "o dd\n$(touch x)\x1b[31m"
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.repository("work")
			w, dir := twin(w)
			before := w.listing(dir)
			w.thread(dir)
			if changed := changes(before, w.listing(dir)); changed != "" {
				t.Errorf("the project is another: %s", changed)
			}
			if strings.HasPrefix(name, "settings") {
				if r := w.start(dir, "70000000-0000-4000-8000-000000000003"); !strings.Contains(r.out, "TWIN-ROLE") {
					t.Errorf("the person's own role is not told: %v", r)
				}
				if _, err := os.Stat(w.at("disk/state/gt/homes")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
