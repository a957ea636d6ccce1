// Package readers lists the clients whose conversations gt reads. It is all that a
// program links that reads them; finding and searching them is lib/catalog/scan and
// lib/catalog/search.
package readers

import (
	claude "gt/lib/client/claude/conversation"
	codex "gt/lib/client/codex/conversation"
	copilot "gt/lib/client/copilot/conversation"
	gemini "gt/lib/client/gemini/conversation"
	opencode "gt/lib/client/opencode/conversation"
	pi "gt/lib/client/pi/conversation"
	qwen "gt/lib/client/qwen/conversation"
	"gt/lib/conversation"
)

// All are the readers, one a client.
var All = []conversation.Reader{
	claude.Reader{},
	&codex.Reader{},
	copilot.Reader{},
	gemini.Reader{},
	qwen.Reader{},
	&opencode.Reader{},
	pi.Reader{},
}

// Of returns the reader of a client's conversations, nil where gt has none.
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
