package scan

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gt/lib/sys/process"
)

// Running returns the sessions that the client records, if their process exists.
func TestRunning(t *testing.T) {
	s := newStore(t)
	s.write("p/id-1.jsonl", said("id-1", 1, "hello"))
	me, err := process.Find(os.Getpid())
	testenv.NoError(t, err)
	dir := filepath.Join(s.home, ".claude", "sessions")
	testenv.NoError(t, os.MkdirAll(dir, 0o700))
	for name, note := range map[string]string{
		"1.json": `{"pid":` + strconv.Itoa(me.PID) + `,"procStart":"` + me.Start + `","sessionId":"runs","status":"busy"}`,
		"2.json": `{"pid":` + strconv.Itoa(me.PID) + `,"procStart":"1","sessionId":"another","status":"busy"}`,
		"3.json": `{"pid":4194303,"procStart":"1","sessionId":"dead"}`,
		"4.json": `{"pid":-1,"sessionId":"minus"}`, "5.json": `{`, "6.json": `{"pid":` + strconv.Itoa(me.PID) + `,"sessionId":"../x"}`,
		"7.key": `{"pid":` + strconv.Itoa(me.PID) + `,"sessionId":"key"}`,
	} {
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(note), 0o600))
	}
	if got, errs := Running(s.getenv); errs != nil || len(got) != 1 || got["runs"] != me {
		t.Errorf("%+v", got)
	}
}
