// Package registry lists the clients that the hooks know: the one place that
// imports the folder of each. What it returns is shared, and nobody changes it.
package registry

import (
	"slices"
	"strings"

	amp "gt/lib/client/amp/hook"
	claude "gt/lib/client/claude/hook"
	codex "gt/lib/client/codex/hook"
	"gt/lib/client/contract"
	copilot "gt/lib/client/copilot/hook"
	cursor "gt/lib/client/cursor/hook"
	gemini "gt/lib/client/gemini/hook"
	opencode "gt/lib/client/opencode/hook"
	pi "gt/lib/client/pi/hook"
	qwen "gt/lib/client/qwen/hook"
)

// clients are in this order: where the variables of several are set, and nothing
// else tells which is meant, the first counts.
var clients = [...]*contract.Client{
	&claude.Client, &gemini.Client, &copilot.Client, &qwen.Client, &codex.Client,
	&amp.Client, &cursor.Client, &opencode.Client, &pi.Client,
}

// Clients returns the clients that the hooks know.
func Clients() []*contract.Client { return clients[:] }

// Of returns the client of that name, nil where there is none.
func Of(name string) *contract.Client {
	for _, c := range clients {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// HasProcess reports whether a client runs under that name.
func HasProcess(name string) bool {
	for _, c := range clients {
		if slices.Contains(c.Processes, name) {
			return true
		}
	}
	return false
}

// SessionVars are the variables in which clients tell their commands the id of the
// session.
func SessionVars() []string {
	names := make([]string, 0, 2*len(clients))
	for _, c := range clients {
		names = append(names, c.SessionVars...)
	}
	return names
}

// SharedVar is the variable in which others read the id of the client's session in the
// environment of a tmux session, "" where it has none.
func SharedVar(name string) string {
	c := Of(name)
	switch {
	case c == nil:
		return ""
	case c.SharedVar == "" && len(c.SessionVars) > 0:
		return c.SessionVars[0]
	}
	return c.SharedVar
}

// SetsSessionVar reports whether the client has such a variable.
func SetsSessionVar(name string) bool {
	c := Of(name)
	return c != nil && len(c.SessionVars) > 0
}

// Tellers are the names of the clients whose variables tell a command a session: a
// project's settings can add that of another.
func Tellers(getenv func(string) string) (names []string) {
	for _, c := range clients {
		for _, v := range c.SessionVars {
			if getenv(v) != "" {
				names = append(names, c.Name)
				break
			}
		}
	}
	return names
}

// Teller is the client whose variable tells a command its session, "" where none
// does or several do, one of which was started within the other.
func Teller(getenv func(string) string) string {
	if names := Tellers(getenv); len(names) == 1 {
		return names[0]
	}
	return ""
}

// IsStoreVar reports whether a variable names a folder of some client's own.
func IsStoreVar(name string) bool {
	for _, c := range clients {
		if slices.Contains(c.StoreVars, name) {
			return true
		}
	}
	return false
}

// IsProjectVar reports whether some client tells its hooks the project's folder in
// that variable.
func IsProjectVar(name string) bool {
	for _, c := range clients {
		if c.ProjectVar == name {
			return name != ""
		}
	}
	return false
}

// Field is what a client means by a key of a hook's input. Clients take over each
// other's hooks, and with them the words, so the words of all count for each.
func Field(name string) contract.Field {
	for _, c := range clients {
		for i := range c.Fields {
			if c.Fields[i].Name == name {
				return c.Fields[i].Field
			}
		}
	}
	return contract.NoField
}

// Kind is the event in Claude Code's words, which others have their own for.
func Kind(event string) string {
	for _, c := range clients {
		for i := range c.Events {
			if c.Events[i].Name == event {
				return c.Events[i].Kind
			}
		}
	}
	return event
}

// Implied is the event that an input with that key is of, where it does not say
// its event; "" where nothing follows.
func Implied(key string) string {
	for _, c := range clients {
		for i := range c.Implied {
			if c.Implied[i].Key == key {
				return c.Implied[i].Kind
			}
		}
	}
	return ""
}

// Notice is what a notification that some client calls so says of a session.
func Notice(name string) contract.NoticeKind {
	for _, c := range clients {
		for i := range c.Notices {
			if c.Notices[i].Name == name {
				return c.Notices[i].Notice
			}
		}
	}
	return contract.NoNotice
}

// IsLimit reports whether what a client says of a failure has a word that some client has
// for an account which has used up a limit.
func IsLimit(failure string) bool {
	for _, c := range clients {
		for _, word := range c.Limits {
			if strings.Contains(failure, word) {
				return true
			}
		}
	}
	return false
}

// Prompting is the tool of that name by which an agent asks the person. ok is false for
// any other tool.
func Prompting(tool string) (p contract.Prompting, ok bool) {
	for _, c := range clients {
		for i := range c.Prompting {
			if c.Prompting[i].Tool == tool {
				return c.Prompting[i], true
			}
		}
	}
	return contract.Prompting{}, false
}
