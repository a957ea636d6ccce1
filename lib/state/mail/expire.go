package mail

import (
	"errors"
	"io/fs"
	"time"

	"gt/lib/sys/atomicfile"
)

// maxExpired bounds the notes that Expire opens: a hook has a few milliseconds.
const maxExpired = 8

// Expire removes hand-over notes that are seen or done, nobody's work, and older than age.
// It calls age only if a note is older than minAge. It keeps notes for which keep returns
// true.
//
// Each call examines a few notes, starting at another place each time. It can be killed or
// run twice at once: each note is one file, and a note that becomes work meanwhile gets
// another name.
func (b Box) Expire(now time.Time, minAge time.Duration, age func() time.Duration, keep func(Note) bool) error {
	o, err := b.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer o.Close()
	older := func(than time.Duration) func(entry) bool {
		return func(e entry) bool {
			at := arrival(e.unique)
			return !e.hasFlag('F') && // mutant always: . TestScripts/handoff_retention
				(e.hasFlag('S') || e.hasFlag('T')) && !at.IsZero() && now.Sub(at) > than
		}
	}
	found, err := o.scan(older(minAge), "cur")
	if err != nil || len(found) == 0 {
		return err
	}
	old, n := older(max(age(), minAge)), 0
	for i := range found {
		e := found[(int(now.UnixMicro())+i)%len(found)]
		if !old(e) {
			continue
		}
		if n++; n > maxExpired {
			break
		}
		note, failed := o.readNote(e, false)
		if failed != nil || note.Problem != "" || note.Type != Handoff || keep(note) {
			continue
		}
		if failed = o.Remove(e.file()); failed == nil && !o.own {
			failed = atomicfile.Remove(o.home.Town.Given(note.ID))
		}
		if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
			err = errors.Join(err, atomicfile.Error("remove", o.file(e.file()), failed))
		}
	}
	return err
}
