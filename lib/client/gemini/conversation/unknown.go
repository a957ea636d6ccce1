package gemini

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
)

// kinds are the types of messages that Gemini CLI and the first versions of Qwen Code can
// write, and the first keys of the other records.
var kinds = []string{"$rewindTo", "$set", "error", "gemini", "info", "kind", "qwen", "sessionId", "user", "warning"}

// Unknown is conversation.Classifier's.
func (Reader) Unknown(f conversation.File, each func(kind string)) error {
	if !strings.HasSuffix(f.Path, ".json") {
		return conversation.UnknownLines(f.Path, kinds, typeOf, each)
	}
	return conversation.Document(f.Path, 0, nil, func(raw []byte, _ int64) bool {
		if kind := typeOf(raw); raw != nil && !slices.Contains(kinds, kind) {
			each(kind)
		}
		return true
	})
}

func typeOf(record []byte) (kind string) {
	v := gjson.ParseBytes(record)
	if kind = v.Get("type").Str; kind == "" {
		v.ForEach(func(key, _ gjson.Result) bool {
			kind = key.Str
			return false
		})
	}
	return kind
}
