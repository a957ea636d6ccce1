// Package stop records that recording has stopped although the person wants it. Nobody
// sees the errors of a detached program, so the next hook that can tells the person once,
// and gt-hooks status shows it until recording works again.
//
//	<state>/record_stopped.json     since when, and why
//	<state>/record_stopped.untold   the person has not been told
package stop

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Stop says since when and why recording has stopped.
type Stop struct {
	Since time.Time `json:"since"`
	Why   string    `json:"why"`
}

func path(s place.State) string       { return filepath.Join(string(s), "record_stopped.json") }
func untoldPath(s place.State) string { return filepath.Join(string(s), "record_stopped.untold") }

const maxFile = 64 << 10

// Note records why a recording failed. It keeps an earlier note.
func Note(s place.State, why string, now time.Time) error {
	if Read(s) != nil {
		return nil
	}
	if err := atomicfile.EnsurePrivateDir(string(s)); err != nil {
		return err
	}
	return errors.Join(atomicfile.WriteJSON(path(s), Stop{now.UTC(), why}, atomicfile.Unsynced), atomicfile.Write(untoldPath(s), nil, atomicfile.Unsynced))
}

// Clear removes the note: a recording worked, or none is wanted.
func Clear(s place.State) error {
	if !atomicfile.Exists(path(s)) {
		return nil
	}
	return errors.Join(atomicfile.Remove(path(s)), atomicfile.Remove(untoldPath(s)))
}

// Read returns the note, or nil if recording has not stopped. If it is unreadable, Why says so.
func Read(s place.State) *Stop {
	data, err := atomicfile.ReadIf(path(s), maxFile, atomicfile.CheckFileOwner)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var stop Stop
	if err == nil {
		err = json.Unmarshal(data, &stop)
	}
	if err != nil {
		stop.Why = err.Error()
	}
	return &stop
}

// Untold returns the note if the person has not been told of it, or nil.
func Untold(s place.State) *Stop {
	if !atomicfile.Exists(untoldPath(s)) {
		return nil
	}
	return Read(s)
}

// MarkReported records that the person was told.
func MarkReported(s place.State) error { return atomicfile.Remove(untoldPath(s)) }
