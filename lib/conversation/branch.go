package conversation

import (
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/tidwall/gjson"
)

// A person can take back a part of a conversation and go on from before it. Its records
// stay in most clients' files.

// SkipTakenBack returns a function that calls each, but not for entries of records that the person
// took back: of those it reports the prompts to o.TakenBack. Their tokens count, for they were spent.
func (o Options) SkipTakenBack(isTakenBack func(at int64) bool, each func(Entry) bool) func(Entry) bool {
	return func(e Entry) bool {
		if e.Kind == TokenUsage || !isTakenBack(e.Offset) {
			return each(e)
		}
		if e.Kind == Prompt && o.TakenBack != nil {
			o.TakenBack(e)
		}
		return true
	}
}

// ErasesTakenBack reports whether the client of a file removes from it what the person takes back, and
// nothing else: it keeps a database, or writes the whole conversation anew each time.
func ErasesTakenBack(path string) bool { return filepath.Ext(path) != ".jsonl" }

// ErasedPrompts returns the prompts that the person took back from a file: the last ones of had,
// its prompts before, that are not in has, its prompts now. Both are oldest first. It returns nil
// unless has ends with a new prompt, because a part of the file may be lost instead.
func ErasedPrompts(had, has []string) []string {
	if len(has) == 0 || slices.Contains(had, has[len(has)-1]) {
		return nil
	}
	n := len(had)
	for n > 0 && !slices.Contains(has, had[n-1]) {
		n--
	}
	return had[n:]
}

// maxLinked limits the bytes in which a summary looks for what was taken back, because a
// hook waits.
const maxLinked = 128 << 20

// TooLongToSearch reports whether it would take too long to look for what was taken back. Only a
// Read for which a hook can wait has a limit: one for a summary or with TakenBack.
func (o Options) TooLongToSearch(path string) bool {
	if o.Patient || !o.ForSummary && o.TakenBack == nil || ErasesTakenBack(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Size()-o.From > maxLinked
}

// TakenBackSpans are parts of a file that the person took back: from an offset on, up to the record
// that says so.
type TakenBackSpans [][2]int64

func (s TakenBackSpans) Contains(at int64) bool {
	return slices.ContainsFunc(s, func(span [2]int64) bool { return at >= span[0] && at < span[1] })
}

// ReportEarlier calls o.TakenBack with the first record before o.From of each part that a later record
// takes back.
func (s TakenBackSpans) ReportEarlier(o Options) {
	for _, span := range s {
		if o.TakenBack != nil && span[0] < o.From && span[1] >= o.From {
			o.TakenBack(Entry{Kind: Prompt, Offset: span[0]})
		}
	}
}

// Link is a record that names the one that it follows.
type Link struct {
	Offset        int64
	ID, Parent    uint64 // hashes; a Parent of 0 means that it names none
	Retractable   bool   // the person can take it back with what follows it, as a prompt
	ParentUnknown bool   // it does not tell whether it follows another
}

// HashID returns the hash of a record's id for a Link; 0 for no id.
func HashID(id string) uint64 {
	if id == "" {
		return 0
	}
	h := fnv.New64a()
	io.WriteString(h, id)
	return h.Sum64()
}

// Branch are the links of a file, in its order.
type Branch []Link

// ReadTakenBack returns the offsets of a file's records that the person took back, and reports those
// before o.From. link parses the link of a line; ok is false if the line has none. Of a line over
// MaxRecord it gets only the beginning, because the path can go through it.
func ReadTakenBack(path string, o Options, link func(line []byte, at int64) (l Link, ok bool)) (gone map[int64]bool, err error) {
	var all Branch
	add := func(line []byte, at int64) bool {
		if l, ok := link(line, at); ok {
			all = append(all, l)
		}
		return true
	}
	_, err = LinesWithin(path, 0, MaxRecord, func(line []byte, at int64) bool {
		return !gjson.ValidBytes(line) || add(line, at)
	}, func(front, _ []byte, at int64) bool { return add(front, at) })
	gone = all.TakenBackOffsets()
	all.ReportEarlier(o, gone)
	return gone, err
}

// TakenBackOffsets returns the offsets of the records that are not part of the conversation any more.
//
// The conversation is the path from the last record back to the first. A prompt that is not
// on the path was taken back, with all that follows it. What else is beside the path, such as
// one of several results, belongs to the conversation.
//
// A record that names no parent, or an unknown one, follows the one before it, but for a
// prompt that says that it follows none. A record can stand before its parent: Claude Code can
// write the records of its first turn in another order. The time is linear.
func (b Branch) TakenBackOffsets() map[int64]bool {
	firstIndex := make(map[uint64]int, len(b))
	linked := false
	for i, l := range b {
		_, known := firstIndex[l.Parent]
		linked = linked || known && l.Parent != 0
		if _, again := firstIndex[l.ID]; !again {
			firstIndex[l.ID] = i
		}
	}
	if !linked { // no record names another one of the file, so nothing tells what was taken back
		return nil
	}
	// parent returns the index of the record that record i follows, or -1 if it follows none.
	parent := func(i int) int {
		l := b[i]
		if at, known := firstIndex[l.Parent]; known && l.Parent != 0 && at != i {
			return at
		}
		if l.Parent == 0 && l.Retractable && !l.ParentUnknown {
			return -1
		}
		return i - 1
	}
	const (
		unknown = iota
		kept
		lost
		walked // kept or lost, as the record will be that the present walk ends at
	)
	state := make([]byte, len(b))
	for i := len(b) - 1; i >= 0 && state[i] != kept; i = parent(i) { // the path
		state[i] = kept
	}
	var gone map[int64]bool
	var walk []int
	// A record off the path is lost if it follows a lost one or a prompt off the path. The walk
	// goes back from record i to one of these or a kept one, and what it passed becomes the same.
	for i, l := range b {
		walk = walk[:0]
		at := i
		for at >= 0 && state[at] == unknown && !b[at].Retractable {
			state[at], walk = walked, append(walk, at)
			at = parent(at)
		}
		found := byte(kept)                                         // also if the links form a circle
		if at >= 0 && (state[at] == unknown || state[at] == lost) { // unknown: a prompt off the path
			state[at], found = lost, lost
		}
		for _, w := range walk {
			state[w] = found
		}
		if state[i] == lost {
			if gone == nil {
				gone = map[int64]bool{}
			}
			gone[l.Offset] = true
		}
	}
	return gone
}

// ReportEarlier tells the caller of a Read from o.From on that what an earlier Read gave was taken
// back since: it calls o.TakenBack with the first such record. gone is all that is taken back now.
func (b Branch) ReportEarlier(o Options, gone map[int64]bool) {
	if o.TakenBack == nil || o.From == 0 || len(gone) == 0 {
		return
	}
	n := 0
	for n < len(b) && b[n].Offset < o.From {
		n++
	}
	goneBefore, first := b[:n].TakenBackOffsets(), int64(math.MaxInt64)
	for at := range gone {
		if at < o.From && !goneBefore[at] {
			first = min(first, at)
		}
	}
	if first < o.From {
		o.TakenBack(Entry{Kind: Prompt, Offset: first})
	}
}
