package hook

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/sys/process"
)

// A project's own settings of a client can set what the client's hooks and commands
// see in their environment. What says where gt's files are, whose they are and
// which programs are run counts as the client's process was started with it, which
// only the person decides.

// decides reports whether a variable is one of those.
func decides(name string) bool {
	switch name {
	case "GT_HOOK_SOURCE", "GT_SESSION_ID", "GT_TRACE", "GT_AGENT_ARGS": // of the last, see handover.args
		return false // what the wiring itself may set, and what names no place and no program
	case "PATH", "HOME", "TMUX", "TMUX_PANE", "TMUX_TMPDIR", "AGENT_HOME", "BD_ACTOR", "BEADS_DIR",
		"TZ", "LOCPATH", "GCONV_PATH", "GLIBC_TUNABLES", "SUDO_UID":
		return true
	}
	if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
		return true // programs that we start would load what they name
	}
	return strings.HasPrefix(name, "GT_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GIT_") ||
		registry.IsStoreVar(name)
}

// tellsProject reports whether the client of that name, the default one for "", tells
// its hooks the project's folder.
func tellsProject(agent string) bool {
	c := registry.Of(cmp.Or(agent, contract.Default))
	return c != nil && c.ProjectVar != ""
}

// isClient knows the clients by the name of their program. One that was installed
// under its version goes by that.
func isClient(name string) bool {
	if strings.Contains(name, ".") && strings.Trim(name, ".0123456789") == "" {
		return true
	}
	return registry.HasProcess(strings.TrimPrefix(name, ".")) || process.IsInterpreter(name)
}

// ofExport are those that gt's own start exports to the commands of an agent, where its
// client lets it (gt-prime's export, and what is made for OpenCode and pi).
var ofExport = []string{"GT_HOME", "GT_SESSION_UUID", "GT_AGENT", "BEADS_DIR"}

// asStarted puts the deciding variables of the environment back to what the client was
// started with, and all of this process's, by which git and tmux are found and run, and of
// env.ChildEnviron. For
// a command that an agent runs, those that gt's own start has exported to it stay; a
// client that has a variable of its own for a session, but for Claude Code, is told none.
//
// agent is the client's name, where the wiring gives it. named reports that the client
// itself tells its hooks the project's folder.
//
// Where the client's environment cannot be read, and where what stands above is no
// client that gt knows and has another HOME, so that it can be a launcher of the
// person's, the environment stays; what a hook starts for the person then gets only what
// says who and where the person is. A client that gt knows has its HOME from the
// person, whatever it tells its hooks.
func asStarted(env *cli.Env, agent string, hook, named bool) {
	told := registry.Tellers(env.Getenv)
	if !hook && len(told) == 0 && env.Getenv("GT_SESSION_UUID") == "" {
		return // a person's shell, whose environment is the person's own
	}
	began, client, err := process.AgentEnviron(agent, isClient)
	start := cli.Env{Environ: began}
	switch {
	case err != nil, !client && start.Getenv("HOME") != env.Getenv("HOME"):
		if hook { // who set what is not known
			env.Started = process.PersonalEnviron(env.Environ)
		}
		return
	case !hook && len(told) == 0 && !client:
		return // a shell of the person's that an agent's start has left behind
	}
	exported := !hook && !slices.ContainsFunc(told, func(client string) bool { return client != contract.Default })
	changed := func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		if registry.IsProjectVar(name) { // which clients give their hooks, and nobody else
			return !hook || !named
		}
		return decides(name) && !(exported && slices.Contains(ofExport, name))
	}
	environ := slices.DeleteFunc(slices.Clone(env.Environ), changed)
	os.Clearenv()
	for _, kv := range began {
		if changed(kv) {
			environ = append(environ, kv)
		}
		if name, value, ok := strings.Cut(kv, "="); ok {
			os.Setenv(name, value)
		}
	}
	env.Environ, env.Started = environ, began
}

// AsStarted is what NewInvocation does with the environment, for a command that no hook runs:
// an agent may, and what a project told it names neither the state that is written nor
// the agent whose notes are read.
func AsStarted(env *cli.Env) { asStarted(env, "", false, false) }
