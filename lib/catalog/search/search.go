// Package search looks for words in conversations, in several at once and, where a
// client's files allow it, in their bytes before they are read.
package search

import (
	"bytes"
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"iter"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// Query is something that is looked for in the words of conversations, line by
// line, as a person reads them: not in the JSON around them, and not in what the
// client itself tells the model.
type Query struct {
	// Pattern is what a line has to match.
	Pattern *regexp.Regexp

	Tools         bool // also in thoughts, in calls of tools and in their results
	Before, After int  // how many lines of the text around a match are wanted
	Limit         int  // how many hits of a conversation are wanted; 0 for all

	// Clean makes of a text what may be shown, for instance without secrets. A
	// line is a hit where it matches both before and after.
	Clean func(string) string

	// needles are words of which every line that matches holds one, and so does
	// its record in the file, if it is plain. Without any, all has to be read.
	needles []needle

	block int // blockSize, less in a test
}

// New returns a query for a regular expression (RE2), or for a text as it stands;
// with fold, small and capital letters are the same.
func New(pattern string, fixed, fold bool) (*Query, error) {
	if fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.Perl
	if fold {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, err
	}
	if fold {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Query{Pattern: re, needles: needles(tree.Simplify()), block: blockSize}, nil
}

// Hit is an entry of a conversation that has lines that match.
type Hit struct {
	conversation.Entry // its text only in Lines

	// Turn is the number of the turn that it belongs to: the person's first
	// prompt begins turn 1, and what stands before it is in turn 0.
	Turn int

	// Lines are those that match, and those around them that were asked for.
	Lines []Line

	key copyKey
}

// Line is a line of a text.
type Line struct {
	Number int // from 1
	Text   string
	Match  bool
}

// Search looks for q in conversations, in several at once, and calls each for
// the hits until it returns false: conversation by conversation in their order
// in all (i is the place in it), and in the conversation's own order. So the
// same conversations give the same hits in the same order.
//
// What a fork copied from a conversation that is also in all is no hit in the
// fork. What cannot be read is left out, and told in the error, unless it is
// gone.
//
// Whenever there is no hit to give at the moment, idle is called, and from then
// on ten times a second: so many bytes of all were searched.
func (q *Query) Search(all []conversation.Conversation, each func(i int, h Hit) bool, idle func(done, total int64)) error {
	s := search{Query: q, all: all, older: families(all), seed: maphash.MakeSeed(), reported: map[int]map[copyKey]bool{}, stop: make(chan struct{})}
	var total int64
	for _, c := range all {
		total += c.File.Size
	}
	// Portions that are being searched and those that wait for it, in their order.
	// The hits of the first are given on, the others stop when they are full.
	workers := runtime.GOMAXPROCS(0)
	queue, work := make(chan portion, 16*workers), make(chan portion)
	tasks := []*cli.Task{cli.Go(func() { s.divide(queue, work) })}
	for range workers {
		tasks = append(tasks, cli.Go(func() { s.work(work) }))
	}
	defer func() {
		s.halt()
		for _, t := range tasks {
			t.Wait()
		}
	}()

	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for p := range queue {
		if !s.give(p, each, func() { idle(s.done.Load(), total) }, tick.C) {
			return nil
		}
	}
	slices.SortFunc(s.errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(s.errs...)
}

// divide sends the conversations in portions to each of the channels, and closes them.
func (s *search) divide(queue, work chan<- portion) {
	defer close(queue)
	defer close(work)
	for i := 0; i < len(s.all); {
		p := portion{from: i, hits: make(chan located, 8)}
		for size := int64(0); i < len(s.all) && (i == p.from || size+s.all[i].File.Size <= portionSize); i++ {
			size += s.all[i].File.Size
		}
		p.to = i
		for _, to := range []chan<- portion{queue, work} {
			select {
			case to <- p:
			case <-s.stop:
				return
			}
		}
	}
}

// work searches portions.
func (s *search) work(portions <-chan portion) {
	whole := false
	defer func() {
		if !whole {
			s.halt() // nobody waits for what will not come
		}
	}()
	buf := make([]byte, s.block)
	for p := range portions {
		for i := p.from; i < p.to; i++ {
			s.failed(s.conversation(i, buf, p.hits))
		}
		close(p.hits)
	}
	whole = true
}

// give calls each for the hits of a portion, and idle whenever there is none at the moment and
// at each tick from then on. It reports whether it gave all.
func (s *search) give(p portion, each func(i int, h Hit) bool, idle func(), tick <-chan time.Time) bool {
	for {
		var h located
		more := true
		select {
		case h, more = <-p.hits:
		default:
			idle()
			select {
			case h, more = <-p.hits:
			case <-tick:
				continue
			case <-s.stop:
				return false
			}
		}
		switch {
		case !more:
			return true
		case !each(h.i, h.Hit):
			return false
		}
	}
}

// portion is some conversations that are searched one after the other.
type portion struct {
	from, to int
	hits     chan located
}

// portionSize is how many bytes are searched at a time: to hand on more of them
// less often costs nothing, and a few at the end still keep all processors busy.
const portionSize = 8 << 20

// located is a hit and the place of its conversation.
type located struct {
	i int
	Hit
}

// search is a Search that runs.
type search struct {
	*Query
	all   []conversation.Conversation
	older [][]int // of each, those that it can be a copy of
	seed  maphash.Seed
	done  atomic.Int64
	stop  chan struct{}
	once  sync.Once

	mu       sync.Mutex
	errs     []error
	reported map[int]map[copyKey]bool // what was found in those that were copied
}

// halt ends all tasks.
func (s *search) halt() { s.once.Do(func() { close(s.stop) }) }

func (s *search) halted() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// failed notes what could not be read. What was deleted meanwhile is no failure.
func (s *search) failed(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, err)
	}
}

// conversation gives the hits of one, without what it copied.
func (s *search) conversation(i int, buf []byte, to chan<- located) error {
	n := 0
	return s.in(i, buf, &s.done, func(h Hit) bool {
		for _, j := range s.older[i] {
			if s.copied(j, buf)[h.key] {
				return true
			}
		}
		select {
		case to <- located{i, h}:
		case <-s.stop:
			return false
		}
		n++
		return s.Limit == 0 || n < s.Limit
	})
}

// copyKey is what an entry and the copy of it in a fork have in common.
type copyKey struct {
	id   string
	kind conversation.Kind
	text uint64
}

// copied returns all hits of a conversation that others are forks of.
func (s *search) copied(i int, buf []byte) map[copyKey]bool {
	s.mu.Lock()
	found, ok := s.reported[i]
	s.mu.Unlock()
	if ok {
		return found
	}
	found = map[copyKey]bool{}
	// That it cannot be read is told where its own turn comes.
	_ = s.in(i, buf, nil, func(h Hit) bool {
		if h.key.id != "" {
			found[h.key] = true
		}
		return true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reported[i] = found
	return found
}

// families returns of each conversation those that have the same history and
// began before it.
func families(all []conversation.Conversation) [][]int {
	type name struct {
		client string
		id     session.ID
	}
	from := make(map[name]session.ID, len(all))
	for _, c := range all {
		from[name{c.File.Client, c.Metadata.ID}] = c.Metadata.ForkOf
	}
	members := map[name][]int{}
	for i, c := range all {
		root := name{c.File.Client, c.Metadata.ID}
		for range maxForks { // and no longer, should they be each other's
			id := from[root]
			if id == "" {
				break
			}
			root.id = id
		}
		members[root] = append(members[root], i)
	}
	older := make([][]int, len(all))
	for _, of := range members {
		if len(of) < 2 {
			continue
		}
		slices.SortFunc(of, func(a, b int) int {
			x, y := all[a].Metadata, all[b].Metadata
			return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.ForkOf, y.ForkOf), cmp.Compare(all[a].File.Path, all[b].File.Path))
		})
		for n, i := range of {
			older[i] = of[:n]
		}
	}
	return older
}

// maxForks is how many times a fork of a fork is followed to the original.
const maxForks = 100

// blockSize is how much of a file is searched at once. It fits into a
// processor's own memory.
const blockSize = 128 << 10

// in gives the hits of a conversation, those that are copies included, and counts
// what it read to done.
func (s *search) in(i int, buf []byte, done *atomic.Int64, each func(Hit) bool) error {
	f := s.all[i].File
	var counted int64
	count := func(n int) {
		if done != nil {
			counted += int64(n)
			done.Add(int64(n))
		}
	}
	defer func() {
		if done != nil {
			done.Add(f.Size - counted)
		}
	}()
	r := scan.ReaderOf(f.Client)
	if r == nil {
		return nil
	}
	var o conversation.Options
	if p, ok := r.(conversation.PlainText); ok && len(s.needles) > 0 && p.PlainText(f) {
		quiet := func([]byte) bool { return false }
		if t, ok := r.(conversation.Quieter); ok {
			quiet = func(record []byte) bool { return t.Quiet(record, s.Tools) }
		}
		if held, err := s.fileHas(f.Path, buf, quiet, count); !held {
			return err
		}
		o.Skip = func(record []byte) bool { return quiet(record) || s.index(record) < 0 }
	}
	turn := 0
	_, err := r.Read(f, o, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			turn++
		}
		h, ok := s.match(e)
		if !ok {
			return !s.halted()
		}
		h.Turn, h.key = turn, copyKey{e.ID, e.Kind, maphash.String(s.seed, e.Text)}
		if e.ID == "" && !e.Time.IsZero() {
			h.key.id = e.Time.String()
		}
		return each(h) && !s.halted()
	})
	return err
}

// fileHas reports whether one of the needles is in a file, in a record that is not
// quiet. It ends, with false, when the search does.
func (s *search) fileHas(path string, buf []byte, quiet func([]byte) bool, count func(int)) (bool, error) {
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	tail := longest(s.needles) - 1 // what is left of the block before, in which a needle can begin
	if tail >= len(buf)/2 {
		return true, nil // nobody looks for this
	}
	b := block{begins: true}
	for kept := 0; !s.halted(); {
		n, err := f.Read(buf[kept:])
		count(n)
		b.bytes = buf[:kept+n]
		if s.blockHas(b, quiet) {
			return true, nil
		}
		if err == io.EOF {
			break
		} else if err != nil {
			return false, atomicfile.Error("read", path, err)
		}
		from := max(0, len(b.bytes)-tail)
		b = b.from(from, quiet)
		kept = copy(buf, b.bytes)
	}
	return false, nil
}

// block is a part of a file.
type block struct {
	bytes  []byte
	begins bool // it begins with a record
	Quiet  bool // it begins within a record that is quiet
}

// frontSize is how much of a record has to be seen to say that it is quiet.
const frontSize = 2 << 10

// record returns where the record begins and ends that holds a place; -1 is not in
// the block.
func (b block) record(at int) (from, to int) {
	from = lastLine(b.bytes[:at])
	if from == 0 && !b.begins {
		from = -1
	}
	if to = bytes.IndexByte(b.bytes[at:], '\n'); to >= 0 {
		to += at
	}
	return from, to
}

// isQuiet reports whether the record that holds a place is quiet, as far as one sees.
func (b block) isQuiet(at int, quiet func([]byte) bool) bool {
	switch from, to := b.record(at); {
	case from < 0:
		return b.Quiet
	case to >= 0:
		return quiet(b.bytes[from:to])
	default:
		return len(b.bytes)-from >= frontSize && quiet(b.bytes[from:])
	}
}

// from is the rest of the block from a place on.
func (b block) from(at int, quiet func([]byte) bool) block {
	rest := block{bytes: b.bytes[at:], begins: b.begins}
	if at > 0 {
		rest.begins = b.bytes[at-1] == '\n'
	}
	rest.Quiet = !rest.begins && b.isQuiet(at, quiet)
	return rest
}

// blockHas looks for the needles in what is not quiet.
func (s *search) blockHas(b block, quiet func([]byte) bool) bool {
	for at := 0; ; {
		i := s.index(b.bytes[at:])
		if i < 0 {
			return false
		}
		if i += at; !b.isQuiet(i, quiet) {
			return true
		}
		_, to := b.record(i)
		if to < 0 {
			return false
		}
		at = to
	}
}

// index is the first place that holds one of the needles, or -1.
func (s *search) index(b []byte) int {
	first := -1
	for _, n := range s.needles {
		if i := n.index(b); i >= 0 {
			first, b = i, b[:min(i+longest(s.needles), len(b))]
		}
	}
	return first
}

// match finds the lines of an entry that match.
func (q *Query) match(e conversation.Entry) (Hit, bool) {
	switch e.Kind {
	case conversation.Prompt, conversation.Reply, conversation.Answer, conversation.Summary:
	case conversation.Thought, conversation.Call, conversation.Result:
		if !q.Tools {
			return Hit{}, false
		}
	default:
		return Hit{}, false
	}
	if !q.matches(e.Text) {
		return Hit{}, false
	}
	text := e.Text
	if q.Clean != nil {
		text = q.Clean(text)
	}
	h := Hit{Entry: e}
	h.Text = ""
	all := slices.Collect(lines(text))
	given := 0 // so many of all are in the hit or will not be
	found := false
	for i, line := range all {
		if !q.Pattern.MatchString(line) {
			continue
		}
		found = true
		for j := max(given, i-q.Before); j <= min(i+q.After, len(all)-1); j++ {
			h.Lines = append(h.Lines, Line{Number: j + 1, Text: strings.Clone(all[j])})
			given = j + 1
		}
		at, _ := slices.BinarySearchFunc(h.Lines, i+1, func(l Line, n int) int { return cmp.Compare(l.Number, n) })
		h.Lines[at].Match = true
	}
	return h, found
}

// matches reports whether a line of a text matches.
func (q *Query) matches(text string) bool {
	for line := range lines(text) {
		if q.Pattern.MatchString(line) {
			return true
		}
	}
	return false
}

// lines are those of a text, without their ends.
func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if !yield(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")) {
				return
			}
		}
	}
}
