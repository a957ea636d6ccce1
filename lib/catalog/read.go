package catalog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"

	"gt/lib/cli"
	"gt/lib/log/eventlog"
	"gt/lib/place/town"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Progress is called now and then with the number of bytes read so far. It may be nil.
type Progress func(done, total int64)

// Read builds the catalog from a log and its archive, to which a prune or rotation moves
// the events about sessions, and from further logs, such as those of other machines, with
// their archives. A session whose start is gone is known by its other events. Read skips
// events with an invalid session_id and those of other types.
//
// The index holds what the log and its archive had the last time, so that only their new
// lines are read. The result is the same without it.
func Read(log eventlog.Log, progress Progress, more ...eventlog.Log) (Catalog, error) {
	all, err := openAll(append([]eventlog.Log{log}, more...)...)
	if err != nil {
		return Catalog{}, err
	}
	var b *book
	if len(more) > 0 {
		b, err = all.read(progress)
	} else if b, err = all.readIndexed(indexPath(log), progress); err == nil {
		b.again = func() (*book, error) { return readAnew(log) }
	}
	if err != nil {
		return Catalog{}, err
	}
	b.seal()
	return Catalog{books: []*book{b}, met: map[session.ID]*Session{}}, nil
}

// ReadTown is Read for a town's log and its spare log.
func ReadTown(t town.Town, progress Progress, more ...eventlog.Log) (Catalog, error) {
	// The spare log first: its events may move to the log at any time.
	var spare Catalog
	var err error
	if atomicfile.Exists(t.Spare()) {
		if spare, err = Read(eventlog.Log(t.Spare()), progress); err != nil {
			return spare, err
		}
	}
	all, err := Read(eventlog.Log(t.Events()), progress, more...)
	if len(spare.books) > 0 {
		all = all.Join(spare)
	}
	return all, err
}

// readAnew reads a log and its archive, and replaces the index, which is damaged.
func readAnew(log eventlog.Log) (*book, error) {
	all, err := openAll(log)
	if err != nil {
		return nil, err
	}
	b, err := all.read(nil)
	if err == nil {
		all.save(indexPath(log), b)
	}
	return b, err
}

// openAll opens archives and logs.
func openAll(logs ...eventlog.Log) (all sources, err error) {
	for _, l := range logs {
		// Open the log first: lines that leave it from now on are still in this file, and
		// earlier ones are in the archive.
		newer, err := open(l)
		if err != nil {
			return all, err
		}
		older, err := open(l.Archive())
		all = append(all, older, newer)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// source is a file that is read up to the size that it had when it was opened.
type source struct {
	*os.File // nil if it is missing
	size     int64
	end      int64 // of the last whole line read
}

// open opens a log; a missing one is an empty source.
func open(path eventlog.Log) (*source, error) {
	f, err := atomicfile.Open(string(path))
	if errors.Is(err, fs.ErrNotExist) {
		return &source{}, nil
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

// sources are archives and logs in turn.
type sources []*source

// events returns the events of a session, in order.
func (all sources) events(of *entry) ([]event, error) {
	places := spots(of.events)
	found := make([]event, len(places))
	for i, at := range places {
		if err := all.event(at, &found[i]); err != nil {
			return nil, err
		}
		if id := session.ID(found[i].Payload.SessionID); id != of.id && id != "" {
			return nil, errDamaged
		}
	}
	return found, nil
}

// session returns what a log has of a session, or nil if it cannot be read.
func (all sources) session(of *entry) *Session {
	events, _ := all.events(of)
	return sessionOf(events)
}

// event reads an event.
func (all sources) event(at spot, e *event) error {
	if at.in >= len(all) || at.at+at.size > all[at.in].size {
		return errDamaged
	}
	line := make([]byte, at.size)
	in := all[at.in]
	if _, err := in.ReadAt(line, at.at); err != nil {
		return atomicfile.Error("read", in.Name(), err)
	}
	if !e.read(line) {
		return errDamaged
	}
	return nil
}

// chunk is how many bytes one task scans before its events are handed over. Tests use
// less.
var chunk int64 = 1 << 20

const maxTasks = 4

// read reads everything from the beginning.
//
// Events are added in file order, which is their order in almost all logs: an archive
// takes events by type. If an event comes too late, all are added again, sorted by time.
func (all sources) read(progress Progress) (*book, error) {
	for _, in := range all {
		in.end = 0
	}
	b, inOrder := newBook(all), true
	var timed []timedEvent
	err := all.scan(progress, func(e *found) {
		timed = append(timed, timedEvent{e.event.at.UnixNano(), e.spot, e.unnamed()})
		inOrder = inOrder && b.add(&e.event, e.spot)
	})
	if err != nil || inOrder {
		return b, err
	}
	slices.SortStableFunc(timed, inTime)
	b = newBook(all)
	for _, p := range timed {
		e := &event{}
		if err := all.event(p.spot, e); err != nil {
			return nil, err
		}
		b.add(e, p.spot)
	}
	return b, nil
}

type timedEvent struct {
	time int64 // in nanoseconds
	spot
	unnamed bool
}

// inTime sorts events by time, and keeps the file order of the same time. A hand-over of
// Gas Town's, whose times have whole seconds, comes before the other events of its
// second: it belongs to the session before them, although they may have left the log
// earlier.
func inTime(a, b timedEvent) int {
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

// found is an event with what a book needs of it.
type found struct {
	event
	spot
}

// scan calls each for all events, in file order.
func (all sources) scan(progress Progress, each func(e *found)) error {
	var parts []*part
	var done, total int64
	for nr, in := range all {
		total += in.size - in.end
		for at := in.end; at < in.size; at += chunk {
			parts = append(parts, &part{source: in, nr: nr, begin: at, limit: min(at+chunk, in.size)})
		}
	}
	tasks := min(runtime.GOMAXPROCS(0), maxTasks)
	used := make([][]found, tasks) // to be used again
	for some := range slices.Chunk(parts, tasks) {
		for i, p := range some {
			p.events = used[i][:0]
		}
		cli.Parallel(some, (*part).scan)
		for i, p := range some {
			if p.err != nil {
				return atomicfile.Error("read", p.Name(), p.err)
			}
			if p.end > p.begin {
				p.source.end = p.end
			}
			for j := range p.events {
				each(&p.events[j])
			}
			done += p.limit - p.begin
			used[i], p.events = p.events, nil
		}
		if progress != nil {
			progress(done, total)
		}
	}
	return nil
}

// part is what one task scans: the lines that begin in a chunk.
type part struct {
	*source
	nr           int   // the index of the source
	begin, limit int64 // of the chunk
	end          int64 // of its last whole line; begin if there is none
	events       []found
	err          error
}

func (p *part) scan() {
	p.end, p.err = eventlog.ScanLifecycle(p, p.begin, p.limit, p.size, func(line []byte, at int64) {
		p.events = append(p.events, found{spot: spot{p.nr, at, int64(len(line))}})
		if last := len(p.events) - 1; !p.events[last].parse(line) {
			p.events = p.events[:last]
		}
	})
}
