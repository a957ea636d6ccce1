package hookscmd

import (
	"cmp"
	"fmt"
	"maps"
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
	"gt/lib/state/activity"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// target is an agent, whether gt can be wired into it or not.
type target struct {
	name       string
	command    string
	client     wiring.Client
	block      agent.Client // its block in the table
	dialect    string       // if it is not the format's own
	contextCap int          // if it is not the dialect's own
	warnShare  string       // the share of the context at which the agent is warned, unless it is the default
	notify     string       // the reasons for which [notify] runs the person's command
	record     bool         // whether gt-record keeps its conversations

	folder string // the client's own folder
	files  []file // the files that it reads hooks from, the weakest first

	whyUnable string // why gt cannot be wired into it, and what to do instead
}

// file is the file from which an agent reads the hooks of one scope.
type file struct{ scope, path string }

var scopes = []string{wiring.User, wiring.Project, wiring.Local}

func allTargets(env *cli.Env) ([]target, error) {
	_, all, err := loadTargets(env)
	return all, err
}

// personsTable is allTargets for a command that changes the person's settings.
func personsTable(env *cli.Env) ([]target, error) {
	if err := place.ScopeOf(env.Getenv).CheckPerson(); err != nil {
		return nil, err
	}
	return allTargets(env)
}

// loadTargets returns the table of agents, and a target for each. Notifications and recording stay off,
// with a warning, if the program for them is not installed.
func loadTargets(env *cli.Env) (*agent.Table, []target, error) {
	known, err := agent.Load(place.Config(env.Getenv), home.Find(env.Getenv, env.Dir, "").Town)
	env.WarnError(err) // an error in one file does not affect the others
	own := agent.LoadPreferences(place.Config(env.Getenv), env.WarnError)
	record := agent.LoadRecord(place.Config(env.Getenv), env.WarnError).On
	notifies := len(own.Notify.Command) > 0
	if notifies && !installed(env, notifier) {
		notifies = false
		env.Warn("nothing runs your [notify] command: %s", lacksProgram(notifier))
	}
	if record && !installed(env, recorder) {
		record = false
		env.Warn("no conversation is recorded, although config.toml wants it: %s", lacksProgram(recorder))
	}
	var all []target
	for _, c := range known.Clients() {
		t, err := targetOf(env, c)
		if err != nil {
			return nil, nil, err
		}
		if own.ContextWarning != activity.DefaultShare {
			t.warnShare = strconv.Itoa(own.ContextWarning)
		}
		if notifies {
			t.notify = own.Notify.Reasons()
		}
		t.record = record
		all = append(all, t)
	}
	return known, all, nil
}

// The programs that hooks call beyond wiring.Binaries, which the part thread of install.sh
// does not have.
const (
	notifier = "gt-session"
	recorder = "gt-record"
)

// installed reports whether a program of gt is beside this one or on PATH.
func installed(env *cli.Env, program string) bool {
	_, err := process.LookPath(process.SiblingBinary(program), "", env.ChildEnviron())
	return err == nil
}

func lacksProgram(program string) string {
	return program + " is not installed; ./install.sh --only all brings it"
}

// targetOf returns an agent with its hook files. If gt cannot be wired into it, whyUnable says why.
func targetOf(env *cli.Env, client agent.Client) (target, error) {
	t := target{block: client, name: client.Name, command: client.Command[0], dialect: client.Dialect, contextCap: client.ContextCap}
	if client.Hooks.User+client.Hooks.Project == "" {
		t.whyUnable = client.Hooks.Instead
	}
	name := cmp.Or(client.Hooks.Format, client.Dialect)
	known := false
	t.client, known = wirings.FindClient(name)
	switch {
	case t.whyUnable != "":
	case !known && name == "":
		t.whyUnable = "its block does not mention hooks; [agents." + client.Name + ".hooks] has the keys format and user"
	case !known:
		t.whyUnable = fmt.Sprintf("gt does not know the hook format '%s'", name)
	case client.Dialect != "" && !hook.HasDialect(client.Dialect):
		t.whyUnable = fmt.Sprintf("gt does not know the dialect '%s'", client.Dialect)
	}
	var err error
	if t.folder, err = expandPath(env, client.Hooks.Home); err != nil {
		return t, err
	}
	// A relative path of the user scope is below the agent's folder, or else the home folder.
	own, err := expandPath(env, cmp.Or(client.Hooks.Home, "~"))
	if err != nil {
		return t, err
	}
	for i, path := range []string{client.Hooks.User, client.Hooks.Project, client.Hooks.Local} {
		if path == "" {
			continue
		}
		if path, err = expandPath(env, path); err != nil {
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
	if t.whyUnable == "" && len(t.files) == 0 {
		t.whyUnable = "its block does not name a file for hooks; [agents." + client.Name + ".hooks] has the key user"
	}
	if t.folder == "" && len(t.files) > 0 && t.files[0].scope == wiring.User {
		// The person's home folder always exists, so it does not show that the agent is installed.
		if dir := filepath.Dir(t.files[0].path); dir != own {
			t.folder = dir
		}
	}
	return t, nil
}

func expandPath(env *cli.Env, path string) (string, error) {
	path, err := agent.Expand(env.Getenv, env.Dir, path)
	return path, cli.Fail(cli.IO, err)
}

// hookFile returns the agent's hook file of a scope. Without one, the error names the scopes that it has.
func (t target) hookFile(scope string) (string, error) {
	var have []string
	for _, f := range t.files {
		if f.scope == scope {
			return f.path, nil
		}
		have = append(have, f.scope)
	}
	return "", cli.Failf(cli.Usage, "%s has no hooks in the scope %s, only in %s", t.name, scope, strings.Join(have, ", "))
}

// checkStaysInProject returns an error if the path of a project's settings leaves the project through a
// link. Otherwise the project's author would choose which file is changed.
func checkStaysInProject(env *cli.Env, scope, path string) error {
	top := git.Top(env.Dir)
	if scope == wiring.User || !place.IsBelow(path, top) {
		return nil
	}
	real, top := place.Real(path), place.Real(top)
	if to, err := os.Readlink(real); err == nil { // a dangling link
		if real = to; !filepath.IsAbs(to) {
			real = filepath.Join(filepath.Dir(place.Real(path)), to)
		}
	}
	if place.IsBelow(place.Real(real), top) { // mutant always: ./attacks TestProjectLinksItsSettings
		return nil
	}
	return cli.Fail(cli.AnswerNo, fmt.Errorf("'%s' leads out of the project, to '%s'", path, real),
		"nothing was changed; replace it with a file inside the project")
}

// isInstalled reports whether the agent is on this machine: its command is on PATH or its folder
// exists. If the client that replaces it has its own folder in there, the folder proves nothing.
func (t target) isInstalled(env *cli.Env) bool {
	if _, err := onPath(env, t.command); err == nil {
		return true
	}
	if next := t.client.Successor; next != nil {
		if _, err := os.Stat(filepath.Join(t.folder, next.Folder)); err == nil {
			return false
		}
	}
	return atomicfile.IsFolder(t.folder)
}

func (t target) dialectName() string { return cmp.Or(t.dialect, t.client.Name) }

// hookFlags returns the arguments of each hook, without defaults. Wanted needs --agent NAME first.
func (t target) hookFlags() []string {
	flags := []string{"--agent", t.name}
	dialect := t.dialectName()
	if dialect != t.name {
		flags = append(flags, "--dialect", dialect)
	}
	if t.contextCap > 0 && t.contextCap != hook.DialectOf(dialect).MaxContext {
		flags = append(flags, "--cap", strconv.Itoa(t.contextCap))
	}
	if t.warnShare != "" {
		flags = append(flags, "--fill", t.warnShare)
	}
	if t.notify != "" {
		flags = append(flags, "--notify", t.notify)
	}
	if t.record {
		flags = append(flags, "--record", "on")
	}
	return flags
}

// fixCommand returns the gt-hooks command that does verb to the agent's hooks in a scope.
func (t target) fixCommand(verb, scope string) string {
	line := "gt-hooks " + verb + " " + t.name
	if scope != wiring.User {
		line += " --scope " + scope
	}
	return line
}

// pickTargets returns the named agents, each once. An unknown name is an error.
func pickTargets(all []target, names []string) ([]target, error) {
	var picked []target
	for _, name := range names {
		i := slices.IndexFunc(all, func(t target) bool { return t.name == name })
		if i < 0 {
			err := cli.Failf(cli.Usage, "no agent '%s': there are %s", name, strings.Join(namesOf(all), ", "))
			return nil, cli.WithHint(err, "gt-hooks --help lists the commands; a block [agents.%s] in ~/.config/gt/agents.toml adds an agent", name)
		}
		if !slices.ContainsFunc(picked, func(t target) bool { return t.name == name }) {
			picked = append(picked, all[i])
		}
	}
	return picked, nil
}

func namesOf(all []target) []string {
	var names []string
	for _, t := range all {
		names = append(names, t.name)
	}
	return names
}

// askVersion fits the wiring to the version of the client. If the client does not tell its
// version, events that are wired already count as supported.
func (t *target) askVersion(env *cli.Env) {
	if t.whyUnable != "" {
		return
	}
	wirings.FitVersion(&t.client, t.block, process.Inherited(env.ChildEnviron()))
	if t.client.VersionUnknown == "" {
		return
	}
	since := maps.Clone(t.client.Since)
	for _, p := range readSources(env, *t) {
		for _, h := range p.OwnHandlers() {
			delete(since, h.Event)
		}
	}
	t.client.Since = since
}

func (t target) wantedHandlers(dir string) ([]wiring.Handler, error) {
	return t.client.Wanted(dir, t.hookFlags())
}
