package place

import (
	"io/fs"
	"path/filepath"
	"time"
)

// Mirror is the set of files in a home of a trusted town that other programs of the
// town read and write: the files of S1. gt's own copies are in the state and are
// authoritative; what it reads from a mirror is only a claim. The zero Mirror is empty
// and ignores writes.
type Mirror struct {
	home string
	only map[string]bool // names that git does not show; nil means all
	read bool            // git has not been asked yet, so nothing is written
}

// MirrorOf returns the mirror in the home at dir. only names the files that it has;
// nil means all of them.
func MirrorOf(dir string, only map[string]bool) Mirror { return Mirror{home: dir, only: only} }

// MirrorUnknown returns the mirror in the home at dir while it is not known yet which
// files git shows there. Its files can be read and removed, but not written.
func MirrorUnknown(dir string) Mirror { return Mirror{home: dir, read: true} }

// Runtime is the folder of S1's files in a home. Checkpoint is the one file that is
// beside it.
const (
	Runtime    = ".runtime"
	Checkpoint = ".polecat-checkpoint.json"
)

// MirrorFiles lists all files that gt reads or writes in a mirror.
var MirrorFiles = []string{"handoff", "handoff_to_successor", "session_id", "keepalive.json", Checkpoint}

// MirrorPath returns the path of a mirror's file relative to the home.
func MirrorPath(name string) string {
	if name == Checkpoint {
		return name
	}
	return filepath.Join(Runtime, name)
}

// folder returns the folder that the file is in.
func (m Mirror) folder(name string) Shared {
	if name == Checkpoint {
		return Shared{m.home, nil}
	}
	return Shared{m.home, []string{Runtime}}
}

// Path returns the path of a file, for messages only.
func (m Mirror) Path(name string) string { return m.folder(name).Path(name) }

// has reports whether the mirror has a file of that name. A file that git tracks or
// shows belongs to the repository instead.
func (m Mirror) has(name string) bool { return m.home != "" && (m.only == nil || m.only[name]) }

// Write replaces a file of the mirror atomically. It ignores files that the mirror does
// not have.
func (m Mirror) Write(name string, data []byte) error {
	if m.read || !m.has(name) {
		return nil
	}
	return m.folder(name).Write(name, data)
}

// Sweep removes temporary files that killed processes left in the mirror. It leaves
// those younger than an hour, which may still be in use.
func (m Mirror) Sweep(now time.Time) {
	for _, name := range []string{Checkpoint, "session_id"} { // one of each folder
		m.folder(name).Sweep(MirrorFiles, now)
	}
}

// Remove removes a file from the mirror. A missing file is not an error.
func (m Mirror) Remove(name string) error {
	if !m.has(name) {
		return nil
	}
	return m.folder(name).Remove(name)
}

// Read returns the content of a file, at most limit bytes, or fs.ErrNotExist. It reads
// only regular files that belong to this user or root and have no second hard link.
func (m Mirror) Read(name string, limit int64) ([]byte, error) {
	if !m.has(name) {
		return nil, fs.ErrNotExist
	}
	return m.folder(name).Read(name, limit)
}
