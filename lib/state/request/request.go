// Package request carries what a command asks for that runs in an agent's sandbox,
// out of which neither the state nor tmux can be reached, to the agent's hooks,
// which run outside.
//
// The command leaves a line of JSON in <home>/.runtime/requests/<session id>
// (place.Request), and prints the digest of the whole file. Anything in the
// sandbox can write that file. So a hook takes it over only where the client's own
// account of the turn shows that digest as what a command of the session printed;
// from then on its copy in the state counts, sessions/<id>.request. It is served at
// the end of the turn, once: what is served stands in sessions/<id>.served before
// anything of it is done.
//
// A command that can write the state, and only cannot reach tmux, leaves its line
// in the copy itself.
package request

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/place/git"
	"gt/lib/place/home"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// The kinds of Item.
const (
	Handoff    = "handoff"
	Note       = "note"
	Checkpoint = "checkpoint"
	Claim      = "claim" // of the work that is left for its template
	Done       = "done"
	Back       = "back"
)

// OfWork reports whether an item is about the work of a template's sessions.
func (i Item) OfWork() bool { return i.Kind == Claim || i.Kind == Done || i.Kind == Back }

// Item is what one command asks for. It names no other session, pane or role: all
// is for the session that it is from, and for its successor.
type Item struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`

	// Of a note and of a hand-over.
	Subject string `json:"subject,omitempty"`
	Message string `json:"message,omitempty"`
	Given   bool   `json:"given,omitempty"` // the note is work for the agent

	// Of a hand-over.
	To     string `json:"to,omitempty"`
	Cycle  bool   `json:"cycle,omitempty"`
	Reason string `json:"reason,omitempty"`
	Work   string `json:"work,omitempty"` // a note of its own box; of done and back, the work
	Bare   bool   `json:"bare,omitempty"` // nothing is collected

	// Of a checkpoint; nil leaves what was said before.
	Notes     *string `json:"notes,omitempty"`
	Molecule  *string `json:"molecule,omitempty"`
	Step      *string `json:"step,omitempty"`
	StepTitle *string `json:"step_title,omitempty"`
}

// Denied reports whether an error is what a sandbox gives a command that writes
// where it may not.
func Denied(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

// HomeOf is the home in which the session's hooks look for its request: the one
// that its first hook had, wherever the command runs.
func HomeOf(getenv func(string) string, h home.Home, id session.ID) home.Home {
	state := place.StateOf(getenv)
	if at, dir, _ := state.Fixed(string(id)); at != "" {
		return home.Fixed(state, getenv, at, dir, h.Dir, string(id))
	}
	return h
}

// Kind is what each Line begins with.
const Kind = "gt-request sha256:"

// Line is what a command prints of the item that it has left, and what the client's
// account of the turn has to show. It stands for that item alone: what somebody else
// in the sandbox has put beside it is not served with it.
func Line(item []byte) string {
	sum := sha256.Sum256(item)
	return Kind + hex.EncodeToString(sum[:])
}

// Leave adds an item to what the session asks for. said is a line that the command
// has to print; it is empty where the item is in the state already.
func Leave(h home.Home, id session.ID, item Item) (said string, err error) {
	line, err := json.Marshal(item)
	if err != nil {
		return "", err
	}
	line = append(line, '\n')
	own := keep(h, id, line)
	if own == nil || !Denied(own) {
		return "", own
	}
	r := place.RequestOf(h.Dir, string(id))
	data, _, err := r.Read()
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		data = append(data, line...)
		err = r.Write(data)
	}
	switch {
	case errors.Is(err, atomicfile.ErrTooLarge):
		return "", cli.Fail(cli.IO, err, "put a long text into a file and name the file in the note")
	case err != nil:
		return "", cli.Fail(cli.IO, fmt.Errorf("this sandbox does not allow writing to gt's state or to the project: %w; %w", own, err),
			"nothing was saved; say what matters in your answer")
	}
	return Line(line), nil
}

// keep adds to what the state has of the request.
func keep(h home.Home, id session.ID, data []byte) error {
	lock, err := h.Lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	old, err := read(copyOf(h, id))
	if err != nil {
		return err
	}
	if bytes.Contains(old, data) {
		return nil
	}
	if len(old)+len(data) > place.MaxRequest {
		return atomicfile.Error("write", copyOf(h, id), atomicfile.ErrTooLarge)
	}
	return atomicfile.Write(copyOf(h, id), append(old, data...), atomicfile.Synced)
}

func copyOf(h home.Home, id session.ID) string { return h.Path("sessions", string(id)+".request") }
func served(h home.Home, id session.ID) string { return h.Path("sessions", string(id)+".served") }
func turn(h home.Home, id session.ID) string   { return h.Path("sessions", string(id)+".turn") }

// read returns a file of the state, empty where there is none.
func read(path string) ([]byte, error) {
	data, err := atomicfile.Read(path, 8*place.MaxRequest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// HadTurn reports whether a turn of the session has begun before.
func HadTurn(h home.Home, id session.ID) bool { return !turnOf(h, id).IsZero() }

// Turn notes that a turn of the session begins: what was asked for before is not
// served any more.
func Turn(h home.Home, id session.ID, now time.Time) error {
	err := os.Chtimes(turn(h, id), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.Write(turn(h, id), nil, atomicfile.Unsynced)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // no session is noted here yet
	}
	return err
}

// turnOf is when the turn began, the zero time where that is not known.
func turnOf(h home.Home, id session.ID) time.Time {
	info, err := os.Lstat(turn(h, id))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// slack is how far the clock by which the kernel dates files may be behind.
const slack = 20 * time.Millisecond

// Waits reports whether the state has a request of the session. It is one look.
func Waits(h home.Home, id session.ID) bool {
	_, err := os.Lstat(copyOf(h, id))
	return err == nil
}

// Asked reports whether a hand-over is asked for that was not served yet, and its subject.
func Asked(h home.Home, id session.ID) (subject string, asked bool) {
	own, _ := read(copyOf(h, id))
	theirs, _, _ := place.RequestOf(h.Dir, string(id)).Read()
	for line := range bytes.Lines(append(own, theirs...)) {
		var i Item
		if json.Unmarshal(line, &i) == nil && i.Kind == Handoff {
			subject, asked = i.Subject, true
		}
	}
	return subject, asked
}

// Withdraw removes the hand-overs from what a session asks for. The caller holds the
// home's lock, where the sandbox lets it.
func Withdraw(h home.Home, id session.ID) error {
	without := func(data []byte) (rest []byte) {
		for line := range bytes.Lines(data) {
			var i Item
			if json.Unmarshal(line, &i) != nil || i.Kind != Handoff {
				rest = append(rest, line...)
			}
		}
		return rest
	}
	r := place.RequestOf(h.Dir, string(id))
	theirs, _, err := r.Read()
	if err == nil {
		if rest := without(theirs); len(rest) == 0 {
			err = r.Remove()
		} else if len(rest) < len(theirs) {
			err = r.Write(rest)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	own, err := read(copyOf(h, id))
	if rest := without(own); err == nil && len(rest) < len(own) {
		if len(rest) == 0 {
			return atomicfile.Remove(copyOf(h, id))
		}
		return atomicfile.Write(copyOf(h, id), rest, atomicfile.Synced)
	}
	return err
}

// Asks reports whether there may be a request in the project. It is one look.
func Asks(h home.Home, id session.ID) bool {
	return place.RequestOf(h.Dir, string(id)).Exists()
}

// gitWait bounds git.
const gitWait = time.Second

// Take takes the items of a request over from the project into the state whose lines
// are among those that the client's account shows. What else lies there waits for its
// own; a request that is older than the turn is removed.
func Take(h home.Home, id session.ID, shown []string) (taken bool, err error) {
	r := place.RequestOf(h.Dir, string(id))
	data, changed, err := r.Read()
	if err != nil {
		return false, err
	}
	began := turnOf(h, id).Add(-slack)
	if changed.Before(began) {
		return false, r.Remove()
	}
	var rest []byte
	items := slices.Collect(bytes.Lines(data))
	data = nil
	for _, item := range items {
		if bytes.HasSuffix(item, []byte("\n")) && slices.Contains(shown, Line(item)) {
			data = append(data, item...)
		} else {
			rest = append(rest, item...)
		}
	}
	if len(data) == 0 {
		return false, nil
	}
	if err := check(data, began); err != nil {
		return false, atomicfile.Error("serve", r.Path(), err)
	}
	tracked, err := git.Tracks(r.Path(), gitWait)
	switch {
	case err != nil:
		return false, atomicfile.Error("serve", r.Path(), err)
	case tracked:
		return false, atomicfile.Error("serve", r.Path(), errors.New("git tracks it"))
	}
	done, err := read(served(h, id))
	if err != nil {
		return false, err
	}
	if !bytes.Contains(done, data) {
		if err := keep(h, id, data); err != nil {
			return false, err
		}
	}
	if len(rest) > 0 {
		return true, r.Write(rest)
	}
	return true, r.Remove()
}

// check refuses what no command of this turn has left.
func check(data []byte, began time.Time) error {
	items, err := parse(data)
	if err != nil {
		return err
	}
	for _, i := range items {
		if i.At.Before(began) || i.At.After(time.Now().Add(slack)) {
			return errors.New("it belongs to another turn")
		}
	}
	return nil
}

func parse(data []byte) (items []Item, err error) {
	for line := range bytes.Lines(data) {
		var i Item
		if err := json.Unmarshal(line, &i); err != nil {
			return nil, err
		}
		switch i.Kind {
		case Handoff, Note, Checkpoint, Claim, Done, Back:
		default:
			return nil, fmt.Errorf("it asks for '%.40s', which is not allowed", i.Kind)
		}
		items = append(items, i)
	}
	return items, nil
}

// Serve returns what the state has of the request and when that was last added to,
// once it is noted as served: whoever is killed now does none of it, and nobody does
// any of it twice. The caller holds the home's lock.
func Serve(h home.Home, id session.ID) (items []Item, left time.Time, err error) {
	info, err := os.Lstat(copyOf(h, id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, time.Time{}, nil
	} else if err != nil {
		return nil, time.Time{}, atomicfile.Error("read", copyOf(h, id), err)
	}
	data, err := read(copyOf(h, id))
	if err != nil {
		return nil, time.Time{}, err
	}
	done, err := read(served(h, id))
	if err != nil {
		return nil, time.Time{}, err
	}
	if bytes.Contains(done, data) { // who noted that was killed before the next step
		return nil, time.Time{}, atomicfile.Remove(copyOf(h, id))
	}
	if len(done) > 4*place.MaxRequest {
		done = nil // of turns that are over: check refuses what is as old
	}
	if err := atomicfile.Write(served(h, id), append(done, data...), atomicfile.Synced); err != nil {
		return nil, time.Time{}, err
	}
	if err := atomicfile.Remove(copyOf(h, id)); err != nil {
		return nil, time.Time{}, err
	}
	items, err = parse(data)
	return items, info.ModTime(), err
}
