package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/record"
	"gt/lib/relay/feed"
	"gt/lib/sys/atomicfile"
)

// Copies are the copies of another host's records, in one folder: <id>.jsonl.
type Copies struct {
	dir        string
	list       string
	have, last int64 // numbers of the list: as far as it is known, and its end
	listed     map[record.ID]*Entry
	held       map[record.ID]int64  // sizes of the copies
	checked    map[record.ID]string // their tails, as far as they were compared
	lacking    []record.ID          // of which bytes are missing
	unread     map[record.ID]bool   // that their host cannot read
	left       int
}

const ext = ".jsonl"

// Open returns the copies in a folder, which need not exist.
func Open(dir string) (*Copies, error) {
	c := &Copies{dir: dir}
	c.forget()
	entries, err := atomicfile.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Error("read", dir, err)
	}
	for _, e := range entries {
		name, _, ok := strings.Cut(e.Name(), ext) // also one that grows beside a copy
		if id, err := record.ParseID(name); ok && err == nil {
			c.held[id] = feed.Size(c.path(id))
		}
	}
	return c, nil
}

func (c *Copies) forget() {
	*c = Copies{dir: c.dir, listed: map[record.ID]*Entry{}, held: map[record.ID]int64{}, checked: map[record.ID]string{}, unread: map[record.ID]bool{}}
}

func (c *Copies) path(id record.ID) string { return filepath.Join(c.dir, string(id)+ext) }

// HasCopies reports whether there are copies.
func (c *Copies) HasCopies() bool { return len(c.held) > 0 }

// Left returns how many records are not copied, because they are too large or too many.
func (c *Copies) Left() int { return c.left }

// Lacking reports whether a record is not complete.
func (c *Copies) Lacking() bool { return len(c.lacking) > 0 }

// Unlisted returns what to ask for if the list is not complete.
func (c *Copies) Unlisted() (n PageRequest, ok bool) {
	return PageRequest{c.list, c.have}, c.have < c.last
}

// ErrMany is returned for a list of more than MaxRecords.
var ErrMany = fmt.Errorf("over %d records", MaxRecords)

var errPage = errors.New("an invalid list of records")

// Listed takes a page of the list.
func (c *Copies) Listed(p Page) error {
	if p.Off {
		c.forget()
		return os.RemoveAll(c.dir)
	}
	if p.List == "" || len(p.List) > 64 || p.After < 0 || p.Through < p.After || p.Last < p.Through || len(p.Records) > pageSize {
		return errPage
	}
	for _, e := range p.Records {
		if _, err := record.ParseID(string(e.ID)); err != nil || e.Size < -1 {
			return errPage
		}
	}
	if p.List != c.list {
		c.list, c.have, c.lacking = p.List, 0, nil
		clear(c.listed)
		clear(c.unread)
	}
	c.last = p.Last
	if p.After == c.have {
		c.have = p.Through
		for _, e := range p.Records {
			delete(c.unread, e.ID)
			if c.listed[e.ID] = &e; e.Size < 0 {
				delete(c.listed, e.ID)
			}
			if len(c.listed) > MaxRecords { // mutant never: TestHostile
				delete(c.listed, e.ID)
				return ErrMany
			}
		}
	}
	if c.have < c.last {
		return nil
	}
	return c.choose()
}

// choose decides which records are copied, the latest first, and removes the other copies.
func (c *Copies) choose() error {
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
	if tail, err := tailOf(f, size); err != nil || tail != e.Tail { // mutant never: TestHistory
		return false
	}
	c.checked[e.ID] = e.Tail
	return true
}

// Want returns what to ask for. ok is false if nothing is missing.
func (c *Copies) Want() (w feed.Want, ok bool, err error) {
	if len(c.lacking) == 0 {
		return w, false, nil
	}
	w, err = feed.Lacking(string(c.lacking[0]), c.path(c.lacking[0]))
	return w, true, err
}

// AskOthersFirst asks for the other records first: nothing comes of the one that was wanted.
func (c *Copies) AskOthersFirst() {
	if len(c.lacking) > 1 {
		c.lacking = append(c.lacking[1:], c.lacking[0])
	}
}

// Add adds what was wanted to its copy. No more is taken than what was listed: that is what was
// counted.
func (c *Copies) Add(ch feed.Chunk) error {
	id := record.ID(ch.Name)
	e := c.listed[id]
	if e == nil {
		return nil
	}
	if ch.None {
		c.unread[id] = true
		c.dropLacking(id)
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
