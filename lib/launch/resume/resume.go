// Package resume resumes a session, or a copy of one, with its own client.
package resume

import (
	"slices"
	"strings"

	"gt/lib/client/agent"
	"gt/lib/launch/ask"
	"gt/lib/place/identity"
	"gt/lib/state/session"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// Session is the session to resume. Dir and Store are folders that the person trusts, not
// ones that only a log or a project names (see lib/client/account).
type Session struct {
	ID       session.ID
	Actor    string // its agent's address
	Dir      string // where it worked; "" if unknown
	Store    string // the client's folder with its conversation; "" if unknown
	Subagent bool   // it belongs to another session and cannot be resumed alone
}

// Command is the command that resumes a session.
type Command struct {
	Dir  string
	Args []string // the program and its arguments; empty if the client cannot resume it
	Set  []string // "NAME=value" sets a variable, "NAME" removes it

	known *agent.Table
}

// BuildCommand returns the command that resumes a session of a client, or a copy of it. getenv reads
// the environment that it will start in.
func BuildCommand(known *agent.Table, c agent.Client, s Session, fork bool, getenv func(string) string) Command {
	cmd := Command{Dir: s.Dir, known: known}
	// Claude Code does not open a subagent's conversation by its id, and no client knows an
	// id that gt invented.
	if !s.Subagent && !s.ID.Invented() && (fork && c.CanFork() || !fork && c.CanResume()) {
		cmd.Args = c.Restart(nil, agent.NextRun{Resume: string(s.ID), Fork: fork})
	}
	if c.StoreEnv != "" {
		if change := c.AccountChange(getenv, s.Store); change != "" {
			cmd.Set = append(cmd.Set, change)
		}
	}
	if id, err := identity.Parse(s.Actor); err == nil && id.Role != "" {
		cmd.Set = append(cmd.Set, "GT_ROLE="+id.Address(), "BD_ACTOR="+id.Address())
		if id.Rig != "" {
			cmd.Set = append(cmd.Set, "GT_RIG="+id.Rig)
		}
	}
	return cmd
}

// Exec replaces this process by the agent. It returns only on failure.
func (c Command) Exec(environ []string) error {
	return process.Exec(c.Dir, c.Args, c.Environ(environ))
}

// Environ returns the caller's environment for the agent: without what belongs to the
// caller's session, but with TMUX and TMUX_PANE, because the agent runs in the caller's
// pane.
func (c Command) Environ(environ []string) []string {
	out := ask.WithoutSession(c.known, environ)
	for _, change := range c.Set {
		out = ask.WithAccount(out, change)
	}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); (name == "TMUX" || name == "TMUX_PANE") && value != "" {
			out = append(out, kv)
		}
	}
	return append(slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") }), "PWD="+c.Dir)
}

// String returns the command for a shell.
func (c Command) String() string {
	var words []string
	if len(c.Set) > 0 {
		words = append(words, "env")
	}
	for _, change := range c.Set {
		if !strings.Contains(change, "=") {
			words = append(words, "-u")
		}
		words = append(words, change)
	}
	command := term.TypedWords(slices.Concat(words, c.Args)) // no exec: a person who pastes it keeps the shell
	if c.Dir == "" {
		return command
	}
	return "cd " + term.Typed(c.Dir) + " && " + command
}
