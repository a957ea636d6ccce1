package hooks

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
	"gt/lib/git"
	"gt/lib/hook"
)

// A target is an agent that gt can be wired into, or one of which is known why
// it cannot.
type target struct {
	name    string
	command string
	format  format
	dialect string // where it is not the format's own
	cap     int    // where it is not the dialect's own

	folder string // the client's own
	files  []file // where it takes hooks from, the weakest first

	unable string // why gt cannot be wired into it, and what can be done
}

// A file is what an agent takes the hooks of one scope from.
type file struct{ scope, path string }

// The scopes of hooks.
const (
	userScope    = "user"
	projectScope = "project"
	localScope   = "local"
)

var scopes = []string{userScope, projectScope, localScope}

// block is what the table of agents says of an agent's hooks.
type block struct {
	name, command        string
	format               string
	home                 string // the client's folder
	user, project, local string
	dialect              string
	cap                  int
	unable               string
}

// blocks stand here until the table of agents has them.
var blocks = []block{
	{name: "claude", command: "claude", format: "claude", home: "${CLAUDE_CONFIG_DIR:-~/.claude}", user: "settings.json", project: ".claude/settings.json", local: ".claude/settings.local.json"},
	{name: "codex", command: "codex", format: "codex", home: "${CODEX_HOME:-~/.codex}", user: "hooks.json", project: ".codex/hooks.json"},
	{name: "gemini", command: "gemini", format: "gemini", home: "${GEMINI_CLI_HOME:-~}/.gemini", user: "settings.json", project: ".gemini/settings.json"},
	{name: "qwen", command: "qwen", format: "qwen", home: "${QWEN_HOME:-~/.qwen}", user: "settings.json", project: ".qwen/settings.json"},
	{name: "copilot", command: "copilot", format: "copilot", home: "${COPILOT_HOME:-~/.copilot}", user: "hooks/gt.json", project: ".github/hooks/gt.json"},
	{name: "cursor", command: "cursor-agent", format: "cursor", home: "~/.cursor", user: "hooks.json", project: ".cursor/hooks.json"},
	{name: "opencode", command: "opencode", format: "opencode", home: "${XDG_CONFIG_HOME:-~/.config}/opencode", user: "plugins/gt.js", project: ".opencode/plugins/gt.js"},
	{name: "pi", command: "pi", format: "pi", home: "${PI_CODING_AGENT_DIR:-~/.pi/agent}", user: "extensions/gt.ts", project: ".pi/extensions/gt.ts"},
	{name: "amp", command: "amp", home: "${XDG_CONFIG_HOME:-~/.config}/amp", unable: "Amp runs no command at the start or end of a session; " +
		"a line in its AGENTS.md does the same by hand: run 'gt-prime --agent amp' before anything else, and gt-handoff before you stop"},
}

// table lists the agents that gt can be wired into.
func table(env *cli.Env) ([]target, error) {
	var all []target
	for _, b := range blocks {
		t, err := b.target(env)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	return all, nil
}

func (b block) target(env *cli.Env) (target, error) {
	t := target{name: b.name, command: b.command, dialect: b.dialect, cap: b.cap, unable: b.unable}
	known := false
	if t.format, known = formatOf(b.format); !known && b.unable == "" {
		if t.unable = "its block has no format of hooks, such as format = \"claude\" in [agents." + b.name + ".hooks]"; b.format != "" {
			t.unable = fmt.Sprintf("gt knows no hooks of the format '%s'", b.format)
		}
	}
	var err error
	if t.folder, err = expand(env, b.home); err != nil {
		return t, err
	}
	for i, path := range []string{b.user, b.project, b.local} {
		if path == "" {
			continue
		}
		if path, err = expand(env, path); err != nil {
			return t, err
		}
		switch {
		case filepath.IsAbs(path):
		case scopes[i] == userScope:
			path = filepath.Join(t.folder, path)
		default:
			path = filepath.Join(git.Top(env.Dir), path)
		}
		t.files = append(t.files, file{scopes[i], path})
	}
	if t.folder == "" && len(t.files) > 0 && t.files[0].scope == userScope {
		t.folder = filepath.Dir(t.files[0].path)
	}
	return t, nil
}

// expand puts the person's folders and variables into a path of the table, as a
// shell does: ~, and ${NAME:-otherwise}. A variable's folder that is not whole
// is one of the working directory.
func expand(env *cli.Env, path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "${"); ok {
		name, rest, _ := strings.Cut(rest, "}")
		name, otherwise, _ := strings.Cut(name, ":-")
		value := env.Getenv(name)
		if value == "" {
			return expand(env, otherwise+rest)
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(env.Dir, value)
		}
		return value + rest, nil
	}
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home := env.Getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", cli.Failf(cli.IO, "cannot find the user's settings: HOME is not set")
		}
		return filepath.Clean(home + rest), nil
	}
	return path, nil
}

// file is the agent's file of a scope.
func (t target) file(scope string) (string, error) {
	var have []string
	for _, f := range t.files {
		if f.scope == scope {
			return f.path, nil
		}
		have = append(have, f.scope)
	}
	return "", cli.Failf(cli.Usage, "%s has no hooks of the scope %s: there are %s", t.name, scope, strings.Join(have, ", "))
}

// here says whether the agent is on this machine: its command can be run, or it
// has been and left its folder.
func (t target) here(env *cli.Env) bool {
	if _, err := onPath(env, t.command); err == nil {
		return true
	}
	info, err := os.Stat(t.folder)
	return err == nil && info.IsDir()
}

// flags are what every hook of the agent is called with.
func (t target) flags() []string {
	flags := []string{"--agent", t.name}
	dialect := t.dialect
	if dialect == "" {
		dialect = t.format.name
	}
	if dialect != t.name {
		flags = append(flags, "--dialect", dialect)
	}
	if t.cap > 0 && t.cap != hook.DialectOf(dialect).Cap {
		flags = append(flags, "--cap", strconv.Itoa(t.cap))
	}
	return flags
}

// remedy is the command of gt-hooks that does something to the agent's hooks of a
// scope.
func (t target) remedy(verb, scope string) string {
	line := "gt-hooks " + verb + " " + t.name
	if scope != userScope {
		line += " --scope " + scope
	}
	return line
}

// pick finds the agents of these names.
func pick(all []target, names []string) ([]target, error) {
	var picked []target
	for _, name := range names {
		i := slices.IndexFunc(all, func(t target) bool { return t.name == name })
		if i < 0 {
			err := cli.Failf(cli.Usage, "no agent '%s': there are %s", name, strings.Join(namesOf(all), ", "))
			return nil, cli.WithHint(err, "a block [agents.%s] in ~/.config/gt/agents.toml makes it one", name)
		}
		if !slices.ContainsFunc(picked, func(t target) bool { return t.name == name }) {
			picked = append(picked, all[i])
		}
	}
	return picked, nil
}

// present are the agents that are on this machine.
func present(env *cli.Env, all []target) []target {
	return slices.DeleteFunc(slices.Clone(all), func(t target) bool { return !t.here(env) })
}

func namesOf(all []target) []string {
	var names []string
	for _, t := range all {
		names = append(names, t.name)
	}
	return names
}
