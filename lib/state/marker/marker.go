// Package marker keeps the file that says a hand-over is done: that the
// "/handoff" a fresh session may see in its surroundings was its
// predecessor's, and that a note waits for it.
//
// The file is handoff, in what the state keeps of the home:
//
//	<tmux session, or session id outside tmux>
//	[reason]
//
// Where a second session of the same home hands over while that name is
// taken, its marker is handoff.<session id>, so neither
// overwrites the other. In a trusted town the same file stands in the role's
// folder, .runtime/handoff, for Gas Town; what another program left there, also
// under the name handoff_to_successor, is read as its claim.
package marker

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/term"
)

// Compaction is the reason of a marker that was left before a compaction: the
// conversation goes on, and is not told that it is new.
const Compaction = "compaction"

const (
	plain    = "handoff"
	foreign  = "handoff_to_successor"
	maxBytes = 4096
)

// Marker is one marker that lies in a home.
type Marker struct {
	Name   string // the file's name
	From   string // tmux session or session id that handed over
	Reason string // empty for a plain hand-over
	// Claimed reports that another program of the town wrote it, or whoever else
	// can write to the role's folder.
	Claimed bool
}

// Write leaves a marker for the session and returns its name. previous is the
// name of a marker that the same session left before, which is replaced; "" or
// what is no marker's name where there is none. A name that something other
// than a file has is taken. The caller holds the home's lock.
func Write(h home.Home, id session.ID, from, reason, previous string, d atomicfile.Durability) (name string, err error) {
	name = previous
	if !is(name) || name == foreign || !replaceable(h.Path(name)) {
		name = plain
		if _, err := os.Lstat(h.Path(plain)); err == nil || claimed(h) {
			name = plain + "." + string(id)
		}
	}
	text := term.OneLine(from) + "\n"
	if reason = term.OneLine(reason); reason != "" {
		text += reason + "\n"
	}
	if err := atomicfile.Write(h.Path(name), []byte(text), d); err != nil {
		return name, err
	}
	if name == plain {
		// Nobody but other programs reads it there, so it is no reason to fail.
		_ = h.Mirror().Write(plain, []byte(text))
	}
	return name, nil
}

// claimed reports whether another program of the town has left a marker, where
// the home itself holds none of that name.
func claimed(h home.Home) bool {
	_, err := h.Mirror().Read(plain, maxBytes)
	return !errors.Is(err, fs.ErrNotExist)
}

// is reports whether a file of that name, which may come from a record that
// somebody else wrote, is a marker.
func is(name string) bool {
	return name == plain || name == foreign || strings.HasPrefix(name, plain+".") && !strings.Contains(name, "/")
}

// replaceable reports whether a file can be written in that place.
func replaceable(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.Mode().IsRegular()
}

// List returns the markers that lie in the home.
func List(h home.Home) ([]Marker, error) {
	entries, err := atomicfile.ReadDir(h.Runtime())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Error("read", h.Runtime(), err)
	}
	var found []Marker
	var failed error
	for _, e := range entries {
		if n := e.Name(); is(n) {
			m, err := read(h, n)
			if errors.Is(err, fs.ErrNotExist) {
				continue // taken away meanwhile
			}
			if err != nil {
				failed = err
				continue
			}
			found = append(found, m)
		}
	}
	for _, n := range []string{plain, foreign} {
		data, err := h.Mirror().Read(n, maxBytes)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				failed = err
			}
			continue
		}
		m := parse(n, data)
		if slices.Contains(found, m) {
			continue // ours, as others see it
		}
		m.Claimed = true
		found = append(found, m)
	}
	return found, failed
}

// Unowned returns the markers of the home's own that no session of it is known to have
// left: a person's, and one whose hand-over was killed before it came to note it.
func Unowned(h home.Home, records []*session.Record) ([]Marker, error) {
	all, err := List(h)
	return slices.DeleteFunc(all, func(m Marker) bool {
		return m.Claimed || slices.ContainsFunc(records, func(r *session.Record) bool { return r.Handoff != nil && r.Handoff.Marker == m.Name })
	}), err
}

// Remove takes the marker away: its text was delivered. What others see of it goes
// first, or it would be taken for another program's.
func (m Marker) Remove(h home.Home) error {
	if m.Claimed || m.Name == plain {
		if err := h.Mirror().Remove(m.Name); err != nil || m.Claimed {
			return err
		}
	}
	return atomicfile.Remove(h.Path(m.Name))
}

func read(h home.Home, name string) (Marker, error) {
	data, err := atomicfile.Read(h.Path(name), maxBytes)
	return parse(name, data), err
}

func parse(name string, data []byte) Marker {
	lines := strings.SplitN(string(data), "\n", 3)
	m := Marker{Name: name, From: strings.TrimSpace(lines[0])}
	if len(lines) > 1 {
		m.Reason = strings.TrimSpace(lines[1])
	}
	return m
}
