package hooks

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"gt/lib/atomicfile"
	"gt/lib/cli"
	"gt/lib/git"
	"gt/lib/jsonedit"
	"gt/lib/settings"
)

// A place is a file that Claude Code takes hooks from.
type place struct {
	name string // user, project, local, managed, plugin
	file string
	err  error // why it could not be read
	none bool  // there is no such file

	all []handler
	off *bool // what it says of disableAllHooks; nil where it says nothing

	plugin  string          // which plugin it is
	plugins map[string]bool // the plugins that it switches on and off
}

// survey reads every place, the weakest first: where two of them say something
// different, the later one holds. Plugins come last.
func survey(env *cli.Env) ([]place, error) {
	user, err := settingsOf(env, "user")
	if err != nil {
		return nil, err
	}
	places := []place{look("user", user)}
	for _, name := range []string{"project", "local"} {
		file, err := settingsOf(env, name)
		if err != nil {
			return nil, err
		}
		// In the home folder the project's settings are the user's.
		if !sameFile(file, user) {
			places = append(places, look(name, file))
		}
	}
	if m := look("managed", managedSettings()); !m.none {
		places = append(places, m)
	}
	return append(places, plugins(env, filepath.Dir(user), places)...), nil
}

// look reads a settings file, or the file of a plugin that has the same shape.
func look(name, file string) place {
	p := place{name: name, file: file}
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
	}
	doc, err := jsonedit.Parse(text)
	if err != nil {
		p.err = atomicfile.Error("read", file, err)
		return p
	}
	p.all = handlers(doc)
	if off := doc.Root.Get("disableAllHooks"); off != nil {
		json.Unmarshal(doc.Raw(off), &p.off)
	}
	if on := doc.Root.Get("enabledPlugins"); on != nil {
		json.Unmarshal(doc.Raw(on), &p.plugins)
	}
	return p
}

func (p place) ours() []handler {
	return slices.DeleteFunc(slices.Clone(p.all), func(h handler) bool { return h.binary == "" })
}

// removal is the command that takes our wiring out of the place.
func (p place) removal() string {
	switch p.name {
	case "user":
		return "gt-hooks uninstall"
	case "project", "local":
		return "gt-hooks uninstall --scope " + p.name
	case "plugin":
		return "claude plugin uninstall " + p.plugin
	}
	return "ask whoever manages '" + p.file + "'"
}

// disabled is the file that switches all hooks off, nil when none does.
func disabled(places []place) *place {
	var by *place
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
func plugins(env *cli.Env, claude string, places []place) []place {
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
	read(filepath.Join(claude, "plugins", "installed_plugins.json"), &installed)

	var found []place
	for _, name := range slices.Sorted(maps.Keys(installed.Plugins)) {
		for _, c := range installed.Plugins[name] {
			if !on[name] || c.ProjectPath != "" && c.ProjectPath != git.Top(env.Dir) {
				continue
			}
			p := look("plugin", pluginHooks(c.InstallPath))
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
