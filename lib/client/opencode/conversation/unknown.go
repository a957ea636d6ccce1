package opencode

import (
	"slices"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// kinds are the types of the parts that OpenCode 1 can write, and the roles of its messages.
var kinds = []string{
	"message.assistant", "message.user",
	"agent", "compaction", "file", "patch", "reasoning", "retry", "snapshot", "step-finish", "step-start", "subtask", "text", "tool",
}

// Unknown is conversation.Classifier's.
func (c *Reader) Unknown(f conversation.File, each func(kind string)) error {
	s, err := c.session(f)
	if err != nil || s == nil {
		return err
	}
	all, err := c.messages(f, s, 0)
	if err != nil {
		return err
	}
	for _, m := range all {
		message, parts, err := c.parts(f, m)
		if err != nil {
			return err
		}
		found := []string{"message." + gjson.Get(message, "role").Str}
		for _, p := range parts {
			found = append(found, gjson.Get(p.data, "type").Str)
		}
		for _, kind := range found {
			if !slices.Contains(kinds, kind) {
				each(kind)
			}
		}
	}
	return nil
}
