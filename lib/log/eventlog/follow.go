package eventlog

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"gt/lib/sys/atomicfile"
)

// pollEvery is how often a follower looks for more. There is no dependable
// notice of a change that works on every file system.
const pollEvery = 100 * time.Millisecond

// Follow calls each for the last lines of the log, and then for every line as it
// is appended, without its line feed, until ctx is done or each returns false.
// The bytes are only valid during the call. It begins where recent lines follow,
// or, where wanted is not nil, so many of those that are wanted.
//
// Each line comes once and in order, also when the log is pruned or rotated
// meanwhile, however often: what a prune left in the new log is known by the old
// one, which is read to its end first. A log that does not exist yet is waited
// for.
func (l Log) Follow(ctx context.Context, recent int, wanted func(Head) bool, each func(line []byte) bool) error {
	f := follower{log: l, each: each}
	defer f.close()
	if err := f.start(recent, wanted); err != nil {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		if err := f.catchUp(); err != nil {
			return err
		}
		if f.enough {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follower is where somebody who follows a log stands.
type follower struct {
	log      Log
	each     func([]byte) bool
	enough   bool
	file     *os.File // nil while there is none
	at       int64    // what was told of it
	size     int64    // that it had when it was last read
	segments []string // of the archive that were there already
}

func (f *follower) close() {
	if f.file != nil {
		f.file.Close()
	}
}

// start opens the log and stands recent lines before its end.
func (f *follower) start(recent int, wanted func(Head) bool) error {
	f.segments = f.log.Segments()
	file, err := atomicfile.Open(string(f.log))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
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

// lastLines returns where the last n whole lines before size begin.
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

// lastWanted returns where the last n lines before size that are wanted begin.
func lastWanted(r io.ReaderAt, size int64, n int, wanted func(Head) bool) (int64, error) {
	var begins []int64 // of the last n
	end, err := heads(r, 0, size, func(h Head, at, _ int64) {
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

// catchUp tells all that was appended since, also to logs that have taken this
// one's place.
func (f *follower) catchUp() error {
	// First the log that has the name now, then the names of those that were
	// set aside: one that is set aside in between is in the list.
	now, err := atomicfile.Open(string(f.log))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if now != nil && f.file != nil && same(now, f.file) {
		now.Close()
		return f.tell()
	}
	if f.file != nil {
		// Another has its place: nobody appends to this one any more.
		if err := f.tell(); err != nil || f.enough {
			if now != nil {
				now.Close()
			}
			return err
		}
	}
	var next []*os.File
	defer func() {
		for _, n := range next {
			n.Close()
		}
	}()
	all := f.log.Segments()
	for _, path := range all {
		if slices.Contains(f.segments, path) {
			continue
		}
		s, err := atomicfile.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a rotation that was taken back
		} else if err != nil {
			if now != nil {
				now.Close()
			}
			return err
		}
		next = append(next, s)
	}
	f.segments = all
	if now != nil && !slices.ContainsFunc(next, func(s *os.File) bool { return same(s, now) }) {
		next = append(next, now)
	} else if now != nil {
		now.Close()
	}
	// A rotation begins an empty log, so only the first that follows can hold
	// what was told already, and that only after a prune.
	pruned := f.file != nil
	for len(next) > 0 && !f.enough {
		n := next[0]
		next = next[1:]
		if f.file != nil && same(n, f.file) { // it was set aside
			n.Close()
			pruned = false
			continue
		}
		at := int64(0)
		if pruned {
			info, err := f.file.Stat()
			if err == nil {
				at, err = firstNew(f.file, info.Size(), n)
			}
			if err != nil {
				n.Close()
				return atomicfile.Error("read", string(f.log), err)
			}
			pruned = false
		}
		f.close()
		f.file, f.at, f.size = n, at, 0
		if err := f.tell(); err != nil {
			return err
		}
	}
	return nil
}

// tell reads what was appended to the file since.
func (f *follower) tell() error {
	info, err := f.file.Stat()
	if err != nil {
		return atomicfile.Error("read", string(f.log), err)
	}
	if info.Size() == f.size {
		return nil // what it ends with was torn, and stays so; it need not be read again
	}
	f.size = info.Size()
	if info.Size() < f.at { // emptied in place
		f.at = 0
	}
	err = Scan(io.NewSectionReader(f.file, f.at, info.Size()-f.at), func(line []byte) bool {
		f.at += int64(len(line)) + 1
		if !f.each(line) {
			f.enough = true
		}
		return !f.enough
	})
	return atomicfile.Error("read", string(f.log), err)
}

// firstNew returns where in a new log the first line begins that is not in the
// old one. A prune leaves lines out and changes neither their bytes nor their
// order, so the lines that the two share are found in one walk along both.
func firstNew(old io.ReaderAt, size int64, now *os.File) (int64, error) {
	info, err := now.Stat()
	if err != nil {
		return 0, err
	}
	olds, news := newLines(old, 0, size), newLines(now, 0, info.Size())
	for {
		want, err := news.next()
		if err != nil {
			return news.at, ignoreEOF(err)
		}
		at := news.at
		found := false
		for !found {
			have, err := olds.next()
			if err == io.EOF {
				return at, nil
			} else if err != nil {
				return at, err
			}
			// Of longer lines the beginning, which has their time, has to do.
			found = bytes.Equal(have, want)
			if _, _, err := olds.rest(io.Discard); err != nil {
				return at, err
			}
		}
		if _, whole, err := news.rest(io.Discard); err != nil || !whole {
			return at, err
		}
	}
}

func same(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
