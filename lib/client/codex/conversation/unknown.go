package codex

import (
	"bytes"

	"gt/lib/conversation"
)

// kinds are the types of lines that Codex 0.20 to 0.171 can write, and of the items of the
// model. The events are for the screen, and change with any version.
var kinds = []string{
	"compacted", "dynamic_tools_updated", "event_msg", "inter_agent_communication",
	"inter_agent_communication_metadata", "realtime_item", "record_type",
	"response_item.additional_tools", "response_item.agent_message", "response_item.compaction",
	"response_item.compaction_summary", "response_item.compaction_trigger",
	"response_item.configuration_update", "response_item.context_compaction",
	"response_item.custom_tool_call", "response_item.custom_tool_call_output",
	"response_item.function_call", "response_item.function_call_output",
	"response_item.ghost_snapshot", "response_item.image_generation_call",
	"response_item.local_shell_call", "response_item.message", "response_item.other",
	"response_item.reasoning", "response_item.tool_search_call",
	"response_item.tool_search_output", "response_item.web_search_call", "security_risk_score",
	"session_meta", "token_usage_record", "turn_context", "world_state",
}

// Unknown is conversation.Classifier's.
func (*Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, kindOf, each)
}

func kindOf(line []byte) string {
	if bytes.HasPrefix(line, []byte(`{"record_type":`)) { // of older versions
		return "record_type"
	}
	rec := parse(line)
	if rec.kind == "response_item" {
		return rec.kind + "." + rec.payload.Get("type").Str
	}
	return rec.kind
}
