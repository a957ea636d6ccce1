package place

import (
	"io/fs"
	"path/filepath"
	"time"
)

// Mirror is Gas Town's files in a home of a trusted town, which the town's other programs
// read and write. gt's own copies in the state count; a mirror's content is a claim. The
// zero Mirror is empty and ignores writes.
type Mirror struct {
	home      string
	onlyNames map[string]bool // names that git does not show; nil for all
	readOnly  bool            // git was not asked yet, so nothing is written
}

// MirrorOf returns the mirror in the home at dir. only names its files; nil for all.
func MirrorOf(dir string, only map[string]bool) Mirror { return Mirror{home: dir, onlyNames: only} }

// MirrorUnknown returns the mirror in the home at dir before git was asked. Its files can
// be read and removed, but not written.
func MirrorUnknown(dir string) Mirror { return Mirror{home: dir, readOnly: true} }

// Runtime is the folder of Gas Town's files in a home. Only Checkpoint is beside it.
const (
	Runtime    = ".runtime"
	Checkpoint = ".polecat-checkpoint.json"
)

// MirrorFiles are all files of a mirror.
var MirrorFiles = []string{"handoff", "handoff_to_successor", "session_id", "keepalive.json", Checkpoint}

func MirrorPath(name string) string {
	if name == Checkpoint {
		return name
	}
	return filepath.Join(Runtime, name)
}

func (m Mirror) folder(name string) SharedFolder {
	if name == Checkpoint {
		return SharedFolder{m.home, nil}
	}
	return SharedFolder{m.home, []string{Runtime}}
}

// Path returns a file's path, for messages only.
func (m Mirror) Path(name string) string { return m.folder(name).Path(name) }

// hasFile reports whether the mirror has a file. What git tracks or shows is the repository's.
func (m Mirror) hasFile(name string) bool {
	return m.home != "" && (m.onlyNames == nil || m.onlyNames[name])
}

// Write replaces a file atomically. It ignores files that the mirror does not have.
func (m Mirror) Write(name string, data []byte) error {
	if m.readOnly || !m.hasFile(name) {
		return nil
	}
	return m.folder(name).Write(name, data)
}

// Sweep removes temporary files of killed writers that are older than an hour.
func (m Mirror) Sweep(now time.Time) {
	for _, name := range []string{Checkpoint, "session_id"} { // one of each folder
		m.folder(name).Sweep(MirrorFiles, now)
	}
}

// Remove removes a file if it exists.
func (m Mirror) Remove(name string) error {
	if !m.hasFile(name) {
		return nil
	}
	return m.folder(name).Remove(name)
}

// Read returns at most limit bytes of a file, or fs.ErrNotExist. It reads only regular
// files of this user or root with a single hard link.
func (m Mirror) Read(name string, limit int64) ([]byte, error) {
	if !m.hasFile(name) {
		return nil, fs.ErrNotExist
	}
	return m.folder(name).Read(name, limit)
}
