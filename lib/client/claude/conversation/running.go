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

// maxNote is far larger than the client's file about a process.
const maxNote = 64 << 10

// Running reads <store>/sessions/<pid>.json. A killed process leaves its file.
func (Reader) Running(store string, each func(id session.ID, pid int, start string)) error {
	var lost conversation.ReadErrors
	dir := filepath.Join(store, "sessions")
	for _, e := range lost.List(dir) {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // keys are beside it
		}
		data, err := atomicfile.Read(filepath.Join(dir, e.Name()), maxNote)
		if lost.Add(err); err != nil {
			continue
		}
		v := gjson.GetManyBytes(data, "sessionId", "pid", "procStart")
		if id, err := session.ParseID(v[0].Str); err == nil {
			each(id, int(v[1].Int()), v[2].String())
		}
	}
	return lost.Err()
}

// Doing reads the client's file about a process, in the format of 2.1.197 and 2.1.330:
// what it does and since when, and what it waits for. The file changes at every answer of
// the person, shortly after the hooks. While a subagent runs in the background, it stays
// busy after the turn has ended.
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
	case "idle", "shell": // shell means that commands run in the background
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
