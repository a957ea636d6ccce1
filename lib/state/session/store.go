package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place/home"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
)

// Store holds the records of one home's sessions. Its reading methods need no
// lock; whoever changes a record holds the home's lock.
type Store struct {
	Home home.Home
	// Warn is told of records that are no use, and what became of them. It may
	// be nil.
	Warn func(error)
}

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

// logEvent appends an event of a session to the log, and whatever holds that up, where
// only the person can write.
func (s Store) logEvent(now time.Time, kind, actor string, payload any) error {
	return s.log().AppendOr(eventlog.Log(s.Home.Town.Spare()), s.warn, now, kind, actor, payload)
}

// Exists reports whether there is a record of that session. Like Get it takes any
// id, for some come from files that others write: one that is none has no
// record.
func (s Store) Exists(id ID) bool {
	if _, err := ParseID(string(id)); err != nil {
		return false
	}
	_, err := os.Lstat(s.path(id))
	return !errors.Is(err, fs.ErrNotExist) // one that cannot be looked at is no reason to make another
}

// IDs returns the sessions that there are records of, by the names of their files.
func (s Store) IDs() ([]ID, error) {
	entries, err := atomicfile.ReadDir(s.dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", s.dir(), err)
	}
	var ids []ID
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), suffix)
		if id, err := ParseID(name); ok && err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Get returns the record of a session, nil when there is none. Where it is no
// use, the one that was there before it is returned (atomicfile.Rolling); where
// that cannot be had either, it counts as none.
func (s Store) Get(id ID) (*Record, error) { return s.load(id, atomicfile.Rolling.Read) }

func (s Store) load(id ID, load func(atomicfile.Rolling) ([]byte, error)) (*Record, error) {
	if _, err := ParseID(string(id)); err != nil {
		return nil, nil
	}
	var r *Record
	f := s.file(id)
	f.Valid = func(data []byte) (err error) {
		r, err = parse(id, data)
		return err
	}
	_, err := load(f)
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case atomicfile.Unread(err):
		return nil, err
	}
	s.warn(err)
	return nil, nil
}

func (s Store) warn(err error) {
	if s.Warn != nil {
		s.Warn(err)
	}
}

// file is the record of that session with the three that were there before it.
func (s Store) file(id ID) atomicfile.Rolling {
	return atomicfile.Rolling{Path: s.path(id), Limit: maxRecord, Warn: s.Warn, Valid: func(data []byte) error {
		_, err := parse(id, data)
		return err
	}}
}

func parse(id ID, data []byte) (*Record, error) {
	r := new(Record)
	if err := r.UnmarshalJSON(data); err != nil { // json.Unmarshal would go over it once more
		return nil, err
	}
	if r.ID != id {
		return nil, fmt.Errorf("it is the record of '%.40s'", r.ID)
	}
	r.ended = r.Ended()
	return r, nil
}

// All returns the records of the home, the newest first. One that cannot be
// read is passed over, or it would keep every later session from being noted.
func (s Store) All() ([]*Record, error) { return s.all(atomicfile.Rolling.Read) }

// Repair is All, and sets right what cannot be read: it is set aside, and what is
// used in its place becomes the record. The caller holds the home's lock.
func (s Store) Repair() ([]*Record, error) { return s.all(atomicfile.Rolling.Repair) }

func (s Store) all(load func(atomicfile.Rolling) ([]byte, error)) ([]*Record, error) {
	entries, err := atomicfile.ReadDir(s.dir())
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
		r, err := s.load(id, load)
		if err != nil {
			s.warn(err)
		} else if r != nil {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b *Record) int { return b.StartedAt.Compare(a.StartedAt) })
	return all, nil
}

// Put writes the record. d is Synced where the next step must not outlive it.
// Where the session ended with it, or goes on after an end, no generation from
// before may stand in for it.
func (s Store) Put(r *Record, d atomicfile.Durability) error {
	if _, err := ParseID(string(r.ID)); err != nil {
		return err
	}
	if err := atomicfile.EnsurePrivateDir(s.dir()); err != nil {
		return err
	}
	data, err := openjson.File(r)
	if err != nil {
		return err
	}
	write := atomicfile.Rolling.Write
	if r.ended != r.Ended() {
		write = atomicfile.Rolling.WriteWithoutBackups
	}
	if err := write(s.file(r.ID), data, d); err != nil {
		return err
	}
	r.ended = r.Ended()
	return nil
}

// prune removes the records of sessions that ended long ago, and all but keepEnded of
// those that ended since. One whose hand-over still waits stays. all is sorted newest
// first. That one cannot be removed is left to the next time.
func (s Store) prune(all []*Record, now time.Time) {
	ended := 0
	for _, r := range all {
		if !r.Ended() {
			continue
		}
		if r.Handoff != nil && now.Sub(r.EndedAt) <= keep {
			continue // its successor is about to take it up: without the record a stranger would
		}
		ended++
		if ended > keepEnded || now.Sub(r.EndedAt) > keep {
			// Nothing but the record tells that there may be a tail (lib/conversation/tail).
			if atomicfile.Remove(s.Home.Path("sessions", string(r.ID)+".tail")) == nil && s.file(r.ID).Remove() == nil {
				s.Home.Town.State.Unfix(string(r.ID))
				for _, beside := range []string{".request", ".served", ".turn", ".state"} { // of lib/state/request and lib/state/activity
					os.Remove(s.Home.Path("sessions", string(r.ID)+beside))
				}
			}
		}
	}
	atomicfile.Sweep(s.dir(), now)
	atomicfile.Sweep(s.Home.Runtime(), now)
	atomicfile.Sweep(s.Home.Town.State.Path("threads"), now) // of lib/state/thread
}
