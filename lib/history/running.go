package history

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/atomicfile"
	"gt/lib/process"
	"gt/lib/session"
)

// Run is a session that runs now, as its client notes it.
type Run struct {
	Process process.Proc
	Status  string // the client's word: busy, idle, waiting, …
}

// registry is a Reader whose client notes which of its sessions run.
type registry interface {
	// running calls each for what the client says runs; it need not be so any
	// more.
	running(store string, each func(id session.ID, pid int, start, status string))
}

// Running returns the sessions that run now, of the clients that note it: those
// whose process is there and is no other that got its number.
func Running(getenv func(string) string) map[session.ID]Run {
	runs := map[session.ID]Run{}
	for _, r := range readers {
		reg, ok := r.(registry)
		if !ok {
			continue
		}
		for _, store := range r.Stores(getenv) {
			reg.running(store, func(id session.ID, pid int, start, status string) {
				if p, err := process.Find(pid); err == nil && (start == "" || start == p.Start) {
					runs[id] = Run{p, status}
				}
			})
		}
	}
	return runs
}

// maxNote is far more than the client notes of a process.
const maxNote = 64 << 10

// running reads <store>/sessions/<pid>.json. One that is left behind by a process
// that was killed stays there.
func (claude) running(store string, each func(id session.ID, pid int, start, status string)) {
	dir := filepath.Join(store, "sessions")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue // beside it lie keys
		}
		data, err := atomicfile.Read(filepath.Join(dir, e.Name()), maxNote)
		if err != nil {
			continue
		}
		v := gjson.GetManyBytes(data, "sessionId", "pid", "procStart", "status")
		if id, err := session.ParseID(v[0].Str); err == nil {
			each(id, int(v[1].Int()), v[2].String(), v[3].Str)
		}
	}
}
