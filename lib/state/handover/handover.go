// Package handover keeps what was handed over. A hand-over is one file in the home's state,
// with its note inside:
//
//	handover/waiting/<session id>   no session has taken it
//	handover/taken/<session id>     the latest of that session that another one took, or that was taken back
//	handover/taken/latest           the latest of those that no session's record has
//
// That of a person has an invented id. A session's record carries its own (Slot): storing the
// record without it takes it. It is taken by one rename, so only one session can take
// it, and a process that is killed leaves it waiting or taken. Gas Town's marker and the note in the
// mailbox are copies for other programs and for gt-mail; whether a hand-over waits is never read
// from them. What other programs left there becomes such a file once (lib/state/waiting).
package handover

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gt/lib/place/home"
	"gt/lib/sys/atomicfile"
)

// Handover is what a session or a person hands over.
type Handover struct {
	Kind    string    `json:"kind"`             // as in lib/state/session
	Note    string    `json:"note,omitempty"`   // the id of its note in the mailbox
	Marker  string    `json:"marker,omitempty"` // the name of Gas Town's marker
	From    string    `json:"from,omitempty"`   // as the marker says: a tmux session, or the session's id
	Before  []string  `json:"before,omitempty"` // earlier notes that this one includes
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at"`
	Respawn bool      `json:"respawn,omitempty"`  // the successor gets the pane
	TakenBy string    `json:"taken_by,omitempty"` // the session that is about to take it

	// Claim reports that another program left it, or a gt-handoff that was killed; Markers are
	// the markers that it came from (see marker.Marker.Path).
	Claim   bool     `json:"claim,omitempty"`
	Markers []string `json:"markers,omitempty"`

	// Conversation is the id of the copy that the successor's client resumes; "" for a new one.
	Conversation string `json:"conversation,omitempty"`

	// Earlier is what waited for a successor when the session saved this for itself. It
	// waits again after this is taken.
	Earlier *Handover `json:"earlier,omitempty"`

	// Text is the note itself. Hand-overs of gt v0.2.0 and of a session that moved here have
	// it in the mailbox only.
	Text *Text `json:"text,omitempty"`
}

// Text is what the mailbox has of a note.
type Text struct {
	From    string    `json:"from,omitempty"`
	To      string    `json:"to,omitempty"`
	Session string    `json:"session,omitempty"` // of a hand-over that no session's record has
	Subject string    `json:"subject,omitempty"`
	Date    time.Time `json:"date,omitzero"`
	Chain   string    `json:"chain,omitempty"`
	Body    string    `json:"body,omitempty"`
}

// maxFile bounds a hand-over's file, in bytes. JSON can make the note six times as long.
const maxFile = 8 << 20

func waitingPath(h home.Home, session string) string { return h.Path("handover", "waiting", session) }

func takenPath(h home.Home, session string) string { return h.Path("handover", "taken", session) }

// Waiting returns the names of the hand-overs that wait, without what was set aside, and sweeps
// what killed writers left.
func Waiting(h home.Home) ([]string, error) {
	names, err := atomicfile.Files(h.Path("handover", "waiting"))
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, ".bad") }), err
}

// TakeUnowned takes a hand-over that no session's record has. The latest is kept.
func TakeUnowned(h home.Home, id string, d atomicfile.Durability) error {
	return take(h, id, "latest", d)
}

// take moves a waiting hand-over to taken/<as>. It is no error if another process was faster.
func take(h home.Home, id, as string, d atomicfile.Durability) error {
	if err := atomicfile.EnsurePrivateDir(h.Path("handover", "taken")); err != nil {
		return err
	}
	err := atomicfile.Rename(waitingPath(h, id), takenPath(h, as), d)
	if errors.Is(err, fs.ErrNotExist) { // another one took it
		return nil
	}
	return err
}

// ErrDamaged reports a file that is no hand-over.
var ErrDamaged = errors.New("it is no hand-over")

// SetAside keeps a damaged file under another name (see atomicfile.Quarantine). The caller holds
// the home's lock.
func SetAside(h home.Home, id string) error {
	_, err := atomicfile.Quarantine(waitingPath(h, id))
	return err
}

// Slot is the place of one session's hand-over, as it was read.
type Slot struct {
	data     []byte
	unusable bool // it could not be read, or is no hand-over
}

// Read returns the hand-over of a session that waits, or nil. With an error the slot is of
// use as well: its Put keeps what could not be read.
func Read(h home.Home, session string) (*Handover, Slot, error) {
	o, data, err := load(waitingPath(h, session))
	return o, Slot{data: data, unusable: err != nil}, err
}

// load returns the hand-over in a file, and its bytes; nil if there is none.
func load(path string) (*Handover, []byte, error) {
	data, err := atomicfile.IfExists(atomicfile.Read(path, maxFile))
	if err != nil || data == nil {
		return nil, nil, err
	}
	o := new(Handover)
	if err := json.Unmarshal(data, o); err != nil {
		return nil, nil, atomicfile.Error("read", path, fmt.Errorf("%w: %w", ErrDamaged, err))
	}
	return o, data, nil
}

// Put makes o the hand-over that waits; nil means that the one that was read is taken. It
// does nothing if o is what was read. What could not be read is set aside (see
// atomicfile.Quarantine), not replaced. The caller holds the home's lock.
func (s *Slot) Put(h home.Home, session string, o *Handover, d atomicfile.Durability) error {
	if o == nil {
		if s.data == nil {
			return nil
		}
		err := take(h, session, session, d)
		if err == nil {
			s.data = nil
		}
		return err
	}
	data, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return err
	}
	if data = append(data, '\n'); bytes.Equal(data, s.data) {
		return nil
	}
	if err := atomicfile.EnsurePrivateDir(h.Path("handover", "waiting")); err != nil {
		return err
	}
	path := waitingPath(h, session)
	if s.unusable {
		if _, err := atomicfile.Quarantine(path); err != nil && !atomicfile.IsAbsent(err) {
			return err
		}
	}
	if err := atomicfile.Write(path, data, d); err != nil {
		return err
	}
	s.data, s.unusable = data, false
	return nil
}

// GiveBack makes the hand-over of session wait again if the session by took it, unless a newer one
// waits. The caller holds the home's lock.
func GiveBack(h home.Home, session, by string) error {
	o, _, err := load(takenPath(h, session))
	if o == nil || o.TakenBy != by {
		return err
	}
	newer, slot, err := Read(h, session)
	if newer != nil || err != nil {
		return err
	}
	o.TakenBy = ""
	if err := slot.Put(h, session, o, atomicfile.Synced); err != nil {
		return err
	}
	return atomicfile.Remove(takenPath(h, session))
}

// Find returns the hand-over whose note has the id note: one that waits, the latest that was taken,
// or one that is kept in these as Earlier; nil if there is none.
func Find(h home.Home, note string) *Handover {
	for _, dir := range []string{"waiting", "taken"} {
		names, _ := atomicfile.Files(h.Path("handover", dir))
		for _, name := range names {
			for o, _, _ := load(h.Path("handover", dir, name)); o != nil; o = o.Earlier {
				if o.Note == note {
					return o
				}
			}
		}
	}
	return nil
}

// Forget removes what a session handed over, with what was set aside.
func Forget(h home.Home, session string) error {
	names, err := atomicfile.Files(h.Path("handover", "waiting"))
	errs := []error{err, atomicfile.Remove(waitingPath(h, session)), atomicfile.Remove(takenPath(h, session))}
	for _, name := range names {
		if strings.HasPrefix(name, session+".bad") {
			errs = append(errs, atomicfile.Remove(waitingPath(h, name)))
		}
	}
	return errors.Join(errs...)
}
