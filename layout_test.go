package gt_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"gt/internal/testenv"
)

// groups are the parts of the house, from the ground up: a package belongs to the
// group whose folder it lies in. It imports packages of its own group and of those
// below it, never of one above; a command imports no other command.
//
// A new group is written in here, or the test fails.
var groups = []string{
	"hooks",    // the plugin for Claude Code, which is its wiring as well
	"lib/text", // texts and values, of whatever kind: clean, redact, cut, durations
	"lib/sys",  // files, locks, processes, tmux, databases
	"lib/cli",  // how a program meets its caller
	"lib/place",
	"lib/log",
	"lib/state",
	"lib/conversation",
	"lib/record", // conversations, kept without their secrets
	"lib/client",
	"lib/live",
	"lib/launch",
	"lib/catalog",
	"lib/reconcile", // sessions brought to where their templates want them
	"lib/relay",     // between machines
	"lib/view",
	"lib/command",
	"cmd",
}

// importRules says who may import what brings a power or a dependency with it; where
// nobody is named, nobody may. Tests may import what they like.
var importRules = []struct {
	imported  string
	importers []string
	why       string
}{
	{"github.com/alecthomas/kong", []string{"lib/cli"}, "one voice and one set of exit codes"},
	{"github.com/natefinch/atomic", []string{"lib/sys/atomicfile"}, "one place that renames"},
	{"github.com/tidwall/gjson", []string{"lib/catalog", "lib/client/hook", "lib/conversation", "lib/conversation/edits", "lib/conversation/summary", "lib/log/eventlog", "lib/place", "lib/text/openjson", "lib/client/gemini/hook", "lib/client/pi/hook",
		"lib/client/claude/conversation", "lib/client/codex/conversation", "lib/client/copilot/conversation", "lib/client/gemini/conversation",
		"lib/client/qwen/conversation", "lib/client/opencode/conversation", "lib/client/kimi/conversation", "lib/client/cline/conversation", "lib/client/pi/conversation",
		"lib/client/antigravity/conversation", "lib/client/cursor/conversation"},
		"it reads JSON by the field, fast, and checks nothing: where that matters, encoding/json has gone over it before"},
	{"github.com/pelletier/go-toml/v2/unstable", []string{"lib/client/codex/wiring", "lib/client/kimi/wiring", "lib/reconcile/template"}, "it tells where in a text a table or key is, which the other parser does not"},
	{"github.com/BurntSushi/toml", []string{"lib/place/rig", "lib/launch/ask", "lib/client/agent", "lib/client/codex/wiring", "lib/client/kimi/wiring", "lib/conversation/price", "lib/reconcile/template"}, "no hook that is on the way of every prompt carries a TOML parser"},
	{"github.com/tailscale/hujson", []string{"lib/text/jsonedit"}, "settings are changed in one place, which keeps what it does not change"},
	{"github.com/rivo/uniseg", []string{"lib/text/term"}, "columns are counted in one place"},
	{"golang.org/x/text/unicode/norm", []string{"lib/text/fold"}, "what a person types is compared in one place"},
	{"golang.org/x/term", []string{"lib/text/term"}, "so is the terminal's width"},
	{"github.com/google/uuid", []string{"lib/state/session"}, "ids are made in one place"},
	{"mvdan.cc/sh/v3/syntax", []string{"lib/client/hook", "lib/launch/launcher"}, "what a command line runs is asked in one place, and what words it has in another"},
	{"github.com/junegunn/fzf/src", []string{"lib/command/pickcmd"}, "a finder is as large as all the rest, and slow to start"},
	{"github.com/ncruces/go-sqlite3", []string{"lib/sys/sqlite"}, "databases are opened in one place, which leaves no trace beside those of others"},
	{"github.com/ncruces/go-sqlite3/vfs", []string{"lib/sys/sqlite"}, "as above"},
	{"gt/lib/sys/sqlite", []string{"lib/client/opencode/conversation", "lib/catalog", "lib/catalog/scan", "lib/state/agentdeck"}, "a database is linked where OpenCode's conversations and agent-deck's sessions are read, and where sessions are listed"},
	{"os/exec", []string{"lib/sys/tmux", "lib/place/git", "lib/launch/ask", "lib/client/sandbox", "lib/view/pick", "lib/launch/respawn", "lib/sys/bounded", "lib/relay/dial", "lib/command/watchcmd"},
		"other programs are run by the package that is named after them; a pane whose agent was started from a shell waits for the next one, and a screen for what has the terminal meanwhile"},
	{"golang.org/x/sys/unix", []string{"lib/sys/process", "lib/sys/atomicfile", "lib/place"}, "what is not portable stays there"},
	{"unsafe", nil, "nothing here needs it"},
	{"net", []string{"lib/command/recordcmd", "lib/command/hubcmd", "lib/relay/dial", "lib/relay/hub", "lib/relay/invite"}, "nothing here talks to a network, but gt-record export to the collector that a person names, and the programs that join machines"},
	{"crypto/tls", []string{"lib/command/recordcmd", "lib/relay/hub", "lib/relay/invite"}, "as above; it is a megabyte of a program"},
	{"gt/lib/relay", []string{"lib/relay/local", "lib/command/relaycmd", "lib/command/hubcmd"}, "no other program links a network"},
	{"github.com/nats-io/nats.go", []string{"lib/relay", "lib/relay/dial", "lib/relay/hub", "lib/relay/invite", "lib/relay/local"}, "the network is in one group"},
	{"github.com/nats-io/nats.go/jetstream", []string{"lib/relay", "lib/relay/hub", "lib/relay/streams"}, "as above"},
	{"github.com/nats-io/nats-server/v2/server", []string{"lib/relay/hub"}, "the server is in gt-hub alone"},
	{"github.com/nats-io/nkeys", []string{"lib/relay/seal"}, "keys are used in one place"},
	{"filippo.io/age", []string{"lib/relay/seal"}, "messages are sealed in one place"},
	{"golang.org/x/time/rate", []string{"lib/relay", "lib/relay/hub"}, "what other hosts send is bounded where it comes in"},
	{"github.com/fsnotify/fsnotify", []string{"lib/relay/local", "lib/command/watchcmd"}, "what waits to be sent, and what is on the screen, is looked at when it changes"},
	{"charm.land/bubbletea/v2", []string{"lib/command/watchcmd"}, "one program keeps a screen"},
	{"charm.land/bubbles/v2/textarea", []string{"lib/command/watchcmd"}, "as above"},
	{"net/http", nil, "nothing here talks to a network"},
}

// calls are functions that only the named packages use, found in the text.
var calls = []struct {
	call    string
	callers []string
	why     string
}{
	{`os\.Rename\(`, nil, "natefinch/atomic does it for lib/sys/atomicfile; a rename without a sync, or across folders, loses files"},
	{`os\.(WriteFile|Create)\(`, nil, "what is written in place is seen half"},
	{`(?i)(redact|clean)\w*(\(\))?\((term|plain|transcript)\.`, nil, "what is cleaned or cut before hides a secret; Env.Text and Env.Line do it in order"},
	{`exec\.Command`, []string{"lib/sys/tmux", "lib/place/git", "lib/launch/ask", "lib/client/sandbox", "lib/view/pick", "lib/sys/bounded", "lib/relay/dial", "lib/command/watchcmd"}, "a program becomes another, and runs none"},
	{`syscall\.(Exec|ForkExec|StartProcess)\(|os\.StartProcess\(|exec\.Cmd\{|process\.(Exec|Detach|RestartDetached)\(`, []string{
		"lib/sys/process", "lib/sys/tmux", // the person's terminal, in this process's environment, which lib/client/startenv puts back
		"lib/launch/respawn", "lib/launch/resume", "lib/reconcile/runtime", "lib/command/handoffcmd", "lib/command/keepalivecmd", "lib/command/sessioncmd", "lib/client/hook", "lib/command/hubcmd",
	}, "a start of a program is on this list, and its environment is cli.Env.ChildEnviron"},
	{`\b[eE]nv\.Environ\b`, []string{
		"lib/client/startenv", "lib/client/hook", // which make it what it is, and start gt-record
		"lib/command/primecmd", "lib/command/handoffcmd", "lib/command/keepalivecmd", "lib/launch/entries", "lib/view/pick", "lib/command/pickcmd", "lib/command/watchcmd", // the environment of gt's own programs, which ask for their session
		"lib/command/recordcmd", "lib/command/seancecmd", // the secrets in it
		"lib/launch/ask", // what a shell has to leave out
	}, "a project's settings of a client add to it: what is started for the person gets cli.Env.ChildEnviron"},
	{`os\.Exit\(`, nil, "a command returns its code; only main ends the process"},
	{`(?m)^\s*(defer )?go [a-z]`, []string{"lib/cli", "lib/sys/flock", "lib/sys/bounded"},
		"a panic in a goroutine ends the process with 2, which blocks an agent; cli.Go brings it back. flock's only makes a system call, and bounded's only copies a pipe"},
	{`os\.(Getenv|LookupEnv|Environ)\(`, []string{"lib/cli", "lib/place/git", "lib/sys/tmux", "lib/place"}, "the environment comes from Env; git and tmux have their own"},
}

// heavy is what no binary that runs in a hook carries, directly or through
// others: each of its imports would be paid for at every prompt or tool call.
var heavy = map[string][]string{
	"cmd/gt-keepalive":  append([]string{"net/http", "github.com/BurntSushi/toml", "gt/lib/client/readers/files"}, readersOf...),
	"cmd/gt-checkpoint": {"net/http", "github.com/BurntSushi/toml", "gt/lib/client/readers", "gt/lib/sys/sqlite"},
	"cmd/gt-handoff":    {"net/http", "gt/lib/client/readers", "gt/lib/sys/sqlite"},
	"cmd/gt-prime":      append([]string{"net/http", "github.com/BurntSushi/toml", "gt/lib/client/readers/files"}, readersOf...),
}

// readersOf are what reads conversations: what gt-prime tells was read at the end of a
// turn, or is read by gt-seance.
var readersOf = []string{"gt/lib/client/readers", "gt/lib/client/claude/conversation", "gt/lib/sys/sqlite"}

// vague are names that say nothing of what is in a package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "shared", "lib", "core", "types", "model", "models", "manager", "service"}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Dir, Name  string
	GoFiles, Imports, Deps []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listPackages()
	testenv.NoError(t, err)
	return all
}

var listPackages = sync.OnceValues(func() (all []pkg, err error) {
	for _, system := range []string{"linux", "darwin"} {
		cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,GoFiles,Imports,Deps", "./cmd/...", "./lib/...", "./hooks")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, err
		}
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		for dec := json.NewDecoder(out); ; {
			var p pkg
			if err := dec.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			p.ImportPath = strings.TrimPrefix(p.ImportPath, "gt/")
			all = append(all, p)
		}
		if err := cmd.Wait(); err != nil {
			return nil, err
		}
	}
	return all, nil
})

// group is the place in groups of a package, -1 of one that has none.
func group(importPath string) int {
	return slices.IndexFunc(groups, func(name string) bool {
		return importPath == name || strings.HasPrefix(importPath, name+"/")
	})
}

// Arrows between groups point one way: binaries to their command, commands to what
// they are made of, those to the ground.
func TestLayout(t *testing.T) {
	var patterns []*regexp.Regexp
	for _, rule := range calls {
		patterns = append(patterns, regexp.MustCompile(rule.call))
	}
	for _, p := range packages(t) {
		here := group(p.ImportPath)
		if here < 0 {
			t.Errorf("%s is in no group", p.ImportPath)
			continue
		}
		if slices.Contains(vague, path.Base(p.ImportPath)) || slices.Contains(vague, p.Name) {
			t.Errorf("%s: the name says nothing of what is in it", p.ImportPath)
		}
		for _, imported := range p.Imports {
			ours, ok := strings.CutPrefix(imported, "gt/")
			if !ok {
				continue
			}
			there := group(ours)
			switch {
			case there > here:
				t.Errorf("%s imports %s: %s stands above %s", p.ImportPath, ours, groups[there], groups[here])
			case strings.HasPrefix(p.ImportPath, "lib/command/") && there == here:
				t.Errorf("%s imports another command, %s", p.ImportPath, ours)
			case strings.HasPrefix(p.ImportPath, "cmd/") && ours != "lib/cli" && ours != "lib/command/"+strings.TrimPrefix(p.ImportPath, "cmd/gt-")+"cmd":
				t.Errorf("%s imports %s, and should only call its command", p.ImportPath, ours)
			}
		}
		for _, rule := range importRules {
			if slices.Contains(p.Imports, rule.imported) && !slices.Contains(rule.importers, p.ImportPath) {
				t.Errorf("%s imports %s: %s", p.ImportPath, rule.imported, rule.why)
			}
		}
		for _, name := range heavy[p.ImportPath] {
			if slices.Contains(p.Deps, name) {
				t.Errorf("%s carries %s", p.ImportPath, name)
			}
		}
		for _, name := range p.GoFiles {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(data), "\n"); p.Name == "main" && n > 20 {
				t.Errorf("%s/%s has %d lines, and a main has 20 at most", p.ImportPath, name, n)
			}
			if p.Name == "main" {
				continue
			}
			for i, rule := range calls {
				if m := patterns[i].Find(data); m != nil && !slices.Contains(rule.callers, p.ImportPath) {
					t.Errorf("%s/%s calls %s): %s", p.ImportPath, name, m, rule.why)
				}
			}
		}
	}
}

// A rule that names a package which does not need it is not kept.
func TestLayoutHasNoIdleRule(t *testing.T) {
	all := packages(t)
	has := func(importPath string, ok func(pkg) bool) bool {
		return slices.ContainsFunc(all, func(p pkg) bool { return p.ImportPath == importPath && ok(p) })
	}
	for i, name := range groups {
		if !slices.ContainsFunc(all, func(p pkg) bool { return group(p.ImportPath) == i }) {
			t.Errorf("groups names %s, which is not there", name)
		}
	}
	for _, rule := range importRules {
		for _, name := range rule.importers {
			if !has(name, func(p pkg) bool { return slices.Contains(p.Imports, rule.imported) }) {
				t.Errorf("%s may import %s and does not", name, rule.imported)
			}
		}
	}
	for _, rule := range calls {
		pattern := regexp.MustCompile(rule.call)
		for _, name := range rule.callers {
			if !has(name, func(p pkg) bool {
				return slices.ContainsFunc(p.GoFiles, func(f string) bool {
					data, err := os.ReadFile(filepath.Join(p.Dir, f))
					return err == nil && pattern.Match(data)
				})
			}) {
				t.Errorf("%s may call %s and does not", name, rule.call)
			}
		}
	}
}

// lifecycleWriters are the packages that change what a session of a template is, or set its
// marker, besides the one that defines it.
var lifecycleWriters = []string{"lib/reconcile/perform", "lib/state/instance", "lib/state/route"}

// One part of the house changes the lifecycle of a session, and gives and takes its marker,
// whoever asks for it: a tick or a person. [S4-11]
func TestLayoutLifecycle(t *testing.T) {
	writes := regexp.MustCompile(`\.Managed(\.\w+)* *(=|\+=|-=|\+\+)[^=]|instance\.Managed\{|\.Markers\.(Set|Remove)\(|route\.NewMarkers\(.*\)\.(Set|Remove)\(`)
	found := 0
	for _, root := range []string{"lib", "cmd", "internal"} {
		err := filepath.WalkDir(root, func(file string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, line := range writes.FindAllString(string(text), -1) {
				if found++; !slices.Contains(lifecycleWriters, filepath.ToSlash(filepath.Dir(file))) {
					t.Errorf("%s changes the lifecycle of a session: %s", file, line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 3 {
		t.Errorf("%d places change a lifecycle: this test looks for something else", found)
	}
}
