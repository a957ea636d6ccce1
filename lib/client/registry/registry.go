// Package registry lists the clients for the hooks. It alone imports the hook packages of
// all clients. Callers must not change what it returns.
package registry

import (
	"slices"
	"strings"

	antigravity "gt/lib/client/antigravity/hook"
	claude "gt/lib/client/claude/hook"
	cline "gt/lib/client/cline/hook"
	codex "gt/lib/client/codex/hook"
	"gt/lib/client/contract"
	copilot "gt/lib/client/copilot/hook"
	cursor "gt/lib/client/cursor/hook"
	gemini "gt/lib/client/gemini/hook"
	kimi "gt/lib/client/kimi/hook"
	"gt/lib/client/names"
	opencode "gt/lib/client/opencode/hook"
	pi "gt/lib/client/pi/hook"
	qwen "gt/lib/client/qwen/hook"
)

// clients has the order of names.AllClients. Amp runs no hooks of gt.
var clients = [...]*contract.Client{
	&claude.Client, &gemini.Client, &copilot.Client, &qwen.Client, &codex.Client,
	{Client: &names.Amp}, &cursor.Client, &opencode.Client, &pi.Client, &kimi.Client, &cline.Client,
	&antigravity.Client,
}

func Clients() []*contract.Client { return clients[:] }

// FindClient returns a client, or nil.
func FindClient(name string) *contract.Client {
	for _, c := range clients {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// findRow returns the first of the clients' rows that matches.
func findRow[R any](rows func(*contract.Client) []R, matches func(R) bool) (row R, ok bool) {
	for _, c := range clients {
		if i := slices.IndexFunc(rows(c), matches); i >= 0 {
			return rows(c)[i], true
		}
	}
	return row, false
}

func anyClient(matches func(*contract.Client) bool) bool {
	return slices.ContainsFunc(clients[:], matches)
}

// HasReader reports whether gt reads the client's conversations. The readers are in
// lib/client/readers, which a hook need not link.
func HasReader(name string) bool {
	c := FindClient(name)
	return c != nil && c.Accounts != nil
}

// RecordsHooks reports whether a record of the client's conversations is made of what its hooks
// are told.
func RecordsHooks(name string) bool {
	c := FindClient(name)
	return c == nil || c.Accounts == nil || c.TellsMore
}

// Field returns the meaning of a key in a hook's input. Clients run each other's hooks
// and use the same names, so every client's names count for all.
func Field(name string) contract.Field {
	f, _ := findRow(func(c *contract.Client) []contract.FieldName { return c.Fields },
		func(f contract.FieldName) bool { return f.Name == name })
	return f.Field
}

// Kind returns Claude Code's name of an event.
func Kind(event string) string {
	e, ok := findRow(func(c *contract.Client) []contract.EventName { return c.Events },
		func(e contract.EventName) bool { return e.Name == event })
	if !ok {
		return event
	}
	return e.Kind
}

// Implied returns the event of an input that has this key but no event.
func Implied(key string) contract.ImpliedEvent {
	e, _ := findRow(func(c *contract.Client) []contract.ImpliedEvent { return c.Implied },
		func(e contract.ImpliedEvent) bool { return e.Key == key })
	return e
}

// Notice returns the meaning of a client's notification.
func Notice(name string) contract.NoticeKind {
	n, _ := findRow(func(c *contract.Client) []contract.NoticeName { return c.Notices },
		func(n contract.NoticeName) bool { return n.Name == name })
	return n.Notice
}

// IsLimit reports whether a failure's text means that an account has used up a limit.
func IsLimit(failure string) bool {
	return anyClient(func(c *contract.Client) bool {
		return slices.ContainsFunc(c.Limits, func(word string) bool { return strings.Contains(failure, word) })
	})
}

// IsLogin reports whether a failure's text means that an account has to log in anew.
func IsLogin(failure string) bool {
	return anyClient(func(c *contract.Client) bool { return slices.Contains(c.Logins, failure) })
}

// IsMainAgent reports whether an agent's id is that of a session's own agent.
func IsMainAgent(id string) bool {
	return id != "" && anyClient(func(c *contract.Client) bool { return c.MainAgent == id })
}

// Prompting returns the tool of that name if an agent asks the person with it.
func Prompting(tool string) (p contract.Prompting, ok bool) {
	return findRow(func(c *contract.Client) []contract.Prompting { return c.Prompting },
		func(p contract.Prompting) bool { return p.Tool == tool })
}
