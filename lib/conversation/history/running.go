package history

import (
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// Run is a session that runs now, as its client notes it.
type Run struct {
	Process process.Proc
	Status  string // the client's word: busy, idle, waiting, …
}

// registry is a Reader whose client notes which of its sessions run.
type registry interface {
	// running calls each for what the client says runs; it need not be so any
	// more. The error names the first of what could not be read.
	running(store string, each func(id session.ID, pid int, start, status string)) error
}

// Running returns the sessions that run now, of the clients that note it: those
// whose process is there and is no other that got its number. errs says of each
// store what could not be read: what runs by that looks as if it did not.
func Running(getenv func(string) string) (runs map[session.ID]Run, errs []error) {
	runs = map[session.ID]Run{}
	for _, r := range readers {
		reg, ok := r.(registry)
		if !ok {
			continue
		}
		for _, store := range r.Stores(getenv) {
			err := reg.running(store, func(id session.ID, pid int, start, status string) {
				if p, err := process.Find(pid); err == nil && (start == "" || start == p.Start) {
					runs[id] = Run{p, status}
				}
			})
			if err != nil {
				errs = append(errs, err)
			}
		}
	}
	return runs, errs
}

// maxNote is far more than the client notes of a process.
const maxNote = 64 << 10

// running reads <store>/sessions/<pid>.json. One that is left behind by a process
// that was killed stays there.
func (claude) running(store string, each func(id session.ID, pid int, start, status string)) error {
	var lost Unread
	dir := filepath.Join(store, "sessions")
	for _, e := range lost.list(dir) {
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
