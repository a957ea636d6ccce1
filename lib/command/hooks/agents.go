package hooks

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/hook"
	"gt/lib/client/wiring"
	"gt/lib/client/wirings"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
)

// A target is an agent that gt can be wired into, or one that it cannot be wired
// into.
type target struct {
	name    string
	command string
	client  wiring.Client
	dialect string // where it is not the format's own
	cap     int    // where it is not the dialect's own

	folder string // the client's own
	files  []file // where it takes hooks from, the weakest first

	unable string // why gt cannot be wired into it, and what can be done
}

// A file is what an agent takes the hooks of one scope from.
type file struct{ scope, path string }

var scopes = []string{wiring.User, wiring.Project, wiring.Local}

// table lists the agents that gt knows here.
func table(env *cli.Env) ([]target, error) {
	_, all, err := load(env)
	return all, err
}

// load reads the table, and what of it is about hooks.
func load(env *cli.Env) (*agent.Table, []target, error) {
	known, err := agent.Load(env.Getenv, home.Find(env.Getenv, env.Dir, "").Town)
	if err != nil {
		env.Warn("%v", err) // what is wrong in one file leaves the rest
	}
	var all []target
	for _, c := range known.All() {
		t, err := targetOf(env, c)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, t)
	}
	return known, all, nil
}

func targetOf(env *cli.Env, c agent.Client) (target, error) {
	t := target{name: c.Name, command: c.Command[0], dialect: c.Dialect, cap: c.ContextCap}
	if c.Hooks.User+c.Hooks.Project == "" {
		t.unable = c.Hooks.Instead
	}
	name := cmp.Or(c.Hooks.Format, c.Dialect)
	known := false
	if t.client, known = wirings.Of(name); !known && t.unable == "" {
		if t.unable = fmt.Sprintf("gt knows no hooks of the format '%s'", name); name == "" {
			t.unable = "its block says nothing of hooks; [agents." + c.Name + ".hooks] has the keys format and user"
		}
	}
	if c.Dialect != "" && !hook.HasDialect(c.Dialect) && t.unable == "" {
		t.unable = fmt.Sprintf("gt knows no dialect '%s'", c.Dialect)
	}
	var err error
	if t.folder, err = expand(env, c.Hooks.Home); err != nil {
		return t, err
	}
	own, err := expand(env, cmp.Or(c.Hooks.Home, "~"))
	if err != nil {
		return t, err
	}
	for i, path := range []string{c.Hooks.User, c.Hooks.Project, c.Hooks.Local} {
		if path == "" {
			continue
		}
		if path, err = expand(env, path); err != nil {
			return t, err
		}
		switch {
		case filepath.IsAbs(path):
		case scopes[i] == wiring.User:
			path = filepath.Join(own, path)
		default:
			path = filepath.Join(git.Top(env.Dir), path)
		}
		t.files = append(t.files, file{scopes[i], path})
	}
	if t.unable == "" && len(t.files) == 0 {
		t.unable = "its block names no file of hooks; [agents." + c.Name + ".hooks] has the key user"
	}
	if t.folder == "" && len(t.files) > 0 && t.files[0].scope == wiring.User {
		// The person's own folder would say that any agent is here.
		if dir := filepath.Dir(t.files[0].path); dir != own {
			t.folder = dir
		}
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
	return "", cli.Failf(cli.Usage, "%s has no hooks of the scope %s, only of %s", t.name, scope, strings.Join(have, ", "))
}

// stays returns an error where a project's settings are a link out of the project, or
// lie behind one: who brought the project would choose which file is changed.
func stays(env *cli.Env, scope, path string) error {
	top := git.Top(env.Dir)
	if scope == wiring.User || !place.Inside(path, top) {
		return nil
	}
	real, top := place.Real(path), place.Real(top)
	if to, err := os.Readlink(real); err == nil { // to what is not there
		if real = to; !filepath.IsAbs(to) {
			real = filepath.Join(filepath.Dir(place.Real(path)), to)
		}
	}
	if place.Inside(place.Real(real), top) {
		return nil
	}
	return cli.Fail(cli.No, fmt.Errorf("'%s' leads out of the project, to '%s'", path, real),
		"nothing was changed; put a file of the project's own there")
}

// here reports whether the agent is on this machine: its command can be run, or it
// has been and left its folder.
func (t target) here(env *cli.Env) bool {
	if _, err := onPath(env, t.command); err == nil {
		return true
	}
	info, err := os.Stat(t.folder)
	return err == nil && info.IsDir()
}

// speaks is the dialect of the agent, the name of the client that it was seen
// with.
func (t target) speaks() string { return cmp.Or(t.dialect, t.client.Name) }

// flags are what every hook of the agent is called with.
func (t target) flags() []string {
	flags := []string{"--agent", t.name}
	dialect := t.speaks()
	if dialect != t.name {
		flags = append(flags, "--dialect", dialect)
	}
	if t.cap > 0 && t.cap != hook.DialectOf(dialect).MaxContext {
		flags = append(flags, "--cap", strconv.Itoa(t.cap))
	}
	return flags
}

// remedy is the command of gt-hooks that does something to the agent's hooks of a
// scope.
func (t target) remedy(verb, scope string) string {
	line := "gt-hooks " + verb + " " + t.name
	if scope != wiring.User {
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

// wanted is our wiring for the agent with the binaries in dir.
func (t target) wanted(dir string) ([]wiring.Handler, error) {
	return t.client.Wanted(dir, t.flags())
}
