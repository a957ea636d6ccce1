package gt_test

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"

	"gt/lib/place/home"
)

// world is a person's environment: a home folder with Claude's settings, a git
// repository with a session in it that has left all that sessions leave, and a
// town with an agent of its own. Everything in it can be put back as it was.
type world struct {
	*testenv.World
	copy string // how it was
	told int    // inputs that hooks were given, none of them twice
}

type answer = testenv.Result

// The places in a world.
const (
	homeDir = "home"
	state   = "home/.local/state/gt"
	work    = "work"
	town    = "town"
	crew    = "town/demo/crew/max"
	roles   = "home/.config/gt/roles"

	conversation = "home/.claude/projects/work/s1.jsonl"
)

// home is the home of who works in a folder of the world.
func (w *world) home(dir string) home.Home { return home.Find(w.Getenv, w.Path(dir), "") }

// rel is a path of the world as Write and Read take it.
func (w *world) rel(path string) string {
	w.Helper()
	rel, err := filepath.Rel(w.Root, path)
	if err != nil {
		w.Fatal(err)
	}
	return rel
}

// kept is a file of what the state keeps of the home at dir, as Write and Read take it.
func (w *world) kept(dir string, elem ...string) string {
	w.Helper()
	return w.rel(w.home(dir).Path(elem...))
}

// frugal gives no command much memory; one that needs more dies with 2.
func (w *world) frugal() {
	if runtime.GOOS == "linux" {
		// A quarter of a gigabyte, half of which Go only reserves.
		w.In = []string{"sh", "-c", `ulimit -d 262144; exec "$@"`, "sh"}
	}
}

// run runs a command in a folder of the world, as a shell or a client does.
func (w *world) run(dir string, stdin io.Reader, args ...string) answer {
	w.Helper()
	a := w.Run(dir, stdin, args...)
	w.sane(a)
	return a
}

func (w *world) runWith(env []string, dir string, stdin io.Reader, args ...string) answer {
	w.Helper()
	a := w.WithEnv(env...).Run(dir, stdin, args...)
	w.sane(a)
	return a
}

// said is the form of every line on standard error.
var said = regexp.MustCompile(`^gt-[a-z]+: (error|warning|hint|because): \S`)

// sane checks what holds of every command, whatever it met: a code that is in
// the help, 0 for a hook; nothing for a terminal to obey; clear words.
func (w *world) sane(a answer) {
	w.Helper()
	switch {
	case strings.Contains(a.Line, "--hook") && a.Code != 0:
		w.Errorf("%s: a hook ends with %d\n%s", a.Line, a.Code, a.Errs)
	case !slices.Contains([]int{0, 1, 74, 75, 80}, a.Code):
		w.Errorf("%s: ends with %d\n%s", a.Line, a.Code, a.Errs)
	case a.Code == 74 && !strings.Contains(a.Errs, ": error: "):
		w.Errorf("%s: ends with 74 and says no why: %q", a.Line, a.Errs)
	}
	if r := obeyed(a.Out); r >= 0 {
		w.Errorf("%s: %q is in its output: %.500q", a.Line, r, a.Out)
	}
	if r := obeyed(a.Errs); r >= 0 {
		w.Errorf("%s: %q is in its messages: %.500q", a.Line, r, a.Errs)
	}
	for line := range strings.Lines(a.Errs) {
		if !said.MatchString(line) {
			w.Errorf("%s: says %q", a.Line, line)
		}
	}
}

// obeyed is the first character in s that a terminal would obey, that turns text
// around, or that a model reads and a person does not see; -1 where there is none.
func obeyed(s string) rune {
	for _, r := range s {
		switch {
		case r == '\n', r == '\t':
		case r < ' ', r >= 0x7f && r < 0xa0,
			r == 0x2028, r == 0x2029, r == 0x061c, r == 0x200e, r == 0x200f,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
			r == 0x200b, r == 0x2060, r == 0xad, r == 0xfe00, r >= 0xe0000 && r <= 0xe0fff:
			return r
		}
	}
	return -1
}

// hook runs a command as the hook of a session. The client of the sessions s1
// and c1 is this test; every other has one of its own, which is gone when the hook is.
func (w *world) hook(dir, session, event string, args ...string) answer {
	w.Helper()
	w.told++
	input := map[string]string{
		"session_id": session, "hook_event_name": event, "cwd": w.Path(dir),
		"transcript_path": w.Path(conversation), "last_assistant_message": fmt.Sprintf("turn %d is over", w.told),
	}
	if event == "SessionStart" {
		input["source"] = "startup"
	}
	if session == "s1" || session == "c1" {
		data, err := json.Marshal(input)
		if err != nil {
			w.Fatal(err)
		}
		in, err := testenv.Input(string(data))
		if err != nil {
			w.Fatal(err)
		}
		defer in.Close()
		return w.run(dir, in, args...)
	}
	call := []string{"client"}
	for key, value := range input {
		call = append(call, key+"="+value)
	}
	return w.run(dir, nil, append(append(call, "--"), args...)...)
}

// ok fails the test where a command did not end with 0.
func (w *world) ok(a answer) answer {
	w.Helper()
	if a.Code != 0 {
		w.Fatalf("%s: ends with %d\n%s", a.Line, a.Code, a.Errs)
	}
	return a
}

// folder makes a folder for a test's files, see testenv.Folder.
func folder(t *testing.T) string {
	t.Helper()
	dir, remove, err := testenv.Folder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove)
	return dir
}

// newWorld makes a world in which sessions have left what they leave.
func newWorld(t *testing.T) *world {
	t.Helper()
	testenv.Sample(t, 5)
	root := folder(t)
	w := &world{World: testenv.NewWorld(t, filepath.Join(root, "w")), copy: filepath.Join(root, "copy")}
	w.Env = append(w.Env, "GOMAXPROCS=2", "CLAUDE_ENV_FILE="+w.Path("env"), "TMUX_TMPDIR="+root)
	w.Write(conversation, `{"type":"user","cwd":"/x","message":{"role":"user","content":"do it"}}`+"\n")
	w.Write("env", "")
	w.Write(town+"/town.toml", "[rigs.demo]\nprefix = \"gt\"\n")
	w.Write(town+"/mayor/town.json", "{}")
	w.Write(town+"/roles/crew.md", "ROLE of the town\n")
	w.Write(work+"/a.go", "package a\n")
	w.Write(crew+"/a.go", "package a\n")
	w.Write(work+"/.claude/settings.json", "{}\n")
	w.Write(roles+"/default.md", "ROLE of the person\n")
	w.ok(w.run("", nil, "gt-hooks", "trust", "--yes", town))
	for _, dir := range []string{work, crew} {
		for _, args := range [][]string{{"init", "-q", "--template="}, {"add", "."}, {"commit", "-q", "-m", "one"}} {
			w.ok(w.run(dir, nil, append([]string{"git"}, args...)...))
		}
		// One lives, the other worked beside it until it died without a word; both
		// have saved what they know. A session has one home.
		live := "s1"
		if dir == crew {
			live = "c1"
		}
		for _, id := range []string{live, live[:1] + "2"} {
			w.ok(w.hook(dir, id, "SessionStart", "gt-prime", "--hook"))
			w.ok(w.hook(dir, id, "Stop", "gt-checkpoint", "write", "--hook"))
			w.ok(w.hook(dir, id, "PreCompact", "gt-handoff", "--auto", "--hook"))
		}
		w.ok(w.run(dir, nil, "gt-mail", "send", "self", "-s", "a note", "-m", "for later"))
		w.ok(w.run(dir, nil, "gt-mail", "hook", "--new", "-s", "the work", "-m", "to do"))
		w.ok(w.hook(dir, live, "PostToolUse", "gt-keepalive", "touch", "--hook"))
		w.ok(w.run(dir, nil, "gt-keepalive", "pid", "track", "gt-s1", fmt.Sprint(os.Getpid())))
		w.Write(w.kept(dir, "last_handoff_ts"), "1\n")
	}
	for _, args := range [][]string{{"config", "set", "x_*", "1h"}, {"rotate"}, {"prune", "--auto"}} {
		w.ok(w.run(work, nil, append([]string{"gt-krc"}, args...)...))
	}
	w.ok(w.run(work, nil, "gt-seance"))
	// Only root copies a lock, which nobody may read.
	if out, err := exec.Command("find", w.Root, "-name", "*lock", "-type", "f", "-exec", "chmod", "u+r", "{}", "+").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("cp", "-a", w.Root, w.copy).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return w
}

// restore puts everything back. The folders that sessions work in, and the town,
// stay the folders that they are: another at the same path would be told nothing.
func (w *world) restore() {
	w.Helper()
	stay := []string{"", work, town, filepath.Dir(filepath.Dir(crew)), filepath.Dir(crew), crew}
	for _, dir := range stay {
		entries, err := os.ReadDir(w.Path(dir))
		if err != nil {
			w.Fatal(err)
		}
		for _, e := range entries {
			if name := filepath.Join(dir, e.Name()); !slices.Contains(stay, name) {
				if err := os.RemoveAll(w.Path(name)); err != nil {
					w.Fatal(err)
				}
			}
		}
	}
	if out, err := exec.Command("cp", "-a", w.copy+"/.", w.Root).CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
}

// places are all files and folders of the world that gt opens or writes: what
// is there after it was at work, and what else a client or a person may have.
func (w *world) places() []string {
	found := map[string]bool{conversation: true, "env": true, "town/mayor/rigs.json": true, roles + "/default.md": true}
	// What gt has in no project, and in a town for other programs alone.
	for _, p := range []string{".runtime", ".runtime/sessions", ".runtime/handoff", ".runtime/requests", ".polecat-checkpoint.json"} {
		found[work+"/"+p], found[crew+"/"+p] = true, true
	}
	theirs := w.kept(crew) // the same as of the other home
	for _, p := range []string{"settings.json", "settings.local.json", "settings.json.gt-backup", "settings.json.gt-lock", "plugins/installed_plugins.json"} {
		found[homeDir+"/.claude/"+p], found[work+"/.claude/"+p] = true, true
	}
	err := filepath.WalkDir(w.copy, func(path string, _ fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.copy, path)
		if strings.HasPrefix(rel, theirs) {
			return err
		}
		for _, ours := range []string{
			"home/.local/state/gt*", "work/.git/HEAD", "work/.git/logs/HEAD", "work/.git/info/exclude",
			// Of the town what only a town has.
			"town/.events*", "town/mail*", "town/roles*", "town/mayor*", "town/town.toml",
		} {
			if begin, ok := strings.CutSuffix(ours, "*"); rel == ours || ok && strings.HasPrefix(rel, begin) {
				found[rel] = true
			}
		}
		if len(notes(found, filepath.Dir(rel))) > 1 { // one says as much as all
			delete(found, rel)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found))
}

// notes are the files of a mail box's folder.
func notes(found map[string]bool, dir string) (all []string) {
	for path := range found {
		if name := filepath.Base(dir); filepath.Dir(path) == dir && (name == "cur" || name == "new") {
			all = append(all, path)
		}
	}
	return all
}
