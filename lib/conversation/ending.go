package conversation

import (
	"bytes"
	"io"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// maxTail limits how far StoppedAt searches from the end of a conversation. A client may
// write its whole history after the end of a turn, in one line.
const maxTail = 4 << 20

// StoppedAt returns when the last turn or prompt failed or was interrupted. It goes
// through the lines from the last one back to the first that is not later than after. For
// each, stops reports whether the line says so (stopped) or says that the turn went on
// (over). It ignores lines without a "timestamp".
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

// stoppedIn is StoppedAt for the end of a file. known is false if it needs a longer end.
func stoppedIn(tail []byte, after time.Time, stops func(line gjson.Result) (stopped, over bool)) (at time.Time, known bool) {
	for end := len(tail); end > 0; {
		begin := bytes.LastIndexByte(tail[:end-1], '\n') + 1
		line := bytes.Trim(tail[begin:end], "\x00\r\n") // a crash of the machine leaves NUL bytes
		end = begin
		if !bytes.HasPrefix(line, []byte(`{"`)) || bytes.HasPrefix(line, []byte(`{"$`)) || !gjson.ValidBytes(line) {
			continue // the first line may be cut off, the last one incomplete
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
