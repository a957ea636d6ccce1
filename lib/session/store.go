package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/eventlog"
	"gt/lib/home"
	"gt/lib/openjson"
)

// Store holds the records of one home's sessions. Its reading methods need no
// lock; whoever changes a record holds the home's lock.
type Store struct{ Home home.Home }

// maxRecord bounds a record, which has some hundred bytes.
const maxRecord = 1 << 20

// keep is how long the record of a session that ended stays in its home. The
// event log remembers it longer.
const keep = 7 * 24 * time.Hour

const suffix = ".json"

// keepEnded bounds how many of those there are, for a start reads them all.
const keepEnded = 16

func (s Store) dir() string       { return s.Home.Path("sessions") }
func (s Store) path(id ID) string { return s.Home.Path("sessions", string(id)+suffix) }
func (s Store) log() eventlog.Log { return eventlog.Log(s.Home.Town.Events()) }

// Exists says whether there is a record of that session. Like Get it takes any
// id, for some come from files that others write: one that is none has no
// record.
func (s Store) Exists(id ID) bool {
	if _, err := ParseID(string(id)); err != nil {
		return false
	}
	_, err := os.Lstat(s.path(id))
	return err == nil
}

// Get returns the record of a session, nil when there is none. A record that
// cannot be parsed counts as none; it is set aside when the session is noted
// again.
func (s Store) Get(id ID) (*Record, error) {
	if _, err := ParseID(string(id)); err != nil {
		return nil, nil
	}
	data, err := atomicfile.Read(s.path(id), maxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(data, &r); err != nil || r.ID != id {
		return nil, nil
	}
	return &r, nil
}

// All returns the records of the home, the newest first. One that cannot be
// read is passed over, or it would keep every later session from being noted.
func (s Store) All() ([]*Record, error) {
	entries, err := os.ReadDir(s.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", s.dir(), err)
	}
	var all []*Record
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		id, err := ParseID(name)
		if !ok || err != nil {
			continue
		}
		if r, err := s.Get(id); err == nil && r != nil {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Record) int { return b.StartedAt.Compare(a.StartedAt) })
	return all, nil
}

// Put writes the record. d is Synced where the next step must not outlive it.
func (s Store) Put(r *Record, d atomicfile.Durability) error {
	if _, err := ParseID(string(r.ID)); err != nil {
		return err
	}
	if err := atomicfile.Private(s.dir()); err != nil {
		return err
	}
	data, err := openjson.File(r)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(r.ID), data, d)
}

// prune removes the records of sessions that ended long ago, and of more than
// keepEnded. all is sorted newest first. That one cannot be removed is left to
// the next time.
func (s Store) prune(all []*Record, now time.Time) {
	ended := 0
	for _, r := range all {
		if !r.Ended() {
			continue
		}
		ended++
		if ended > keepEnded || now.Sub(r.EndedAt) > keep {
			atomicfile.Remove(s.path(r.ID))
		}
	}
	atomicfile.Sweep(s.dir(), now)
	atomicfile.Sweep(s.Home.Runtime(), now)
}
