// Package files lists the readers of clients that keep conversations as files, for the
// programs that a hook runs: they link no database. lib/launch/entries gives them the
// conversations in one.
package files

import (
	"gt/lib/client/account"
	antigravity "gt/lib/client/antigravity/conversation"
	claude "gt/lib/client/claude/conversation"
	cline "gt/lib/client/cline/conversation"
	codex "gt/lib/client/codex/conversation"
	copilot "gt/lib/client/copilot/conversation"
	cursor "gt/lib/client/cursor/conversation"
	gemini "gt/lib/client/gemini/conversation"
	kimi "gt/lib/client/kimi/conversation"
	pi "gt/lib/client/pi/conversation"
	qwen "gt/lib/client/qwen/conversation"
	"gt/lib/conversation"
)

// Readers has one reader for each client that uses files.
var Readers = []conversation.Reader{
	claude.Reader{},
	&codex.Reader{},
	copilot.Reader{},
	gemini.Reader{},
	qwen.Reader{},
	pi.Reader{},
	kimi.Reader{},
	&antigravity.Reader{},
	cline.Reader{},
	cursor.Reader{},
}

// FindReader returns a client's reader, or nil.
func FindReader(client string) conversation.Reader {
	return conversation.ByClient(Readers, client)
}

// Path returns where a client keeps the conversation of a session that began in cwd, or
// "" if that cannot be derived for the client. getenv is the client's environment. The id
// becomes a file name: check it before (session.ParseID).
func Path(client string, getenv func(string) string, cwd, id string) string {
	a, err := account.FindCurrent(client, getenv)
	if err != nil {
		return ""
	}
	switch client {
	case (claude.Reader{}).Client():
		return claude.Path(a, cwd, id)
	case (copilot.Reader{}).Client():
		return copilot.Path(a, id)
	case (kimi.Reader{}).Client():
		return kimi.Path(a, cwd, id)
	}
	return ""
}
