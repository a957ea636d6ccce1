// Package wiring describes the wiring of Copilot CLI.
package wiring

import (
	_ "embed"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/client/wiring"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/text/jsonedit"
)

//go:embed copilot.json
var text []byte

// schema is what Copilot 1.0.102 takes in a file of hooks; for another value it skips the file.
const schema = `none BOM
1 version
boolean disableAllHooks
any hooks
array hooks.agentStop hooks.errorOccurred hooks.notification hooks.permissionRequest hooks.postToolUse
array hooks.preCompact hooks.preToolUse hooks.sessionEnd hooks.subagentStop hooks.userPromptSubmitted
`

func Client() wiring.Client {
	return wiring.Client{
		Name: "copilot", Text: text, Schema: schema, Shape: wiring.Flat,
		OffKey: "disableAllHooks", OffValue: true,
		TurnEnds:    []string{"Stop", "agentStop"},
		Compact:     "/compact",
		RunsHooksOf: []string{"claude"},
		Command: &wiring.Command{ // a skill, which a person calls by name
			File: "skills/handoff/SKILL.md", Typed: "/handoff", Args: conversation.HandoffElsewhere,
			Head: "---\nname: handoff\n# gt: written by gt-hooks\ndescription: Use this only when the user types /handoff. Hand this session over to a fresh one, with a note of what it knows.\n" +
				"allowed-tools: shell(PROGRAM:*), shell(gt-handoff:*)\ndisable-model-invocation: true\n---\n",
		},
		Blockers: blockers, Sources: plugins,
	}
}

// plugins returns the enabled plugins that wire gt: copies, and those of a marketplace that is
// a folder, which are read where they lie.
func plugins(a wiring.Agent) (all []wiring.Source) {
	var s struct {
		EnabledPlugins         map[string]bool
		ExtraKnownMarketplaces map[string]struct {
			Source struct{ Path string }
		}
	}
	if text, err := settings.Read(filepath.Join(a.Folder, "settings.json")); err == nil {
		json.Unmarshal(jsonedit.Strip(text), &s)
	}
	for _, full := range slices.Sorted(maps.Keys(s.EnabledPlugins)) {
		name, market, _ := strings.Cut(full, "@")
		if !s.EnabledPlugins[full] {
			continue
		}
		for _, pattern := range []string{
			filepath.Join(a.Folder, "installed-plugins", market, name, "hooks", "hooks.json"),
			filepath.Join(s.ExtraKnownMarketplaces[market].Source.Path, "plugins", "copilot", "hooks", "hooks.json"),
		} {
			if filepath.IsAbs(pattern) {
				all = append(all, Client().PluginSources(pattern, full, "copilot plugin", "uninstall")...)
			}
		}
	}
	return all
}

// blockers reports that Copilot does not trust a project, if gt is wired only there.
func blockers(a wiring.Agent) []wiring.Blocker {
	var s struct{ TrustedFolders []string }
	if text, err := settings.Read(filepath.Join(a.Folder, "config.json")); err == nil {
		json.Unmarshal(text, &s)
	}
	trusted := slices.ContainsFunc(s.TrustedFolders, func(dir string) bool { return place.IsBelow(a.Project, filepath.Clean(dir)) })
	if !trusted && a.HasHooksIn(wiring.Project) && !a.HasHooksIn(wiring.User) {
		return []wiring.Blocker{a.UntrustedBlocker()}
	}
	return nil
}
