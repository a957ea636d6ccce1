package claude

import (
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// maxNote is far more than the client notes of a process.
const maxNote = 64 << 10

// running reads <store>/sessions/<pid>.json. One that is left behind by a process
// that was killed stays there.
func (Reader) Running(store string, each func(id session.ID, pid int, start, status string)) error {
	var lost conversation.ReadErrors
	dir := filepath.Join(store, "sessions")
	for _, e := range lost.List(dir) {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // beside it lie keys
		}
		data, err := atomicfile.Read(filepath.Join(dir, e.Name()), maxNote)
		if lost.Add(err); err != nil {
			continue
		}
		v := gjson.GetManyBytes(data, "sessionId", "pid", "procStart", "status")
		if id, err := session.ParseID(v[0].Str); err == nil {
			each(id, int(v[1].Int()), v[2].String(), v[3].Str)
		}
	}
	return lost.Err()
}
