package qwen

import (
	"cmp"

	"github.com/tidwall/gjson"

	gemini "gt/lib/client/gemini/conversation"
	"gt/lib/conversation"
)

// kinds are the types and subtypes of records that Qwen Code 0.15 to 0.24 can write.
var kinds = []string{
	"assistant", "system", "tool_result", "user",
	"agent_bootstrap", "agent_launch_prompt", "agent_retry", "agent_session_ready",
	"at_command", "attribution_snapshot", "background_task_completed", "branch_checkpoint",
	"chat_compression", "cron", "custom_title", "file_history_snapshot", "goal_runtime",
	"goal_state", "goal_turn_end", "managed_session_commit_v1", "managed_session_event_v1",
	"managed_session_header_v1", "mid_turn_user_message", "notification", "omni_recall",
	"parent_session", "realtime_message", "rewind", "session_artifact_event",
	"session_artifact_snapshot", "session_model", "session_source", "session_sources_snapshot",
	"slash_command", "turn_result", "ui_telemetry", "user_text_elements",
}

// Unknown is conversation.Classifier's.
func (q Reader) Unknown(f conversation.File, each func(kind string)) error {
	if q.old(f) {
		return gemini.Reader{}.Unknown(f, each)
	}
	return conversation.UnknownLines(f.Path, kinds, kindOf, each)
}

// kindOf returns what a record's reading depends on: its subtype, or else its type.
func kindOf(line []byte) string {
	both := gjson.GetManyBytes(line, "subtype", "type")
	return cmp.Or(both[0].Str, both[1].Str)
}
