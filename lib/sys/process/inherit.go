package process

import (
	"slices"
	"strings"
)

// agentVars say which agent a program belongs to, and what that agent does. Gas Town's and bd's
// are among them. TMUX and TMUX_PANE are not: they are the pane's.
var agentVars = []string{
	"GT_INSTANCE", "GT_SESSION_ID", "GT_SESSION_UUID", "GT_SESSION_ID_ENV", "GT_SESSION", "GT_SESSION_NAME", "GT_TEMPLATE", "GT_TMUX_SESSION",
	"GT_HOME", "GT_ROLE", "GT_RIG", "GT_CREW", "GT_POLECAT", "GT_POLECAT_PATH", "GT_AGENT", "GT_AGENT_ARGS", "GT_PROCESS_NAMES", "GT_PANE_SHELL",
	"BD_ACTOR", "BEADS_ACTOR", "BEADS_AGENT_NAME",
}

// repositoryVars name a repository, which git obeys before the folder that it runs in. They
// are what git rev-parse --local-env-vars prints.
var repositoryVars = []string{
	"GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_INTERNAL_SUPER_PREFIX",
	"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE",
	"GIT_NO_REPLACE_OBJECTS", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
}

// commitVars describe the commit whose hook runs. A person can have set them, too, so they go
// only together with one of repositoryVars.
var commitVars = []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE", "GIT_REFLOG_ACTION", "GIT_QUARANTINE_PATH"}

// configVars begin the names of settings for one call of git, or of a person's own.
const configVars = "GIT_CONFIG_"

// personConfigs are settings of git that are not for one call.
var personConfigs = []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM"}

// WithoutRepository returns an environment without git's variables of the repository whose
// hook or alias runs here.
func WithoutRepository(environ []string) []string {
	if !slices.ContainsFunc(environ, func(kv string) bool { return slices.Contains(repositoryVars, nameOf(kv)) }) {
		return environ
	}
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name := nameOf(kv)
		return slices.Contains(repositoryVars, name) || slices.Contains(commitVars, name) || kv == "GIT_EDITOR=:" ||
			strings.HasPrefix(name, configVars) && !slices.Contains(personConfigs, name)
	})
}

// Inherited returns the part of an environment that a new agent gets, whoever starts it:
// without what WithoutRepository removes, and without the variables by which the starter is known.
// Of a town's agent, these are also git's author if it has the agent's name, and BEADS_DIR if it is
// in the town.
func Inherited(environ []string) []string {
	environ = WithoutRepository(environ)
	if !slices.ContainsFunc(environ, func(kv string) bool { return slices.Contains(agentVars, nameOf(kv)) }) {
		return environ
	}
	actor, town := Variable(environ, "BD_ACTOR"), Variable(environ, "GT_ROOT")
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "GIT_AUTHOR_NAME":
			return value == actor || strings.HasSuffix(actor, "/"+value)
		case "BEADS_DIR":
			return town != "" && strings.HasPrefix(value, town+"/")
		}
		return slices.Contains(agentVars, name)
	})
}

func nameOf(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}
