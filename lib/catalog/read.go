package catalog

import (
	"cmp"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

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
	path := indexPath(log)
	if len(more) > 0 {
		path = "" // an index is of one log
	}
	// read opens the files anew for each view, because a prune may have replaced them meanwhile.
	read := func(view func(sources, string, Progress) (*logView, error), progress Progress) (*logView, error) {
		all, err := openAll(append([]eventlog.Log{log}, more...)...)
		defer all.close()
		if err != nil {
			return nil, err
		}
		return view(all, path, progress)
	}
	v, err := read(sources.view, progress)
	if err != nil {
		return Catalog{}, err
	}
	v.reread = func() (*logView, error) { return read(sources.viewAnew, nil) }
	return Catalog{logs: []*logView{v}}.forgetSessions(), nil
}

// ReadTown is Read for a town's log and its spare log.
func ReadTown(t town.Town, progress Progress, more ...eventlog.Log) (Catalog, error) {
	// The spare log first: its events may move to the log at any time.
	var spare Catalog
	var err error
	if atomicfile.Exists(t.SpareEvents()) {
		if spare, err = Read(eventlog.Log(t.SpareEvents()), progress); err != nil {
			return spare, err
		}
	}
	all, err := Read(eventlog.Log(t.Events()), progress, more...)
	if len(spare.logs) > 0 {
		all = all.Join(spare)
	}
	return all, err
}

// ReadTowns joins what ReadTown gives of towns, each once. It warns of one that it cannot read,
// because the other logs are still useful.
func ReadTowns(towns []town.Town, progress Progress, warn func(error)) (all Catalog) {
	var read []string
	for _, t := range towns {
		if slices.Contains(read, t.Root) {
			continue
		}
		read = append(read, t.Root)
		theirs, err := ReadTown(t, progress)
		if err != nil {
			warn(err)
			continue
		}
		all = all.Join(theirs)
	}
	return all
}

// openAll opens the logs and their archives. The caller closes them, also after an error.
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

// open opens a log to be read up to its present size. A missing one is a source without a file.
func open(path eventlog.Log) (*source, error) {
	f, err := atomicfile.IfExists(atomicfile.Open(string(path)))
	if err != nil || f == nil {
		return &source{}, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return &source{}, atomicfile.Error("read", string(path), err)
	}
	return &source{File: f, size: info.Size()}, nil
}

// sources are archives and logs in turn.
type sources []*source

func (all sources) close() {
	for _, f := range all {
		if f.File != nil {
			f.Close()
		}
	}
}

// chunk is how many bytes one task scans before its events are handed over. Tests use
// less.
var chunk int64 = 1 << 20

const maxTasks = 4

// reading collects what a log says of sessions. It refuses an event that belongs before one
// that it already has.
type reading struct {
	known  *logView            // what the index has; nil if there is none
	rows   map[session.ID]*row // that are new or changed
	size   int                 // how many sessions there are
	actors map[string]*actor
}

// actor is what determines the session of a hand-over that names none. Both times are in
// nanoseconds; noTime if there was no such event.
type actor struct {
	Last    session.ID `json:"last,omitempty"` // the session that the actor's latest event named
	Named   int64      `json:"named"`          // the time of that event
	Unnamed int64      `json:"unnamed"`        // the time of the last hand-over that named no session
}

const noTime = math.MinInt64

func newReading() *reading {
	return &reading{rows: map[session.ID]*row{}, actors: map[string]*actor{}}
}

// addEvent adds an event to its session. An event that belongs before one that was already added
// changes nothing: the result is false, and the caller must add all events again, sorted by
// time. Events of different sessions may come in any order, as long as hand-overs that name
// no session keep their owner.
func (r *reading) addEvent(e *event) bool {
	time := e.loggedAt.UnixNano()
	if e.unnamed() {
		a := r.actor(e.Actor)
		if time <= a.Named || time < a.Unnamed {
			return false
		}
		a.Unnamed = time
		if s := r.row(a.Last); s != nil {
			s.applyEvent(e)
		}
		return true
	}
	s := r.row(session.ID(e.Payload.SessionID))
	fresh := s == nil
	if fresh { // its texts must not keep the line in memory
		s = &row{id: session.ID(strings.Clone(e.Payload.SessionID)), started: time, last: time, actor: strings.Clone(e.Actor), events: make([]byte, 0, 448)}
	}
	a := r.actor(s.actor)
	if time < s.last || time < a.Unnamed {
		return false
	}
	if fresh {
		r.rows[s.id] = s
		r.size++
	}
	if time >= a.Named {
		a.Named, a.Last = time, s.id
	}
	s.applyEvent(e)
	return true
}

// row returns the session with that id, to be changed, or nil.
func (r *reading) row(id session.ID) *row {
	s, ok := r.rows[id]
	if !ok && r.known != nil {
		if s = r.known.findRow(id); s != nil {
			s.actor, r.rows[id] = s.session().Actor, s
		}
	}
	return s
}

// actor returns an actor's entry. The clone keeps only the name in memory, not the log's line.
func (r *reading) actor(name string) *actor {
	a := r.actors[name]
	if a == nil {
		a = &actor{Named: noTime, Unnamed: noTime}
		r.actors[strings.Clone(name)] = a
	}
	return a
}

// applyEvent appends an event to the row, and sets what finds the row as Session.applyEvent does.
func (s *row) applyEvent(e *event) {
	p := &e.Payload
	link := func(text string) session.ID {
		if text == string(s.id) {
			return s.id
		}
		return session.ID(strings.Clone(string(validID(text))))
	}
	switch e.Type {
	case eventlog.SessionStart, eventlog.SessionResume:
		setIfEmpty(&s.parent, link(p.ParentID))
		setIfEmpty(&s.chain, link(p.ChainID))
		setIfEmpty(&s.work, strings.Clone(p.WorkUnit))
		s.ended = 0
	case eventlog.SessionEnd:
		s.ended = 1
	case eventlog.SessionChain:
		s.parent = ""
		setIfGiven(&s.chain, link(p.ChainID))
	}
	s.last = e.loggedAt.UnixNano()
	s.events = e.pack(s.events)
}

// read reads everything from the beginning.
//
// Events are added in file order, which is their order in almost all logs: an archive
// takes events by type. If an event comes too late, all are added again, sorted by time.
func (all sources) read(progress Progress) (*reading, error) {
	r, inOrder := newReading(), true
	err := all.scanAnew(progress, func(e *event) { inOrder = inOrder && r.addEvent(e) })
	if err != nil || inOrder {
		return r, err
	}
	type late struct {
		id     string
		at     time.Time
		packed []byte
	}
	var timed []late
	err = all.scanAnew(nil, func(e *event) {
		timed = append(timed, late{strings.Clone(e.Payload.SessionID), e.loggedAt, e.pack(nil)})
	})
	// A hand-over of Gas Town's, whose times have whole seconds, comes before the other
	// events of its second: it belongs to the session before them, although they may have
	// left the log earlier.
	slices.SortStableFunc(timed, func(a, b late) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(min(len(a.id), 1), min(len(b.id), 1)))
	})
	r = newReading()
	for _, l := range timed {
		for e := range unpack(l.packed) {
			e.Payload.SessionID = l.id
			r.addEvent(e)
		}
	}
	return r, err
}

func (all sources) scanAnew(progress Progress, each func(e *event)) error {
	for _, in := range all {
		in.end = 0
	}
	return all.scan(progress, each)
}

// scan calls each for all events that were not read before, in file order. Several tasks scan
// the parts of a batch at once, and each gets the events of a batch when all of it is scanned.
func (all sources) scan(progress Progress, each func(e *event)) error {
	var parts []*part
	var done, total int64
	for _, in := range all {
		total += in.size - in.end
		for at := in.end; at < in.size; at += chunk {
			parts = append(parts, &part{source: in, begin: at, limit: min(at+chunk, in.size)})
		}
	}
	batches := make(chan []*part, 1) // one is read while the events of another are given
	scanning := cli.Go(func() {
		defer close(batches)
		for some := range slices.Chunk(parts, min(runtime.GOMAXPROCS(0), maxTasks)) {
			cli.Parallel(some, (*part).scan)
			batches <- some
		}
	})
	var err error
	for some := range batches {
		for _, p := range some {
			if p.err != nil {
				err = cmp.Or(err, atomicfile.Error("read", p.Name(), p.err))
			}
			if p.end > p.begin {
				p.source.end = p.end
			}
			for j := range p.events {
				if err == nil {
					each(&p.events[j])
				}
			}
			done += p.limit - p.begin
			p.events = nil
		}
		if progress != nil {
			progress(done, total)
		}
	}
	scanning.Wait()
	return err
}

// part is what one task scans: the lines that begin in a chunk.
type part struct {
	*source
	begin, limit int64 // of the chunk
	end          int64 // of its last whole line; begin if there is none
	events       []event
	err          error
}

func (p *part) scan() {
	p.end, p.err = eventlog.ScanLifecycle(p, p.begin, p.limit, p.size, func(line []byte, _ int64) {
		p.events = append(p.events, event{})
		if last := len(p.events) - 1; !p.events[last].parse(line) {
			p.events = p.events[:last]
		}
	})
}
