package mirror

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/record"
	"gt/lib/relay/feed"
	"gt/lib/sys/atomicfile"
)

// Copies are the copies of another host's records, in one folder: <id>.jsonl. The copy of their list
// is beside it.
type Copies struct {
	dir          string
	head         feed.Head // of the list there, as far as is known
	isDoubted    bool      // the list may begin otherwise there
	listRead     int64     // how far the list was read
	listed       map[record.ID]*Entry
	copySizes    map[record.ID]int64  // sizes of the copies
	checkedTails map[record.ID]string // their tails, as far as they were compared
	incomplete   []record.ID          // of which bytes are missing
	unreadable   map[record.ID]bool   // that their host cannot read
	leftOut      int                  // how many records are not copied because of their size
}

const ext = ".jsonl"

// Open returns the copies in a folder, which need not exist.
func Open(dir string) (*Copies, error) {
	c := &Copies{dir: dir}
	c.clearNotes()
	files, err := atomicfile.Files(dir)
	for _, file := range files {
		name, _, ok := strings.Cut(file, ext) // also one that grows beside a copy
		if id, err := record.ParseID(name); ok && err == nil {
			c.copySizes[id] = feed.Size(c.path(id))
		}
	}
	return c, err
}

func (c *Copies) clearNotes() {
	*c = Copies{dir: c.dir, listed: map[record.ID]*Entry{}, copySizes: map[record.ID]int64{}, checkedTails: map[record.ID]string{}, unreadable: map[record.ID]bool{}}
}

func (c *Copies) path(id record.ID) string { return filepath.Join(c.dir, string(id)+ext) }

// HasCopies reports whether there are copies.
func (c *Copies) HasCopies() bool { return len(c.copySizes) > 0 }

// CountLeftOut returns how many records are not copied, because they are too large or too many.
func (c *Copies) CountLeftOut() int { return c.leftOut }

// IsIncomplete reports whether the list or a record is not complete.
func (c *Copies) IsIncomplete() bool { return c.LacksList() || len(c.incomplete) > 0 }

func (c *Copies) listPath() string { return c.dir + ".list" }

// LacksList reports whether the list is not complete.
func (c *Copies) LacksList() bool { return c.isDoubted || feed.Size(c.listPath()) < c.head.Size }

// ErrMany is returned for a list of more than MaxRecords.
var ErrMany = fmt.Errorf("over %d records", MaxRecords)

// Remove removes all copies.
func (c *Copies) Remove() error {
	c.clearNotes()
	return errors.Join(os.RemoveAll(c.dir), feed.Discard(c.listPath()))
}

// SetHead takes the size and checksum of the list at the other host, and reads what is new in the
// copy. If the copy does not fit them, it is doubted, and asked for anew.
func (c *Copies) SetHead(head feed.Head) error {
	have := feed.Size(c.listPath())
	c.head, c.isDoubted = head, have > head.Size
	if have == head.Size && have > 0 {
		sum, err := feed.PrefixSumOf(c.listPath(), have)
		c.isDoubted = err != nil || sum != head.Check
	}
	return c.readList()
}

// addList adds a chunk to the copy of the host's list, and reads the list once it is complete.
func (c *Copies) addList(ch feed.Chunk) error {
	if ch.At == 0 {
		c.listRead = 0
		clear(c.listed)
		clear(c.unreadable)
	}
	same, complete, err := feed.Append(c.listPath(), ch, maxList)
	switch c.isDoubted = !same; {
	case err != nil:
		return err
	case complete:
		c.head.Size = feed.Size(c.listPath())
		return c.readList()
	case !same || len(ch.Data) == 0:
		return feed.ErrChunk
	}
	return nil
}

// readList reads what is new in the list, if that is complete.
func (c *Copies) readList() error {
	if c.LacksList() {
		return nil
	}
	data, err := atomicfile.IfExists(atomicfile.Read(c.listPath(), maxList))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data[min(c.listRead, int64(len(data))):]) {
		c.listRead += int64(len(line))
		e, ok := parseEntry(line)
		if !ok {
			continue
		}
		delete(c.unreadable, e.ID)
		if c.listed[e.ID] = &e; e.Size < 0 { // it is gone there
			delete(c.listed, e.ID)
		}
		if len(c.listed) > MaxRecords { // mutant never: TestHostile
			delete(c.listed, e.ID)
			return ErrMany
		}
	}
	return c.chooseCopies()
}

// chooseCopies decides which records are copied, the latest first, and removes the other copies.
func (c *Copies) chooseCopies() error {
	all := slices.SortedFunc(maps.Values(c.listed), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(b.Changed, a.Changed), cmp.Compare(b.ID, a.ID))
	})
	total := int64(0)
	kept := map[record.ID]bool{}
	c.incomplete, c.leftOut = nil, 0
	for _, e := range all {
		cost := e.Size + 4<<10                           // what a file takes at least
		if e.Size > MaxRecord || total+cost > MaxBytes { // mutant never: TestHostile
			c.leftOut++
			continue
		}
		total += cost
		kept[e.ID] = true
		if !c.isComplete(e) && !c.unreadable[e.ID] {
			c.incomplete = append(c.incomplete, e.ID)
		}
	}
	var errs []error
	for id := range c.copySizes {
		if !kept[id] {
			errs = append(errs, feed.Discard(c.path(id)))
			delete(c.copySizes, id)
		}
	}
	return errors.Join(errs...)
}

// isComplete reports whether the copy of a record is what was listed.
func (c *Copies) isComplete(e *Entry) bool {
	size, ok := c.copySizes[e.ID]
	if !ok || size != e.Size {
		return false
	}
	if c.checkedTails[e.ID] == e.Tail { // or both are "": a packed record does not change
		return true
	}
	f, err := atomicfile.Open(c.path(e.ID))
	if err != nil {
		return false
	}
	defer f.Close()
	if tail, err := tailOf(f, size); err != nil || tail != e.Tail { // mutant never: TestSameSize
		return false
	}
	c.checkedTails[e.ID] = e.Tail
	return true
}

// Want returns what to ask for: of the list, whose name is empty, or of a record. ok is false if
// nothing is missing.
func (c *Copies) Want() (w feed.Want, ok bool, err error) {
	if c.LacksList() {
		w, err = c.WantList()
		return w, true, err
	}
	if len(c.incomplete) == 0 {
		return w, false, nil
	}
	w, err = feed.NextWant(string(c.incomplete[0]), c.path(c.incomplete[0]))
	return w, true, err
}

// WantList returns what to ask for to go on with the list.
func (c *Copies) WantList() (feed.Want, error) { return feed.NextWant("", c.listPath()) }

// AskOthersFirst asks for the other records first: nothing comes of the one that was wanted.
func (c *Copies) AskOthersFirst() {
	if len(c.incomplete) > 1 {
		c.incomplete = append(c.incomplete[1:], c.incomplete[0])
	}
}

// AddChunk adds a chunk of a record, or of the list if it has no name, to the copy. Of a record it
// takes no more than the listed size, which chooseCopies has counted. A record that its host cannot
// read (None) is not asked for again until the list has a new line for it.
func (c *Copies) AddChunk(ch feed.Chunk) error {
	id := record.ID(ch.Name)
	e := c.listed[id]
	switch {
	case ch.None:
		if e != nil {
			c.unreadable[id] = true
			c.dropLacking(id)
		}
		return nil
	case id == "":
		return c.addList(ch)
	case e == nil:
		return nil
	}
	same, complete, err := feed.Append(c.path(id), ch, e.Size)
	c.copySizes[id] = feed.Size(c.path(id))
	switch {
	case err != nil:
		return err
	case complete:
		e.Size = c.copySizes[id]
		c.dropLacking(id)
	case !same || len(ch.Data) == 0: // it was changed meanwhile
		return feed.ErrChunk
	}
	return nil
}

func (c *Copies) dropLacking(id record.ID) {
	c.incomplete = slices.DeleteFunc(c.incomplete, func(other record.ID) bool { return other == id })
}
