package attacks

import (
	"os"
	"strings"
	"testing"
)

// The honest twins of what is brought: wherever a person works, and wherever they
// keep their own, their thread goes on; and outside a town the project stays as it
// was.
func TestHonestPlaces(t *testing.T) {
	for name, twin := range map[string]func(w *world) (*world, string){
		"a repository":   func(w *world) (*world, string) { return w, "work" },
		"a folder of it": func(w *world) (*world, string) { return w, "work/folder" },
		"no repository":  func(w *world) (*world, string) { w.Write("plain/file", ""); return w, "plain" },
		"a linked worktree": func(w *world) (*world, string) {
			w.MustRun("work", "git", "worktree", "add", "-q", w.Path("linked"))
			return w, "linked"
		},
		"a worktree in the repository": func(w *world) (*world, string) {
			w.MustRun("work", "git", "worktree", "add", "-q", w.Path("work/.worktrees/side"))
			return w, "work/.worktrees/side"
		},
		"a checkout that cannot be written": func(w *world) (*world, string) {
			return w.inBubblewrap("--ro-bind", w.Path("work"), w.Path("work")), "work"
		},
		"settings and state that are links": func(w *world) (*world, string) {
			w.Write("dotfiles/gt/roles/default.md", "TWIN-ROLE\n")
			w.Write("disk/state/x", "")
			w.link("../../dotfiles/gt", "home/.config/gt")
			w.link("../../disk/state", "home/.local/state")
			return w, "work"
		},
		"a state folder that is a link": func(w *world) (*world, string) {
			w.Write("disk/gt/x", "")
			w.MustRun("disk", "chmod", "700", "gt")
			w.link("../../../disk/gt", "home/.local/state/gt")
			return w, "work"
		},
		"a state folder elsewhere": func(w *world) (*world, string) {
			return w.withEnv("XDG_STATE_HOME=" + w.Path("disk/state")), "work"
		},
		"a home folder on another volume": func(w *world) (*world, string) {
			dir, err := os.MkdirTemp("/dev/shm", "gt-attacks-")
			if err != nil {
				w.Skipf("there is no other volume here: %v", err)
			}
			w.Cleanup(func() { os.RemoveAll(dir) })
			w.MustRun(".", "cp", w.Path("home/.gitconfig"), dir)
			return w.withEnv("HOME="+dir, "XDG_STATE_HOME="), "work"
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
				if r := w.start(dir, "70000000-0000-4000-8000-000000000003"); !strings.Contains(r.Out, "TWIN-ROLE") {
					t.Errorf("the person's own role is not told: %v", r)
				}
				if _, err := os.Stat(w.Path("disk/state/gt/homes")); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// With a home folder that cannot be written there is no thread, and the person is
// told so in a line; every hook ends well, and what is typed says why it cannot.
func TestReadOnlyHome(t *testing.T) {
	w := newWorld(t)
	w.repository("work")
	w = w.inBubblewrap("--ro-bind", w.Path("home"), w.Path("home"))
	before := w.listing("home", "work")
	c := w.client("work")
	const id = "70000000-0000-4000-8000-000000000001"
	for _, h := range []struct {
		event, more, name string
		args              []string
		lines             int
	}{
		{"SessionStart", `,"source":"startup"`, "gt-prime", []string{"--hook"}, 1},
		{"UserPromptSubmit", "", "gt-keepalive", []string{"touch", "--hook"}, 1},
		{"PostToolUse", "", "gt-keepalive", []string{"touch", "--hook"}, 1},
		{"Stop", "", "gt-checkpoint", []string{"write", "--hook"}, 1},
		{"PreCompact", "", "gt-handoff", []string{"--auto", "--hook"}, 1},
		{"SessionEnd", "", "gt-keepalive", []string{"end", "--hook"}, 1},
	} {
		r := c.hook("work", nil, id, h.event, h.more, h.name, h.args...)
		if r.Code != 0 || strings.Count(r.Errs, "\n") > h.lines {
			t.Errorf("%s: %v", h.event, r)
		}
		if h.event == "SessionStart" && (!strings.Contains(r.Out, "You work in "+w.Path("work")) || r.Errs == "") {
			t.Errorf("%v", r)
		}
		if h.event != "SessionStart" && r.Out != "" {
			t.Errorf("%v", r)
		}
	}
	for _, args := range [][]string{{"gt-checkpoint", "write", "--notes", "x"}, {"gt-handoff", "-s", "x"}, {"gt-mail", "send", "self", "-s", "x"}} {
		if r := c.typed("work", id, args[0], args[1:]...); r.Code != 74 || !strings.Contains(r.Errs, "error: ") {
			t.Errorf("%v", r)
		}
	}
	for _, args := range [][]string{{"gt-prime"}, {"gt-seance", "list"}, {"gt-hooks", "status"}, {"gt-mail"}} {
		if r := c.typed("work", id, args[0], args[1:]...); r.Code != 0 && r.Code != 1 {
			t.Errorf("%v", r)
		}
	}
	if changed := changes(before, w.listing("home", "work")); changed != "" {
		t.Errorf("it was written: %s", changed)
	}
}

// A folder that is made at the path of another one is told nothing of it, and the
// folder that was there keeps what it had.
func TestAnotherFolderAtThePath(t *testing.T) {
	w := newWorld(t)
	w.neighbour()
	w.MustRun(".", "mv", "neighbour", "moved")
	w.repository("neighbour")
	for _, look := range looks(w, "neighbour") {
		if r := look(); strings.Contains(r.Out+r.Errs, neighbour) {
			t.Errorf("%v", r)
		}
	}
	w.MustRun(".", "rm", "-rf", "neighbour")
	w.MustRun(".", "mv", "moved", "neighbour")
	if r := w.start("neighbour", "70000000-0000-4000-8000-000000000003"); !strings.Contains(r.Out, neighbour+" message") {
		t.Errorf("%v", r)
	}
}

// A town that the person trusts is told its own, and its files stand where other
// programs of the town look for them: where git does not show them.
func TestTrustedTown(t *testing.T) {
	for name, make := range map[string]func(w *world){
		"ours":       func(w *world) { w.Write("town/town.toml", "[rigs.demo]\nprefix = \"gt\"\n") },
		"Gas Town's": func(w *world) { w.Write("town/mayor/town.json", `{"type":"town","version":2,"name":"t"}`) },
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			make(w)
			w.Write("town/roles/crew.md", "TOWN-ROLE\n")
			for _, crew := range []string{"hides", "shows", "tracks", "unignores", "neither"} {
				w.repository("town/demo/crew/" + crew)
			}
			hidden := ".runtime/\n.polecat-checkpoint.json\n"
			w.Write("town/demo/crew/hides/.git/info/exclude", hidden)
			w.Write("town/demo/crew/tracks/.git/info/exclude", hidden)
			for _, name := range []string{".runtime/handoff", ".runtime/session_id", ".runtime/keepalive.json", ".polecat-checkpoint.json"} {
				w.Write("town/demo/crew/tracks/"+name, `{"notes":"`+evilWord+`"}`)
			}
			w.MustRun("town/demo/crew/tracks", "git", "add", "-f", ".runtime", ".polecat-checkpoint.json")
			w.Write("town/demo/crew/unignores/.git/info/exclude", hidden)
			w.Write("town/demo/crew/unignores/.gitignore", "!.runtime\n!.polecat-checkpoint.json\n")
			crew := func(name string) string { return "town/demo/crew/" + name }

			// Before the person's word it is a folder like any other.
			before := w.listing("town")
			if r := w.start(crew("hides"), "70000000-0000-4000-8000-000000000009"); strings.Contains(r.Out, "TOWN-ROLE") || strings.Contains(r.Out, "trust") {
				t.Errorf("%v", r)
			}
			if changed := changes(before, w.listing("town")); changed != "" {
				t.Errorf("nobody trusts it, and there is %s", changed)
			}
			if r := w.Run("town", nil, "gt-hooks", "trust"); r.Code != 1 {
				t.Errorf("it did not ask: %v", r)
			}
			w.MustRun("town", "gt-hooks", "trust", "--yes")
			if r := w.start(crew("hides"), "70000000-0000-4000-8000-000000000008"); !strings.Contains(r.Out, "TOWN-ROLE") || !strings.Contains(r.Out, "demo/crew/hides") {
				t.Errorf("%v", r)
			}
			for name, mirrored := range map[string]bool{"hides": true, "shows": false, "tracks": false, "unignores": false} {
				dir := crew(name)
				status := w.status(dir)
				before := w.listing(dir)
				w.thread(dir)
				c := w.client(dir)
				c.start(dir, "third-in-"+name)
				c.typed(dir, "third-in-"+name, "gt-checkpoint", "write", "--notes", "x")
				_, err := os.Stat(w.Path(dir + "/.runtime/session_id"))
				_, failed := os.Stat(w.Path(dir + "/.polecat-checkpoint.json"))
				switch changed := changes(before, w.listing(dir)); {
				case mirrored && (err != nil || failed != nil):
					t.Errorf("%s: other programs find nothing: %v, %v", name, err, failed)
				case !mirrored && changed != "":
					t.Errorf("%s: git shows it, and there is %s", name, changed)
				case !mirrored && w.status(dir) != status:
					t.Errorf("%s: %s", name, w.status(dir))
				}
			}
			if _, err := os.Stat(w.Path("town/.events.jsonl")); err != nil {
				t.Error(err)
			}
			// A note of the mayor's arrives.
			w.withEnv("GT_ROLE=mayor").MustRun("town", "gt-mail", "send", "demo/crew/hides", "-s", "TOWN-NOTE")
			if r := w.Run(crew("hides"), nil, "gt-mail"); !strings.Contains(r.Out, "TOWN-NOTE") {
				t.Errorf("%v", r)
			}
			// What has changed since is not what was trusted.
			w.Write("town/roles/crew.md", evilWord+"\n")
			if r := w.start(crew("hides"), "70000000-0000-4000-8000-000000000007"); strings.Contains(r.Out, evilWord) || !strings.Contains(r.Errs, "gt-hooks trust shows it again") {
				t.Errorf("%v", r)
			}
		})
	}
}
