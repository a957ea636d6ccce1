package hook

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// tokensReach limits how far from the end of a file the last answer is searched. Only
// tools' results follow it.
const tokensReach = 8 << 20

// count begins a token count in a transcript. Inside a text its quotes would be escaped.
var count = []byte(`"tokens":{"input":`)

// tokens returns the number of tokens of the last request in a Gemini CLI transcript, and
// its model; 0 if the transcript does not tell.
func tokens(path string) (n int64, model string, err error) {
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, "", atomicfile.Error("read", path, err)
	}
	for reach := int64(64 << 10); ; reach *= 8 {
		buf := make([]byte, min(reach, tokensReach, info.Size()))
		if _, err := f.ReadAt(buf, info.Size()-int64(len(buf))); err != nil && err != io.EOF {
			return 0, "", atomicfile.Error("read", path, err)
		}
		for end := len(buf); ; {
			i := bytes.LastIndex(buf[:end], count)
			if i < 0 {
				break
			}
			begin := bytes.LastIndexByte(buf[:i], '\n') + 1
			line, _, _ := bytes.Cut(buf[begin:], []byte("\n"))
			// The first line may be cut off, the last one incomplete.
			if v := gjson.GetBytes(line, "tokens.input"); v.Type == gjson.Number && json.Valid(line) {
				return v.Int(), gjson.GetBytes(line, "model").Str, nil
			}
			end = i
		}
		if reach >= tokensReach || int64(len(buf)) == info.Size() {
			return 0, "", nil
		}
	}
}
