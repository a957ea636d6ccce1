package claude

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/conversation"
	"gt/lib/state/activity"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
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

// Doing reads what the client notes of a process, as 2.1.197 and 2.1.330 do: what it does,
// since when, and where it waits, for what. It changes at every answer of the person's, a
// moment after the hooks. While a subagent runs in the background it goes on noting that it
// is busy, as it was before its turn was over.
func (Reader) Doing(store string, id session.ID, p process.Proc) (s activity.State) {
	data, err := atomicfile.Read(filepath.Join(store, "sessions", strconv.Itoa(p.PID)+".json"), maxNote)
	if err != nil {
		return s
	}
	v := gjson.GetManyBytes(data, "sessionId", "procStart", "status", "statusUpdatedAt", "waitingFor")
	if v[0].Str != string(id) || v[1].Exists() && v[1].String() != p.Start {
		return s
	}
	switch v[2].Str {
	case "busy":
		s.Status = activity.Busy
	case "idle", "shell": // the second while commands run in the background
		s.Status, s.Reason, s.Background = activity.Idle, activity.Done, v[2].Str == "shell"
	case "waiting":
		s.Status, s.Reason = activity.NeedsInput, activity.Question
		if strings.Contains(v[4].Str, "permission") {
			s.Reason = activity.Permission
		}
	default:
		return s
	}
	s.Since = time.UnixMilli(v[3].Int())
	return s
}
