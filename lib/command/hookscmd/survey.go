package hookscmd

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"

	"gt/lib/cli"
	"gt/lib/client/hook"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/place/git"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

type source struct {
	wiring.Source
	target target
}

func (p source) isWired() bool { return len(p.OwnHandlers()) > 0 }

func isWiredIn(places []source) bool { return slices.ContainsFunc(places, source.isWired) }

// readSources reads all places of an agent, the weakest first: a later one overrides the earlier
// ones. Plugins come last.
func readSources(env *cli.Env, t target) []source {
	var places []source
	for _, f := range t.files {
		// In the home folder, the project's settings and the user's are the same file.
		if !slices.ContainsFunc(places, func(p source) bool { return sameFile(p.File, f.path) }) {
			places = append(places, t.readSource(f.scope, f.path))
		}
	}
	// Another agent with the client's hooks has only the files that its block names.
	if t.name == t.client.Name && t.client.Sources != nil {
		for _, s := range t.client.Sources(t.wiringAgent(env, places)) {
			places = append(places, source{s, t})
		}
	}
	return places
}

func (t target) readSource(scope, file string) source {
	return source{t.client.Read(scope, file), t}
}

func (t target) wiringAgent(env *cli.Env, places []source) wiring.Agent {
	a := wiring.Agent{Name: t.name, Command: t.command, Folder: t.folder, Project: git.Top(env.Dir)}
	for _, p := range places {
		a.Sources = append(a.Sources, p.Source)
	}
	return a
}

func blockers(env *cli.Env, t target, places []source) []wiring.Blocker {
	return wirings.Blockers(t.client, t.dialectName(), t.wiringAgent(env, places))
}

type blocked struct {
	Agent string `arg:"" help:"The agent."`
}

// Run prints each blocker as reason, tab and remedy. gt-handoff reads only the first line.
func (c *blocked) Run(env *cli.Env) error {
	all, err := allTargets(env)
	if err != nil {
		return err
	}
	picked, err := pickTargets(all, []string{c.Agent})
	if err != nil {
		return err
	}
	places := readSources(env, picked[0])
	if !isWiredIn(places) {
		return nil
	}
	for _, b := range blockers(env, picked[0], places) {
		if err := env.Printf("%s\t%s\n", term.OneLine(b.Reason), term.OneLine(b.Remedy)); err != nil {
			return err
		}
	}
	return nil
}

// runsProgramIn reports whether a hook of gt in the place runs a program in a folder. It returns
// true for a file that cannot be read.
func (p source) runsProgramIn(env *cli.Env, dir string) bool {
	if p.Err != nil {
		return true
	}
	for _, h := range p.OwnHandlers() {
		for _, program := range p.target.client.Programs(h) {
			if file, err := locateProgram(env, program); err == nil && sameFile(file, filepath.Join(dir, filepath.Base(program))) {
				return true
			}
		}
	}
	return false
}

func (p source) removal() string {
	return cmp.Or(p.Removal, p.target.fixCommand("uninstall", p.Scope))
}

func (p source) repair() string {
	return cmp.Or(p.Repair, p.target.fixCommand("install", p.Scope))
}

// onPath returns the file that a program's name means on PATH.
func onPath(env *cli.Env, name string) (string, error) {
	for _, dir := range filepath.SplitList(env.Getenv("PATH")) {
		if file := filepath.Join(dir, name); dir != "" && checkRunnable(file) == nil {
			return file, nil
		}
	}
	return "", atomicfile.Error("find", name, errors.New("not on PATH"))
}

// sameFile reports whether two paths name the same file, which need not exist.
func sameFile(a, b string) bool { return a == b || hook.IsSameFile(a, b) }
