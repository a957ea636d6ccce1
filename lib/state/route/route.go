// Package route keeps the markers of sessions that may get work: an empty file for each,
// route/<label>/<name>. Whoever gives out work lists a label's folder and need not know any states.
//
// Only an active session whose runtime was seen alive gets a marker. The marker can outlive
// the runtime until the next tick notices, and while the session is restarted.
package route

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
)

const folder = "route"

type Markers struct {
	state place.State
	dir   string // relative to the state
}

func NewMarkers(s instance.Store) Markers { return Markers{s.State, filepath.Join(s.Root(), folder)} }

// Dir returns the folder that has a folder for each label.
func (m Markers) Dir() string { return m.state.Path(m.dir) }

// CheckLabel returns an error unless the label can be a folder name.
func CheckLabel(s string) error {
	if s == "" || len(s) > 128 || strings.HasPrefix(s, ".") || strings.ContainsAny(s, "/\x00\n") {
		return fmt.Errorf("invalid label '%.140s' (1 to 128 bytes, no '/', not beginning with '.')", s)
	}
	return nil
}

func (m Markers) path(label, name string) (string, error) {
	if err := CheckLabel(label); err != nil {
		return "", err
	}
	if err := instance.CheckName(name); err != nil {
		return "", err
	}
	return m.state.Path(m.dir, label, name), nil
}

// Set gives a session its marker, synced to disk. It may have one already.
func (m Markers) Set(label, name string) error {
	path, err := m.path(label, name)
	if err != nil {
		return err
	}
	if atomicfile.Exists(path) {
		return nil
	}
	return m.state.Write(path, nil, atomicfile.Synced)
}

// Remove removes a session's marker, if it has one.
func (m Markers) Remove(label, name string) error {
	path, err := m.path(label, name)
	if err != nil {
		return err
	}
	return atomicfile.Remove(path)
}

// ReadMarkers returns the names of sessions with a marker by label, sorted.
func (m Markers) ReadMarkers() (map[string][]string, error) {
	labels, err := atomicfile.Folders(m.Dir())
	if err != nil {
		return nil, err
	}
	all := map[string][]string{}
	for _, l := range labels {
		if CheckLabel(l) != nil {
			continue
		}
		if all[l], err = m.SessionsWith(l); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// SessionsWith returns the names of sessions with a marker of a label, sorted.
func (m Markers) SessionsWith(label string) (names []string, err error) {
	if err := CheckLabel(label); err != nil {
		return nil, err
	}
	names, err = atomicfile.Files(m.state.Path(m.dir, label))
	return slices.DeleteFunc(names, func(name string) bool { return instance.CheckName(name) != nil }), err
}
