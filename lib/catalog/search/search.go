// Package search searches conversations, several at once. If a client's files allow it,
// it searches their bytes before parsing them.
package search

import (
	"cmp"
	"errors"
	"hash/maphash"
	"io/fs"
	"iter"
	"regexp"
	"regexp/syntax"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gt/lib/catalog/scan"
	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/fold"
)

// Query is a search in the text of conversations, line by line, as a person reads it. It
// does not search the JSON around the text, nor what the client itself tells the model.
type Query struct {
	Pattern *regexp.Regexp

	Tools         bool // also thoughts, tool calls and results
	Before, After int  // how many lines of context to return
	First         bool // only the first hit of each conversation, without its turn

	// Clean prepares a text for display, for example by removing secrets. A line is a hit
	// only if it matches before and after.
	Clean func(string) string

	// needles are words of which every matching line, and in a plain file its record, has
	// at least one. Without needles, everything is read.
	needles []needle
}

// New returns a query for a regular expression (RE2) or, with fixed, for a literal text.
// With ignoreCase, it ignores case. Pattern and text are compared in one form (see
// fold.Name), in which hits have their text, too.
func New(pattern string, fixed, ignoreCase bool) (*Query, error) {
	if pattern = fold.Name(pattern); fixed {
		pattern = regexp.QuoteMeta(pattern)
	}
	flags := syntax.Perl
	if ignoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, err
	}
	if ignoreCase {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return &Query{Pattern: re, needles: needles(tree.Simplify())}, nil
}

// Hit is an entry with matching lines.
type Hit struct {
	conversation.Entry // without its text, which is in Lines

	// Turn is the number of its turn. The person's first prompt begins turn 1; entries
	// before it are in turn 0.
	Turn int

	Lines []Line

	key     copyKey
	weights []float64 // how much it has of each word (see Words)
	near    float64   // 1 if the words are side by side
}

type Line struct {
	Number int // from 1
	Text   string
	Match  bool
}

// Search searches conversations, several at once. It calls each for the hits until each
// returns false: in the order of all (i is the index) and then in the conversation's
// order. So the same conversations give the same hits in the same order.
//
// An entry that a fork copied from another conversation in all is a hit only there.
// Search skips what it cannot read and returns an error for it, unless it no longer
// exists.
//
// If there is no hit at the moment, Search calls idle, then again ten times a second,
// with the number of bytes searched so far.
func (q *Query) Search(all []conversation.Conversation, each func(i int, h Hit) bool, idle func(done, total int64)) error {
	s := newSearch(all)
	s.onlyFirst = q.First
	s.readHits = func(c *opened, each func(Hit) bool) (bool, error) { return s.searchConversation(q, c, each) }
	return s.run(each, idle)
}

func newSearch(all []conversation.Conversation) *search {
	return &search{all: all, older: olderRelatives(all), seed: maphash.MakeSeed(), reported: map[int]map[copyKey]bool{}, stop: make(chan struct{})}
}

// run reads all conversations and calls each and idle (see Query.Search).
func (s *search) run(each func(i int, h Hit) bool, idle func(done, total int64)) error {
	var total int64
	for _, c := range s.all {
		total += c.File.Size
	}
	// The portions in order. The first one's hits are passed on; the others block when
	// their buffers are full.
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
		if !s.giveHits(p, each, func() { idle(s.done.Load(), total) }, tick.C) {
			return nil
		}
	}
	sort.Slice(s.errs, func(i, j int) bool { return s.errs[i].Error() < s.errs[j].Error() })
	return errors.Join(s.errs...)
}

// divide sends the portions of conversations to both channels, and closes them.
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

// work searches portions until there are no more. If it panics, it ends the search of all others.
func (s *search) work(portions <-chan portion) {
	whole := false
	defer func() {
		if !whole {
			s.halt() // others must not wait for a worker that panicked
		}
	}()
	for p := range portions {
		for i := p.from; i < p.to; i++ {
			s.addError(s.sendHits(i, p.hits))
		}
		close(p.hits)
	}
	whole = true
}

// giveHits calls each for the hits of a portion. While there is none, it calls idle at once
// and at each tick. It reports whether it gave all hits.
func (s *search) giveHits(p portion, each func(i int, h Hit) bool, idle func(), tick <-chan time.Time) bool {
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

// portion is a range of conversations that one task searches in order.
type portion struct {
	from, to int
	hits     chan located
}

// portionSize is the size of a portion in bytes: large enough to make the hand-over
// cheap, small enough to keep all processors busy at the end.
const portionSize = 8 << 20

type located struct {
	i int
	Hit
}

type search struct {
	all       []conversation.Conversation
	onlyFirst bool // only the first hit of each conversation
	// readHits gives all hits of a conversation, including copies. It reports whether the search
	// needed all of the conversation, so that what its reader skips may be missing.
	readHits func(c *opened, each func(Hit) bool) (whole bool, err error)
	older    [][]int // for each conversation, those that it may be a copy of
	seed     maphash.Seed
	done     atomic.Int64
	stop     chan struct{}
	once     sync.Once

	mu       sync.Mutex
	errs     []error
	reported map[int]map[copyKey]bool // hits in conversations that were copied
}

func (s *search) halt() { s.once.Do(func() { close(s.stop) }) }

func (s *search) halted() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

// addError adds an error, unless the file was deleted meanwhile.
func (s *search) addError(err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.errs = append(s.errs, err)
	}
}

// opened is a conversation that is searched.
type opened struct {
	conversation.Reader
	*conversation.Conversation
	i         int
	isOwnTurn bool             // its turn has come; otherwise only what forks of it copied is looked up
	noteRead  func(read int64) // adds how far it was read to the bytes that were searched
}

// readConversation reads a conversation and gives its hits. own is set when its own turn has come, otherwise
// only its hits that forks have copied are looked up, which counts as no progress.
func (s *search) readConversation(i int, own bool, each func(Hit) bool) error {
	c := &opened{Reader: scan.ReaderOf(s.all[i].File.Client), Conversation: &s.all[i], i: i, isOwnTurn: own}
	var noted int64
	c.noteRead = func(read int64) {
		if own {
			s.done.Add(read - noted)
			noted = read
		}
	}
	defer c.noteRead(c.File.Size)
	if c.Reader == nil {
		return nil
	}
	whole, err := s.readHits(c, each)
	if err == nil && whole && own {
		err = scan.CheckRead(c.Conversation.Metadata.ID, c.File)
	}
	return err
}

// sendHits sends the hits of a conversation, without those that it copied from an older one.
func (s *search) sendHits(i int, to chan<- located) error {
	return s.readConversation(i, true, func(h Hit) bool {
		for _, j := range s.older[i] {
			if s.copied(j)[h.key] {
				return true
			}
		}
		select {
		case to <- located{i, h}:
		case <-s.stop:
			return false
		}
		return !s.onlyFirst
	})
}

// copyKey identifies an entry and its copies in forks.
type copyKey struct {
	id   string
	kind conversation.Kind
	text uint64
}

// copied returns all hits of a conversation that has forks.
func (s *search) copied(i int) map[copyKey]bool {
	s.mu.Lock()
	found, ok := s.reported[i]
	s.mu.Unlock()
	if ok {
		return found
	}
	found = map[copyKey]bool{}
	// The error is reported when its own turn comes.
	_ = s.readConversation(i, false, func(h Hit) bool {
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

// olderRelatives returns for each conversation, by the indexes in all, those that began earlier with the
// same history: it can be a fork of them.
func olderRelatives(all []conversation.Conversation) [][]int {
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
		for range maxForks { // a limit, because of cycles
			id := from[root]
			if id == "" {
				break
			}
			root.id = id
		}
		members[root] = append(members[root], i)
	}
	older := make([][]int, len(all))
	for _, family := range members {
		if len(family) < 2 {
			continue
		}
		slices.SortFunc(family, func(a, b int) int {
			x, y := all[a].Metadata, all[b].Metadata
			return cmp.Or(x.Started.Compare(y.Started), cmp.Compare(x.ForkOf, y.ForkOf), cmp.Compare(all[a].File.Path, all[b].File.Path))
		})
		for n, i := range family {
			older[i] = family[:n]
		}
	}
	return older
}

// maxForks limits how far a fork of a fork is followed to the original.
const maxForks = 100

// searchConversation gives the hits of a query in a conversation. whole reports whether it read to
// the end. Where quietIn allows it, it parses only records that have a needle.
func (s *search) searchConversation(q *Query, c *opened, each func(Hit) bool) (whole bool, err error) {
	var options conversation.Options
	if quiet := quietIn(c.Reader, c.File, q.Tools); quiet != nil && len(q.needles) > 0 {
		first, err := int64(-1), error(nil)
		for _, part := range c.File.Files() {
			if first < 0 && err == nil {
				first, err = s.findFirstMatch(q, part.Path, quiet, c.noteRead)
			}
		}
		if first < 0 {
			return false, err
		}
		// With one file, first is an offset in it. A search for first hits needs no turns.
		if q.First && c.File.Earlier == nil {
			options.From = first
		}
		options.Skip = func(record []byte) bool { return quiet(record) || firstNeedle(q.needles, record) < 0 }
	}
	turn := 0
	whole = true
	_, err = conversation.ReadAll(c.Reader, c.File, options, func(e conversation.Entry) bool {
		if e.Kind == conversation.Prompt {
			turn++
		}
		h, ok := q.match(e)
		if !ok {
			whole = !s.halted()
			return whole
		}
		h.Turn, h.key = turn, s.keyOf(e)
		whole = each(h) && !s.halted()
		return whole
	})
	return whole, err
}

// quietIn returns a function that reports whether a record has no text to be searched; with tools,
// calls and results are. It is nil if some of that text is not in the bytes of the files.
func quietIn(r conversation.Reader, f conversation.File, tools bool) func(record []byte) bool {
	p, ok := r.(conversation.PlainText)
	if !ok || slices.ContainsFunc(f.Files(), func(f conversation.File) bool { return !p.PlainText(f) }) {
		return nil
	}
	if k, keeps := r.(conversation.Keeper); tools && keeps && slices.ContainsFunc(f.Files(), k.KeepsResults) {
		return nil
	}
	if t, ok := r.(conversation.Quieter); ok {
		return func(record []byte) bool { return t.IsSilent(record, tools) }
	}
	return func([]byte) bool { return false }
}

func (s *search) keyOf(e conversation.Entry) copyKey {
	key := copyKey{e.ID, e.Kind, maphash.String(s.seed, e.Text)}
	if e.ID == "" && !e.Time.IsZero() {
		key.id = e.Time.String()
	}
	return key
}

// findFirstMatch returns where the first record with a needle that is not quiet begins in a file;
// -1 if there is none, or if the search ends.
func (s *search) findFirstMatch(q *Query, path string, quiet func([]byte) bool, count func(read int64)) (first int64, err error) {
	first = -1
	_, err = conversation.Lines(path, 0, func(record []byte, at int64) bool {
		if firstNeedle(q.needles, record) >= 0 && !quiet(record) {
			first = at
		}
		count(at)
		return first < 0 && !s.halted()
	})
	return first, err
}

// firstNeedle returns where the first of the needles begins, or -1.
func firstNeedle(needles []needle, b []byte) int {
	first := -1
	for _, n := range needles {
		if i := n.index(b); i >= 0 { // only a needle that begins before it can still be first
			first, b = i, b[:min(i+longestNeedle(needles), len(b))]
		}
	}
	return first
}

// match returns an entry's hit, without its turn. A line must match before and after Clean.
func (q *Query) match(e conversation.Entry) (Hit, bool) {
	switch e.Kind {
	case conversation.Prompt, conversation.Reply, conversation.Message, conversation.Answer, conversation.Summary:
	case conversation.Thought, conversation.Call, conversation.Result:
		if !q.Tools {
			return Hit{}, false
		}
	default:
		return Hit{}, false
	}
	text := fold.Name(e.Text)
	if !q.matches(text) {
		return Hit{}, false
	}
	if q.Clean != nil {
		text = q.Clean(text)
	}
	hit := Hit{Entry: e}
	hit.Text = ""
	all := slices.Collect(lines(text))
	given := 0 // lines before this are in the hit or excluded
	found := false
	for i, line := range all {
		if !q.Pattern.MatchString(line) {
			continue
		}
		found = true
		for j := max(given, i-q.Before); j <= min(i+q.After, len(all)-1); j++ {
			hit.Lines = append(hit.Lines, Line{Number: j + 1, Text: strings.Clone(all[j])})
			given = j + 1
		}
		// The line may already be there, as context of an earlier one.
		at, _ := slices.BinarySearchFunc(hit.Lines, i+1, func(l Line, n int) int { return cmp.Compare(l.Number, n) })
		hit.Lines[at].Match = true
	}
	return hit, found
}

func (q *Query) matches(text string) bool {
	for line := range lines(text) {
		if q.Pattern.MatchString(line) {
			return true
		}
	}
	return false
}

func lines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(text) {
			if !yield(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")) {
				return
			}
		}
	}
}
