package gt_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"gt/internal/testenv"
	"gt/lib/cli"
)

// machine is a computer with one user, as far as install.sh sees it.
type machine struct {
	t    *testing.T
	home string
	path string
}

func newMachine(t *testing.T) *machine {
	if testing.Short() {
		t.Skip("builds all binaries")
	}
	m := &machine{t: t, home: t.TempDir()}
	m.path = filepath.Dir(m.builder()) + ":" + os.Getenv("PATH")
	return m
}

// installed is where the builds of install.sh are kept, each by its arguments; TestMain
// removes it.
var installed = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "gt-installed-") })

// builder returns a go that builds what install.sh asks for, and the second time with
// the same flags takes what it built: the programs are the same, and to link all
// of them takes longer than the rest of a test.
func (m *machine) builder() string {
	m.t.Helper()
	kept, err := installed()
	if err != nil {
		m.t.Fatal(err)
	}
	text := `#!/bin/sh
[ "${1-}" = build ] || exec GO "$@"
out='' ldflags='' wanted='' last=''
for arg; do
	case $last in
	-o) out=$arg ;;
	-ldflags) ldflags=$arg ;;
	esac
	case $arg in ./*) wanted="$wanted ${arg##*/}" ;; esac
	last=$arg
done
kept=KEPT/$(echo "$ldflags" | SED 's|[^a-zA-Z0-9.-]|_|g')
if [ ! -d "$kept" ]; then
	GO build -v -trimpath -buildvcs=false -ldflags "$ldflags" -o "$kept.part/" ./cmd/... ./internal/man && MV "$kept.part" "$kept" || exit
fi
for program in $wanted; do CP "$kept/$program" "$out" || exit; done
`
	text = strings.ReplaceAll(text, "KEPT", kept)
	for _, name := range []string{"sed", "go", "mv", "cp"} {
		file, err := exec.LookPath(name)
		if err != nil {
			m.t.Fatal(err)
		}
		text = strings.ReplaceAll(text, strings.ToUpper(name)+" ", "'"+file+"' ")
	}
	file := filepath.Join(m.t.TempDir(), "go")
	if err := testenv.WriteProgram(file, []byte(text)); err != nil {
		m.t.Fatal(err)
	}
	return file
}

// setPath makes PATH hold nothing but these programs and what install.sh itself is
// written with.
func (m *machine) setPath(programs ...string) {
	m.t.Helper()
	m.path = m.t.TempDir()
	for _, p := range append(programs, "sh", "awk", "basename", "cat", "chmod", "cp", "cut", "dirname", "env", "find", "fold",
		"id", "mkdir", "mkfifo", "mktemp", "mv", "rm", "sed", "sleep") {
		file, err := exec.LookPath(p)
		if p == "go" {
			file = m.builder()
		}
		if err == nil {
			err = os.Symlink(file, filepath.Join(m.path, p))
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// install runs install.sh and returns what it said.
func (m *machine) install(code int, args ...string) string {
	m.t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"./install.sh"}, args...)...)
	cmd.Env = []string{"HOME=" + m.home, "PATH=" + m.path}
	// The build must not have to fetch and compile everything anew.
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOFLAGS").Output()
	if err != nil {
		m.t.Fatal(err)
	}
	for i, v := range strings.SplitN(string(out), "\n", 3) {
		cmd.Env = append(cmd.Env, []string{"GOCACHE=", "GOMODCACHE=", "GOFLAGS="}[i]+strings.TrimSpace(v))
	}
	said, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		m.t.Fatalf("install.sh %v: exit code %d, not %d (%v)\n%s", args, got, code, err, said)
	}
	return string(said)
}

func (m *machine) file(name string) string { return filepath.Join(m.home, name) }

func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.file(name)), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := testenv.WriteProgram(m.file(name), []byte(text)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) expect(text string, patterns ...string) {
	m.t.Helper()
	for _, p := range patterns {
		if !regexp.MustCompile("(?m)" + p).MatchString(text) {
			m.t.Errorf("nothing matches %q in:\n%s", p, text)
		}
	}
}

// list is what lies in a folder, a name a line.
func (m *machine) list(dir string) string {
	entries, err := os.ReadDir(m.file(dir))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, "\n")
}

// A fresh clone needs one command. A second run is an upgrade, and taking gt
// out again leaves the person's own files as they were.
func TestInstall(t *testing.T) {
	m := newMachine(t)
	m.write(".claude/settings.json", "{}\n")
	m.write(".codex/config.toml", "")
	m.write(".local/bin/gt-own", "mine")
	stages, _ := filepath.Glob("/tmp/gt-demo.*")

	said := m.install(0)
	m.expect(said, `^building gt v\S+; the first time takes`, `(?s)Handoff complete.*^Do this next:$.*^  - codex runs none of gt.s hooks until you trust them.*^      gt-hooks install --all --record$`)
	if regexp.MustCompile(`(?m)^gt-hooks: |error`).MatchString(said) {
		t.Errorf("nothing went wrong, and it prints\n%s", said)
	}
	m.expect(said, `^installed gt v\S+.* into .*/\.local/bin$`, `^claude  12 hooks and /handoff wired  .*/\.claude/settings\.json$`, `^codex   9 hooks and \$handoff wired   .*/\.codex/hooks\.json$`,
		`^  - ~/\.local/bin is not on PATH; put this into`, `^      export PATH="`,
		`^    \| # Handoff complete`, `^    \| Next: empty input\.`)
	if now, _ := filepath.Glob("/tmp/gt-demo.*"); len(now) > len(stages) {
		t.Errorf("the demonstration left %v", now)
	}
	commands, err := filepath.Glob("cmd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		file := m.file(".local/bin/" + filepath.Base(c))
		out, err := exec.Command(file, "--version").Output()
		if err != nil || !regexp.MustCompile(`^gt-[a-z]+ v\d+\.\d+\.\d+ \([0-9a-f]{8}(-dirty)?, \d{4}-\d\d-\d\d\)\n$`).Match(out) && inGit() {
			t.Errorf("%s --version says %s (%v)", file, out, err)
		}
		most := int64(11 << 20)
		switch filepath.Base(c) {
		case "gt-keepalive", "gt-checkpoint", "gt-prime": // a hook runs them
			most = 8 << 20
		case "gt-handoff": // a hook runs it, and it reads every agent's conversations
			most = 9 << 20
		case "gt-hooks", "gt-pick", "gt-reconcile", "gt-seance": // a database, and a screen or a network
			most = 16 << 20
		case "gt-record", "gt-watch": // the same, and what unpacks, or tells what an agent said
			most = 17 << 20
		case "gt-session": // all that starts, moves and examines an agent, and what may come with one
			most = 18 << 20
		case "gt-relay": // a network
			most = 14 << 20
		case "gt-hub": // the server
			most = 26 << 20
		}
		if info, err := os.Stat(file); err != nil || info.Size() > most {
			t.Errorf("%s is larger than %d MiB: %d (%v)", file, most>>20, info.Size(), err)
		}
	}
	if l := m.list(".local/bin"); len(strings.Split(l, "\n")) != len(commands)+1 {
		t.Errorf("installed were:\n%s", l)
	}

	if l := m.list(".local/share/man/man1"); len(strings.Split(l, "\n")) != len(commands) || !strings.Contains(l, "gt-prime.1") {
		t.Errorf("the manual pages are:\n%s", l)
	}

	m.path = m.file(".local/bin") + ":" + m.path
	said = m.install(0, "--no-demo")
	m.expect(said, ` again$`, `^claude  12 hooks and /handoff wired already  `, `^codex   9 hooks and \$handoff wired already   `)
	// That Codex has not been told to trust them is as true as before.
	if quiet := regexp.MustCompile(`(?m)^.* until you trust them.*$`).ReplaceAllString(said, ""); strings.Contains(quiet, "warning") || strings.Contains(quiet, "Handoff") {
		t.Errorf("a second run says:\n%s", said)
	}

	m.write(".local/bin/gt-hooks", "#!/bin/sh\necho gt-hooks v0.0.1\n")
	m.expect(m.install(0, "--no-demo"), `^upgraded gt from v0\.0\.1 to `+regexp.QuoteMeta(cli.Number)+` .*in `)
	m.write(".local/bin/gt-hooks", "#!/bin/sh\necho gt-hooks 39aa9ac7\n") // as v0.1.0 says it
	m.expect(m.install(0, "--no-demo"), `^upgraded gt from 39aa9ac7 to v`)
	m.write(".local/bin/gt-hooks", "#!/bin/sh\necho 'gt-hooks v99.0.0 (39aa9ac7, 2030-01-01)'\n")
	m.expect(m.install(0, "--no-demo"), `^went back from gt v99\.0\.0 \(39aa9ac7, 2030-01-01\) to v`)

	m.write(".local/state/gt/.events.jsonl", "")
	said = m.install(0, "--uninstall")
	m.expect(said, `^claude  12 hooks removed`, `^codex   9 hooks removed`, fmt.Sprintf("^removed %d programs from ~/.local/bin$", len(commands)), `^kept, since it is yours:$`,
		`^  .*/\.local/state/gt  `, `^to delete those that only gt uses:\n  rm -r [^ ]*/\.local/state/gt $`, `^  .*/\.claude/settings\.json\.gt-backup  `)
	if regexp.MustCompile(`(?m)\.agent|/\.config/gt|\.runtime|restart`).MatchString(said) {
		t.Errorf("it lists what is not there:\n%s", said)
	}
	if l := m.list(".local/bin"); l != "gt-own" {
		t.Errorf("left in bin:\n%s", l)
	}
	if l := m.list(".local/share/man/man1"); l != "" {
		t.Errorf("left of the manual pages:\n%s", l)
	}
	if l := m.list(".claude"); l != "settings.json\nsettings.json.gt-backup" {
		t.Errorf("left of the settings:\n%s", l)
	}
	if text, err := os.ReadFile(m.file(".claude/settings.json")); string(text) != "{}\n" {
		t.Errorf("the settings are %q (%v)", text, err)
	}
}

func inGit() bool {
	_, err := exec.Command("git", "log", "-1").Output()
	return err == nil
}

// What --version says is the number that the changelog begins with, so that two versions can
// be told apart and ordered.
func TestVersion(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^## (.*)$`).FindSubmatch(text)
	if first == nil || string(first[1]) != cli.Number {
		t.Errorf("CHANGELOG.md begins with %q, and the programs are %s", first, cli.Number)
	}
	for _, plugin := range []string{".claude-plugin/plugin.json", "plugins/claude/.claude-plugin/plugin.json"} {
		data, err := os.ReadFile(plugin)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), `"version": "`+strings.TrimPrefix(cli.Number, "v")+`"`) {
			t.Errorf("%s is not of %s", plugin, cli.Number)
		}
	}
	if !strings.Contains(string(text), "\n## v0.1.0\n") {
		t.Error("CHANGELOG.md has no v0.1.0, which was the first")
	}
}

// Whose settings are wired is the person's to say.
func TestInstallHooks(t *testing.T) {
	m := newMachine(t)
	m.setPath("go", "git") // and no claude
	said := m.install(0, "--no-demo")
	m.expect(said, `^gt found no agent that it knows \(claude, .*run gt-hooks install --all$`)
	if strings.Contains(said, "error") {
		t.Errorf("without an agent nothing went wrong, and it prints\n%s", said)
	}
	if l := m.list(".claude"); l != "" {
		t.Errorf("without Claude Code there is:\n%s", l)
	}
	m.expect(m.install(0, "--no-demo", "--hooks", "claude gemini"), `^claude  12 hooks and /handoff wired`, `^gemini  9 hooks and /handoff wired`)
	m.install(0, "--uninstall")

	m.write(".claude/settings.json", "// mine\n{}\n")
	m.install(0, "--no-demo", "--no-hooks")
	said = m.install(1, "--no-demo")
	m.expect(said, `line 1, column 1: a comment`, `correct what stands above, then: gt-hooks install --all$`)
	m.expect(m.list(".local/bin"), `^gt-prime$`)

	// Hooks without binaries would fail at every turn, so they stay together.
	said = m.install(1, "--uninstall")
	m.expect(said, `no program was removed`)
	m.expect(m.list(".local/bin"), `^gt-prime$`)
}

// A part is built alone, and an upgrade from a clone stays with it.
func TestInstallOnly(t *testing.T) {
	m := newMachine(t)
	for _, args := range [][]string{{"--no-demo", "--no-hooks", "--only", "thread"}, {"--no-demo", "--no-hooks"}} {
		m.install(0, args...)
		if l := m.list(".local/bin"); l != "gt-checkpoint\ngt-handoff\ngt-hooks\ngt-keepalive\ngt-krc\ngt-mail\ngt-prime\ngt-seance" {
			t.Errorf("install.sh %v installed\n%s", args, l)
		}
		if l := m.list(".local/share/man/man1"); strings.Count(l, "\n") != 7 {
			t.Errorf("the manual pages are\n%s", l)
		}
	}
	m.install(0, "--no-demo", "--no-hooks", "--only", "all")
	m.expect(m.list(".local/bin"), `^gt-session$`)
}

// A town that is here is named, and without a terminal it is trusted for nobody.
func TestInstallNamesTowns(t *testing.T) {
	m := newMachine(t)
	m.write("gt/mayor/town.json", "{}")
	said := m.install(0, "--no-demo", "--no-hooks")
	m.expect(said, `/gt is a Gas Town workspace; .*: gt-hooks trust .*/gt$`)
	if l := m.list(".local/state/gt/towns"); l != "" {
		t.Errorf("a town was trusted for nobody: %s", l)
	}
}

// What is missing is named, with the command that brings it.
func TestInstallMissing(t *testing.T) {
	m := newMachine(t)
	m.setPath()
	m.expect(m.install(1), `error: Go 1\.[0-9.]+ or newer is missing; install it from https://go\.dev/dl/$`)
	// A hint has to help: Debian 12 has a Go that is too old, and a later one fetches what it lacks.
	for version, want := range map[string]string{
		"2:1.19~1": `is missing, and the packages here have 1\.19; install it from https://go\.dev/dl/$`,
		"2:1.22~2": `is missing; install it with: (sudo )?apt-get install golang-go, or from https://go\.dev/dl/$`,
	} {
		testenv.NoError(t, testenv.WriteProgram(filepath.Join(m.path, "apt-cache"), []byte("#!/bin/sh\necho 'Version: "+version+"'\n")))
		testenv.NoError(t, testenv.WriteProgram(filepath.Join(m.path, "apt-get"), []byte("#!/bin/sh\n")))
		m.expect(m.install(1), want)
	}

	m.setPath("go")
	said := m.install(0)
	m.expect(said, `warning: git is missing, .*; install it with: `, `warning: tmux is missing, .*; install it with: `,
		`^installed gt `+regexp.QuoteMeta(cli.Number)+` into `, `^A hand-over would be shown here, but it needs tmux\.$`)

	m.setPath("git")
	if err := testenv.WriteProgram(filepath.Join(m.path, "go"), []byte("#!/bin/sh\necho go1.9.7\n")); err != nil {
		t.Fatal(err)
	}
	m.expect(m.install(1), `error: Go 1\.[0-9.]+ or newer is needed, and this is go1\.9\.7; `)
	m.install(1, "--hooks", "emacs")
	m.install(1, "--frob")
	m.expect(m.install(0, "--help"), `^usage: \./install\.sh`)
}

// Shells complete the commands once a person has said so, and forget it with the rest.
func TestInstallCompletes(t *testing.T) {
	m := newMachine(t)
	m.write(".zshrc", "mine\n")
	m.write(".config/fish/config.fish", "")
	fake := t.TempDir()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if err := testenv.WriteProgram(filepath.Join(fake, shell), []byte("#!/bin/sh\n")); err != nil {
			t.Fatal(err)
		}
	}
	m.path += ":" + fake
	m.expect(m.install(0, "--no-demo", "--no-hooks"), `^to complete the commands with <Tab> in your shell: \./install\.sh --completion$`)
	if said := m.install(0, "--no-demo", "--no-hooks"); strings.Contains(said, "<Tab>") {
		t.Errorf("an upgrade asks again:\n%s", said)
	}
	if l := m.list(".local/share/bash-completion"); l != "" {
		t.Errorf("nobody was asked, and there is\n%s", l)
	}
	// Of the shells that are here, those count that the person uses.
	if said := m.install(0, "--no-demo", "--no-hooks", "--completion"); strings.Contains(said, "bash") {
		t.Errorf("nobody uses bash here, and it says\n%s", said)
	}
	m.write(".bashrc", "")
	for range 2 {
		said := m.install(0, "--no-demo", "--no-hooks", "--completion")
		m.expect(said, `^completion for bash: .*/\.local/share/bash-completion/completions \(`, `^completion for fish: .*/\.config/fish/completions$`, `^completion for zsh: .*/completion\.zsh, by a line in ~/\.zshrc$`)
	}
	m.expect(m.list(".local/share/bash-completion/completions"), `^gt-prime$`)
	m.expect(m.list(".config/fish/completions"), `^gt-prime\.fish$`)
	if text := m.read(".zshrc"); strings.Count(text, "# gt: completion\n") != 1 || !strings.HasPrefix(text, "mine\n") {
		t.Errorf(".zshrc is\n%s", text)
	}
	m.expect(m.read(".local/share/gt/completion.zsh"), `^#compdef gt-prime$`, `^#compdef gt-session$`)
	m.install(0, "--uninstall")
	if l := m.list(".local/share/bash-completion/completions") + m.list(".config/fish/completions") + m.list(".local/share/gt"); l != "" {
		t.Errorf("left are\n%s", l)
	}
	if text := m.read(".zshrc"); text != "mine\n" {
		t.Errorf(".zshrc is %q", text)
	}

	// What nothing is left in was ours.
	m.write(".zshrc", "")
	m.install(0, "--no-demo", "--no-hooks", "--completion")
	m.install(0, "--uninstall")
	if _, err := os.Stat(m.file(".zshrc")); err == nil {
		t.Error("an empty .zshrc is left")
	}
}

func (m *machine) read(name string) string {
	text, err := os.ReadFile(m.file(name))
	if err != nil {
		m.t.Error(err)
	}
	return string(text)
}

// Without a network Go tells of each library; a person is told once, and of the network.
func TestInstallWithoutNetwork(t *testing.T) {
	m := newMachine(t)
	m.setPath("git")
	if err := testenv.WriteProgram(filepath.Join(m.path, "go"), []byte(`#!/bin/sh
[ "$1" = build ] || { echo go99.0; exit; }
for lib in kong huh x/sys; do echo "go: example.org/$lib@v1: Get \"https://proxy/\": dial tcp: lookup proxy: no such host" >&2; done
exit 1
`)); err != nil {
		t.Fatal(err)
	}
	said := m.install(1)
	m.expect(said, `^install\.sh: error: cannot fetch the libraries that gt is built with: no network\.`)
	if strings.Contains(said, "dial tcp") {
		t.Errorf("it prints Go's errors:\n%s", said)
	}
	if l := m.list(".local/bin"); l != "" {
		t.Errorf("installed is\n%s", l)
	}
}

// An agent that runs meanwhile calls the programs at the end of its turn, and finds some
// that do nothing; the person is told to restart it.
func TestUninstallBesideAgent(t *testing.T) {
	m := newMachine(t)
	m.write(".claude/settings.json", "{}\n")
	m.install(0, "--no-demo")
	// A client that has started a session and waits.
	m.write("claude", `#!/bin/sh
printf '{"session_id":"00000000-0000-4000-8000-000000000001","hook_event_name":"SessionStart","source":"startup","cwd":"%s"}' "$PWD" |
	"$HOME/.local/bin/gt-prime" --hook --agent claude >/dev/null
echo started
read -r line
`)
	client := exec.Command(m.file("claude"))
	m.write("proj/README", "")
	client.Dir, client.Env = m.file("proj"), []string{"HOME=" + m.home, "PATH=" + m.path}
	in, err := client.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := client.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	defer client.Wait()
	defer in.Close()
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	said := m.install(0, "--uninstall")
	m.expect(said, `^these agents run and have read their hooks; restart them:$`, `^  claude .*in `+regexp.QuoteMeta(m.file("proj"))+`$`)
	if l := m.list(".local/bin"); l != "gt-checkpoint\ngt-handoff\ngt-keepalive\ngt-prime" {
		t.Errorf("left in bin:\n%s", l)
	}
	hook := exec.Command(m.file(".local/bin/gt-keepalive"), "touch", "--hook", "--agent", "claude")
	hook.Stdin = strings.NewReader("{}")
	if said, err := hook.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("a hook says %q (%v)", said, err)
	}
	m.expect(m.install(0, "--no-demo"), `^installed gt`)
	if out, err := exec.Command(m.file(".local/bin/gt-keepalive"), "--version").Output(); err != nil || !strings.HasPrefix(string(out), "gt-keepalive ") {
		t.Errorf("installed again it says %q (%v)", out, err)
	}
}

// A release has each program of cmd, its formula no address that nobody gave, and a snapshot is
// an upgrade of the last version.
func TestReleasePrograms(t *testing.T) {
	text, err := os.ReadFile(".goreleaser.yaml")
	testenv.NoError(t, err)
	if !bytes.Contains(text, []byte("url_template: '{{ .Env.GT_DOWNLOADS }}/")) || bytes.Contains(text, []byte("example.com")) {
		t.Error("the formula has an address of its own")
	}
	if !bytes.Contains(text, []byte(`snapshot: {version_template: "{{ incminor .Version }}-pre{{ .CommitTimestamp }}"}`)) {
		t.Error("a snapshot is called older than the version or the snapshot before it, and is no upgrade")
	}
	if !bytes.Contains(text, []byte("rpm: {buildhost: ")) {
		t.Error("an .rpm names the machine that built it")
	}
	folders, err := os.ReadDir("cmd")
	testenv.NoError(t, err)
	for _, folder := range folders {
		for _, want := range []string{"main: ./cmd/" + folder.Name(), "binary: bin/" + folder.Name()} {
			if !regexp.MustCompile(`(?m)` + regexp.QuoteMeta(want) + `(,|}|$)`).Match(text) {
				t.Errorf(".goreleaser.yaml has no %q", want)
			}
		}
	}
}
