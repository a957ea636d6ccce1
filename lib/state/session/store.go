package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/place/home"
	"gt/lib/state/handover"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
)

// Store holds the records of one home's sessions. Reading needs no lock; changing a record needs
// the home's.
type Store struct {
	Home home.Home
	// Warn is called for unusable records; may be nil.
	Warn func(error)
}

// maxRecord bounds a record, in bytes. A typical one has a few hundred.
const maxRecord = 1 << 20

// keep is how long the record of an ended session stays. The event log keeps its events longer.
const keep = 7 * 24 * time.Hour

const suffix = ".json"

// keepEnded bounds the records of ended sessions, because a start reads them all.
const keepEnded = 16

func (s Store) dir() string       { return s.Home.Path("sessions") }
func (s Store) path(id ID) string { return s.Home.Path("sessions", string(id)+suffix) }
func (s Store) log() eventlog.Log { return eventlog.Log(s.Home.Town.Events()) }

// logEvent appends an event to the log, or to the spare log in the person's own folder if
// another user blocks the log.
func (s Store) logEvent(now time.Time, kind, actor string, payload any) error {
	return s.log().AppendOr(eventlog.Log(s.Home.Town.SpareEvents()), s.warn, now, kind, actor, payload)
}

// Exists reports whether a session has a record. Like Get it accepts any id, because some
// come from files that others write.
func (s Store) Exists(id ID) bool {
	if _, err := ParseID(string(id)); err != nil {
		return false
	}
	is, err := atomicfile.IsPresent(s.path(id))
	return is || err != nil // if it cannot be read, do not create another
}

// IDs returns the ids of the records, from their file names.
func (s Store) IDs() ([]ID, error) {
	entries, err := atomicfile.Entries(s.dir())
	if err != nil {
		return nil, err
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

// Get returns a session's record, or nil. It falls back to an earlier generation of a
// damaged record (atomicfile.Rolling), and returns nil if all are damaged.
func (s Store) Get(id ID) (*Record, error) { return s.load(id, atomicfile.Rolling.Read) }

// load is Get with the function that reads the file: Rolling.Read or Rolling.Repair.
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
		r.restarted = OtherMachine(r.BootID, r.Host) && BeforeRestart(r.BootID, r.Disk, r.lastSign(), s.Home.Town.State)
		s.findHandoff(r)
		return r, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case atomicfile.IsSystemError(err):
		return nil, err
	}
	s.warn(err)
	return nil, nil
}

// findHandoff sets the session's hand-over. One that gt v0.2.0 left in the record waits as
// long as its marker is there; the next Put gives it a file of its own.
func (s Store) findHandoff(r *Record) {
	var err error
	if r.Handoff, r.slot, err = handover.Read(s.Home, string(r.ID)); err != nil {
		s.warn(err)
		if atomicfile.IsSystemError(err) {
			r.Unread = err
		}
		return
	}
	old := r.Old
	if r.Old = nil; r.Handoff != nil || old == nil {
		return
	}
	if old.Marker != "" {
		if is, err := atomicfile.IsPresent(s.Home.Path(filepath.Base(old.Marker))); !is && err == nil {
			return
		}
	}
	r.Handoff = old
}

func (s Store) warn(err error) {
	if s.Warn != nil {
		s.Warn(err)
	}
}

func (s Store) file(id ID) atomicfile.Rolling {
	return atomicfile.Rolling{Path: s.path(id), Limit: maxRecord, Warn: s.Warn, Valid: func(data []byte) error {
		_, err := parse(id, data)
		return err
	}}
}

// parse returns the session's record. It notes for Put whether the session had ended.
func parse(id ID, data []byte) (*Record, error) {
	r := new(Record)
	if err := r.UnmarshalJSON(data); err != nil { // json.Unmarshal would scan data twice
		return nil, err
	}
	if r.ID != id {
		return nil, fmt.Errorf("it is the record of '%.40s'", r.ID)
	}
	r.ended = r.Ended()
	return r, nil
}

// ReadRecords returns the home's records, newest first. It skips unreadable ones, so that they do
// not keep later sessions from being recorded.
func (s Store) ReadRecords() ([]*Record, error) { return s.loadRecords(atomicfile.Rolling.Read) }

// Repair is ReadRecords, but also sets damaged records aside and restores the generation in use.
// The caller holds the home's lock.
func (s Store) Repair() ([]*Record, error) { return s.loadRecords(atomicfile.Rolling.Repair) }

func (s Store) loadRecords(load func(atomicfile.Rolling) ([]byte, error)) ([]*Record, error) {
	ids, err := s.IDs()
	if err != nil {
		return nil, err
	}
	var all []*Record
	for _, id := range ids {
		r, err := s.load(id, load)
		if err != nil {
			s.warn(err)
		} else if r != nil {
			all = append(all, r)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].StartedAt.After(all[j].StartedAt) })
	return all, nil
}

// Put writes the session's hand-over, if that changed, and then the record. A hand-over that was
// taken is moved last, because until then the next start repeats it. d is Synced if the next step
// depends on it. If the session has ended or reopened since the record was read, the older
// generations go, so that none of them can stand in.
func (s Store) Put(r *Record, d atomicfile.Durability) error {
	if _, err := ParseID(string(r.ID)); err != nil {
		return err
	}
	if err := atomicfile.EnsurePrivateDir(s.dir()); err != nil {
		return err
	}
	if r.Handoff != nil {
		if err := r.slot.Put(s.Home, string(r.ID), r.Handoff, d); err != nil {
			return err
		}
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
	if r.ended = r.Ended(); r.Handoff != nil {
		return nil
	}
	return r.slot.Put(s.Home, string(r.ID), nil, d)
}

// prune removes the records of sessions that ended longer than keep ago, and all but keepEnded of
// the others that ended. It keeps those whose hand-over waits. all is sorted newest first.
func (s Store) prune(all []*Record, now time.Time) {
	ended := 0
	for _, r := range all {
		if !r.Ended() {
			continue
		}
		if r.Handoff != nil && now.Sub(r.EndedAt) <= keep {
			continue // its successor still needs the record
		}
		ended++
		if ended > keepEnded || now.Sub(r.EndedAt) > keep {
			// Only the record shows that there may be a tail (lib/conversation/tail), so
			// the tail goes first.
			if atomicfile.Remove(s.Home.Path("sessions", string(r.ID)+".tail")) == nil && s.file(r.ID).Remove() == nil {
				_ = handover.Forget(s.Home, string(r.ID))
				s.Home.Town.State.UnfixHome(string(r.ID))
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

// Lookup returns a session's record, or nil. An error means that the record could not be read.
func Lookup(state place.State, id ID) (*Record, error) {
	if _, err := ParseID(string(id)); err != nil {
		return nil, nil
	}
	h, ok, err := home.OfSession(state, string(id))
	if !ok {
		return nil, err
	}
	return Store{Home: h}.Get(id)
}

// AtWork reports whether a session runs according to its record. A missing or unreadable
// record counts as no.
func AtWork(state place.State, id ID, now time.Time) bool {
	r, _ := Lookup(state, id)
	return r != nil && !r.Ended() && !r.Crashed(now)
}
