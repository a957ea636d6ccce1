// Package files lists the clients whose conversations are files, for the programs that a
// hook runs: they link no database. What lies in one they are told by lib/launch/entries.
package files

import (
	claude "gt/lib/client/claude/conversation"
	codex "gt/lib/client/codex/conversation"
	copilot "gt/lib/client/copilot/conversation"
	gemini "gt/lib/client/gemini/conversation"
	pi "gt/lib/client/pi/conversation"
	qwen "gt/lib/client/qwen/conversation"
	"gt/lib/conversation"
)

// All are the readers of files, one a client.
var All = []conversation.Reader{
	claude.Reader{},
	&codex.Reader{},
	copilot.Reader{},
	gemini.Reader{},
	qwen.Reader{},
	pi.Reader{},
}

// Of returns the reader of a client's files, nil where gt has none.
func Of(client string) conversation.Reader {
	for _, r := range All {
		if r.Client() == client {
			return r
		}
	}
	return nil
}

// Path returns where a client keeps the conversation of a session that began in cwd,
// "" of a client whose place for one does not follow from that. The environment is the
// client's. The id is a file's name to it: check it before (session.ParseID).
func Path(client string, getenv func(string) string, cwd, id string) string {
	switch client {
	case (claude.Reader{}).Client():
		return claude.Path(getenv, cwd, id)
	case (copilot.Reader{}).Client():
		return copilot.Path(getenv, id)
	}
	return ""
}
