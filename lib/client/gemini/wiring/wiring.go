// Package wiring describes the wiring of Gemini CLI, and what its forks share with it.
package wiring

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/settings"
	"gt/lib/client/wiring"
	"gt/lib/place"
	"gt/lib/text/jsonedit"
)

//go:embed gemini.json
var text []byte

// Matchers is the schema of what Gemini CLI and its forks run no hook of an event for.
const Matchers = `any hooks
@event hooks.*
string @event.[].matcher?
`

// schema is, beside Matchers, what Gemini CLI 0.61 does not start with.
const schema = Matchers + `none BOM
object security
`

func Client() wiring.Client {
	return wiring.Client{
		Name: "gemini", Text: text, Schema: schema, Unit: wiring.Milliseconds,
		Oldest: "0.26.0", // hooks are on by default
		OffKey: "hooksConfig.enabled", OffValue: false,
		Comments: true,
		TurnEnds: []string{"AfterAgent"},
		Compact:  "/compress",
		Command: &wiring.Command{
			File: "commands/handoff.toml", Typed: "/handoff", Args: "{{args}}",
			Head: "# gt: written by gt-hooks\ndescription = \"Hand this session over to a fresh one, with a note of what it knows\"\nprompt = '''\n", Foot: "'''\n",
		},
		Allow: &wiring.Allow{
			Keys: []string{"tools", "allowed"},
			Rule: func(program string) string { return "run_shell_command(" + program + ")" },
		},
		Successor: &wiring.Successor{
			Name: "antigravity", Folder: "antigravity-cli",
			Ended: "since 18 June 2026 it serves no free, AI Pro or Ultra user, only API keys and Code Assist Standard and Enterprise",
		},
		AsksTrust: asksTrust,
		Sources:   func(a wiring.Agent) []wiring.Source { return Extensions(Client(), a) },
		Blockers:  func(a wiring.Agent) []wiring.Blocker { return Blockers(a, true) },
	}
}

// Extensions returns the extensions of Gemini CLI or a fork that wire gt. One that is switched
// off somewhere counts as off.
func Extensions(c wiring.Client, a wiring.Agent) (all []wiring.Source) {
	var enabled map[string]struct{ Overrides []string }
	readJSON(filepath.Join(a.Folder, "extensions", "extension-enablement.json"), &enabled)
	files, _ := filepath.Glob(filepath.Join(a.Folder, "extensions", "*", "hooks", "hooks.json"))
	for _, file := range files {
		name := filepath.Base(filepath.Dir(filepath.Dir(file)))
		if !slices.ContainsFunc(enabled[name].Overrides, func(rule string) bool { return strings.HasPrefix(rule, "!") }) {
			all = append(all, c.PluginSources(file, name, a.Command+" extensions", "uninstall")...)
		}
	}
	return all
}

// Blockers finds hooks that are switched off one by one, and a project that the person
// has not trusted. trust reports whether the client asks for trust by default.
func Blockers(a wiring.Agent, trust bool) []wiring.Blocker {
	var s struct {
		Hooks struct{ Disabled []string } `json:"hooksConfig"`
	}
	file := filepath.Join(a.Folder, "settings.json")
	readJSON(file, &s)
	var all []wiring.Blocker
	for _, name := range s.Hooks.Disabled {
		if program, _ := wiring.SplitCommand(name); slices.Contains(wiring.Binaries, filepath.Base(program)) {
			all = append(all, wiring.Blocker{
				Reason: fmt.Sprintf("'%s' has '%s' among hooksConfig.disabled", file, name),
				Remedy: "remove that",
			})
		}
	}
	// The person's own hooks run in any folder, those of a project only if it is trusted.
	if how := trustOf(a.Folder, a.Project); a.HasHooksIn(wiring.Project) && !a.HasHooksIn(wiring.User) && checksTrust(a.Folder, trust) && (how == "" || how == untrusted) {
		all = append(all, a.UntrustedBlocker())
	}
	return all
}

// asksTrust reports whether Gemini CLI 0.61 asks whether to trust a folder. With an IDE, which
// can decide that, it may not ask.
func asksTrust(folder, dir string, args, environ []string) bool {
	decided := slices.ContainsFunc(environ, func(kv string) bool {
		return strings.HasPrefix(kv, "GEMINI_CLI_TRUST_WORKSPACE=") || kv == "GEMINI_RESTRICTED_MODE=true"
	})
	return !decided && !slices.Contains(args, "--skip-trust") && checksTrust(folder, true) && trustOf(folder, dir) == ""
}

// checksTrust reports whether the client cares for trust. folder is its own; trust is as in
// Blockers.
func checksTrust(folder string, trust bool) bool {
	var s struct {
		Security struct{ FolderTrust struct{ Enabled *bool } }
	}
	readJSON(filepath.Join(folder, "settings.json"), &s)
	if set := s.Security.FolderTrust.Enabled; set != nil {
		return *set
	}
	return trust
}

const untrusted = "DO_NOT_TRUST"

// trustOf returns the client's word for the trust in dir, "" if the person has not decided. folder
// is the client's own. Of the rules for dir and the folders above it, the longest decides.
func trustOf(folder, dir string) (how string) {
	folders := map[string]string{}
	readJSON(filepath.Join(folder, "trustedFolders.json"), &folders)
	longest := ""
	for rule, word := range folders {
		ruled := filepath.Clean(rule)
		if word == "TRUST_PARENT" {
			ruled = filepath.Dir(ruled)
		}
		if place.IsBelow(dir, ruled) && len(rule) > len(longest) {
			longest, how = rule, word
		}
	}
	return how
}

func readJSON(file string, v any) {
	if text, err := settings.Read(file); err == nil {
		json.Unmarshal(jsonedit.Strip(text), v)
	}
}
