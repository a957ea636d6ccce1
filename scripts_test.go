// Package gt_test runs the scenarios in testdata/scripts: every command as a
// user types it and every hook as a client runs it, on real files, real git
// and real tmux.
package gt_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gt/internal/programs"
	"gt/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/peer"
	"gt/lib/sys/process"
	"gt/lib/text/duration"
)

// suite runs the tests, and sees to what they share.
type suite struct{ *testing.M }

func (m suite) Run() int {
	if signal.Ignored(os.Interrupt) {
		// As a shell has it for what it starts in the background. What a script leaves
		// running is ended by this signal, and would ignore it, too; what is caught
		// here is not ignored there.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	if os.Getenv(testenv.Built) != "" {
		// The folder of the commands below, which comes first now.
		bin, _, _ := strings.Cut(os.Getenv("PATH"), ":")
		if err := testenv.Programs(bin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.M.Run()
	if dir, err := installed(); err == nil {
		os.RemoveAll(dir)
	}
	return code
}

// The programs are this binary under their names, which takes no build; or, where
// test.sh has built them for all suites, those, each of which starts in half the time.
func TestMain(m *testing.M) {
	commands := map[string]func(){
		"client":  client,
		"claude":  inPane,
		"codex":   inPane,
		"gemini":  inPane,
		"vibe":    inPane,
		"measure": measure,
	}
	if os.Getenv(testenv.Built) == "" {
		for name, main := range programs.Mains {
			commands[name] = func() { os.Exit(main(cli.OS())) }
		}
	}
	testscript.Main(suite{m}, commands)
}

var update = flag.Bool("u", false, "update the golden files in testdata/scripts, and the figures of the pages")

func TestScripts(t *testing.T) {
	for _, file := range chooseScripts(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

// scriptEnd is how long a scenario may take. One that waits for what never comes fails with
// what it has printed, long before the time limit of all of them.
const scriptEnd = 15 * time.Minute

// scriptT is the test of one scenario, which is its own subtest already.
type scriptT struct{ *testing.T }

func (t scriptT) Run(_ string, run func(testscript.T)) { run(t) }
func (t scriptT) Parallel()                            {}
func (t scriptT) Verbose() bool                        { return testing.Verbose() }

func runScript(t *testing.T, file string) {
	testscript.RunT(scriptT{t}, testscript.Params{
		Files:               []string{file},
		Deadline:            time.Now().Add(scriptEnd),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"mode":   mode,
			"await":  await,
			"append": appendLine,
			"banner": banner,
			"bytes":  writeBytes,
			"plant":  plant,
			"leaks":  leaks,
			"spied":  spied,
			"events": writeEvents,
			"state":  stateOf,
			"status": status,
			"trust":  trustTown,
			"page":   page,
			"shows":  shows,
			"peer":   makePeer,
			"v0.1.0": fromV010,

			"collector": collector,
		},
		Condition: condition,
	})
}

// chooseScripts returns all scenarios; with -short README's, the one of a whole thread, and
// one of ten others. A scenario that -run names is always run.
func chooseScripts(t *testing.T) []string {
	all, err := filepath.Glob(filepath.Join("testdata", "scripts", "*.txtar"))
	testenv.NoError(t, err)
	named := strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	return slices.DeleteFunc(all, func(path string) bool {
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		return !named && name != "page_readme" && name != "flow_thread" && !testenv.InSample(name, 10)
	})
}

// condition knows containers, whether a PID namespace can be made here, sandbox, whether
// bubblewrap can make one, disk, whether the temporary folder is on this machine's own, and
// root.
func condition(name string) (bool, error) {
	switch name {
	case "containers":
		return exec.Command("unshare", "-r", "--pid", "--fork", "--mount-proc", "--kill-child", "true").Run() == nil, nil
	case "disk":
		return place.State(os.TempDir()).Disk() != "", nil
	case "fresh": // what ran before this boot may have given a sign of life within twelve hours
		booted, err := process.Booted()
		return err == nil && time.Since(booted) < 11*time.Hour, nil
	case "root":
		return os.Getuid() == 0, nil
	case "sandbox":
		return exec.Command("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "true").Run() == nil, nil
	}
	return false, fmt.Errorf("no condition is called '%s'", name)
}

// setup gives each script a person's surroundings of its own: a home folder, a
// git identity, and a tmux server that dies with the script. The town is the
// personal one, $HOME/.local/state/gt, unless the script makes another.
func setup(env *testscript.Env) error {
	// What real clients wrote and said, see e2e: $FIXTURES/<agent>/conversation/testdata
	// and $FIXTURES/<agent>/hook/testdata.
	fixtures, err := filepath.Abs(filepath.Join("lib", "client"))
	if err != nil {
		return err
	}
	env.Setenv("FIXTURES", fixtures)
	// The README and docs, for page.
	pages, err := os.Getwd()
	if err != nil {
		return err
	}
	env.Setenv("PAGES", pages)
	home := filepath.Join(env.WorkDir, "home")
	person, err := testenv.Person(home)
	if err != nil {
		return err
	}
	tmux, end, err := testenv.Tmux()
	if err != nil {
		return err
	}
	env.Defer(end)
	// PATH begins with the programs under test already.
	env.Vars = append(env.Vars, slices.DeleteFunc(person, func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })...)
	env.Vars = append(env.Vars, "TMUX_TMPDIR="+tmux, "GIT_CONFIG_GLOBAL="+filepath.Join(home, ".gitconfig"), "GOMAXPROCS=2")
	return nil
}

// exits asserts an exit code: "exits 80 gt-prime --nonsense". A bare "! exec"
// would also pass for a panic or a signal.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// banners are how a start says what came before it. prime_crash, handoff_pane, prime_words
// and prime_beads assert them whole.
var banners = map[string]string{
	"compaction": "Context compacted.",
	"crash":      "# Crash recovery",
	"handover":   "# Handoff complete",
	"resume":     "Session resumed.",
	"work":       "# Work is hooked to you",
}

// banner asserts what a start says came before it, on standard output or in a file:
// "banner crash", "! banner handover $WORK/claude-2.start".
func banner(ts *testscript.TestScript, neg bool, args []string) {
	text, ok := banners[args[0]]
	if !ok || len(args) > 2 {
		ts.Fatalf("usage: [!] banner kind [file]")
	}
	said := ts.ReadFile(append(args, "stdout")[1])
	if found := strings.Contains(said, text); found == neg {
		ts.Fatalf("%q: %v\n%s", text, found, said)
	}
}

// status asserts what an agent does, and why if that is given: "status api waiting done".
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: status agent status [reason]")
	}
	ts.Check(ts.Exec("gt-session", "list", "--json"))
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var agent struct{ Name, Status, Reason string }
		ts.Check(json.Unmarshal([]byte(line), &agent))
		if agent.Name == args[0] && agent.Status == args[1] && (len(args) == 2 || agent.Reason == args[2]) {
			return
		}
	}
	ts.Fatalf("no agent is so:\n%s", ts.ReadFile("stdout"))
}

// mode asserts a file's permissions: "mode 600 file".
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode octal file")
	}
	info, err := os.Lstat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, not %s", args[1], got, args[0])
	}
}

// await waits until a file exists, or with ! until it is gone; with a text,
// until the file holds it.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: [!] await file [text]")
	}
	path := ts.MkAbs(args[0])
	for deadline := time.Now().Add(awaitEnd); ; time.Sleep(5 * time.Millisecond) {
		data, err := os.ReadFile(path)
		there := !errors.Is(err, fs.ErrNotExist)
		if there && len(args) == 2 {
			there = strings.Contains(string(data), args[1])
		}
		if there != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("waited %v for %s", awaitEnd, strings.Join(args, " "))
		}
	}
}

// awaitEnd is generous: nothing that comes in the end comes too late.
const awaitEnd = 3 * time.Minute

// stateOf sets a variable to the folder of the state that keeps what belongs to the
// home of a folder, for who works there with the script's environment: "state S
// proj", and then $S/handoff. The folder of the state may not exist yet.
func stateOf(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: state variable folder")
	}
	ts.Setenv(args[0], home.Find(ts.Getenv, ts.MkAbs(args[1]), "").Runtime())
}

// trustTown has the person trust a town, as gt-hooks trust does.
func trustTown(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: trust folder")
	}
	ts.Check(ts.Exec("gt-hooks", "trust", "--yes", ts.MkAbs(args[0])))
}

// makePeer makes another host known that was last seen some time ago, and this host
// "laptop": "peer box 3h". One that is not away stays so for as long as the script takes:
// it beats once an hour.
func makePeer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: peer host age")
	}
	age, err := duration.Parse(args[1])
	ts.Check(err)
	hosts := peer.NewHosts(place.StateOf(ts.Getenv))
	ts.Check(hosts.SetOwn(peer.Host{Name: "laptop"}))
	host := peer.Host{Name: args[0], LastSeen: time.Now().Add(-age)}
	if !host.IsAway(time.Now()) {
		host.Every = int(time.Hour / time.Second)
	}
	ts.Check(hosts.Put(host))
}

// appendLine adds a line to a file, making it where it is missing.
func appendLine(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append file line")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer f.Close()
	_, err = f.WriteString(args[1] + "\n")
	ts.Check(err)
}

// writeEvents writes a log of events that are as old as the list says, whose
// lines are "age[*times] type payload": "36h*50 nudge" or "4d session_end
// "session_id":"s1"". A day is d. Other lines, which begin with =, stand in the log
// as they are.
func writeEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: events log list")
	}
	now := time.Now()
	var b strings.Builder
	for line := range strings.Lines(ts.ReadFile(args[1])) {
		line = strings.TrimSuffix(line, "\n")
		if raw, ok := strings.CutPrefix(line, "="); ok {
			b.WriteString(raw + "\n")
			continue
		}
		words := append(strings.SplitN(line, " ", 3), "")
		age, times, many := strings.Cut(words[0], "*")
		n := 1
		if many {
			var err error
			n, err = strconv.Atoi(times)
			ts.Check(err)
		}
		ago, err := duration.Parse(age)
		ts.Check(err)
		for i := range n {
			fmt.Fprintf(&b, `{"ts":%q,"source":"gt","type":%q,"actor":"demo/crew/max","payload":{%s},"visibility":"feed"}`+"\n",
				now.Add(-ago).UTC().Format("2006-01-02T15:04:05.000Z"), words[1], strings.ReplaceAll(words[2], "#", strconv.Itoa(i)))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// writeBytes writes what a txtar file cannot hold, as a Go string: bytes file
// '"\x1b[31m"'.
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bytes file quoted")
	}
	s, err := strconv.Unquote(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(s), 0o600))
}
