package pi

import (
	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// kinds are the types of records that pi 0.74 to 1.5 can write, and the roles of messages.
var kinds = []string{
	"branch_summary", "compaction", "context_edit", "custom", "custom_message", "label",
	"message.assistant", "message.bashExecution", "message.branchSummary",
	"message.compactionSummary", "message.custom", "message.hookMessage", "message.system",
	"message.toolResult", "message.user", "model_change", "session", "session_info",
	"thinking_level_change", "usage",
}

// Unknown is conversation.Classifier's.
func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, kindOf, each)
}

func kindOf(line []byte) string {
	kind := conversation.TypeOf(line)
	if kind == "message" {
		return kind + "." + gjson.GetBytes(line, "message.role").Str
	}
	return kind
}
