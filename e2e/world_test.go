//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/e2e/client"
	"gt/e2e/model"
	"gt/internal/testenv"
)

// patience is how long anything may take. The machine is shared and at times
// slow; what works is over long before. (At a load of 100 an OpenCode asks its
// model for the first time after six minutes.)
const patience = 10 * time.Minute

// bin is the folder of the gt binaries that this run built.
var bin string

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "record" {
		recordCall(os.Args[2]) // this program is the hook, see recorder
		return
	}
	if err := chooseStories(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(build(m))
}

// build builds the binaries of the tree that is tested, once, and runs the
// tests.
func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gt-e2e-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := testenv.Programs(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	bin = dir
	return m.Run()
}

// permissions let the model of the tests run commands without a question.
var permissions = map[string]any{"allow": []string{"Bash"}, "defaultMode": "default"}

// world is all that one test has of the world: a HOME, a project in git, a
// model, a tmux server, and an environment that holds nothing of ours. Several
// clients may run in it.
type world struct {
	testenv.World
	home    string
	project string
	model   *model.Server
	client  client.Client
	key     string // the API key; made up, and nowhere else in the world
}

// newWorld makes a world in which gt is installed as its user installs it,
// and undoes all of it at the end of the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newBareWorld(t)
	w.gt("gt-hooks", "install", "claude")
	return w
}

// newBareWorld makes a world in which nobody has installed gt's hooks, though
// the binaries are on PATH.
func newBareWorld(t *testing.T) *world {
	t.Helper()
	w := newWorldOf(t, "claude")
	w.setUp("claude")
	return w
}

// newWorldOf makes a world in which a client is on PATH under its name, and
// knows of nothing yet: where its model is has to be written as its user would.
func newWorldOf(t *testing.T, name string) *world {
	t.Helper()
	t.Parallel()
	return newWorldWith(t, name, client.Demand(t, name))
}

// newWorldWith is newWorldOf with this version of the client, for a test that says itself
// whether it runs beside others.
func newWorldWith(t *testing.T, name string, c client.Client) *world {
	t.Helper()
	// Not t.TempDir: its long names leave no room for a tmux socket, and a
	// process that is still dying may write in it.
	root, err := os.MkdirTemp("", "gt-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		t.Fatal(err)
	}
	w := &world{
		World: testenv.World{TB: t, Root: root, Programs: bin}, client: c, model: model.Start(nil),
		home:    filepath.Join(root, "home"),
		project: filepath.Join(root, "max's project $x"), // people have such folders
		key:     "sk-ant-e2e-CANARY-" + filepath.Base(root) + "-0123456789abcdef",
	}
	t.Cleanup(w.end)

	for _, dir := range []string{w.home, w.project, w.Path("bin"), w.Path("tmux")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.link(name, c)
	w.write(w.Path("tmux.conf"), tmuxConf)
	// No COLUMNS: a terminal of its own has each pane, and what gt prints into a pipe is
	// as wide as it is.
	w.Env = []string{
		"HOME=" + w.home,
		"PATH=" + strings.Join([]string{bin, w.Path("bin"), os.Getenv("PATH")}, ":"),
		"SHELL=/bin/bash", "LANG=C.UTF-8", "TERM=xterm-256color",
		"TMUX_TMPDIR=" + w.Path("tmux"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Max", "GIT_AUTHOR_EMAIL=max@example.com",
		"GIT_COMMITTER_NAME=Max", "GIT_COMMITTER_EMAIL=max@example.com",
	}
	w.git("init", "-q", "-b", "main")
	w.write(filepath.Join(w.project, "README.md"), "a project\n")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	return w
}

// link puts a client on the world's PATH.
func (w *world) link(name string, c client.Client) {
	w.Helper()
	if err := os.Symlink(c.Path, w.Path("bin", name)); err != nil {
		w.Fatal(err)
	}
	if node := filepath.Join(filepath.Dir(c.Path), "node"); exists(node) { // that it needs
		if err := os.Symlink(node, w.Path("bin", "node")); err != nil {
			w.Fatal(err)
		}
	}
}

// addClient puts one more client into the world, set up as its user would.
func (w *world) addClient(name string) {
	w.Helper()
	w.link(name, client.Demand(w.TB, name))
	w.setUp(name)
}

// userSettings is the file of the person's settings for all projects.
func (w *world) userSettings() string { return filepath.Join(w.home, ".claude", "settings.json") }

// trust answers what the client asks a person the first time: about the theme,
// about the key, and whether it may work in these folders.
func (w *world) trust(dirs ...string) {
	projects := map[string]any{}
	for _, dir := range dirs {
		projects[dir] = map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true, "allowedTools": []string{}}
	}
	w.writeJSON(filepath.Join(w.home, ".claude.json"), map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "projects": projects,
		"hasSeenAutoDefaultNudge": true, // 2.1.332 asks once whether auto mode should be the default
		"customApiKeyResponses":   map[string]any{"approved": []string{w.key[len(w.key)-20:]}, "rejected": []string{}},
	})
}

// result is what a headless client says at its end.
type result struct {
	SessionID string `json:"session_id"`
	Result    string `json:"result"`
	IsError   bool   `json:"is_error"`
}

// ask runs the client headless with a prompt and flags, and fails the test
// when that fails.
func (w *world) ask(prompt string, flags ...string) result {
	w.Helper()
	return w.askIn(w.project, nil, prompt, flags...)
}

// askIn is ask in another folder and with more in the environment.
func (w *world) askIn(dir string, env []string, prompt string, flags ...string) result {
	w.Helper()
	args := append([]string{"-p", prompt, "--output-format", "json"}, flags...)
	out, err := w.run(dir, env, "claude", args...)
	var r result
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil || r.IsError || r.SessionID == "" {
		w.Fatalf("claude %q: %v\n%s", args, err, out)
	}
	return r
}

// gt runs a gt binary in the project as a person does, and returns what it
// prints.
func (w *world) gt(name string, args ...string) string {
	w.Helper()
	out, err := w.run(w.project, nil, name, args...)
	if err != nil {
		w.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (w *world) git(args ...string) string {
	w.Helper()
	return w.gt("git", args...)
}

// run runs a program in the world's environment, and no longer than patience.
// The error holds what it wrote to standard error.
func (w *world) run(dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := w.WithEnv(env...).Command(dir, append([]string{w.look(name)}, args...)...)
	late := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer late.Stop()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, stderr.Bytes())
	}
	return stdout.Bytes(), err
}

// look finds a program on the world's PATH.
func (w *world) look(name string) string {
	for _, dir := range []string{w.Programs, w.Path("bin")} {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	return name
}

// glance is the pause between two looks at what a story waits for. A look at a screen
// starts tmux; with shorter pauses the stories keep a processor from the clients.
const glance = 50 * time.Millisecond

// waitFor waits for a condition, and fails the test when it does not come.
func (w *world) waitFor(what string, cond func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !cond(); time.Sleep(glance) {
		if time.Now().After(deadline) {
			w.giveUp("waited %v in vain until %s", patience, what)
		}
	}
}

// giveUp ends a story in which something did not come: it fails, or is skipped where the
// client itself is known to hang, with gt and without.
func (w *world) giveUp(format string, args ...any) {
	w.Helper()
	if hungBooting(w.openCodeLog()) {
		w.report()
		w.Skipf("OpenCode hung while it booted its location services, its issue 48669; "+format, args...)
	}
	w.Fatalf(format, args...)
}

// asked waits for the last turn in which the person asked text.
func (w *world) asked(text string) *model.Request {
	w.Helper()
	r := w.model.Await(patience, func(all model.Requests) *model.Request {
		return all.Kind(model.Turn).Filter(func(r *model.Request) bool {
			return strings.Contains(r.Asked(), text)
		}).LastRequest()
	})
	if r == nil {
		w.giveUp("the model was never asked %q", text)
	}
	return r
}

func (w *world) write(path, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) writeJSON(path string, v any) {
	w.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		w.Fatal(err)
	}
	w.write(path, string(data)+"\n")
}

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// end stops what runs in the world and removes it; of a test that failed it
// first says all that it knows.
func (w *world) end() {
	if w.Failed() {
		w.report()
	}
	w.killProcesses()
	w.model.Close()
	if os.Getenv("GT_E2E_KEEP") != "" {
		w.Logf("kept %s", w.Root)
		return
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if os.RemoveAll(w.Root) == nil {
			return
		}
	}
	w.Errorf("%s cannot be removed", w.Root)
}

// killProcesses ends what runs in the world.
func (w *world) killProcesses() {
	// What is killed may just have started another, and takes a moment to end.
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		pids := w.processes()
		if len(pids) == 0 {
			break
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// processes are those that have this world's HOME: each was started by the
// test, and belongs to nobody else.
func (w *world) processes() []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if strings.Contains("\x00"+string(env), "\x00HOME="+w.home+"\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// commandLine is a process's, with a blank behind each word.
func (w *world) commandLine(pid int) string {
	w.Helper()
	return strings.ReplaceAll(w.read(fmt.Sprintf("/proc/%d/cmdline", pid)), "\x00", " ")
}

// report logs what is known of a world whose test failed.
func (w *world) report() {
	for _, name := range strings.Fields(w.tmuxOutput("list-sessions", "-F", "#{session_name}")) {
		w.Logf("screen of %s:\n%s", name, trimLines(w.tmuxOutput("capture-pane", "-p", "-t", "="+name+":")))
	}
	for _, r := range w.model.Requests() {
		w.Log(r)
	}
	w.reportLog()
	var dirs []string
	filepath.WalkDir(w.Root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".runtime" || err == nil && path == w.town() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range dirs {
		filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				data, _ := os.ReadFile(path)
				w.Logf("%s:\n%.20000s", path, data)
			}
			return nil
		})
	}
}

// reportLog logs the end of what OpenCode logged: a turn that it never began is told nowhere else.
func (w *world) reportLog() {
	if log := w.openCodeLog(); log != "" {
		w.Logf("OpenCode's log:\n%s", log[max(0, len(log)-10000):])
	}
}

func trimLines(s string) string {
	var kept []string
	for _, line := range strings.Split(s, "\n") {
		if line = strings.TrimRight(line, " "); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}
