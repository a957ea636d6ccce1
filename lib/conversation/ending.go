package conversation

import (
	"bytes"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// maxTail is how much of the end of a conversation is searched for the end of a turn. A
// client may write its whole history behind it, in a line.
const maxTail = 4 << 20

// StoppedAt looks for the moment at which a turn, or a prompt, came to nothing, from the last
// line of a file back to the first that is not later than a time. stops reports whether a line
// tells of that, and over that the turn went on. A line without its own time at the top, which the
// client calls timestamp, tells nothing.
func StoppedAt(path string, after time.Time, stops func(line gjson.Result) (stopped, over bool)) time.Time {
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return time.Time{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return time.Time{}
	}
	for reach := int64(64 << 10); ; reach *= 8 {
		tail := make([]byte, min(reach, maxTail, info.Size()))
		n, err := f.ReadAt(tail, info.Size()-int64(len(tail)))
		if err != nil && err != io.EOF {
			return time.Time{}
		}
		at, known := stoppedIn(tail[:n], after, stops)
		if known || reach >= maxTail || int64(len(tail)) == info.Size() {
			return at
		}
	}
}

// stoppedIn is StoppedAt in the end of a file. known is false where it has to be longer to
// tell.
func stoppedIn(tail []byte, after time.Time, stops func(line gjson.Result) (stopped, over bool)) (at time.Time, known bool) {
	for end := len(tail); end > 0; {
		begin := bytes.LastIndexByte(tail[:end-1], '\n') + 1
		line := tail[begin:end]
		end = begin
		if !bytes.HasPrefix(line, []byte(`{"`)) || bytes.HasPrefix(line, []byte(`{"$`)) || !gjson.ValidBytes(line) {
			continue // the first may be cut off in front, the last not be written yet
		}
		v := gjson.ParseBytes(line)
		t, err := time.Parse(time.RFC3339, v.Get("timestamp").Str)
		if err != nil {
			continue
		}
		if !t.After(after) {
			return time.Time{}, true
		}
		switch stopped, over := stops(v); {
		case stopped:
			return t, true
		case over:
			return time.Time{}, true
		}
	}
	return time.Time{}, false
}
