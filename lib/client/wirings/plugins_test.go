package wirings

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/client/wiring"
)

var update = flag.Bool("update", false, "write the plugins")

// missing returns what a plugin's hook does once where gt is not installed, and then never: it
// says so to the person, or to a model that passes it on.
func missing(client, field, text string) string {
	return `; d="$HOME/.cache/gt-is-missing" && mkdir -p "$d" && mkdir "$d/` + client + `" && echo "{\"` + field + `\": \"` +
		text + `The plugin gt does nothing, for the programs of gt are not on PATH. Install them (see its README), or remove the plugin.\"}"`
}

// tellsMissing returns the first event whose answer reaches somebody: Qwen Code shows the person
// only what the end of a turn says, and Copilot tells nobody what a start says.
func tellsMissing(client string) (event, tells string) {
	switch client {
	case "qwen":
		return "Stop", missing(client, "systemMessage", "")
	case "copilot":
		return "UserPromptSubmit", missing(client, "additionalContext", "Tell the person first: ")
	}
	return "SessionStart", missing(client, "systemMessage", "")
}

// manifests are the files that make a folder of each client's a plugin, and a repository a
// marketplace. VERSION and ABOUT are replaced.
var manifests = map[string]map[string]string{
	"claude":  {".claude-plugin/plugin.json": `{"name": "gt", "version": VERSION, "description": ABOUT, "author": {"name": "the gt developers"}, "license": "MIT"}`},
	"codex":   {".codex-plugin/plugin.json": `{"name": "gt", "version": VERSION, "description": ABOUT, "author": {"name": "the gt developers"}, "license": "MIT", "hooks": "./hooks/hooks.json", "skills": "./skills/"}`},
	"copilot": {"plugin.json": `{"name": "gt", "version": VERSION, "description": ABOUT, "author": {"name": "the gt developers"}, "license": "MIT", "hooks": "hooks/hooks.json", "skills": "skills/"}`},
	"gemini":  {"gemini-extension.json": `{"name": "gt", "version": VERSION, "description": ABOUT}`},
	"qwen":    {"qwen-extension.json": `{"name": "gt", "version": VERSION, "description": ABOUT}`},
	"": {
		".claude-plugin/plugin.json":       `{"name": "gt", "version": VERSION, "description": ABOUT, "author": {"name": "the gt developers"}, "license": "MIT", "hooks": "./plugins/claude/hooks/hooks.json", "commands": "./plugins/claude/commands/"}`,
		".claude-plugin/marketplace.json":  `{"name": "gt", "description": ABOUT, "owner": {"name": "the gt developers"}, "plugins": [{"name": "gt", "source": "./plugins/claude", "description": ABOUT, "version": VERSION, "license": "MIT"}]}`,
		".github/plugin/marketplace.json":  `{"name": "gt", "owner": {"name": "the gt developers"}, "plugins": [{"name": "gt", "source": "./plugins/copilot", "description": ABOUT, "version": VERSION}]}`,
		".agents/plugins/marketplace.json": `{"name": "gt", "interface": {"displayName": "gt"}, "plugins": [{"name": "gt", "source": {"source": "local", "path": "./plugins/codex"}, "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}, "category": "Productivity"}]}`,
	},
}

// The plugins have the wiring and the command that gt-hooks writes, with programs on PATH.
func TestPlugins(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	want := map[string][]byte{}
	fill := strings.NewReplacer("VERSION", `"`+strings.TrimPrefix(cli.Number, "v")+`"`, "ABOUT", `"Keeps the thread of work unbroken over compaction, /clear, crash and hand-over. Needs the programs of gt on PATH."`)
	for name, files := range manifests {
		dir := ""
		if name != "" {
			dir = filepath.Join("plugins", name)
			c, _ := FindClient(name)
			want[filepath.Join(dir, "hooks", "hooks.json")] = pluginHooks(t, c)
			for file, text := range c.Command.Files("", "") {
				for _, twice := range []string{", Bash(gt-handoff:*)", ", shell(gt-handoff:*)"} {
					text = bytes.Replace(text, []byte(twice), nil, 1)
				}
				want[filepath.Join(dir, file)] = text
			}
		}
		for file, text := range files {
			want[filepath.Join(dir, file)] = pretty(t, []byte(fill.Replace(text)))
		}
	}
	for file, text := range want {
		if *update {
			testenv.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(top, file)), 0o755))
			testenv.NoError(t, os.WriteFile(filepath.Join(top, file), text, 0o644))
		}
		if have, err := os.ReadFile(filepath.Join(top, file)); err != nil || !bytes.Equal(have, text) {
			t.Errorf("%s is not what gt-hooks writes (%v): go test ./lib/client/wirings -update writes it", file, err)
		}
	}
	testenv.NoError(t, filepath.WalkDir(filepath.Join(top, "plugins"), func(path string, d fs.DirEntry, err error) error {
		if file, _ := filepath.Rel(top, path); err == nil && !d.IsDir() && want[file] == nil {
			t.Errorf("%s is of no plugin", file)
		}
		return err
	}))
}

// pluginHooks returns the hooks of a client in the form of a plugin: silent where gt is not
// installed.
func pluginHooks(t *testing.T, c wiring.Client) []byte {
	dir := t.TempDir()
	edit, _, err := c.Edit(filepath.Join(dir, "hooks.json"), nil, mustWant(t, c))
	testenv.NoError(t, err)
	text := string(pretty(t, edit.Text))
	if c.Name == "gemini" { // which else shows the whole command while it runs
		text = strings.ReplaceAll(text, `"type": "command",`, `"name": "gt", "type": "command",`)
		text = string(pretty(t, []byte(text)))
	}
	lines := strings.SplitAfter(text, "\n")
	event, tells := tellsMissing(c.Name)
	from := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, `    "`+event+`": [`) })
	for i, line := range lines {
		if !strings.Contains(line, " || :") { // PowerShell's, or no command
			continue
		}
		search := wiring.PluginSearch
		if i > from {
			search, tells = search+tells, ""
		}
		escaped, _ := json.Marshal(search + "' gt-")
		line = strings.Replace(line, `"gt-`, unescaped(strings.TrimSuffix(string(escaped), `"`)), 1)
		line = strings.Replace(line, " 2>/dev/null || :", " || :", 1)
		lines[i] = strings.Replace(line, " || :", " 2>/dev/null || :", 1)
	}
	return []byte(strings.Join(lines, ""))
}

// shells are those that a client may run a hook with: Codex takes the person's.
var shells = []string{"sh", "bash", "dash", "zsh", "fish"}

// runPlugins runs each hook of the plugins in each shell as a client that no shell started does.
func runPlugins(t *testing.T, home string, check func(shell string, c wiring.Client, h wiring.Handler, out []byte, err error)) {
	for _, shell := range shells {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		for _, name := range []string{"claude", "codex", "copilot", "gemini", "qwen"} {
			if !testenv.InSample(shell+name, 4) {
				continue
			}
			c, _ := FindClient(name)
			all := c.Read(wiring.Plugin, filepath.Join("..", "..", "..", "plugins", name, "hooks", "hooks.json")).OwnHandlers()
			if want := mustWant(t, c); len(all) != len(want) {
				t.Errorf("%s: %d hooks of %d", name, len(all), len(want))
			}
			for _, h := range all {
				// Programs in the folders that are the same for everybody are not the test's.
				cmd := exec.Command(shell, "-c", strings.Replace(h.Command, " /opt/homebrew/bin/ /usr/local/bin/", "", 1))
				cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + filepath.Join(home, shell)}
				out, err := cmd.CombinedOutput()
				check(shell, c, h, out, err)
			}
		}
	}
}

// Where gt is not installed no hook of a plugin fails or prints, but for the first time that a
// client can show it: that says what is missing.
func TestPluginsWithoutPrograms(t *testing.T) {
	home := t.TempDir()
	for _, again := range []bool{false, true} {
		told := map[string]bool{}
		runPlugins(t, home, func(shell string, c wiring.Client, h wiring.Handler, out []byte, err error) {
			if !slices.ContainsFunc(mustWant(t, c), func(w wiring.Handler) bool { return c.SameHandler(h, w) }) {
				t.Errorf("%s: gt-hooks does not know %s", c.Name, h.Command)
			}
			event, _ := tellsMissing(c.Name)
			tells := !again && h.Event == event && !told[shell+c.Name]
			if tells {
				told[shell+c.Name] = json.Valid(out) && bytes.Contains(out, []byte("not on PATH"))
			}
			if err != nil || len(out) > 0 != tells || tells && !told[shell+c.Name] {
				t.Errorf("%s: %s %s: %v: %q", shell, c.Name, h.Event, err, out)
			}
		})
	}
}

// A client that no shell started finds the programs in ~/.local/bin, and they find its own PATH,
// by which they tell whether the agent can call them by name.
func TestPluginsWithoutShell(t *testing.T) {
	home := t.TempDir()
	programs := filepath.Join(home, "programs")
	testenv.NoError(t, os.Mkdir(programs, 0o755))
	for _, program := range wiring.Binaries {
		testenv.NoError(t, testenv.WriteProgram(filepath.Join(programs, program), []byte("#!/bin/sh\necho ran ${0##*/} $* on $PATH\n")))
	}
	for _, shell := range shells {
		testenv.NoError(t, os.MkdirAll(filepath.Join(home, shell, ".local"), 0o755))
		testenv.NoError(t, os.Symlink(programs, filepath.Join(home, shell, ".local", "bin")))
	}
	runPlugins(t, home, func(shell string, c wiring.Client, h wiring.Handler, out []byte, err error) {
		if want := "ran " + h.Brief() + " on /usr/bin:/bin\n"; err != nil || string(out) != want {
			t.Errorf("%s: %s %s: %v: %q, not %q", shell, c.Name, h.Event, err, out, want)
		}
	})
}

func mustWant(t *testing.T, c wiring.Client) []wiring.Handler {
	want, err := c.Wanted("", []string{"--agent", c.Name})
	testenv.NoError(t, err)
	return want
}

func unescaped(text string) string {
	return strings.NewReplacer(`\u003e`, ">", `\u0026`, "&").Replace(text)
}

func pretty(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	testenv.NoError(t, json.Indent(&b, text, "", "  "))
	return append(bytes.TrimSpace(b.Bytes()), '\n')
}
