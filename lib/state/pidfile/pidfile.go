// Package pidfile tracks the processes of a town's sessions, so that others can find and
// end them. Each has a file, <session>.pid, in the town's state (town.Town.Pids):
//
//	<pid>|<boot id>:<start>:<namespace>
//
// Boot id and start are the kernel's, so the format depends on no clock, and a PID that was
// reused is recognized. The namespace is the PID namespace of the number (see process.Proc;
// macOS has none).
//
// A trusted town has a copy of each where Gas Town has them (town.Town.SharedPids). What other
// programs write there is listed but never acted on. Gas Town writes a local time after the
// bar, which shows whether its process runs but proves nothing (docs/pid-files.md).
package pidfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
	"gt/lib/text/term"
)

// State is the state of a tracked process.
type State string

const (
	Alive   State = "alive"
	Gone    State = "gone"    // it ended; its PID may be another's now
	Foreign State = "foreign" // unknown: another program wrote the file, or the PID is of another namespace
	Corrupt State = "corrupt" // the file names no process
)

type File struct {
	Session string
	Process process.Proc // without a start if another program wrote the file
	State   State

	// Timed reports that another program's file has a start time, and Runs that a process with this
	// PID started then, within seconds. That is good enough to show, but not to end the process.
	Timed, Runs bool

	// Claimed reports that only the town's copy exists, which other programs can write.
	// They have to remove it.
	Claimed bool

	data []byte
}

type Dir struct{ town town.Town }

func NewDir(t town.Town) Dir { return Dir{t} }

const (
	suffix   = ".pid"
	maxName  = 200
	maxSize  = 4096
	lockWait = 3 * time.Second
)

// CheckName returns an error for a name that is neither a tmux session's nor a client's session id.
func CheckName(s string) error {
	switch {
	case s == "" || len(s) > maxName:
		return fmt.Errorf("a session's name has 1 to %d bytes, not %d", maxName, len(s))
	case s[0] == '.' || s[0] == '-':
		return fmt.Errorf("not a session name: '%s' begins with '%c'", s, s[0])
	case strings.Contains(s, "/") || !utf8.ValidString(s) || term.Clean(s) != s:
		return fmt.Errorf("not a session name: '%s'", s)
	}
	return nil
}

func (d Dir) path(session string) string {
	return filepath.Join(d.town.Pids(), session+suffix)
}

// Track writes or replaces the session's file, and its copy in the folder that the town's
// programs share. It does not sync, because no process survives a loss of power.
func (d Dir) Track(session string, p process.Proc) error {
	if err := CheckName(session); err != nil {
		return err
	}
	lock, err := d.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := atomicfile.Write(d.path(session), format(p), atomicfile.Unsynced); err != nil {
		return err
	}
	shared, name := d.town.SharedPids(), session+suffix
	shared.Sweep([]string{name}, time.Now())
	return shared.Write(name, format(p))
}

// checkOwner returns an error if another user owns the folder, for its owner decides which
// processes gt may end.
func (d Dir) checkOwner() error {
	if err := d.town.State.CheckOwner(); err != nil {
		return err
	}
	return atomicfile.CheckOwner(d.town.Pids())
}

// Get returns a session's file and its process's state, or fs.ErrNotExist. A file of
// another program is at most Foreign.
func (d Dir) Get(session string) (File, error) {
	if err := CheckName(session); err != nil {
		return File{}, err
	}
	if err := d.checkOwner(); err != nil {
		return File{}, err
	}
	data, err := atomicfile.Read(d.path(session), maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return d.readForeign(session)
	} else if err != nil {
		return File{}, err
	}
	f := File{Session: session, data: data}
	f.Process, f.State = parse(data)
	return f.setState(data)
}

// setState sets the state of the file's process. For another program's file (Foreign) it also sets
// whether the file says when the process began (Timed), and whether the process with this PID is
// still that one (Runs).
func (f File) setState(data []byte) (_ File, err error) {
	if f.State != "" {
		return f, nil
	}
	if f.State, err = stateOf(f.Process); f.State != Foreign {
		return f, err
	}
	p, _ := parse(data)
	began, ok := began(data)
	switch {
	case p.IsSet(): // it has gt's form
		f.Timed, f.Runs = !p.IsElsewhere(), p.IsAlive()
	case ok:
		started, err := process.StartTime(f.Process.PID)
		f.Timed = err == nil
		f.Runs = f.Timed && sameMoment(started, began)
	}
	return f, nil
}

// readForeign returns another program's file of a session that is not tracked. Its PID may be
// of another namespace.
func (d Dir) readForeign(session string) (File, error) {
	data, err := d.town.SharedPids().Read(session+suffix, maxSize)
	if err != nil {
		return File{}, err
	}
	p, state := parse(data)
	f := File{Session: session, Process: process.Proc{PID: p.PID}, State: state, Claimed: true}
	return f.setState(data)
}

// List returns the files by session name. With an error some are missing.
func (d Dir) List() ([]File, error) {
	if err := d.checkOwner(); err != nil {
		return nil, err
	}
	entries, err := atomicfile.Entries(d.town.Pids())
	if err != nil {
		return nil, err
	}
	names, failed := d.town.SharedPids().Names()
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	var all []File
	for _, name := range slices.Compact(names) {
		session, ok := strings.CutSuffix(name, suffix)
		if !ok || CheckName(session) != nil {
			continue
		}
		f, err := d.Get(session)
		switch {
		case errors.Is(err, fs.ErrNotExist): // just removed
		case err != nil:
			failed = errors.Join(failed, err)
		default:
			all = append(all, f)
		}
	}
	return all, failed
}

// Remove removes a file and its copy. It keeps one that was rewritten since it was read,
// and those of other programs.
func (d Dir) Remove(f File) error {
	if f.Claimed {
		return nil
	}
	lock, err := d.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	data, err := atomicfile.Read(d.path(f.Session), maxSize)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(data, f.data) {
		return nil
	} else if err != nil {
		return err
	}
	shared, name := d.town.SharedPids(), f.Session+suffix
	if copied, err := shared.Read(name, maxSize); err == nil && bytes.Equal(copied, f.data) {
		if err := shared.Remove(name); err != nil {
			return err
		}
	}
	return atomicfile.Remove(d.path(f.Session))
}

func (d Dir) lock() (*flock.Lock, error) {
	lock, err := d.town.State.Lock(filepath.Join(d.town.Pids(), ".lock"), lockWait)
	if err == nil {
		atomicfile.Sweep(d.town.Pids(), time.Now())
	}
	return lock, err
}

func format(p process.Proc) []byte {
	if p.NS == "" {
		return fmt.Appendf(nil, "%d|%s:%s\n", p.PID, p.Boot, p.Start)
	}
	return fmt.Appendf(nil, "%d|%s:%s:%s\n", p.PID, p.Boot, p.Start, p.NS)
}

// parse reads a file. The state is Corrupt or still "". PID 1 is never an agent.
func parse(data []byte) (process.Proc, State) {
	number, start, _ := strings.Cut(strings.TrimSpace(string(data)), "|")
	pid, err := strconv.ParseInt(number, 10, 32)
	if err != nil || pid <= 1 || number[0] == '+' || !utf8.Valid(data) {
		return process.Proc{}, Corrupt
	}
	p := process.Proc{PID: int(pid)}
	boot, rest, ok := strings.Cut(start, ":")
	since, ns, named := strings.Cut(rest, ":")
	const digits = "0123456789"
	isUUID := len(boot) == 36 && consistsOf(boot, digits+"abcdefABCDEF-")
	// On Linux the start is clock ticks, on macOS seconds and microseconds.
	if ok && isUUID && consistsOf(since, digits+".") && (!named || consistsOf(ns, digits)) {
		p = process.ProcFromRecord(p.PID, since, boot, ns)
	}
	return p, ""
}

// began reads Gas Town's time after the bar: "ps -o lstart", a local time in seconds.
func began(data []byte) (time.Time, bool) {
	_, start, _ := strings.Cut(strings.TrimSpace(string(data)), "|")
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", strings.TrimSpace(start), time.Local)
	return t, err == nil
}

// sameMoment reports whether two times are equal, except for rounding and for quarters of
// an hour, by which another time zone shifts them: by 26 hours at most.
func sameMoment(a, b time.Time) bool {
	const near, quarter, day = 3 * time.Second, 15 * time.Minute, 26 * time.Hour
	off := a.Sub(b).Abs()
	return off <= day && (off%quarter <= near || quarter-off%quarter <= near)
}

func consistsOf(s, chars string) bool { return s != "" && strings.Trim(s, chars) == "" }

// stateOf returns the state of a process. On error it is unknown, and the caller must do nothing.
func stateOf(p process.Proc) (State, error) {
	if p.IsElsewhere() {
		return Foreign, nil
	}
	_, err := process.Find(p.PID)
	switch {
	case err != nil && !errors.Is(err, os.ErrProcessDone):
		return "", err
	case err == nil && !p.IsSet():
		return Foreign, nil // the PID alone proves nothing
	case p.IsAlive():
		return Alive, nil
	}
	return Gone, nil
}

// Probe returns the current state of the process.
func (f File) Probe() (State, error) {
	if f.State == Corrupt {
		return Corrupt, nil
	}
	return stateOf(f.Process)
}
