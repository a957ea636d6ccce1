// Package pidfile tracks the processes of a town's sessions, so that they can
// be found, and ended, by whoever comes later. Each has a file, <session>.pid, in
// what the state keeps of the town (town.Town.Pids):
//
//	<pid>|<boot id>:<start>:<namespace>
//
// with the kernel's id of the boot, its figure for the start of the process and
// the PID namespace that the number counts in (process.Proc; macOS has none): no
// clock takes part, and a number that was given to another process since is never
// mistaken for the one that was tracked.
//
// A trusted town has a copy of each where S1 says (town.Town.SharedPids), for other
// programs to read; what they write there is listed and never acted on, whatever it
// says. Gas Town has a local time after the bar: whether its process runs can be told, and
// is no proof (docs/pid-files.md).
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

// State is what has become of a tracked process.
type State string

const (
	Alive   State = "alive"   // it runs
	Gone    State = "gone"    // it does not; its number may be another's now
	Foreign State = "foreign" // whether it runs cannot be told: another program noted it, or its PID namespace is not ours
	Corrupt State = "corrupt" // the file names no process
)

// File is what one PID file says.
type File struct {
	Session string
	Process process.Proc // without a start where another program wrote the file
	State   State

	// Timed reports that another program's file says when its process began, and Runs
	// that a process with that number did, to within seconds: enough to be told, and no
	// proof that would let it be ended.
	Timed, Runs bool

	// Claimed reports that only what other programs of the town write says so. Such
	// a file is theirs to remove.
	Claimed bool

	data []byte
}

// Dir is the folder of a town's PID files.
type Dir struct{ town town.Town }

// Of returns the folder of the town.
func Of(t town.Town) Dir { return Dir{t} }

const (
	suffix   = ".pid"
	maxName  = 200
	maxSize  = 4096
	lockWait = 3 * time.Second
)

// CheckName refuses what cannot be the name of a session's file. A tmux
// session's name and a client's session id can.
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

// Track writes the session's file, in the place of what it said before. It
// does not wait for the disk, for no process outlives a loss of power.
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

// Get returns what the session's file says, and how its process is; an error
// that is fs.ErrNotExist where the session is not tracked. What only another
// program says is never more than Foreign.
func (d Dir) Get(session string) (File, error) {
	if err := CheckName(session); err != nil {
		return File{}, err
	}
	// Whoever made the folder says which processes are ours to end.
	if err := atomicfile.CheckOwner(d.town.Pids()); err != nil {
		return File{}, err
	}
	data, err := atomicfile.Read(d.path(session), maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return d.claimed(session)
	} else if err != nil {
		return File{}, err
	}
	f := File{Session: session, data: data}
	f.Process, f.State = parse(data)
	return f.parse(data)
}

// parse says how the process of the file is.
func (f File) parse(data []byte) (_ File, err error) {
	if f.State != "" {
		return f, nil
	}
	if f.State, err = stateOf(f.Process); f.State != Foreign {
		return f, err
	}
	p, _ := parse(data)
	began, ok := began(data)
	switch {
	case p.IsSet():
		f.Timed, f.Runs = !p.Elsewhere(), p.Alive()
	case ok:
		now, err := process.StartTime(f.Process.PID)
		f.Timed = err == nil
		f.Runs = f.Timed && sameMoment(now, began)
	}
	return f, nil
}

// claimed is what another program says of a session that is not tracked: a number,
// which it may have noted in another PID namespace.
func (d Dir) claimed(session string) (File, error) {
	data, err := d.town.SharedPids().Read(session+suffix, maxSize)
	if err != nil {
		return File{}, err
	}
	p, state := parse(data)
	f := File{Session: session, Process: process.Proc{PID: p.PID}, State: state, Claimed: true}
	return f.parse(data)
}

// List returns the files by the names of their sessions. One that cannot be
// read is reported, and the others are returned all the same.
func (d Dir) List() ([]File, error) {
	if err := atomicfile.CheckOwner(d.town.Pids()); err != nil {
		return nil, err
	}
	entries, err := atomicfile.ReadDir(d.town.Pids())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Error("read", d.town.Pids(), err)
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

// Remove takes the file away, and its copy. One that was written anew since it was
// read says something else, and stays; and so does what another program wrote.
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

// lock makes the folder, private and out of git's sight, and the caller the
// only one to change what is in it.
func (d Dir) lock() (*flock.Lock, error) {
	if err := d.town.State.Prepare(d.town.Pids()); err != nil {
		return nil, err
	}
	lock, err := flock.Acquire(filepath.Join(d.town.Pids(), ".lock"), lockWait)
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

// parse reads a file. The state is Corrupt where it names no process, else
// open. Process 1 is the system's own, and nobody's agent.
func parse(data []byte) (process.Proc, State) {
	number, start, _ := strings.Cut(strings.TrimSpace(string(data)), "|")
	pid, err := strconv.ParseInt(number, 10, 32)
	if err != nil || pid <= 1 || number[0] == '+' || !utf8.Valid(data) {
		return process.Proc{}, Corrupt
	}
	p := process.Proc{PID: int(pid)}
	boot, rest, ok := strings.Cut(start, ":")
	since, ns, named := strings.Cut(rest, ":")
	if ok && isBoot(boot) && isStart(since) && (!named || isNamespace(ns)) {
		p = process.Noted(p.PID, since, boot, ns)
	}
	return p, ""
}

// began reads the time that Gas Town writes behind the bar: what "ps -o lstart" says, a
// local time to the second.
func began(data []byte) (time.Time, bool) {
	_, start, _ := strings.Cut(strings.TrimSpace(string(data)), "|")
	t, err := time.ParseInLocation("Mon Jan _2 15:04:05 2006", strings.TrimSpace(start), time.Local)
	return t, err == nil
}

// sameMoment reports whether two times are the same to within the rounding of both. A
// zone that was another when one of them was written shifts it by quarters of an hour.
func sameMoment(a, b time.Time) bool {
	const near, quarter, day = 3 * time.Second, 15 * time.Minute, 26 * time.Hour
	off := a.Sub(b).Abs()
	return off <= day && (off%quarter <= near || quarter-off%quarter <= near)
}

// isBoot knows a boot's id, a UUID, and isStart the figure of Linux (clock
// ticks) or macOS (seconds and microseconds).
func isBoot(s string) bool {
	return len(s) == 36 && strings.Trim(s, "0123456789abcdefABCDEF-") == ""
}

func isStart(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// isNamespace knows the number of a namespace.
func isNamespace(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// stateOf says how the process is. An error where the system does not tell:
// nothing is known then, and nothing is to be done.
func stateOf(p process.Proc) (State, error) {
	if p.Elsewhere() {
		return Foreign, nil
	}
	now, err := process.Find(p.PID)
	switch {
	case errors.Is(err, os.ErrProcessDone):
		return Gone, nil
	case err != nil:
		return "", err
	case !p.IsSet():
		return Foreign, nil
	case now != p:
		return Gone, nil
	}
	return Alive, nil
}

// Probe says how the process is now.
func (f File) Probe() (State, error) {
	if f.State == Corrupt {
		return Corrupt, nil
	}
	return stateOf(f.Process)
}
