package kimi

import (
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// kinds are the types of records that Kimi Code 2.1.0 can write, and of the events in a turn.
var kinds = []string{
	"agent.message.appended", "agent.switched", "agent.turn.ended", "agent.turn.started",
	"config.update", "context.append_loop_event.content.part",
	"context.append_loop_event.step.begin", "context.append_loop_event.step.end",
	"context.append_loop_event.tool.call", "context.append_loop_event.tool.result",
	"context.append_message", "context.apply_compaction", "context.clear", "context.undo",
	"context.undone", "cron.add", "cron.cursor", "cron.delete", "file_history.checkpoint",
	"file_history.tracked", "forked", "full_compaction.begin", "full_compaction.cancel",
	"full_compaction.complete", "goal.clear", "goal.create", "goal.update",
	"interaction.request", "interaction.resolved", "interruptionReminder.recorded",
	"llm.request", "llm.tools_snapshot", "mcp.tools_discovered", "metadata",
	"micro_compaction.apply", "permission.record_approval_result", "permission.set_mode",
	"plan.revision", "plan_mode.cancel", "plan_mode.enter", "plan_mode.exit",
	"plugin.session_start", "profile.bind", "prompt.aborted", "prompt.accepted",
	"prompt.completed", "prompt.steered", "runtime.set_binding", "staleGuard.cleared",
	"staleGuard.recorded", "subagent.cancelled", "subagent.completed", "subagent.failed",
	"subagent.spawned", "subagent.started", "swarm_mode.enter", "swarm_mode.exit",
	"task.started", "task.terminated", "task.waitDelivered", "token_counting.measured",
	"token_counting.rebased", "token_counting.truncated", "token_counting.turn_recorded",
	"tools.register_user_tool", "tools.reset_active_tools", "tools.set_active_tools",
	"tools.unregister_user_tool", "tools.update_store", "tower_mode.enter", "tower_mode.exit",
	"turn.cancel", "turn.ended", "turn.prompt", "turn.steer", "turn.step.interrupted",
	"turn.step.retrying", "usage.record",
}

// Unknown is conversation.Classifier's.
func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, kindOf, each)
}

func kindOf(line []byte) string {
	kind := strings.TrimPrefix(conversation.TypeOf(line), "human.") // of older versions
	if kind == "context.append_loop_event" {
		return kind + "." + gjson.GetBytes(line, "event.type").Str
	}
	return kind
}
