// Package wiring describes the wiring of Gemini CLI, and what its forks share with it.
package wiring

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"gt/lib/client/settings"
	"gt/lib/client/wiring"
	"gt/lib/place"
	"gt/lib/text/jsonedit"
)

//go:embed gemini.json
var text []byte

// Client returns the wiring of Gemini CLI.
func Client() wiring.Client {
	return wiring.Client{
		Name: "gemini", Text: text, Unit: wiring.Milliseconds,
		OffKey: "hooksConfig.enabled", OffValue: false,
		Comments: true,
		TurnEnds: []string{"AfterAgent"},
		Compact:  "/compress",
		HookVars: []string{"GEMINI_PROJECT_DIR"},
		Command: &wiring.Command{
			File: "commands/handoff.toml", Typed: "/handoff", Args: "{{args}}",
			Head: "# gt: written by gt-hooks\ndescription = \"Hand this session over to a fresh one, with a note of what it knows\"\nprompt = '''\n", Foot: "'''\n",
		},
		Allow: &wiring.Allow{
			Keys: []string{"tools", "allowed"},
			Rule: func(program string) string { return "run_shell_command(" + program + ")" },
		},
		Blockers: func(a wiring.Agent) []wiring.Blocker { return Blockers(a, true) },
	}
}

// Blockers finds hooks that are switched off one by one, and a project that the person
// has not trusted. trust reports whether the client asks for trust by default.
func Blockers(a wiring.Agent, trust bool) []wiring.Blocker {
	var s struct {
		Hooks struct{ Disabled []string } `json:"hooksConfig"`
	}
	file := filepath.Join(a.Folder, "settings.json")
	read(file, &s)
	var all []wiring.Blocker
	for _, name := range s.Hooks.Disabled {
		if program, _ := wiring.Split(name); slices.Contains(wiring.Binaries, filepath.Base(program)) {
			all = append(all, wiring.Blocker{
				Reason: fmt.Sprintf("'%s' has '%s' among hooksConfig.disabled", file, name),
				Remedy: "remove that",
			})
		}
	}
	if a.Wired(wiring.Project) && !a.Wired(wiring.User) && asks(a.Folder, a.Project, trust) {
		all = append(all, a.Untrusted())
	}
	return all
}

// asks reports whether the client asks to trust a folder, or was told not to. folder is
// the client's own; trust is as in Blockers.
func asks(folder, dir string, trust bool) bool {
	var s struct {
		Security struct{ FolderTrust struct{ Enabled *bool } }
	}
	read(filepath.Join(folder, "settings.json"), &s)
	if set := s.Security.FolderTrust.Enabled; set != nil {
		trust = *set
	}
	folders := map[string]string{}
	read(filepath.Join(folder, "trustedFolders.json"), &folders)
	return trust && !trusts(folders, dir)
}

func trusts(folders map[string]string, dir string) bool {
	for trusted, how := range folders {
		trusted = filepath.Clean(trusted)
		switch how {
		case "TRUST_FOLDER":
			if place.Inside(dir, trusted) {
				return true
			}
		case "TRUST_PARENT":
			if place.Inside(dir, filepath.Dir(trusted)) {
				return true
			}
		}
	}
	return false
}

// read decodes a JSON file of the client into v. It ignores errors.
func read(file string, v any) {
	if text, err := settings.Read(file); err == nil {
		json.Unmarshal(jsonedit.Strip(text), v)
	}
}
