// Package startenv resets a program's environment to what the agent's client was started
// with, which only the person decides.
package startenv

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/client/names"
	"gt/lib/sys/process"
)

// A project's settings can set variables for the client's hooks and commands. Variables
// that say where gt's files are, whose they are and which programs run therefore count as
// they were when the client started, which only the person decides.

// isDeciding reports whether a variable counts as it was when the client started.
func isDeciding(name string) bool {
	switch name {
	case "GT_HOOK_SOURCE", "GT_SESSION_ID", "GT_TRACE", "GT_AGENT_ARGS": // the last: live.StartArgs
		return false // the wiring itself may set these; they name no place and no program
	case "PATH", "HOME", "TMUX", "TMUX_PANE", "TMUX_TMPDIR", "AGENT_HOME", "BD_ACTOR", "BEADS_DIR",
		"TZ", "LOCPATH", "GCONV_PATH", "GLIBC_TUNABLES", "SUDO_UID":
		return true
	}
	if strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "DYLD_") {
		return true // they name libraries that our child processes would load
	}
	return strings.HasPrefix(name, "GT_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "GIT_") ||
		names.IsStoreVar(name)
}

// tellsProject reports whether the client gives its hooks the project's folder. "" is the
// default client.
func tellsProject(agent string) bool {
	c := names.FindClient(cmp.Or(agent, names.Default))
	return c != nil && c.ProjectVar != ""
}

// isClient recognises a client by its process's name. That can be a version number, after
// which some are installed.
func isClient(name string) bool {
	if strings.Contains(name, ".") && strings.Trim(name, ".0123456789") == "" {
		return true
	}
	return names.HasProcess(strings.TrimPrefix(name, ".")) || process.IsInterpreter(name)
}

// exportedVars are the variables that gt exports to an agent's commands at its start, if the
// client supports that (gt-prime's export, and the plugins for OpenCode and pi).
var exportedVars = []string{"GT_HOME", "GT_SESSION_UUID", "GT_AGENT", "BEADS_DIR"}

// RestoreFor resets the deciding variables in env to what the client was started with. It
// resets all variables of this process's own environment, by which git and tmux are found
// and run, and of env.ChildEnviron. For a command that an agent runs, gt's own exports
// stay. Clients other than Claude Code get no exports if they have a session variable of
// their own.
//
// agent is the client's name, if the wiring has it; its commands can be the client's hooks.
//
// The environment stays if the client's cannot be read, or if the parent is an unknown
// program with another HOME, which can be a launcher of the person. A program that the
// hook starts for the person then gets only the variables that say who and where the
// person is. A known client has its HOME from the person, whatever it gives its hooks.
func RestoreFor(env *cli.Env, agent string, hook bool) {
	tellers := names.Tellers(env.Getenv)
	if !hook && len(tellers) == 0 && env.Getenv("GT_SESSION_UUID") == "" {
		return // a person's shell and environment
	}
	startEnviron, client, err := process.AgentEnviron(agent, isClient)
	start := cli.Env{Environ: startEnviron}
	switch {
	case err != nil, !client && start.Getenv("HOME") != env.Getenv("HOME"):
		if hook { // it is unknown who set what
			env.Started = process.PersonalEnviron(env.Environ)
		}
		return
	case !hook && len(tellers) == 0 && !client:
		return // a person's shell that an agent has started and left behind
	}
	exported := !hook && !slices.ContainsFunc(tellers, func(client string) bool { return client != names.Default })
	changed := func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		if names.IsProjectVar(name) { // clients set it for their hooks only
			return !hook || !tellsProject(agent)
		}
		return isDeciding(name) && !(exported && slices.Contains(exportedVars, name))
	}
	environ := slices.DeleteFunc(slices.Clone(env.Environ), changed)
	os.Clearenv()
	for _, kv := range startEnviron {
		if changed(kv) {
			environ = append(environ, kv)
		}
		if name, value, ok := strings.Cut(kv, "="); ok {
			os.Setenv(name, value)
		}
	}
	env.Environ, env.Started = environ, startEnviron // mutant skip: . TestScripts/prime_environment
}

// Restore resets env for a command that is not a hook, because an agent may run it: a
// project's variables must name neither the state to write nor the agent whose notes to
// read.
func Restore(env *cli.Env) { RestoreFor(env, "", false) }
