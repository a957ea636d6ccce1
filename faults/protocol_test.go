//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// missed is what must survive a loss of power, by the program that writes it:
// its content is on disk before it gets its name, and the name before anything
// else is done. What is not here is rewritten soon, or only repeats a message.
var missed = []struct {
	program, without string // a word of the command line with which it does not hold
	path             *regexp.Regexp
}{
	{"", "", regexp.MustCompile(`/mail/(.*/)?(new|cur)/[^/]*$`)},
	{"gt-checkpoint", "clear", regexp.MustCompile(`/homes/[^/]*/checkpoint[^/]*\.json$`)},
	{"gt-handoff", "--auto", regexp.MustCompile(`/homes/[^/]*/(handoff[^/]*|sessions/[^/]*\.json)$`)},
	{"gt-hooks", "", regexp.MustCompile(`/\.claude/settings[^/]*$|/dotfiles\.json$`)},
	{"gt-krc", "", regexp.MustCompile(`/\.events\.jsonl$`)},
}

func isMissed(args []string, path string) bool {
	return slices.ContainsFunc(missed, func(m struct {
		program, without string
		path             *regexp.Regexp
	}) bool {
		return (m.program == "" || m.program == args[0]) && (m.without == "" || !slices.Contains(args, m.without)) && m.path.MatchString(path)
	})
}

// TestProtocol reads in a trace of each command whether it keeps to the order of
// calls that the promises rest on.
func TestProtocol(t *testing.T) {
	needsTrace(t)
	all := scenarios
	if testing.Short() {
		all = oneScenarioEach(all)
	}
	for _, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "protocol-"+s.name)
			t.Cleanup(func() { removeAll(w.Root) })
			s.prepare(t, w)
			if s.live != nil {
				defer s.live(t, w)()
			}
			log := w.Root + ".log"
			defer os.Remove(log)
			args := append(strace(log, "-f", "-s", "64", "-e", "trace="+watched), s.args...)
			r := w.withEnv(s.env...).run(t, s.input, s.folder(), args...)
			data, err := os.ReadFile(log)
			noError(t, err)
			if r.code != 0 {
				t.Fatal(r)
			}
			calls, elsewhere := ownCalls(t, parseTrace(data, true))
			for _, c := range elsewhere {
				t.Errorf("%v: not on the main thread, so no sweep meets it", c)
			}
			for _, problem := range lint(w.Root, s, calls) {
				t.Error(problem)
			}
		})
	}
}

// ownCalls are the calls of the program itself, without those of the programs
// that it runs; and of them those that change something on a thread of their
// own, where a sweep does not look.
func ownCalls(t *testing.T, calls []call) (own, elsewhere []call) {
	t.Helper()
	from := begins(calls)
	if from < 0 {
		t.Fatal("the trace does not show where the program begins")
	}
	others := map[int]bool{}
	for _, c := range calls {
		if pid := number(c.ret); pid > 0 && (c.name == "clone" || c.name == "clone3" || c.name == "vfork") &&
			(others[c.pid] || !c.runtimes()) {
			others[pid] = true
		}
	}
	for _, c := range calls[from:] {
		if others[c.pid] || c.runtimes() {
			continue
		}
		own = append(own, c)
		// git is run on a thread of its own, on a folder that is made anew where it is
		// not as it should be.
		if c.name == "mkdirat" || strings.Contains(strings.Join(c.args, " "), "/gt/git/") {
			continue
		}
		if c.pid != calls[from-1].pid && c.changes() && !strings.HasPrefix(c.path(), "pipe:") && c.path() != "" {
			elsewhere = append(elsewhere, c)
		}
	}
	return own, elsewhere
}

// lint says where a program does not keep to the order.
func lint(root string, s scenario, calls []call) (problems []string) {
	wrong := func(c call, format string, a ...any) {
		problems = append(problems, fmt.Sprintf("%v: %s", c, fmt.Sprintf(format, a...)))
	}
	inside := func(path string) bool { return strings.HasPrefix(path, root+"/") }
	synced := map[string]bool{}   // temporary files that are on disk as they are
	waiting := map[string]call{}  // folders in which a name is not on disk yet
	held := map[string]int{}      // locks, by the descriptor that holds them
	appended := map[string]int{}  // writes since the log was opened
	lastSync := map[string]bool{} // whether a file's last replacement was synced
	lastCall := map[string]call{} // and that replacement
	told := false                 // something went to standard output
	durable := func(c call, before string) {
		for dir, renamed := range waiting {
			wrong(renamed, "the folder %s is not synced before %s", dir, before)
		}
	}
	for _, c := range calls {
		path := c.path()
		if c.failed() {
			continue
		}
		switch c.name {
		case "openat":
			writes := c.hasFlag("O_WRONLY") || c.hasFlag("O_RDWR")
			switch {
			case !inside(path):
				if writes && path != os.DevNull && !strings.HasPrefix(path, "/proc/") {
					wrong(c, "it is opened for writing, outside the world")
				}
				continue
			case !c.hasFlag("O_CLOEXEC"):
				wrong(c, "without O_CLOEXEC")
			}
			if !writes {
				continue
			}
			switch temp := isTemp(path); {
			case temp && !(c.hasFlag("O_CREAT") && c.hasFlag("O_EXCL")):
				wrong(c, "a temporary file that may be somebody else's")
			case temp && filepath.Base(target(path)) != "settings.json" && filepath.Base(target(path)) != "dotfiles.json" && perm(c) != 0o600:
				wrong(c, "mode %o", perm(c))
			case isLock(filepath.Base(path)): // nobody but who may write holds one
			case !temp && !c.hasFlag("O_APPEND"):
				wrong(c, "state is written in place")
			}
			appended[path] = 0
		case "write", "pwrite64":
			if path == "" || strings.HasPrefix(path, "pipe:") {
				if c.fd() == 1 {
					durable(c, "something is told")
					told = true
				}
				continue
			}
			delete(synced, path)
			switch base := filepath.Base(path); {
			case isTemp(path) || !inside(path):
			case base == ".events.jsonl":
				if appended[path]++; appended[path] > 1 {
					wrong(c, "an event in more than one write")
				}
				if held[path+".lock"] == 0 {
					wrong(c, "an event without the lock")
				}
			case base == "exclude" && held[path] == 0:
				wrong(c, "without the lock")
			}
		case "fsync", "fdatasync":
			synced[path] = true
			delete(waiting, path)
		case "flock":
			held[path] = c.fd()
		case "close":
			if held[path] == c.fd() {
				delete(held, path)
			}
		case "rename", "renameat", "renameat2", "link", "linkat":
			to := c.destination()
			if !inside(to) {
				wrong(c, "%s is outside the world", to)
			}
			if !isTemp(path) {
				continue
			}
			lastSync[to], lastCall[to] = synced[path], c
			if synced[path] {
				waiting[filepath.Dir(to)] = c
			}
		case "unlink", "unlinkat", "mkdir", "mkdirat", "fchmod", "fchmodat":
			if !inside(path) {
				wrong(c, "outside the world")
			}
			if strings.HasPrefix(filepath.Base(path), "handoff") && s.args[0] == "gt-prime" && !told && !slices.Contains(s.drops, filepath.Base(path)) {
				wrong(c, "a marker goes before its text is told")
			}
		case "execve", "clone", "clone3", "vfork":
			durable(c, "another program is run")
		}
	}
	if n := len(calls); n > 0 {
		durable(calls[n-1], "the end")
	}
	for path, ok := range lastSync {
		if isMissed(s.args, path) && !ok {
			wrong(lastCall[path], "%s gets its name before its content is on disk", path)
		}
	}
	return problems
}

// isTemp reports whether a file is one that will get another name.
func isTemp(path string) bool {
	_, folder, note := inBox(path)
	return strings.Contains(filepath.Base(path), tmpMark) || note && folder == "tmp"
}

// perm is the mode that a file is created with.
func perm(c call) int64 {
	mode, err := strconv.ParseInt(c.args[len(c.args)-1], 8, 32)
	if err != nil {
		return -1
	}
	return mode
}
