package antigravity

import (
	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

const fromModel = "MODEL"

// kinds are the types of steps that others found in transcripts, and the source of the
// model's own: each tool can have its result's type.
var kinds = []string{userInput, fromModel, "CHECKPOINT", "CONVERSATION_HISTORY", "EPHEMERAL_MESSAGE", "ERROR_MESSAGE", "SYSTEM_MESSAGE"}

// Unknown is conversation.Classifier's.
func (*Reader) Unknown(f conversation.File, each func(kind string)) error {
	return conversation.UnknownLines(f.Path, kinds, kindOf, each)
}

func kindOf(line []byte) string {
	if kind := conversation.TypeOf(line); kind == "" || gjson.GetBytes(line, "source").Str != fromModel {
		return kind
	}
	return fromModel
}
