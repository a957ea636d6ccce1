package catalog

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"gt/lib/cli"
	"gt/lib/log/eventlog"
	"gt/lib/sys/atomicfile"
)

// Progress hears from time to time how many bytes of how many were read; it may
// be nil.
type Progress func(done, total int64)

// Read puts the catalog together from the log, and from the archive to which a
// prune or a rotation carried over what told of sessions; and from more logs,
// such as those of other machines, with their archives. A session whose start is
// no longer there is known by what is. An event whose session_id is no id is
// passed over, as is one of a type that says nothing of a session's life.
//
// What the log and its archive said the last time is in the index, and only what
// is new in them is read. The answer is that of reading all.
func Read(log eventlog.Log, progress Progress, more ...eventlog.Log) (Catalog, error) {
	var all sources
	defer func() { all.close() }()
	for _, l := range append([]eventlog.Log{log}, more...) {
		// The log is opened first: what leaves it from now on is still in this
		// file, and what left it before is in the archive.
		newer, err := open(l)
		if err != nil {
			return Catalog{}, err
		}
		older, err := open(l.Archive())
		all = append(all, older, newer)
		if err != nil {
			return Catalog{}, err
		}
	}
	if len(more) > 0 || all[0] == nil && all[1] == nil {
		b, err := all.read(progress)
		if err != nil {
			return Catalog{}, err
		}
		return b.catalog(), nil
	}
	return all.readIndexed(indexPath(log), progress)
}

// source is a file that is read, as far as it went when it was opened.
type source struct {
	*os.File
	size int64
	end  int64 // of the last whole line that was read
}

// open opens a log; it is nil where there is none.
func open(path eventlog.Log) (*source, error) {
	f, err := atomicfile.Open(string(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, atomicfile.Error("read", string(path), err)
	}
	return &source{File: f, size: info.Size()}, nil
}

// sources are an archive and its log, and so on: nil for what is not there.
type sources []*source

func (all sources) close() {
	for _, f := range all {
		if f != nil {
			f.Close()
		}
	}
}

// chunk is how much one task scans at a time, and what it finds there is held in
// memory. Tests have smaller ones.
var chunk int64 = 1 << 20

// maxTasks bounds how many scan at once.
const maxTasks = 4

// read reads all from the beginning.
//
// Events are told as they stand, which is their order in all but a few logs:
// there what tells of sessions left for the archive by its type. Where one
// should have been told before, all are told again, in the order of their times.
func (all sources) read(progress Progress) (*builder, error) {
	for _, in := range all {
		if in != nil {
			in.end = 0
		}
	}
	b, inOrder := newBook(Catalog{}), true
	var places []spot
	err := all.scan(progress, func(in int, e *found) {
		places = append(places, spot{e.event.at.UnixNano(), in, e.at, e.size, e.unnamed()})
		inOrder = inOrder && b.add(&e.event)
	})
	if err != nil || inOrder {
		return b, err
	}
	slices.SortStableFunc(places, inTime)
	b = newBook(Catalog{})
	var line []byte
	var e event
	for _, p := range places {
		line = slices.Grow(line[:0], p.size)[:p.size]
		in := all[p.in]
		if _, err := in.ReadAt(line, p.at); err != nil && err != io.EOF {
			return nil, atomicfile.Error("read", in.Name(), err)
		}
		if e.parse(line) {
			b.add(&e)
		}
	}
	return b, nil
}

// spot is where an event stands.
type spot struct {
	time    int64 // in nanoseconds
	in      int   // which of the sources
	at      int64
	size    int
	unnamed bool
}

// inTime sorts events into the order in which they happened: by their times, and
// those of one time as they stand. But a hand-over of Gas Town's, whose times are
// of a second, is of the session that was there before those that begin in that
// second, which may have left the log before it.
func inTime(a, b spot) int {
	switch {
	case a.time != b.time:
		return cmp.Compare(a.time, b.time)
	case a.unnamed == b.unnamed:
		return 0
	case a.unnamed:
		return -1
	}
	return 1
}

// found is an event and where it stands.
type found struct {
	event
	at   int64
	size int
}

// scan calls each for the events of all, as they stand there. What it is given
// is valid only during the call.
func (all sources) scan(progress Progress, each func(in int, e *found)) error {
	var done, total int64
	for _, in := range all {
		if in != nil {
			total += in.size - in.end
		}
	}
	tasks := min(runtime.GOMAXPROCS(0), maxTasks)
	events := make([][]found, tasks)
	ends := make([]int64, tasks)
	errs := make([]error, tasks)
	for nr, in := range all {
		if in == nil {
			continue
		}
		for from := in.end; from < in.size; {
			// A small rest is not worth a second task.
			n := int(min(int64(tasks), (in.size-from+chunk-1)/chunk))
			begun := make([]*cli.Task, n)
			for i := range n {
				begin := from + int64(i)*chunk
				part := func() {
					events[i] = events[i][:0]
					ends[i], errs[i] = eventlog.ScanLifecycle(in, begin, min(begin+chunk, in.size), in.size, func(line []byte, at int64) {
						events[i] = append(events[i], found{at: at, size: len(line)})
						if last := &events[i][len(events[i])-1]; !last.parse(line) {
							events[i] = events[i][:len(events[i])-1]
						}
					})
				}
				if n == 1 {
					part()
				} else {
					begun[i] = cli.Go(part)
				}
			}
			for _, t := range begun {
				if t != nil {
					t.Wait()
				}
			}
			for i := range begun {
				if errs[i] != nil {
					return atomicfile.Error("read", in.Name(), errs[i])
				}
				if ends[i] > from+int64(i)*chunk {
					in.end = ends[i]
				}
				for j := range events[i] {
					each(nr, &events[i][j])
				}
			}
			read := min(int64(n)*chunk, in.size-from)
			from, done = from+read, done+read
			if progress != nil {
				progress(done, total)
			}
		}
	}
	return nil
}
