package eventlog

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

// ErrReplaced reports that another program replaced the log during a prune. Nothing was
// changed.
var ErrReplaced = errors.New("another program replaced it meanwhile")

type Pruning struct {
	// Expired reports whether an event is too old to keep. Its result for an event must not
	// change.
	Expired func(Head) bool
	// StillRuns reports whether the session of an expired session_start or session_resume still
	// runs. Then all its events stay. It may be nil.
	StillRuns func(Head) bool
	// Keep is how many of the newest events stay, expired or not.
	Keep int
	// Archive moves life-cycle events that leave the log to the archive.
	Archive bool
	DryRun  bool
	// Progress is called from time to time with the number of processed and of all bytes;
	// may be nil.
	Progress func(done, total int64)
}

// Pruned is the result of a prune.
type Pruned struct {
	Events  int            // in the log before
	Removed map[string]int // by type
	Before  int64          // in bytes
	After   int64
	Carried int // lines moved to the archive
}

func (p Pruned) TotalRemoved() int {
	n := 0
	for _, k := range p.Removed {
		n += k
	}
	return n
}

const (
	// turnWait bounds the wait for another prune.
	turnWait = 500 * time.Millisecond
	// shortTail is how many appended bytes a prune copies while it holds the lock. It
	// copies the others before.
	shortTail = 64 << 10
	maxTypes  = 1000 // a hostile log can have any number; the rest count as "other"
)

// Prune removes the expired events from the log. Events that are appended meanwhile are in
// the new log. A reader of the old log can read it to its end. The log keeps its mode and
// owner. Lines that are not events stay, because their age is unknown.
//
// The replacement is atomic: a kill leaves the old log or the new one, and the next prune
// removes the temporary files. One process at a time prunes or rotates a log; others get
// flock.ErrBusy.
func (l Log) Prune(p Pruning) (Pruned, error) {
	if p.DryRun {
		f, err := atomicfile.IfExists(atomicfile.Open(string(l)))
		if err != nil || f == nil {
			return Pruned{}, err
		}
		defer f.Close()
		s, err := l.survey(f, p)
		return s.pruned, err
	}
	var s survey
	err := l.rewriteLog(func(w *logRewrite) (bool, error) {
		var err error
		if s, err = l.survey(w.old, p); err != nil || s.pruned.TotalRemoved() == 0 {
			return false, err
		}
		w.end = s.end
		report := progressReporter(p.Progress, 2*s.end, s.end)
		err = w.forEachLine(0, s.end, func(h Head, at int64) fate {
			report(at)
			switch {
			case !s.isRemoved(h, at):
				return stayInLog
			case p.Archive && h.IsLifecycle():
				return moveToArchive
			}
			return dropLine
		})
		return true, err
	})
	return s.pruned, err
}

// survey is the first pass, which decides which lines to remove.
type survey struct {
	Pruning
	pruned    Pruned
	end       int64            // of the last complete line
	liveSince map[string]int64 // running sessions, with the offset of the event that shows it
	keepFrom  int64            // expired events from this offset on stay, because of Keep
}

// survey reads the log once and decides what stays: it counts what goes, and finds the running
// sessions and the offset from which Keep holds back expired events.
func (l Log) survey(f *os.File, p Pruning) (survey, error) {
	s := survey{Pruning: p, liveSince: map[string]int64{}}
	s.pruned.Removed = map[string]int{}
	info, err := f.Stat()
	if err != nil {
		return s, atomicfile.Error("read", string(l), err)
	}
	s.pruned.Before = info.Size()
	s.keepFrom = info.Size()
	total := 2 * info.Size() // the log is read again when it is rewritten
	if p.DryRun {
		total = info.Size()
	}
	report := progressReporter(p.Progress, total, 0)

	var newest []removedLine // as many as may have to stay because of Keep
	staying, going := 0, int64(0)
	s.end, err = forEachHead(f, info.Size(), func(h Head, at, size int64) {
		report(at)
		if h.Type == "" || h.Time.IsZero() {
			return
		}
		s.pruned.Events++
		// All events of a running session stay, from its expired start on.
		if (h.Type == SessionStart || h.Type == SessionResume) && p.StillRuns != nil && p.Expired(h) {
			if _, known := s.liveSince[h.Session]; !known && p.StillRuns(h) {
				s.liveSince[h.Session] = at
			}
		}
		if !s.isRemoved(h, at) {
			staying++
			return
		}
		going += size
		if newest = append(newest, s.countRemoved(h, at, size)); len(newest) > p.Keep {
			newest = newest[1:]
		}
	})
	if err != nil {
		return s, atomicfile.Error("read", string(l), err)
	}
	// Fewer than Keep would stay, so the newest of those that would go stay as well.
	for i := len(newest) - 1; i >= 0 && staying < p.Keep; i-- {
		staying++
		going -= newest[i].size
		s.keepNewest(newest[i])
	}
	s.pruned.After = s.pruned.Before - going
	return s, nil
}

type removedLine struct {
	at, size int64
	kind     string // type that it counts under
	carried  bool   // it moves to the archive
}

// countRemoved counts a line that goes, and returns what keepNewest needs to undo it.
func (s *survey) countRemoved(h Head, at, size int64) removedLine {
	m := removedLine{at, size, h.Type, s.Archive && h.IsLifecycle()}
	if _, known := s.pruned.Removed[m.kind]; !known && len(s.pruned.Removed) >= maxTypes {
		m.kind = "other"
	}
	s.pruned.Removed[m.kind]++
	if m.carried {
		s.pruned.Carried++
	}
	return m
}

// keepNewest undoes countRemoved for the newest of these events.
func (s *survey) keepNewest(m removedLine) {
	s.keepFrom = m.at
	if s.pruned.Removed[m.kind]--; s.pruned.Removed[m.kind] == 0 {
		delete(s.pruned.Removed, m.kind)
	}
	if m.carried {
		s.pruned.Carried--
	}
}

// isRemoved reports whether the line is removed from the log.
func (s *survey) isRemoved(h Head, at int64) bool {
	if h.Type == "" || h.Time.IsZero() || at >= s.keepFrom {
		return false
	}
	if since, live := s.liveSince[h.Session]; live && at >= since {
		return false
	}
	return s.Expired(h)
}

type Rotated struct {
	Path    string // new path of the old log; "" if it was empty
	Events  int    // in the old log
	Bytes   int64
	Carried int // lines copied to the archive
}

// Rotate moves the log to events-<number>-<time>.jsonl in the archive's folder, copies its
// life-cycle events to the archive, and begins an empty log. It makes the same promises as
// Prune.
func (l Log) Rotate(now time.Time, progress func(done, total int64)) (Rotated, error) {
	var r Rotated
	err := l.rewriteLog(func(w *logRewrite) (bool, error) {
		info, err := w.old.Stat()
		if err != nil || info.Size() == 0 {
			return false, err
		}
		r.Path = l.segmentPath(now)
		w.segment = r.Path
		report := progressReporter(progress, info.Size(), 0)
		carry := func(h Head, at int64) fate {
			report(at)
			if h.Type != "" && !h.Time.IsZero() {
				r.Events++
			}
			if !h.IsLifecycle() {
				return dropLine
			}
			r.Carried++
			return moveToArchive
		}
		// A last line without a line feed may be completed in a moment.
		if w.end, err = forEachHead(w.old, info.Size(), func(Head, int64, int64) {}); err != nil {
			return false, err
		}
		w.decideTail = func(from, to int64) error {
			r.Bytes = to
			return w.forEachLine(from, to, carry)
		}
		return true, w.forEachLine(0, w.end, carry)
	})
	if err != nil {
		r.Path = ""
	}
	return r, err
}

type fate int

const (
	stayInLog fate = iota
	dropLine
	moveToArchive
)

type logRewrite struct {
	log       Log
	old       *os.File
	new       *os.File
	archive   *os.File // nil until needed
	toNew     *bufio.Writer
	toArchive *bufio.Writer // to the archive

	end        int64                      // end of the lines that were decided about
	decideTail func(from, to int64) error // decides about later lines under the lock; nil if they stay
	segment    string                     // new path of the old log; "" if it is not kept
}

// rewriteIntent is written to <log>.pruning.json before anything changes, so that a killed prune
// can be undone.
type rewriteIntent struct {
	Log     uint64 `json:"log"`               // inode of the old log
	Archive int64  `json:"archive"`           // size of the archive before, in bytes
	Segment string `json:"segment,omitempty"` // new path of the old log
}

// The names of the temporary files are fixed, because only one process prunes at a time.
func (l Log) newPath() string    { return string(l) + ".pruning" }
func (l Log) intentPath() string { return string(l) + ".pruning.json" }

// rewriteLog has decide write a new log, which then replaces the old one unless decide returns
// false.
//
//  1. Write the intent with the archive's size, synced.
//  2. decide writes the lines that stay to the new log and others to the archive, while
//     other processes append to the old log.
//  3. Take the log's lock and copy the lines that were appended meanwhile.
//  4. Sync everything, link the old log to its new path, if any, and rename the new log
//     to the old one's name.
//  5. Remove the intent.
//
// The temporary name of the new log shows whether the rename has happened.
func (l Log) rewriteLog(decide func(*logRewrite) (bool, error)) (err error) {
	if isMissing(string(l)) && isMissing(l.intentPath()) && isMissing(l.newPath()) {
		return nil
	}
	if err := l.makeFolder(); err != nil {
		return err
	}
	busy, err := flock.Acquire(string(l)+".prune.lock", turnWait)
	if err != nil {
		return err
	}
	defer busy.Unlock()
	if err := l.undoRewrite(); err != nil {
		return err
	}
	w := &logRewrite{log: l}
	if w.old, err = atomicfile.IfExists(atomicfile.Open(string(l))); err != nil || w.old == nil {
		return err
	}
	defer w.old.Close()
	if err := w.createNew(); err != nil {
		return errors.Join(err, l.undoRewrite())
	}
	defer w.close()
	wanted, err := decide(w)
	if err == nil && wanted {
		err = w.replaceOld()
	}
	if err != nil || !wanted {
		w.close()
		return errors.Join(err, l.undoRewrite())
	}
	return atomicfile.Remove(l.intentPath())
}

func isMissing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// undoRewrite undoes a prune that was killed or failed.
func (l Log) undoRewrite() error {
	data, err := atomicfile.Read(l.intentPath(), 1<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.Remove(l.newPath()) // nothing else has changed yet
	case err != nil:
		return err
	}
	var i rewriteIntent
	if err := json.Unmarshal(data, &i); err != nil {
		return atomicfile.Error("read", l.intentPath(), err)
	}
	if is, err := atomicfile.IsPresent(l.newPath()); err != nil {
		return err
	} else if !is {
		return atomicfile.Remove(l.intentPath()) // only this step was missing
	}
	info, err := atomicfile.IfExists(os.Lstat(string(l)))
	if err != nil {
		return atomicfile.Error("look at", string(l), err)
	}
	if info == nil || inode(info) != i.Log {
		// Another program has replaced the log, perhaps without the lines that are in the
		// archive. They stay there: twice is better than never.
		return errors.Join(atomicfile.Remove(l.newPath()), atomicfile.Remove(l.intentPath()))
	}
	if err := l.undoArchive(i); err != nil {
		return err
	}
	// The new log goes last: while it exists, undoRewrite runs again.
	if err := atomicfile.Remove(l.newPath()); err != nil {
		return err
	}
	return atomicfile.Remove(l.intentPath())
}

func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

// truncateTo shortens a file to size, if it is longer.
func truncateTo(f *os.File, size int64) error {
	info, err := f.Stat()
	if err != nil || info.Size() <= size {
		return err
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// createNew creates the new log with the owner and the rights of the old one.
func (w *logRewrite) createNew() error {
	info, err := w.old.Stat()
	if err != nil {
		return atomicfile.Error("read", string(w.log), err)
	}
	w.new, err = os.OpenFile(w.log.newPath(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return atomicfile.Error("create", w.log.newPath(), err)
	}
	mode := info.Mode().Perm()
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if int(st.Uid) != os.Geteuid() {
			// root prunes a user's log, which must keep its owner.
			err = w.new.Chown(int(st.Uid), int(st.Gid))
		} else if w.new.Chown(-1, int(st.Gid)) != nil {
			// The new file's group differs, so it gets only everybody's rights.
			mode &= ^fs.FileMode(0o070) | mode&0o007<<3
		}
	}
	if err == nil {
		err = w.new.Chmod(mode)
	}
	w.toNew = bufio.NewWriterSize(w.new, 256<<10)
	return atomicfile.Error("create", w.log.newPath(), err)
}

// openArchive opens the archive once. First it records the archive's size in the intent, so that a
// rewrite that is killed can be undone.
func (w *logRewrite) openArchive() error {
	if w.archive != nil {
		return nil
	}
	archive := string(w.log.Archive())
	dir, err := w.log.archiveFolder().MakeOurs()
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := atomicfile.OpenAppendIn(dir, archiveName)
	if err != nil {
		return atomicfile.Error("open", archive, err)
	}
	w.archive = f
	w.toArchive = bufio.NewWriterSize(f, 64<<10)
	info, err := f.Stat()
	if err != nil {
		return atomicfile.Error("read", archive, err)
	}
	torn, err := atomicfile.EndsTorn(f)
	if err != nil {
		return atomicfile.Error("read", archive, err)
	}
	log, err := w.old.Stat()
	if err != nil {
		return atomicfile.Error("read", string(w.log), err)
	}
	begun := rewriteIntent{Log: inode(log), Archive: info.Size(), Segment: w.segment}
	if err := atomicfile.WriteJSON(w.log.intentPath(), begun, atomicfile.Synced); err != nil {
		return err
	}
	if torn {
		return w.toArchive.WriteByte('\n')
	}
	return nil
}

// forEachLine decides about the lines between two offsets of the old log.
func (w *logRewrite) forEachLine(from, to int64, decide func(h Head, at int64) fate) error {
	r := newLineReader(w.old, from, to)
	for {
		begin, err := r.nextLine()
		if err != nil {
			return atomicfile.Error("read", string(w.log), ignoreEOF(err))
		}
		dest := io.Writer(w.toNew)
		switch decide(parseHead(begin), r.at) {
		case dropLine:
			dest = io.Discard
		case moveToArchive:
			if err := w.openArchive(); err != nil {
				return err
			}
			dest = w.toArchive
		}
		_, whole, err := r.copyRest(dest)
		switch {
		case err != nil && dest == io.Writer(w.toArchive):
			return atomicfile.Error("write", string(w.log.Archive()), err)
		case err != nil:
			return atomicfile.Error("write", w.log.newPath(), err)
		case !whole && dest == io.Writer(w.toArchive):
			// Complete the last line, so that nothing is appended to it.
			if err := w.toArchive.WriteByte('\n'); err != nil {
				return atomicfile.Error("write", string(w.log.Archive()), err)
			}
		}
	}
}

// replaceOld copies what was appended meanwhile and replaces the log by the new one. A rotation
// (w.segment is set) first links the old log to its place among the rotated ones.
func (w *logRewrite) replaceOld() error {
	if w.segment != "" { // openArchive writes the intent, which is due even if no line was moved
		if err := w.openArchive(); err != nil {
			return err
		}
	}
	// A prune copies most of the tail before it locks the log, which hooks wait for. If the log
	// grows as fast for ten rounds, the rest is copied under the lock.
	if w.decideTail == nil {
		for range 10 {
			info, err := w.old.Stat()
			if err != nil {
				return atomicfile.Error("read", string(w.log), err)
			}
			if info.Size()-w.end < shortTail {
				break
			}
			if err := w.copyUpTo(info.Size()); err != nil {
				return err
			}
		}
	}
	if err := w.syncFiles(); err != nil {
		return err
	}
	lock, err := w.log.lock(lockWait, w.log.progressMark)
	if err != nil {
		return err
	}
	defer lock.Unlock()
	info, err := w.old.Stat()
	if err != nil {
		return atomicfile.Error("read", string(w.log), err)
	}
	named, err := atomicfile.IfExists(os.Lstat(string(w.log)))
	if err != nil {
		return atomicfile.Error("look at", string(w.log), err)
	}
	if named == nil || !os.SameFile(named, info) || info.Size() < w.end { // it was replaced
		return atomicfile.Error("prune", string(w.log), ErrReplaced)
	}
	if w.decideTail != nil {
		err = w.decideTail(w.end, info.Size())
	} else {
		err = w.copyUpTo(info.Size()) // mutant skip: TestAppendDuringPrunesAndRotations
	}
	if err != nil {
		return err
	}
	if err := w.syncFiles(); err != nil {
		return err
	}
	if w.segment != "" {
		if err := w.linkOldLog(); err != nil {
			return atomicfile.Error("link", string(w.log), err)
		}
	}
	return atomicfile.Rename(w.log.newPath(), string(w.log), atomicfile.Synced)
}

func (w *logRewrite) copyUpTo(end int64) error {
	n, err := io.Copy(w.toNew, io.NewSectionReader(w.old, w.end, end-w.end))
	w.end += n
	return atomicfile.Error("write", w.log.newPath(), err)
}

// syncFiles syncs the archive before the new log, so that lines are never missing from both.
func (w *logRewrite) syncFiles() error {
	if w.archive != nil {
		if err := cmp.Or(w.toArchive.Flush(), w.archive.Sync()); err != nil {
			return atomicfile.Error("write", string(w.log.Archive()), err)
		}
	}
	return atomicfile.Error("write", w.log.newPath(), cmp.Or(w.toNew.Flush(), w.new.Sync()))
}

func (w *logRewrite) close() {
	w.new.Close()
	if w.archive != nil {
		w.archive.Close()
	}
}

// progressReporter returns a function that takes each offset and calls progress once per MiB at
// most. before is the number of bytes that an earlier pass has processed.
func progressReporter(progress func(done, total int64), total, before int64) func(at int64) {
	if progress == nil {
		return func(int64) {}
	}
	next := int64(0)
	return func(at int64) {
		if at >= next {
			next = at + 1<<20
			progress(before+at, total)
		}
	}
}
