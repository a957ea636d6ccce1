package eventlog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"time"

	"gt/lib/sys/atomicfile"
)

// pollEvery is how often Follow looks for new lines. No change notification works on every
// file system.
const pollEvery = 100 * time.Millisecond

// Follow calls each for the last recent lines of the log, or the last recent wanted ones if
// wanted is not nil, and then for every appended line, without line feed, until ctx is done
// or each returns false. The bytes are valid only during the call.
//
// It passes each line once and in order, even if the log is pruned or rotated: it reads the
// old log to its end, and skips the lines that the new one shares with it. It waits for a
// missing log.
func (l Log) Follow(ctx context.Context, recent int, wanted func(Head) bool, each func(line []byte) bool) error {
	f := follower{log: l, each: each}
	defer f.close()
	if err := f.openAt(recent, wanted); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if err := f.catchUp(); err != nil {
			return err
		}
		if f.stopped {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

type follower struct {
	log      Log
	each     func([]byte) bool
	stopped  bool     // each wants no more lines
	file     *os.File // nil if there is none
	at       int64    // end of the last line that was passed on
	size     int64    // size of file when it was last read
	segments []string // known rotated logs
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// openAt opens the log, if there is one, and finds the recent line to begin with.
func (f *follower) openAt(recent int, wanted func(Head) bool) error {
	f.segments = f.log.Segments()
	file, err := atomicfile.IfExists(atomicfile.Open(string(f.log)))
	if err != nil || file == nil {
		return err
	}
	f.file = file
	info, err := file.Stat()
	if err == nil && wanted != nil {
		f.at, err = lastWanted(file, info.Size(), recent, wanted)
	} else if err == nil {
		f.at, err = lastLines(file, info.Size(), recent)
	}
	return atomicfile.Error("read", string(f.log), err)
}

// lastLines returns the offset of the last n lines. An incomplete one at the end does not count.
func lastLines(r io.ReaderAt, size int64, n int) (int64, error) {
	var buf [32 << 10]byte
	feeds := 0
	for end := size; end > 0; {
		begin := max(0, end-int64(len(buf)))
		part := buf[:end-begin]
		if _, err := r.ReadAt(part, begin); err != nil && err != io.EOF {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] != '\n' {
				continue
			}
			if feeds++; feeds > n {
				return begin + int64(i) + 1, nil
			}
		}
		end = begin
	}
	return 0, nil
}

// lastWanted returns the offset of the first of the last n wanted lines, or the end if none is.
func lastWanted(r io.ReaderAt, size int64, n int, wanted func(Head) bool) (int64, error) {
	var begins []int64 // of the last n
	end, err := forEachHead(r, size, func(h Head, at, _ int64) {
		if !wanted(h) {
			return
		}
		if begins = append(begins, at); len(begins) > n {
			begins = begins[1:]
		}
	})
	if err != nil || len(begins) == 0 {
		return end, err
	}
	return begins[0], nil
}

// catchUp passes on all new lines, including those in logs that have replaced this one.
func (f *follower) catchUp() error {
	// Open the current log before listing the rotated ones, so that a log that is rotated
	// in between is in the list.
	current, err := atomicfile.IfExists(atomicfile.Open(string(f.log)))
	if err != nil {
		return err
	}
	if current != nil && f.file != nil && sameFile(current, f.file) {
		current.Close()
		return f.deliverLines()
	}
	if f.file != nil {
		// The log was replaced, so nothing is appended to this one any more.
		if err := f.deliverLines(); err != nil || f.stopped {
			closeAll(current)
			return err
		}
	}
	next, err := f.successors(current)
	if err != nil {
		return err
	}
	defer func() { closeAll(next...) }()
	// A rotated log begins empty, so only the first of the next logs, after a prune, can
	// contain lines that were passed on.
	pruned := f.file != nil
	for len(next) > 0 && !f.stopped {
		n := next[0]
		next = next[1:]
		if f.file != nil && sameFile(n, f.file) { // it was rotated
			n.Close()
		} else if err := f.moveTo(n, pruned); err != nil {
			return err
		}
		pruned = false
	}
	return nil
}

// successors opens the logs that were rotated since, and returns them and the
// current log, which may be nil, each once.
func (f *follower) successors(current *os.File) (next []*os.File, err error) {
	all := f.log.Segments()
	for _, path := range all {
		if slices.Contains(f.segments, path) {
			continue
		}
		s, err := atomicfile.IfExists(atomicfile.Open(path))
		if err != nil {
			closeAll(append(next, current)...)
			return nil, err
		}
		if s != nil { // otherwise the rotation was undone
			next = append(next, s)
		}
	}
	f.segments = all
	if current == nil || slices.ContainsFunc(next, func(s *os.File) bool { return sameFile(s, current) }) {
		closeAll(current)
		return next, nil
	}
	return append(next, current), nil
}

// moveTo continues in another log, after a prune behind the lines that were passed on. It
// closes next on error.
func (f *follower) moveTo(next *os.File, pruned bool) error {
	at := int64(0)
	if pruned {
		info, err := f.file.Stat()
		if err == nil {
			at, err = offsetOfNew(f.file, info.Size(), next)
		}
		if err != nil {
			next.Close()
			return atomicfile.Error("read", string(f.log), err)
		}
	}
	f.close()
	f.file, f.at, f.size = next, at, 0
	return f.deliverLines()
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// deliverLines passes on the complete lines that the open file has got since.
func (f *follower) deliverLines() error {
	info, err := f.file.Stat()
	if err != nil {
		return atomicfile.Error("read", string(f.log), err)
	}
	if info.Size() == f.size {
		return nil // do not read an incomplete last line again
	}
	f.size = info.Size()
	if info.Size() < f.at { // truncated in place
		f.at = 0
	}
	err = Scan(io.NewSectionReader(f.file, f.at, info.Size()-f.at), func(line []byte) bool {
		f.at += int64(len(line)) + 1
		if !f.each(line) {
			f.stopped = true
		}
		return !f.stopped
	})
	return atomicfile.Error("read", string(f.log), err)
}

// offsetOfNew returns the offset of the first line in a new log that is not in the old one. A
// prune removes lines but keeps the others' content and order, so one pass over both logs
// suffices.
func offsetOfNew(old io.ReaderAt, size int64, log *os.File) (at int64, err error) {
	info, err := log.Stat()
	if err != nil {
		return 0, err
	}
	var failed error
	next, stop := iter.Pull(func(yield func([]byte) bool) {
		failed = Scan(io.NewSectionReader(old, 0, size), yield)
	})
	defer stop()
	err = Scan(io.NewSectionReader(log, 0, info.Size()), func(line []byte) bool {
		for known, ok := next(); ok; known, ok = next() {
			if bytes.Equal(known, line) {
				at += int64(len(line)) + 1
				return true
			}
		}
		return false
	})
	return at, errors.Join(err, failed)
}

func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
