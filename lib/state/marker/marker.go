// Package marker keeps the file that says that a hand-over is done. It tells a fresh session that a
// "/handoff" in its surroundings was its predecessor's, and that a note waits.
//
// The file is handoff, in the home's state:
//
//	<tmux session, or session id outside tmux>
//	[reason]
//
// If the name is taken when another session of the home hands over, its marker is
// handoff.<session id>. In a trusted town, Gas Town has a copy in the role's folder,
// .runtime/handoff. A file of another program there, also with the name
// handoff_to_successor, is a claim.
package marker

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

// Compaction is the reason of a marker that was left before a compaction. The conversation
// continues and is not told that it is new.
const Compaction = "compaction"

const (
	plain    = "handoff"
	foreign  = "handoff_to_successor"
	maxBytes = 4096
)

type Marker struct {
	Name   string // file name
	From   string // the tmux session or session id that handed over
	Reason string // "" for a plain hand-over
	// Claimed reports that it comes from the role's folder, where other programs can write.
	Claimed bool
}

// NameFor returns the name of the marker that a session is to leave: that of its earlier one,
// previous, if that can be a marker of gt's own; or else "handoff", or "handoff.<id>" if another
// session's waits under that name. The caller holds the home's lock.
func NameFor(h home.Home, id session.ID, previous string) string {
	if isMarkerName(previous) && previous != foreign {
		if info, err := os.Lstat(h.Path(previous)); err != nil || info.Mode().IsRegular() {
			return previous
		}
	}
	if (Marker{Name: plain}).Exists(h) || (Marker{Name: plain, Claimed: true}).Exists(h) {
		return plain + "." + string(id)
	}
	return plain
}

// Write leaves a marker of that name.
func Write(h home.Home, name, from, reason string, d atomicfile.Durability) error {
	text := term.OneLine(from) + "\n"
	if reason = term.OneLine(reason); reason != "" {
		text += reason + "\n"
	}
	if err := atomicfile.Write(h.Path(name), []byte(text), d); err != nil {
		return err
	}
	if name == plain {
		// Only other programs read the copy, so failing to write it is no error.
		_ = h.Mirror().Write(plain, []byte(text))
	}
	return nil
}

// isMarkerName reports whether a name, which may be from somebody else's record, is a marker's.
func isMarkerName(name string) bool {
	return name == plain || name == foreign || strings.HasPrefix(name, plain+".") && !strings.Contains(name, "/")
}

// List returns the markers that say that a hand-over waits: gt's own in the home, and those in the
// role's folder, which any program can write and which are only claims (Claimed). If it cannot read
// one, it also returns the others.
func List(h home.Home) ([]Marker, error) {
	entries, err := atomicfile.Entries(h.Runtime())
	if err != nil {
		return nil, err
	}
	var found []Marker
	var failed error
	for _, e := range entries {
		if n := e.Name(); isMarkerName(n) {
			data, err := atomicfile.Read(h.Path(n), maxBytes)
			switch {
			case err == nil:
				found = append(found, parse(n, data))
			case !errors.Is(err, fs.ErrNotExist): // otherwise it was removed meanwhile
				failed = err
			}
		}
	}
	for _, n := range []string{plain, foreign} {
		data, err := h.Mirror().Read(n, maxBytes)
		switch m := parse(n, data); {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			failed = err
		case err == nil && !slices.Contains(found, m): // otherwise it is a copy of ours
			m.Claimed = true
			found = append(found, m)
		}
	}
	return found, failed
}

// Exists reports whether the marker is there, even if it cannot be read.
func (m Marker) Exists(h home.Home) bool {
	if !isMarkerName(m.Name) {
		return false
	}
	if m.Claimed {
		_, err := h.Mirror().Read(m.Name, maxBytes)
		return !errors.Is(err, fs.ErrNotExist)
	}
	return atomicfile.Exists(h.Path(m.Name))
}

// Remove removes a marker whose text was delivered. The copy goes first, because alone it
// would look like another program's.
func (m Marker) Remove(h home.Home) error {
	if !isMarkerName(m.Name) {
		return nil
	}
	if m.Claimed || m.Name == plain {
		if err := h.Mirror().Remove(m.Name); err != nil || m.Claimed {
			return err
		}
	}
	return atomicfile.Remove(h.Path(m.Name))
}

// Path returns the marker's name; below .runtime, if it comes from the role's folder.
func (m Marker) Path() string {
	if m.Claimed {
		return place.MirrorPath(m.Name)
	}
	return m.Name
}

// FromPath returns the marker with a path that Path returned, without its content.
func FromPath(path string) Marker {
	name, claimed := strings.CutPrefix(path, place.Runtime+"/")
	return Marker{Name: name, Claimed: claimed}
}

func parse(name string, data []byte) Marker {
	lines := strings.SplitN(string(data), "\n", 3)
	m := Marker{Name: name, From: strings.TrimSpace(lines[0])}
	if len(lines) > 1 {
		m.Reason = strings.TrimSpace(lines[1])
	}
	return m
}
