// Package resume goes on with a session, or with a copy of one, by its own agent.
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

// Session is the session that goes on. Its folders are the person's own: what only
// a log or a project says of them is not used (see lib/client/account).
type Session struct {
	ID       session.ID
	Actor    string // the address of its agent
	Dir      string // where it worked; "" where that is not known
	Store    string // the client's folder that its conversation lies in; "" where that is not known
	Subagent bool   // it belongs to another session, and goes on with that only
}

// Command starts a session's agent.
type Command struct {
	Dir  string
	Args []string // the program first; none where the client cannot go on with it
	Set  []string // "NAME=value", or "NAME" for a variable that is taken away

	known *agent.Table
}

// Of returns the command by which a session of a client goes on, or a copy of it.
// getenv reads the environment that it would start in.
func Of(known *agent.Table, c agent.Client, s Session, fork bool, getenv func(string) string) Command {
	cmd := Command{Dir: s.Dir, known: known}
	// A subagent's conversation is none that Claude Code opens by its id, and an id that
	// gt invented is none that the client knows.
	if !s.Subagent && !s.ID.Invented() && (fork && c.CanFork() || !fork && c.CanResume()) {
		cmd.Args = c.Restart(nil, agent.Next{Resume: string(s.ID), Fork: fork})
	}
	if c.StoreEnv != "" {
		if change := c.Account(getenv, s.Store); change != "" {
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

// Exec turns this process into the agent. It returns only if that fails.
func (c Command) Exec(environ []string) error {
	return process.Exec(c.Dir, c.Args, c.Environ(environ))
}

// Environ returns what the agent gets of the caller's environment: all but what is
// of the caller's own session. It runs in the caller's pane.
func (c Command) Environ(environ []string) []string {
	out := ask.Environ(c.known, environ)
	for _, change := range c.Set {
		out = ask.Account(out, change)
	}
	for _, kv := range environ {
		if name, value, _ := strings.Cut(kv, "="); (name == "TMUX" || name == "TMUX_PANE") && value != "" {
			out = append(out, kv)
		}
	}
	return append(slices.DeleteFunc(out, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") }), "PWD="+c.Dir)
}

// String is the command for a shell.
func (c Command) String() string {
	var words []string
	if len(c.Set) > 0 {
		words = append(words, "env")
	}
	for _, change := range c.Set {
		if !strings.Contains(change, "=") {
			words = append(words, "-u")
		}
		words = append(words, term.Typed(change))
	}
	for _, a := range c.Args {
		words = append(words, term.Typed(a))
	}
	command := strings.Join(words, " ") // no exec: who pastes it keeps the shell
	if c.Dir == "" {                    // where it worked is not known
		return command
	}
	return "cd " + term.Typed(c.Dir) + " && " + command
}
