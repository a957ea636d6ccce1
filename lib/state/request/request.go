// Package request carries requests of a command in an agent's sandbox, which can reach
// neither the state nor tmux, to the agent's hooks, which run outside.
//
// The command writes a line of JSON to <home>/.runtime/requests/<session id>
// (place.Request) and prints the line's digest. Anything in the sandbox can write that
// file, so a hook takes a line only if the client's own account of the turn shows the
// digest as a command's output. From then on the copy in the state counts,
// sessions/<id>.request. It is served once, at the end of the turn: sessions/<id>.served
// holds an item before anything of it is done.
//
// A command that can write the state, but cannot reach tmux, adds its line to the copy itself.
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

const (
	Handoff    = "handoff"
	Note       = "note"
	Checkpoint = "checkpoint"
	Claim      = "claim" // claims work of the session's template
	Done       = "done"
	GiveBack   = "back"
)

func (i Item) OfWork() bool { return i.Kind == Claim || i.Kind == Done || i.Kind == GiveBack }

// Item is a request of one command. It names no other session, pane or role: it applies to
// its own session and the successor.
type Item struct {
	Kind string    `json:"kind"`
	At   time.Time `json:"at"`

	// For Note and Handoff:
	Subject string `json:"subject,omitempty"`
	Message string `json:"message,omitempty"`
	Given   bool   `json:"given,omitempty"` // the note becomes the agent's work

	// For Handoff:
	To     string `json:"to,omitempty"`
	Cycle  bool   `json:"cycle,omitempty"`
	Reason string `json:"reason,omitempty"`
	Work   string `json:"work,omitempty"` // a note of its own box; for Done and GiveBack, the work
	Bare   bool   `json:"bare,omitempty"` // collect nothing

	// For Checkpoint; nil keeps the earlier value:
	Notes     *string `json:"notes,omitempty"`
	Molecule  *string `json:"molecule,omitempty"`
	Step      *string `json:"step,omitempty"`
	StepTitle *string `json:"step_title,omitempty"`
}

// Denied reports whether an error is a sandbox's refusal to write.
func Denied(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.EPERM)
}

// HomeOf returns the home in which the session's hooks look for its requests: the one of
// its first hook, wherever the command runs.
func HomeOf(s place.Scope, h home.Home, id session.ID) home.Home {
	if at, dir, _ := s.State.FixedHome(string(id)); at != "" {
		return home.FixedHome(s, at, dir, h.Dir, string(id))
	}
	return h
}

// Kind is the prefix of each Line.
const Kind = "gt-request sha256:"

// Line returns what a command prints for an item, and what the client's account of the turn
// has to show. It is about that item alone, so others in the file are not served with it.
func Line(item []byte) string {
	sum := sha256.Sum256(item)
	return Kind + hex.EncodeToString(sum[:])
}

// Leave adds an item to the session's requests: to the copy in the state or, if a sandbox denies
// that, to the project's file. Then the command must print said, by which Take finds the item.
func Leave(h home.Home, id session.ID, item Item) (said string, err error) {
	line, err := json.Marshal(item)
	if err != nil {
		return "", err
	}
	line = append(line, '\n')
	own := writeRequest(h, id, line)
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

// writeRequest adds lines to the copy in the state, unless they are there.
func writeRequest(h home.Home, id session.ID, data []byte) error {
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

// The paths of the copy of a session's requests, of those that were served, and of a file whose
// time is the beginning of the session's turn.
func copyOf(h home.Home, id session.ID) string     { return h.Path("sessions", string(id)+".request") }
func servedPath(h home.Home, id session.ID) string { return h.Path("sessions", string(id)+".served") }
func turnPath(h home.Home, id session.ID) string   { return h.Path("sessions", string(id)+".turn") }

// read returns a file of the state; empty if there is none.
func read(path string) ([]byte, error) {
	return atomicfile.IfExists(atomicfile.Read(path, 8*place.MaxRequest))
}

// HadTurn reports whether a turn of the session has begun. On an error that is unknown.
func HadTurn(h home.Home, id session.ID) (bool, error) {
	return atomicfile.IsPresent(turnPath(h, id))
}

// BeginTurn records the beginning of a turn. Earlier requests are not served any more.
func BeginTurn(h home.Home, id session.ID, now time.Time) error {
	err := os.Chtimes(turnPath(h, id), now, now)
	if errors.Is(err, fs.ErrNotExist) {
		err = atomicfile.Write(turnPath(h, id), nil, atomicfile.Unsynced)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the session has no record here yet
	}
	return err
}

// slack is how far the kernel's clock for file times may be behind.
const slack = 20 * time.Millisecond

// HasStored reports whether the state has a request of the session. It costs one lstat.
func HasStored(h home.Home, id session.ID) bool { return atomicfile.Exists(copyOf(h, id)) }

// AskedHandover reports whether the session's requests have a hand-over that was not served yet, and
// returns its subject.
func AskedHandover(h home.Home, id session.ID) (subject string, asked bool) {
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

// Withdraw removes the hand-overs from a session's requests: from the file in its folder, to which a
// sandboxed command can write, and from the one in gt's state. The caller holds the home's lock if
// its sandbox allows that.
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
	file := place.RequestOf(h.Dir, string(id))
	theirs, _, err := file.Read()
	if err == nil {
		if rest := without(theirs); len(rest) == 0 {
			err = file.Remove()
		} else if len(rest) < len(theirs) {
			err = file.Write(rest)
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

// MayHaveRequest reports whether the project's folder may have a request of the session. It costs one lstat.
func MayHaveRequest(h home.Home, id session.ID) bool {
	return place.RequestOf(h.Dir, string(id)).Exists()
}

const gitWait = time.Second

// Take moves items of a request from the project to the state: those whose lines are in shown,
// which the client's account of the turn has. The others stay for their own turn. Take removes
// a request that is older than the turn.
func Take(h home.Home, id session.ID, shown []string) (taken bool, err error) {
	file := place.RequestOf(h.Dir, string(id))
	data, changed, err := file.Read()
	if err != nil {
		return false, err
	}
	var began time.Time
	if info, err := os.Lstat(turnPath(h, id)); err == nil {
		began = info.ModTime().Add(-slack)
	}
	if changed.Before(began) { // mutant never: TestTakeOfAnOlderTurn
		return false, file.Remove()
	}
	var rest []byte
	items := slices.Collect(bytes.Lines(data))
	data = nil
	for _, item := range items {
		if bytes.HasSuffix(item, []byte("\n")) &&
			slices.Contains(shown, Line(item)) { // mutant always: TestTake$
			data = append(data, item...)
		} else {
			rest = append(rest, item...)
		}
	}
	if len(data) == 0 {
		return false, nil
	}
	if err := check(data, began); err != nil {
		return false, atomicfile.Error("serve", file.Path(), err)
	}
	tracked, err := git.Tracks(file.Path(), gitWait)
	switch {
	case err != nil:
		return false, atomicfile.Error("serve", file.Path(), err)
	case tracked: // mutant never: TestTakeRefuses
		return false, atomicfile.Error("serve", file.Path(), errors.New("git tracks it"))
	}
	done, err := read(servedPath(h, id))
	if err != nil {
		return false, err
	}
	if !bytes.Contains(done, data) { // what was served is not stored again
		if err := writeRequest(h, id, data); err != nil {
			return false, err
		}
	}
	if len(rest) > 0 {
		return true, file.Write(rest)
	}
	return true, file.Remove()
}

// check returns an error for a request that has an item of another turn than the one that began.
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

// parse reads a request, one item a line. One kind that is not allowed is an error for all.
func parse(data []byte) (items []Item, err error) {
	for line := range bytes.Lines(data) {
		var i Item
		if err := json.Unmarshal(line, &i); err != nil {
			return nil, err
		}
		switch i.Kind {
		case Handoff, Note, Checkpoint, Claim, Done, GiveBack:
		default:
			return nil, fmt.Errorf("it asks for '%.40s', which is not allowed", i.Kind)
		}
		items = append(items, i)
	}
	return items, nil
}

// Serve returns the request in the state and when it last grew, after recording it as
// served. If the caller is killed afterwards, the request is lost rather than served twice.
// The caller holds the home's lock.
func Serve(h home.Home, id session.ID) (items []Item, left time.Time, err error) {
	info, err := atomicfile.IfExists(os.Lstat(copyOf(h, id)))
	if err != nil || info == nil {
		return nil, time.Time{}, atomicfile.Error("read", copyOf(h, id), err)
	}
	data, err := read(copyOf(h, id))
	if err != nil {
		return nil, time.Time{}, err
	}
	done, err := read(servedPath(h, id))
	if err != nil {
		return nil, time.Time{}, err
	}
	if bytes.Contains(done, data) { // the one who recorded that was killed before removing the copy
		return nil, time.Time{}, atomicfile.Remove(copyOf(h, id))
	}
	if len(done) > 4*place.MaxRequest {
		done = nil // of earlier turns; check refuses items that old
	}
	// mutant skip: TestServedIsNotedFirst
	if err := atomicfile.Write(servedPath(h, id), append(done, data...), atomicfile.Synced); err != nil {
		return nil, time.Time{}, err
	}
	if err := atomicfile.Remove(copyOf(h, id)); err != nil {
		return nil, time.Time{}, err
	}
	items, err = parse(data)
	return items, info.ModTime(), err
}
