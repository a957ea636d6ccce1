// Package writers lists the clients whose conversations gt can write.
package writers

import (
	claude "gt/lib/client/claude/conversation"
	codex "gt/lib/client/codex/conversation"
	gemini "gt/lib/client/gemini/conversation"
	kimi "gt/lib/client/kimi/conversation"
	opencode "gt/lib/client/opencode/conversation"
	pi "gt/lib/client/pi/conversation"
	qwen "gt/lib/client/qwen/conversation"
	"gt/lib/conversation"
)

// Writers has one writer for each client.
var Writers = []conversation.Writer{
	claude.Writer{}, codex.Writer{}, gemini.Writer{}, qwen.Writer{}, opencode.Writer{}, pi.Writer{}, kimi.Writer{},
}

// FindWriter returns a client's writer, or nil.
func FindWriter(client string) conversation.Writer {
	return conversation.ByClient(Writers, client)
}
