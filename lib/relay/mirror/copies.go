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
	dir     string
	head    feed.Head // of the list there, as far as is known
	doubted bool      // the list may begin otherwise there
	read    int64     // how far the list was read
	listed  map[record.ID]*Entry
	held    map[record.ID]int64  // sizes of the copies
	checked map[record.ID]string // their tails, as far as they were compared
	lacking []record.ID          // of which bytes are missing
	unread  map[record.ID]bool   // that their host cannot read
	left    int                  // how many records are not copied because of their size
}

const ext = ".jsonl"

// Open returns the copies in a folder, which need not exist.
func Open(dir string) (*Copies, error) {
	c := &Copies{dir: dir}
	c.forget()
	files, err := atomicfile.Files(dir)
	for _, file := range files {
		name, _, ok := strings.Cut(file, ext) // also one that grows beside a copy
		if id, err := record.ParseID(name); ok && err == nil {
			c.held[id] = feed.Size(c.path(id))
		}
	}
	return c, err
}

func (c *Copies) forget() {
	*c = Copies{dir: c.dir, listed: map[record.ID]*Entry{}, held: map[record.ID]int64{}, checked: map[record.ID]string{}, unread: map[record.ID]bool{}}
}

func (c *Copies) path(id record.ID) string { return filepath.Join(c.dir, string(id)+ext) }

// HasCopies reports whether there are copies.
func (c *Copies) HasCopies() bool { return len(c.held) > 0 }

// Left returns how many records are not copied, because they are too large or too many.
func (c *Copies) Left() int { return c.left }

// Lacking reports whether the list or a record is not complete.
func (c *Copies) Lacking() bool { return c.Unlisted() || len(c.lacking) > 0 }

func (c *Copies) list() string { return c.dir + ".list" }

// Unlisted reports whether the list is not complete.
func (c *Copies) Unlisted() bool { return c.doubted || feed.Size(c.list()) < c.head.Size }

// ErrMany is returned for a list of more than MaxRecords.
var ErrMany = fmt.Errorf("over %d records", MaxRecords)

// Remove removes all copies.
func (c *Copies) Remove() error {
	c.forget()
	return errors.Join(os.RemoveAll(c.dir), feed.Discard(c.list()))
}

// Told takes how long the list is there.
func (c *Copies) Told(head feed.Head) error {
	have := feed.Size(c.list())
	c.head, c.doubted = head, have > head.Size
	if have == head.Size && have > 0 {
		sum, err := feed.CheckAt(c.list(), have)
		c.doubted = err != nil || sum != head.Check
	}
	return c.readList()
}

// addList adds what was wanted to the list.
func (c *Copies) addList(ch feed.Chunk) error {
	if ch.At == 0 {
		c.read = 0
		clear(c.listed)
		clear(c.unread)
	}
	same, complete, err := feed.Append(c.list(), ch, maxList)
	switch c.doubted = !same; {
	case err != nil:
		return err
	case complete:
		c.head.Size = feed.Size(c.list())
		return c.readList()
	case !same || len(ch.Data) == 0:
		return feed.ErrChunk
	}
	return nil
}

// readList reads what is new in the list, if that is complete.
func (c *Copies) readList() error {
	if c.Unlisted() {
		return nil
	}
	data, err := atomicfile.IfExists(atomicfile.Read(c.list(), maxList))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(data[min(c.read, int64(len(data))):]) {
		c.read += int64(len(line))
		e, ok := parseEntry(line)
		if !ok {
			continue
		}
		delete(c.unread, e.ID)
		if c.listed[e.ID] = &e; e.Size < 0 {
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
	c.lacking, c.left = nil, 0
	for _, e := range all {
		cost := e.Size + 4<<10                           // a file's
		if e.Size > MaxRecord || total+cost > MaxBytes { // mutant never: TestHostile
			c.left++
			continue
		}
		total += cost
		kept[e.ID] = true
		if !c.complete(e) && !c.unread[e.ID] {
			c.lacking = append(c.lacking, e.ID)
		}
	}
	var errs []error
	for id := range c.held {
		if !kept[id] {
			errs = append(errs, feed.Discard(c.path(id)))
			delete(c.held, id)
		}
	}
	return errors.Join(errs...)
}

// complete reports whether the copy of a record is what was listed.
func (c *Copies) complete(e *Entry) bool {
	size, ok := c.held[e.ID]
	if !ok || size != e.Size {
		return false
	}
	if c.checked[e.ID] == e.Tail { // also one without
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
	c.checked[e.ID] = e.Tail
	return true
}

// Want returns what to ask for: of the list, whose name is empty, or of a record. ok is false if
// nothing is missing.
func (c *Copies) Want() (w feed.Want, ok bool, err error) {
	if c.Unlisted() {
		w, err = c.WantList()
		return w, true, err
	}
	if len(c.lacking) == 0 {
		return w, false, nil
	}
	w, err = feed.Lacking(string(c.lacking[0]), c.path(c.lacking[0]))
	return w, true, err
}

// WantList returns what to ask for to go on with the list.
func (c *Copies) WantList() (feed.Want, error) { return feed.Lacking("", c.list()) }

// AskOthersFirst asks for the other records first: nothing comes of the one that was wanted.
func (c *Copies) AskOthersFirst() {
	if len(c.lacking) > 1 {
		c.lacking = append(c.lacking[1:], c.lacking[0])
	}
}

// Add adds what was wanted to its copy. No more is taken than what was listed: that is what was
// counted. A list that its host cannot read just now changes nothing.
func (c *Copies) Add(ch feed.Chunk) error {
	id := record.ID(ch.Name)
	e := c.listed[id]
	switch {
	case ch.None:
		if e != nil {
			c.unread[id] = true
			c.dropLacking(id)
		}
		return nil
	case id == "":
		return c.addList(ch)
	case e == nil:
		return nil
	}
	same, complete, err := feed.Append(c.path(id), ch, e.Size)
	c.held[id] = feed.Size(c.path(id))
	switch {
	case err != nil:
		return err
	case complete:
		e.Size = c.held[id]
		c.dropLacking(id)
	case !same || len(ch.Data) == 0: // it was changed meanwhile
		return feed.ErrChunk
	}
	return nil
}

func (c *Copies) dropLacking(id record.ID) {
	c.lacking = slices.DeleteFunc(c.lacking, func(other record.ID) bool { return other == id })
}
