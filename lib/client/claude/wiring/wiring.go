// Package wiring describes the wiring of Claude Code.
package wiring

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"gt/hooks"
	"gt/lib/client/settings"
	"gt/lib/client/wiring"
)

//go:embed settings.schema
var schema string

// Client returns the wiring of Claude Code. The wiring's file is in the folder hooks,
// which is also a plugin for it.
func Client() wiring.Client {
	return wiring.Client{
		Name: "claude", Text: hooks.Claude,
		Schema: schema,
		Oldest: "1.0.85", // SessionEnd
		Since: map[string]string{
			"PermissionRequest": "2.0.45", "PostToolUseFailure": "2.0.56", "StopFailure": "2.1.78",
		},
		OffKey: "disableAllHooks", OffValue: true,
		TurnEnds: []string{"Stop"},
		Compact:  "/compact",
		Allow: &wiring.Allow{
			Keys: []string{"permissions", "allow"},
			Rule: func(program string) string { return "Bash(" + program + ":*)" },
		},
		MCP: &wiring.MCP{
			Add: []string{"mcp", "add", "--scope", "user", "gt"}, Remove: []string{"mcp", "remove", "--scope", "user", "gt"},
			// Beside the usual folder, in another one.
			Files: func(folder string) []string { return []string{folder + ".json", filepath.Join(folder, ".claude.json")} },
			Program: func(text []byte) string {
				var c struct {
					Servers map[string]struct{ Command string } `json:"mcpServers"`
				}
				json.Unmarshal(text, &c) // the client reports an error
				return c.Servers["gt"].Command
			},
		},
		Sources: sources, Blockers: blockers, DeletesAfter: deletes,
		Command: &wiring.Command{
			File: "commands/handoff.md", Typed: "/handoff", Args: "$ARGUMENTS",
			Head: "---\n# gt: written by gt-hooks\ndescription: Hand this session over to a fresh one, with a note of what it knows\n" +
				"argument-hint: \"[what matters] [to AGENT]\"\nallowed-tools: Bash(PROGRAM:*), Bash(gt-handoff:*)\ndisable-model-invocation: true\n---\n",
		},
	}
}

const managed = "managed"

// sources returns an administrator's settings, which override all others, and the
// plugins.
func sources(a wiring.Agent) []wiring.Source {
	all := slices.Clip(a.Sources)
	for _, file := range policies(a) {
		s := Client().Read(managed, file)
		if s.Removal, s.Repair = "ask whoever manages '"+s.File+"'", "ask who manages '"+s.File+"'"; !s.Missing {
			all = append(all, s)
		}
	}
	return append(all[len(a.Sources):], plugins(a, all)...) // the caller has a.Sources already
}

// deletes returns after how many idle days the client deletes a conversation: 30 by default.
func deletes(a wiring.Agent) int {
	days := 30
	for _, s := range a.Sources { // later ones override
		readSetting(s, "cleanupPeriodDays", &days)
	}
	return days
}

func managedSettings() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	}
	return "/etc/claude-code/managed-settings.json"
}

// policies returns the files of an administrator's settings, later ones override: the one
// that is fetched, the machine's, and the drop-ins beside it.
func policies(a wiring.Agent) []string {
	all := []string{filepath.Join(a.Folder, "remote-settings.json"), managedSettings()}
	dropIns, _ := filepath.Glob(filepath.Join(filepath.Dir(managedSettings()), "managed-settings.d", "*.json"))
	for _, file := range dropIns { // in the order of their names
		if !strings.HasPrefix(filepath.Base(file), ".") {
			all = append(all, file)
		}
	}
	return all
}

// plugins returns the installed and enabled plugins that wire a binary of ours.
func plugins(a wiring.Agent, settings []wiring.Source) []wiring.Source {
	on := map[string]bool{}
	for _, s := range settings { // later ones override
		var said map[string]bool
		readSetting(s, "enabledPlugins", &said)
		maps.Copy(on, said)
	}
	var installed struct {
		Plugins map[string][]struct {
			InstallPath string
			ProjectPath string
		}
	}
	readJSON(filepath.Join(a.Folder, "plugins", "installed_plugins.json"), &installed)

	var found []wiring.Source
	for _, name := range slices.Sorted(maps.Keys(installed.Plugins)) {
		for _, p := range installed.Plugins[name] {
			if !on[name] || p.ProjectPath != "" && p.ProjectPath != a.Project {
				continue
			}
			for _, s := range Client().PluginSources(pluginHooks(p.InstallPath), name, "claude plugin", "uninstall") {
				s.Caveat = "a plugin's hooks have 1.5 s together when a session ends, whatever limit they ask for; what takes longer is cut off"
				found = append(found, s)
			}
		}
	}
	return found
}

func pluginHooks(dir string) string {
	var manifest struct{ Hooks string }
	readJSON(filepath.Join(dir, ".claude-plugin", "plugin.json"), &manifest)
	if manifest.Hooks == "" {
		manifest.Hooks = filepath.Join("hooks", "hooks.json")
	}
	return filepath.Join(dir, manifest.Hooks)
}

// blockers finds an administrator's settings that keep gt's hooks from running: they allow only
// their own hooks, or those and a plugin's, and gt is in neither.
func blockers(a wiring.Agent) []wiring.Blocker {
	blocked := map[string]string{} // the file, by its setting
	for _, s := range a.Sources {
		only, strict := false, json.RawMessage(nil)
		if s.Scope != managed {
			continue
		}
		if readSetting(s, "allowManagedHooksOnly", &only); only {
			blocked["allowManagedHooksOnly"] = s.File
		}
		if readSetting(s, "strictPluginOnlyCustomization", &strict); string(strict) == "true" || bytes.Contains(strict, []byte(`"hooks"`)) {
			blocked["strictPluginOnlyCustomization"] = s.File
		}
	}
	var all []wiring.Blocker
	for _, key := range slices.Sorted(maps.Keys(blocked)) {
		if a.HasHooksIn(managed) || key == "strictPluginOnlyCustomization" && a.HasHooksIn(wiring.Plugin) {
			continue
		}
		all = append(all, wiring.Blocker{
			Reason: fmt.Sprintf("'%s' allows no hooks but its own (%s)", blocked[key], key),
			Remedy: "ask who manages it",
		})
	}
	return all
}

// readSetting reads a setting into v, which keeps its value if the file does not have the setting.
func readSetting(s wiring.Source, key string, v any) {
	if s.Doc == nil {
		return
	}
	if n := s.Doc.Root.Get(key); n != nil {
		json.Unmarshal(s.Doc.Raw(n), v)
	}
}

func readJSON(file string, v any) {
	if text, err := settings.Read(file); err == nil {
		json.Unmarshal(text, v)
	}
}
