// Package route keeps the markers of sessions that may be given work: one empty file a
// session, route/<label>/<name>, and nothing else. Whoever gives out work lists the folder
// of a label, and needs to know nothing of states.
//
// A marker is there for an active session whose runtime was seen alive. It can outlive
// its runtime until the tick that sees the death, and while the session is started again.
package route

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
)

const folder = "route"

// Markers are those of a town, or of a profile.
type Markers struct {
	state place.State
	dir   string // relative to the state
}

// Of returns the markers of a store's sessions.
func Of(s instance.Store) Markers { return Markers{s.State, filepath.Join(s.Root(), folder)} }

// Dir is the folder with a folder for each label.
func (m Markers) Dir() string { return m.state.Path(m.dir) }

// CheckLabel reports what is wrong with a label: it becomes the name of a folder.
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

// Set gives a session its marker. It is there when Set returns, also after a loss of
// power. That it has one already is no error.
func (m Markers) Set(label, name string) error {
	path, err := m.path(label, name)
	if err != nil {
		return err
	}
	if err := m.state.Prepare(filepath.Dir(path)); err != nil {
		return err
	}
	if atomicfile.Exists(path) {
		return nil
	}
	return atomicfile.Write(path, nil, atomicfile.Synced)
}

// Remove takes a session's marker away. That it has none is no error.
func (m Markers) Remove(label, name string) error {
	path, err := m.path(label, name)
	if err != nil {
		return err
	}
	return atomicfile.Remove(path)
}

// All returns the labels with the names of the sessions that have a marker there, sorted.
func (m Markers) All() (map[string][]string, error) {
	labels, err := atomicfile.ReadDir(m.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", m.Dir(), err)
	}
	all := map[string][]string{}
	for _, l := range labels {
		if CheckLabel(l.Name()) != nil || !l.IsDir() {
			continue
		}
		if all[l.Name()], err = m.In(l.Name()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// In returns the names of the sessions that have a marker of a label, sorted.
func (m Markers) In(label string) (names []string, err error) {
	if err := CheckLabel(label); err != nil {
		return nil, err
	}
	dir := m.state.Path(m.dir, label)
	entries, err := atomicfile.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", dir, err)
	}
	litter := false // of a writer that was killed
	for _, e := range entries {
		if litter = litter || strings.HasPrefix(e.Name(), "."); instance.CheckName(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	if litter {
		atomicfile.Sweep(dir, time.Now())
	}
	slices.Sort(names)
	return names, nil
}
