package cline

import (
	"slices"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// kinds are the types of the parts of messages that Cline 3.0.65 can write.
var kinds = []string{"file", "image", "media", "redacted_thinking", "text", "thinking", "tool_result", "tool_use"}

// Unknown is conversation.Classifier's.
func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.Document(f.Path, 0, nil, func(raw []byte, _ int64) bool {
		gjson.GetBytes(raw, "content.#.type").ForEach(func(_, kind gjson.Result) bool {
			if !slices.Contains(kinds, kind.Str) {
				each(kind.Str)
			}
			return true
		})
		return true
	})
}
