// Package wiring is what gt-hooks knows of Claude Code.
package wiring

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"gt/hooks"
	"gt/lib/client/settings"
	"gt/lib/client/wiring"
)

// Client returns what there is to know of Claude Code. Its wiring lies in the folder hooks, which is a plugin for
// it as well.
func Client() wiring.Client {
	return wiring.Client{
		Name: "claude", Text: hooks.Claude,
		OffKey: "disableAllHooks", OffValue: true,
		TurnEnds: []string{"Stop"},
		Compact:  "/compact",
		HookVars: []string{"CLAUDE_PROJECT_DIR"},
		Allow: &wiring.Allow{
			Keys: []string{"permissions", "allow"},
			Rule: func(program string) string { return "Bash(" + program + ":*)" },
		},
		Sources: sources, Blockers: blockers, Deletes: deletes,
		Command: &wiring.Command{
			File: "commands/handoff.md", Typed: "/handoff", Args: "$ARGUMENTS",
			Head: "---\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\n" +
				"argument-hint: \"[what matters] [to AGENT]\"\nallowed-tools: Bash(PROGRAM:*), Bash(gt-handoff:*)\ndisable-model-invocation: true\n---\n",
		},
	}
}

const (
	managed = "managed"
	plugin  = "plugin"
)

// sources are an administrator's settings, which outrank all others, and plugins.
func sources(a wiring.Agent) []wiring.Source {
	all := a.Sources
	s := Client().Read(managed, managedSettings())
	if s.Removal, s.Repair = "ask whoever manages '"+s.File+"'", "ask who manages '"+s.File+"'"; !s.Missing {
		all = append(slices.Clip(all), s)
	}
	return append(all[len(a.Sources):], plugins(a, all)...)
}

// deletes returns cleanupPeriodDays, which is 30 where nobody has set it.
func deletes(a wiring.Agent) int {
	days := 30
	for _, s := range a.Sources { // the later one holds
		value(s, "cleanupPeriodDays", &days)
	}
	return days
}

// managedSettings is an administrator's file.
func managedSettings() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	}
	return "/etc/claude-code/managed-settings.json"
}

// plugins lists the plugins that are installed, switched on, and wire a binary of
// ours.
func plugins(a wiring.Agent, settings []wiring.Source) []wiring.Source {
	on := map[string]bool{}
	for _, s := range settings { // the later one holds
		var said map[string]bool
		value(s, "enabledPlugins", &said)
		maps.Copy(on, said)
	}
	var installed struct {
		Plugins map[string][]struct {
			InstallPath string
			ProjectPath string
		}
	}
	read(filepath.Join(a.Folder, "plugins", "installed_plugins.json"), &installed)

	var found []wiring.Source
	for _, name := range slices.Sorted(maps.Keys(installed.Plugins)) {
		for _, p := range installed.Plugins[name] {
			if !on[name] || p.ProjectPath != "" && p.ProjectPath != a.Project {
				continue
			}
			s := Client().Read(plugin, pluginHooks(p.InstallPath))
			s.Removal, s.Repair = "claude plugin uninstall "+name, "claude plugin update "+name
			s.Caveat = "a plugin's hooks have 1.5 s together when a session ends, whatever limit they ask for; what takes longer is cut off"
			if len(s.Ours()) > 0 {
				found = append(found, s)
			}
		}
	}
	return found
}

// pluginHooks is the file that a plugin keeps its hooks in.
func pluginHooks(dir string) string {
	var manifest struct{ Hooks string }
	read(filepath.Join(dir, ".claude-plugin", "plugin.json"), &manifest)
	if manifest.Hooks == "" {
		manifest.Hooks = filepath.Join("hooks", "hooks.json")
	}
	return filepath.Join(dir, manifest.Hooks)
}

// blockers finds an administrator who allows no hooks but their own.
func blockers(a wiring.Agent) []wiring.Blocker {
	var all []wiring.Blocker
	for _, s := range a.Sources {
		only := false
		if value(s, "allowManagedHooksOnly", &only); s.Scope == managed && only && !a.Wired(managed) {
			all = append(all, wiring.Blocker{
				Reason: fmt.Sprintf("'%s' allows no hooks but its own (allowManagedHooksOnly)", s.File),
				Remedy: "ask who manages it",
			})
		}
	}
	return all
}

// value fills v from a key of a settings file, where it has one.
func value(s wiring.Source, key string, v any) {
	if s.Doc == nil {
		return
	}
	if n := s.Doc.Root.Get(key); n != nil {
		json.Unmarshal(s.Doc.Raw(n), v)
	}
}

// read fills v from a JSON file of the client's own making. A file that cannot be
// read says nothing.
func read(file string, v any) {
	if text, err := settings.Read(file); err == nil {
		json.Unmarshal(text, v)
	}
}
