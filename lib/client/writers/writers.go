// Package writers lists the clients as whose conversations gt can write one, so that they
// go on with it.
package writers

import (
	claude "gt/lib/client/claude/conversation"
	codex "gt/lib/client/codex/conversation"
	gemini "gt/lib/client/gemini/conversation"
	opencode "gt/lib/client/opencode/conversation"
	pi "gt/lib/client/pi/conversation"
	qwen "gt/lib/client/qwen/conversation"
	"gt/lib/conversation"
)

// All are the writers, one a client.
var All = []conversation.Writer{
	claude.Writer{}, codex.Writer{}, gemini.Writer{}, qwen.Writer{}, opencode.Writer{}, pi.Writer{},
}

// Of returns the writer of a client's conversations, nil where there is none.
func Of(client string) conversation.Writer {
	for _, w := range All {
		if w.Client() == client {
			return w
		}
	}
	return nil
}
