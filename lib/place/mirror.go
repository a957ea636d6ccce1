package place

import (
	"io/fs"
	"path/filepath"
	"time"
)

// Mirror is where a home in a trusted town keeps what other programs of the town
// read and write: the files of S1, of which gt's own truth stands in the state.
// What is read there is somebody's claim. The zero Mirror has no files and takes
// none.
type Mirror struct {
	home string
	only map[string]bool // names that git does not show; nil is all
	read bool            // nobody has asked git yet, so nothing is written
}

// MirrorOf returns the mirror in the home at dir. only names the files that it has;
// nil stands for all.
func MirrorOf(dir string, only map[string]bool) Mirror { return Mirror{home: dir, only: only} }

// MirrorUnknown is the mirror in the home at dir of which nobody knows yet what git
// shows: it can be read, and what was read be removed.
func MirrorUnknown(dir string) Mirror { return Mirror{home: dir, read: true} }

// Runtime is the folder of S1's files in a home, and Checkpoint the one file of
// them that stands beside it.
const (
	Runtime    = ".runtime"
	Checkpoint = ".polecat-checkpoint.json"
)

// MirrorFiles are the names of all files that gt reads in a mirror or writes into it.
var MirrorFiles = []string{"handoff", "handoff_to_successor", "session_id", "keepalive.json", Checkpoint}

// MirrorPath is where a file of a mirror stands, relative to the home.
func MirrorPath(name string) string {
	if name == Checkpoint {
		return name
	}
	return filepath.Join(Runtime, name)
}

// folder is the one that the file stands in.
func (m Mirror) folder(name string) Shared {
	if name == Checkpoint {
		return Shared{m.home, nil}
	}
	return Shared{m.home, []string{Runtime}}
}

// Path is where a file of the mirror stands; for people to read.
func (m Mirror) Path(name string) string { return m.folder(name).Path(name) }

// has reports whether the mirror has a file of that name. One that git keeps or
// shows is the repository's.
func (m Mirror) has(name string) bool { return m.home != "" && (m.only == nil || m.only[name]) }

// Write puts a file of S1's into the mirror, whole. One that the mirror does not
// have is passed over.
func (m Mirror) Write(name string, data []byte) error {
	if m.read || !m.has(name) {
		return nil
	}
	return m.folder(name).Write(name, data)
}

// Sweep removes the temporary files that killed processes left in the mirror. One
// that is younger than an hour may still be in use and stays.
func (m Mirror) Sweep(now time.Time) {
	for _, name := range []string{Checkpoint, "session_id"} { // one of each folder
		m.folder(name).Sweep(MirrorFiles, now)
	}
}

// Remove takes a file out of the mirror; that there is none is no error.
func (m Mirror) Remove(name string) error {
	if !m.has(name) {
		return nil
	}
	return m.folder(name).Remove(name)
}

// Read returns a file of the mirror, fs.ErrNotExist where there is none. Only a
// file of this user's or of root's, with one name, is read.
func (m Mirror) Read(name string, limit int64) ([]byte, error) {
	if !m.has(name) {
		return nil, fs.ErrNotExist
	}
	return m.folder(name).Read(name, limit)
}
