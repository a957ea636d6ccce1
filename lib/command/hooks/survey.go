package hooks

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"gt/lib/cli"
	"gt/lib/client/settings"
	"gt/lib/place/git"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/jsonedit"
)

// A source is a file that an agent takes hooks from.
type source struct {
	of   target
	name string // user, project, local, managed, plugin
	file string
	err  error // why it could not be read
	none bool  // there is no such file

	all []handler
	off *bool // whether it switches all hooks off; nil where it says nothing of it

	managedOnly bool // it allows no hooks but an administrator's

	plugin  string          // which plugin it is
	plugins map[string]bool // the plugins that it switches on and off
}

// survey reads every place of an agent, the weakest first: where two of them say
// something different, the later one holds. Plugins come last.
func survey(env *cli.Env, t target) []source {
	var places []source
	for _, f := range t.files {
		// In the home folder the project's settings are the user's.
		if !slices.ContainsFunc(places, func(p source) bool { return sameFile(p.file, f.path) }) {
			places = append(places, t.look(f.scope, f.path))
		}
	}
	if t.name != "claude" {
		return places
	}
	if m := t.look("managed", managedSettings()); !m.none {
		places = append(places, m)
	}
	return append(places, plugins(env, t, places)...)
}

// look reads a settings file, or the file of a plugin that has the same shape.
func (t target) look(name, file string) source {
	p := source{of: t, name: name, file: file}
	text, err := settings.Read(file)
	switch {
	case err != nil:
		p.err = err
		return p
	case text == nil:
		p.none = true
		return p
	case len(text) == 0:
		return p
	case t.format.shape == script:
		if isScript(text) {
			p.all = []handler{scripted(t.format, text)}
		}
		return p
	}
	doc, err := jsonedit.Parse(text)
	if err != nil {
		p.err = atomicfile.Error("read", file, err)
		return p
	}
	p.all = t.format.handlers(doc)
	p.off = t.format.switchedOff(doc)
	if only := doc.Root.Get("allowManagedHooksOnly"); only != nil {
		json.Unmarshal(doc.Raw(only), &p.managedOnly)
	}
	if on := doc.Root.Get("enabledPlugins"); on != nil {
		json.Unmarshal(doc.Raw(on), &p.plugins)
	}
	return p
}

func (p source) ours() []handler {
	return slices.DeleteFunc(slices.Clone(p.all), func(h handler) bool { return h.binary == "" })
}

// removal is the command that takes our wiring out of the place.
func (p source) removal() string {
	switch p.name {
	case userScope, projectScope, localScope:
		return p.of.remedy("uninstall", p.name)
	case "plugin":
		return "claude plugin uninstall " + p.plugin
	}
	return "ask whoever manages '" + p.file + "'"
}

// repair is the command that puts the wiring of a place right.
func (p source) repair() string {
	switch p.name {
	case userScope, projectScope, localScope:
		return p.of.remedy("install", p.name)
	case "plugin":
		return "claude plugin update " + p.plugin
	}
	return "ask who manages '" + p.file + "'"
}

// disabled is the file that switches all hooks off, nil when none does.
func disabled(places []source) *source {
	var by *source
	for i, p := range places {
		if p.off == nil {
			continue
		}
		if by = nil; *p.off {
			by = &places[i]
		}
	}
	return by
}

// plugins lists the plugins that are installed, switched on, and wire a binary
// of ours.
func plugins(env *cli.Env, t target, places []source) []source {
	on := map[string]bool{}
	for _, p := range places {
		for name, v := range p.plugins {
			on[name] = v
		}
	}
	var installed struct {
		Plugins map[string][]struct {
			InstallPath string
			ProjectPath string
		}
	}
	read(filepath.Join(t.folder, "plugins", "installed_plugins.json"), &installed)

	var found []source
	for _, name := range slices.Sorted(maps.Keys(installed.Plugins)) {
		for _, c := range installed.Plugins[name] {
			if !on[name] || c.ProjectPath != "" && c.ProjectPath != git.Top(env.Dir) {
				continue
			}
			p := t.look("plugin", pluginHooks(c.InstallPath))
			if p.plugin = name; len(p.ours()) > 0 {
				found = append(found, p)
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

// read fills v from a JSON file of the client's own making. What cannot be
// read says nothing.
func read(file string, v any) {
	if text, err := settings.Read(file); err == nil {
		json.Unmarshal(text, v)
	}
}

// onPath finds a program as an agent does that was given its bare name.
func onPath(env *cli.Env, name string) (string, error) {
	for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
		if file := filepath.Join(dir, name); dir != "" && runnable(file) == nil {
			return file, nil
		}
	}
	return "", atomicfile.Error("find", name, errors.New("not on PATH"))
}

// sameFile says whether two paths name one file, whether it exists or not.
func sameFile(a, b string) bool {
	if a == b {
		return true
	}
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}

// managedSettings is an administrator's file, which outranks all others.
func managedSettings() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/ClaudeCode/managed-settings.json"
	}
	return "/etc/claude-code/managed-settings.json"
}
