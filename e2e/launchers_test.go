//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gt/e2e/model"
	"gt/lib/sys/process"
)

// inWhat is what a person types to start a client: {} is its command, {go} its prompt.
type inWhat struct {
	name, line string
	// own and person are what becomes of it when the agent hands itself over, and when then
	// somebody outside does: same, or what is said instead; "" where nobody does.
	own, person string
	cycle       bool // the agent goes on with the conversation
	root        bool // only root can start it
}

const (
	sameLauncher = "same"
	unreached    = `type: cd [^\n]* bwrap [^\n]*--unshare-pid --proc /proc claude --model sonnet\n`
	unseen       = `cannot look at process`
	unknown      = `it runs below .perl., and gt does not know how that starts it`
	tmpfs        = `bwrap --dev-bind / / --tmpfs $HOME/.ssh `
)

var inWhats = []inWhat{
	{name: "login shell", line: `{}`, own: sameLauncher},
	{name: "function", line: `f() { claude "$@"; }; f --model sonnet {go}`, own: sameLauncher},
	{name: "script", line: `script -qec '{}' /dev/null`, own: sameLauncher},
	{name: "waits", line: `waits {}`, own: sameLauncher},
	{name: "becomes", line: `becomes {}`, own: sameLauncher},
	{name: "env -i", line: `bare {}`, own: sameLauncher},
	{name: "bwrap", line: tmpfs + `{}`, own: sameLauncher},
	{name: "bwrap cycle", line: tmpfs + `{}`, own: sameLauncher, cycle: true},
	{name: "bwrap ipc uts", line: tmpfs + `--unshare-ipc --unshare-uts {}`, own: sameLauncher},
	{name: "bwrap user", line: tmpfs + `--unshare-user {}`, own: unseen, person: sameLauncher},
	{name: "bwrap pid", line: tmpfs + `--unshare-pid --proc /proc {}`, own: unreached, person: sameLauncher},
	{name: "bwrap net", line: tmpfs + `--unshare-net {}`, person: sameLauncher},
	{name: "bwrap all", line: tmpfs + `--unshare-all --proc /proc {}`, person: sameLauncher},
	{name: "bwrap open file", line: `bwrap --args 9 {} 9< <(printf '%s\0' --dev-bind / / --tmpfs $HOME/.ssh)`, own: `.bwrap. reads an open file \(--args\)`},
	{name: "waits script bwrap", line: `waits script -qec "` + tmpfs + `{}" /dev/null`, own: sameLauncher},
	{name: "docker run", line: `docker run -it box {}`, own: unknown, person: unknown},
	{name: "docker start", line: `docker start box {go}`, own: unknown},
	{name: "unshare", line: `unshare --mount {}`, own: `it runs with another .*mount namespace`, root: true},
	{name: "unshare unshare", line: `unshare --net unshare --uts --fork {}`, person: `it runs with another network namespace`, root: true},
	{name: "setpriv", line: `setpriv --no-new-privs {}`, own: `it runs with another no_new_privs than its pane`},
	{name: "user", line: `PATH={public}:$PATH runuser -u nobody -- env HOME={other} {}`, own: `type: cd [^\n]* runuser -u nobody -- env HOME=[^ ]*/other claude --model sonnet\n`, root: true},
}

// What an agent was started in belongs to it: its successor is started by the same programs,
// argument for argument, and is kept in by the same, or there is none, and the person is told.
//
// S1-60 S1-62
func TestLaunchers(t *testing.T) {
	w := newWorld(t)
	launchers(w, "claude", "claude --model sonnet", inWhats, func(command string, _ *model.Request) model.Reply { return model.Bash(command) })
}

// The same of Codex, which starts its program by a script.
//
// S1-60 S1-62
func TestCodexLaunchers(t *testing.T) {
	t.Parallel()
	for _, in := range inWhats {
		if !slices.Contains([]string{"bwrap", "bwrap pid", "script"}, in.name) {
			continue
		}
		if in.person != "" {
			in.own = ""
		}
		t.Run(in.name, func(t *testing.T) {
			w := newHookedCodex(t) // with a home of its own: all Codexes of one share the server that runs their commands
			launchers(w, "codex", "codex", []inWhat{in}, func(command string, r *model.Request) model.Reply { return codexShell(r, command) })
		})
	}
}

var going = regexp.MustCompile(`\bgo-(\d+)\b`)

func launchers(w *world, client, command string, all []inWhat, shell func(command string, r *model.Request) model.Reply) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		w.Skip("no bwrap")
	}
	w.write(filepath.Join(w.home, ".ssh", "id"), "secret\n")
	w.write(filepath.Join(w.home, ".bash_profile"), "PATH="+quote(bin)+":"+quote(w.Path("bin"))+":$PATH; PS1='shell> '; export SHELL_CANARY=yes\n")
	for name, text := range map[string]string{
		"waits":   "#!/bin/sh\nexport LAUNCHER_CANARY=waits\n\"$@\"\n",
		"becomes": "#!/bin/sh\nexport LAUNCHER_CANARY=becomes\nexec \"$@\"\n",
		"bare": "#!/bin/sh\nexec env -i HOME=\"$HOME\" PATH=\"$PATH\" TERM=\"$TERM\" TMUX=\"$TMUX\" TMUX_PANE=\"$TMUX_PANE\"" +
			" ANTHROPIC_API_KEY=\"$ANTHROPIC_API_KEY\" ANTHROPIC_BASE_URL=\"$ANTHROPIC_BASE_URL\" \"$@\"\n",
		// It runs a command in another root, and starts a client by itself.
		"docker": "#!/usr/bin/perl\nmy ($what) = @ARGV;\n@ARGV = $what eq 'run' ? @ARGV[3..$#ARGV] : ('claude', $ARGV[2]);\n" +
			"exit system('bwrap', '--dev-bind', '/', '/', '--tmpfs', \"$ENV{HOME}/.ssh\", @ARGV);\n",
	} {
		w.write(w.Path("bin", name), text)
		if err := os.Chmod(w.Path("bin", name), 0o755); err != nil {
			w.Fatal(err)
		}
	}
	dirs, ready := make([]string, len(all)), make([]chan bool, len(all))
	for i := range all {
		dirs[i], ready[i] = w.Path("in", strconv.Itoa(i)), make(chan bool)
		if err := os.MkdirAll(dirs[i], 0o755); err != nil {
			w.Fatal(err)
		}
	}
	if client == "claude" {
		w.trust(dirs...)
	} else {
		for _, dir := range dirs {
			path := filepath.Join(w.home, ".codex", "config.toml")
			w.write(path, w.read(path)+fmt.Sprintf("\n[projects.%q]\ntrust_level = \"trusted\"\n", dir))
		}
	}
	w.model.Answer(func(r *model.Request) model.Reply {
		m := going.FindStringSubmatch(r.Asked())
		if m == nil || r.Kind != model.Turn {
			return model.Say("ok")
		}
		i, _ := strconv.Atoi(m[1])
		if _, later := <-ready[i]; !later {
			return model.Say("ok")
		}
		if all[i].cycle {
			return shell("gt-handoff --cycle", r)
		}
		return shell("gt-handoff -m MESSAGE-"+m[1], r)
	})
	if client == "claude" && os.Getuid() == 0 {
		w.makeOtherHome()
	}
	w.open("keep", "sleep", "3600")
	for i, in := range all {
		w.TB.(*testing.T).Run(in.name, func(t *testing.T) {
			t.Parallel()
			if in.root && os.Getuid() != 0 {
				t.Skip("not root")
			}
			story := *w
			story.TB, story.project = t, dirs[i]
			story.launched(in, client, command, i, ready[i])
		})
	}
}

// launched starts a client in what a person types, and hands it over.
func (w *world) launched(in inWhat, client, command string, i int, ready chan bool) {
	t, mark, going := w.TB, fmt.Sprintf("MESSAGE-%d", i), fmt.Sprintf("go-%d", i)
	line := in.line
	line = strings.NewReplacer("{}", command+" "+going, "{go}", going, "{other}", w.Path("other"), "{public}", w.Path("public")).Replace(line)
	p := w.open(fmt.Sprintf("in-%d", i), "bash", "-l")
	p.awaitScreen("shell>")
	w.tmux("send-keys", "-t", p.id, "-l", line)
	w.tmux("send-keys", "-t", p.id, "Enter")
	first := 0
	w.waitFor("the client runs", func() bool {
		first = p.runs(client)
		return first != 0 && (len(w.records()) == 1 || strings.Contains(line, "runuser"))
	})
	before, _ := p.describeSurroundings(first, client) // a root that may not do all cannot look at another user's
	next := func() bool { pid := p.runs(client); return pid != 0 && pid != first }
	becomes := func(what string, said func() string) {
		t.Helper()
		if what != sameLauncher {
			w.waitFor("it is said what becomes of it", func() bool { return said() != "" })
			if !regexp.MustCompile(what).MatchString(said()) {
				t.Errorf("it is said, not that %s:\n%s", what, said())
			}
			if next() {
				t.Errorf("in the pane runs %d, not %d", p.runs(client), first)
			}
			if others := strings.Contains(line, "runuser"); !others && !slices.ContainsFunc(w.notes(), func(note string) bool { return strings.Contains(note, mark) }) {
				t.Error("there is no note")
			}
			return
		}
		w.waitFor("a successor runs", next)
		switch {
		case in.cycle:
		case in.own != "":
			w.waitFor("it has its note", func() bool {
				return w.model.Turns().Filter(func(r *model.Request) bool {
					return strings.Contains(r.Text(), mark) && strings.Contains(r.Asked(), "Go on from the note")
				}).LastRequest() != nil
			})
		default:
			w.waitFor("it has its note", func() bool { return len(w.markers()) == 0 && len(w.records()) == 2 })
		}
		if after, err := p.describeSurroundings(p.runs(client), client); err != nil || after != before {
			t.Errorf("the first ran in\n%s\nits successor runs in\n%s%v", before, after, err)
		}
	}
	if in.own != "" {
		ready <- true
		becomes(in.own, func() string {
			said := w.model.Turns().Filter(func(r *model.Request) bool {
				return strings.Contains(r.Result(), "gt-mail read") && strings.Contains(string(r.Body), going+`"`)
			}).LastRequest()
			if said == nil {
				return ""
			}
			return said.Result()
		})
	}
	close(ready)
	if in.person != "" {
		socket := filepath.Join(w.Path("tmux"), fmt.Sprintf("tmux-%d", os.Getuid()), "e2e")
		out, err := w.run(w.project, []string{"TMUX=" + socket + ",1,0", "TMUX_PANE=%0"}, "gt-handoff", p.id, "--now", "-m", mark)
		t.Logf("%s", out)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if in.person == sameLauncher && !strings.HasPrefix(string(out), "handed over") {
			t.Fatal("it is not handed over")
		}
		becomes(in.person, func() string { return string(out) })
	}
}

// makeOtherHome makes a home folder of another user's, and a folder with the client that this
// user can reach.
func (w *world) makeOtherHome() {
	w.Helper()
	for _, name := range []string{".claude.json", ".claude/settings.json"} {
		w.write(w.Path("other", name), w.read(filepath.Join(w.home, name)))
	}
	real, err := filepath.EvalSymlinks(w.client.Path)
	err = errors.Join(err, os.Mkdir(w.Path("public"), 0o755), os.Chmod(w.Root, 0o711), os.Chmod(bin, 0o711))
	if err != nil {
		w.Fatal(err)
	}
	to := w.Path("public", "claude")
	if out, err := exec.Command("sh", "-c", `ln "$0" "$1" 2>/dev/null || cp "$0" "$1"`, real, to).CombinedOutput(); err != nil {
		w.Fatalf("%s", out)
	}
	if out, err := exec.Command("chown", "-R", "nobody", w.Path("other")).CombinedOutput(); err != nil {
		w.Fatalf("%s", out)
	}
}

// runs returns the client's process in the pane, 0 for none: the outermost.
func (p *pane) runs(client string) int {
	top, _ := strconv.Atoi(strings.TrimSpace(p.w.tmuxOutput("display-message", "-p", "-t", p.id, "#{pane_pid}")))
	if top == 0 {
		return 0
	}
	for _, pid := range append([]int{top}, process.Snapshot().Descendants(top)...) {
		path, _ := process.AncestorPath(pid, top)
		if len(path) == 0 || !isClient(path[0].Args, client) {
			continue
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && !slices.Contains([]string{"bwrap", "dash", "bash", "script", "perl"}, filepath.Base(exe)) {
			return pid
		}
	}
	return 0
}

func isClient(args []string, client string) bool {
	return slices.ContainsFunc(args[:min(len(args), 2)], func(word string) bool {
		return strings.TrimSuffix(filepath.Base(word), ".exe") == client
	})
}

// describeSurroundings is all that a process runs in: the programs above it, word for word, up to the
// client's command, and what keeps it in, compared with the tmux server.
func (p *pane) describeSurroundings(pid int, client string) (string, error) {
	p.w.Helper()
	var b strings.Builder
	top, _ := strconv.Atoi(p.get("#{pane_pid}"))
	server, err := process.BoundsOf(process.Parent(top))
	own, oerr := process.BoundsOf(pid)
	path, _ := process.AncestorPath(pid, top)
	if err = errors.Join(err, oerr); err != nil || len(path) == 0 {
		return "", err
	}
	for _, one := range path[1:] {
		line := strings.Join(one.Args, " ")
		if line == "bash -l" || strings.HasPrefix(filepath.Base(one.Args[0]), "gt-") {
			continue
		}
		fmt.Fprintf(&b, "below %s\n", regexp.MustCompile(`[^ ']*\b`+client).Split(line, 2)[0])
	}
	fmt.Fprintf(&b, "other %q\n", own.DifferingWalls(server))
	for _, wall := range []string{process.User, process.Group, process.Capabilities, process.NoNewPrivs, "seccomp"} {
		fmt.Fprintf(&b, "%s %s\n", wall, own.Walls[wall])
	}
	limits, _ := json.Marshal(own.Limits)
	fmt.Fprintf(&b, "limits %s\n", limits)
	dir, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	fmt.Fprintf(&b, "secret %v\nfolder %s\n", exists(fmt.Sprintf("/proc/%d/root%s", pid, filepath.Join(p.w.home, ".ssh", "id"))), dir)
	environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for kv := range strings.SplitSeq(string(environ), "\x00") {
		if name, _, _ := strings.Cut(kv, "="); strings.HasSuffix(name, "_CANARY") || name == "HOME" {
			fmt.Fprintf(&b, "variable %s\n", kv)
		}
	}
	fmt.Fprintf(&b, "sonnet %v\n", strings.Contains(strings.Join(path[0].Args, " "), "--model sonnet"))
	return b.String(), nil
}
