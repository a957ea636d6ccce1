package gt_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gt/internal/testenv"
)

var soak = flag.Duration("soak", 0, "leave pools of agents that fail in each way alone for so long, such as 1h")

// soakTemplates are pools of one, each with an agent that fails in its own way, and one that
// does not. Each agent notes its start.
const soakTemplates = `
[[agent]]
name = "well"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/well; exec sleep 100000"]
[agent.pool]
min = 2
max = 2
[[agent]]
name = "once"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/once; echo Invalid API key; exit 1"]
pool = { min = 1, max = 1 }
[[agent]]
name = "unseen"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/unseen; sleep 0.7; echo unknown option; exit 2"]
pool = { min = 1, max = 1 }
[[agent]]
name = "short"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/short; sleep 0.7; exit 2"]
pool = { min = 1, max = 1, creation_timeout = "5s" }
[[agent]]
name = "late"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/late; sleep 4; kill -9 $$"]
pool = { min = 1, max = 1 }
[[agent]]
name = "back"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/back; sleep 4"]
pool = { min = 1, max = 1 }
defaults = { wake_mode = "resume" }
[[agent]]
name = "never"
provider = "claude"
pre_start = ["echo >>$HOME/starts/never; echo no network >&2; exit 7"]
pool = { min = 1, max = 1 }
[[agent]]
name = "missing"
provider = "claude"
command = ["no-such-program"]
pool = { min = 1, max = 1 }
[[agent]]
name = "hangs"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/hangs; trap '' TERM HUP INT; while :; do sleep 5; done"]
pool = { min = 1, max = 1 }
[[agent]]
name = "fills"
provider = "claude"
command = ["sh", "-c", "echo >>$HOME/starts/fills; ulimit -f 64; exec cat /dev/zero >$HOME/full"]
pool = { min = 1, max = 1 }
[[agent]]
name = "asks"
provider = "claude"
pool = { max = 3, check = "sleep 0.5; echo 0" }
[[agent]]
name = "fails"
provider = "claude"
pool = { max = 3, check = "echo no bd here >&2; exit 3" }
`

// A pool that is left alone rests: gt-reconcile run goes on for an hour with agents that die
// at once, late, unseen and never start, hang or fill the disk, with a disk that is full for
// it as well, and a clock that is set back; and what it starts, keeps, logs, prints, opens
// and holds is bounded. When all is closed, nothing is left running. [S4-33, S4-42, S4-46]
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("takes an hour; -soak 1h does it")
	}
	w := testenv.NewWorld(t, "")
	if err := testenv.Programs(w.Path("bin")); err != nil {
		t.Fatal(err)
	}
	sockets := w.Tmux()
	w.Env = append(w.Env, "PATH="+w.Path("bin")+":"+os.Getenv("PATH"), "TMUX_TMPDIR="+sockets)
	w.Write("home/.config/gt/town.toml", soakTemplates)
	if err := os.Mkdir(w.Path("home/starts"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.Programs = w.Path("bin")
	program := func(args ...string) *exec.Cmd { return w.Command("home", args...) }
	state := w.Path("home/.local/state/gt")

	var said bytes.Buffer // what all runs have printed
	var files, memory []int
	run := func(limit string, length time.Duration) {
		t.Helper()
		cmd := program("sh", "-c", limit+"exec gt-reconcile run --every 1s")
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(length); time.Now().Before(end); {
			time.Sleep(min(10*time.Second, time.Until(end)))
			if n, kb, ok := opened(cmd.Process.Pid); ok && limit == "" {
				files, memory = append(files, n), append(memory, kb)
			}
		}
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil {
			t.Errorf("the run ended badly: %v", err)
		}
	}
	run("", *soak/3)
	run("ulimit -f 0; ", *soak/12) // it cannot write a byte
	run("", *soak/6)
	moveAhead(t, state, 3*365*24*time.Hour)
	run("", *soak-*soak/3-*soak/12-*soak/6)

	// What it came to
	hours := soak.Hours()
	out, _ := program("gt-reconcile", "status").CombinedOutput()
	t.Logf("gt-reconcile status:\n%s", out)
	total := 0
	names := regexp.MustCompile(`(?m)^name = "(\w+)"`).FindAllStringSubmatch(soakTemplates, -1)
	for _, m := range names {
		name := m[1]
		data, err := os.ReadFile(w.Path("home/starts", name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		starts := bytes.Count(data, []byte("\n"))
		total += starts
		switch most := 50 + int(100*hours); name {
		case "well", "hangs":
			if want := map[string]int{"well": 2, "hangs": 1}[name]; starts != want {
				t.Errorf("%s: %d starts, not %d", name, starts, want)
			}
		default:
			if starts > most {
				t.Errorf("%s: %d starts (at most %d)", name, starts, most)
			}
		}
		t.Logf("%s: %d starts", name, starts)
	}
	bound := func(what string, n, most int) {
		t.Helper()
		t.Logf("%s: %d (at most %d)", what, n, most)
		if n > most {
			t.Errorf("%s: %d (at most %d)", what, n, most)
		}
	}
	records := 0
	_ = filepath.WalkDir(filepath.Join(state, "instances"), func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".json") {
			records++
		}
		return nil
	})
	bound("records", records, 30+int(60*hours))
	logged, err := os.ReadFile(filepath.Join(state, ".events.jsonl"))
	if err != nil {
		t.Error(err)
	}
	bound("lines of the log", bytes.Count(logged, []byte("\n")), 200+6*total)
	bound("told once", bytes.Count(logged, []byte(`"session.failing"`)), 3*len(names))
	bound("lines printed", bytes.Count(said.Bytes(), []byte("\n")), 200+4*total)
	if n := len(files); n > 3 {
		t.Logf("open files %v, KB %v", files, memory)
		bound("open files", slices.Max(files[n/2:]), slices.Max(files[:n/2])+8)
		bound("KB of memory", slices.Max(memory[n/2:]), slices.Max(memory[:n/2])*3/2+8<<10)
	}
	bound("sessions of tmux", lines(program("tmux", "list-sessions")), len(names)+1)
	bound("processes", left(sockets), 40)

	if out, err := program("gt-session", "close", "--state", "creating,active,suspended,draining,quarantined").CombinedOutput(); err != nil {
		t.Errorf("close: %v: %s", err, out)
	}
	bound("sessions of tmux when all is closed", lines(program("tmux", "list-sessions")), 0)
	for end := time.Now().Add(10 * time.Second); left(sockets) > 0 && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	bound("processes when all is closed", left(sockets), 0)
	if t.Failed() {
		t.Logf("what it printed ends with:\n%s", said.Bytes()[max(0, said.Len()-8<<10):])
	}
}

// lines counts what a command prints; one that fails prints nothing.
func lines(cmd *exec.Cmd) int {
	out, _ := cmd.Output()
	return bytes.Count(out, []byte("\n"))
}

// opened returns how many files a process has open and how much memory it has, in KB.
func opened(pid int) (files, kb int, ok bool) {
	if runtime.GOOS != "linux" {
		return 0, 0, false
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	status, rerr := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	if err != nil || rerr != nil || !found {
		return 0, 0, false
	}
	_, err = fmt.Sscan(rest, &kb)
	return len(open), kb, err == nil
}

// left counts the processes that have the soak's folder of tmux in their environment.
func left(sockets string) (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range all {
		if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte("TMUX_TMPDIR="+sockets+"\x00")) {
			n++
		}
	}
	return n
}

var timeInFile = regexp.MustCompile(`"20\d\d-[^"]*Z"`)

// moveAhead moves all times that are kept of sessions into the future, as a clock leaves them
// that is set back by so much.
func moveAhead(t *testing.T, state string, by time.Duration) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(state, "instances", "*.json"))
	archived, _ := filepath.Glob(filepath.Join(state, "instances", "archived", "*.json"))
	for _, file := range append(append(files, archived...), filepath.Join(state, "reconcile.json")) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		data = timeInFile.ReplaceAllFunc(data, func(quoted []byte) []byte {
			at, err := time.Parse(time.RFC3339Nano, strings.Trim(string(quoted), `"`))
			if err != nil {
				return quoted
			}
			return []byte(`"` + at.Add(by).Format(time.RFC3339Nano) + `"`)
		})
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Error(err)
		}
	}
}
