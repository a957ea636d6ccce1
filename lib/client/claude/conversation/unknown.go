package claude

import "gt/lib/conversation"

// kinds are the types of records that Claude Code 2.1.197 to 2.1.332 can write. Most are its
// own notes.
var kinds = []string{
	"agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob",
	"api-request-resumed", "api-request-shape", "artifact-autoreact-ledger",
	"artifact-comment-monitor", "assistant", "atis-latch", "attachment", "attribution-snapshot",
	"bridge-session", "content-replacement", "continued-in", "cost-state", "custom-title",
	"data-flow-incomplete", "data-flow-records", "derived-from", "dev-mods", "ended-by-model",
	"file-history-delta", "file-history-snapshot", "fork-context-ref", "frame-link",
	"history-suppression", "host-row", "hybrid-organization", "isolation-latch", "last-prompt",
	"marble-origami-commit", "marble-origami-reset", "marble-origami-snapshot", "memory-mode",
	"mode", "observer-ref", "permission-mode", "pr-link", "progress", "queue-operation",
	"relocated", "repl-mode", "resume-head-vouch", "session-owner", "speculation-accept",
	"summary", "system", "tag", "tools-used", "user", "worktree-state",
}

// Unknown is conversation.Classifier's.
func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, conversation.TypeOf, each)
}
