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
	asked      Want
	// anew is the record of which a new copy grows in <id>.jsonl.part, because the copy
	// differs from it.
	anew record.ID
}

const (
	ext  = ".jsonl"
	part = ".part"
)

// Open returns the copies in a folder, which need not exist.
func Open(dir string) (*Copies, error) {
	c := &Copies{dir: dir}
	c.forget()
	entries, err := atomicfile.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, atomicfile.Error("read", dir, err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), part) {
			if err := atomicfile.Remove(filepath.Join(dir, e.Name())); err != nil {
				return nil, err
			}
		}
		name, ok := strings.CutSuffix(e.Name(), ext)
		id, err := record.ParseID(name)
		if info, failed := e.Info(); ok && err == nil && failed == nil {
			c.held[id] = info.Size()
		}
	}
	return c, nil
}

func (c *Copies) forget() {
	*c = Copies{dir: c.dir, listed: map[record.ID]*Entry{}, held: map[record.ID]int64{}, checked: map[record.ID]string{}, unread: map[record.ID]bool{}}
}

func (c *Copies) path(id record.ID) string { return filepath.Join(c.dir, string(id)+ext) }

// growing returns the file to which a record's bytes are appended.
func (c *Copies) growing(id record.ID) string {
	if c.anew == id {
		return c.path(id) + part
	}
	return c.path(id)
}

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
			errs = append(errs, atomicfile.Remove(c.path(id)))
			delete(c.held, id)
		}
	}
	if c.anew != "" && !kept[c.anew] {
		errs = append(errs, c.renew(""))
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

// renew begins a new copy of a record.
func (c *Copies) renew(id record.ID) error {
	var err error
	if c.anew != "" {
		err = atomicfile.Remove(c.growing(c.anew))
	}
	c.anew = id
	return err
}

// Want returns what to ask for. ok is false if nothing is missing.
func (c *Copies) Want() (w Want, ok bool, err error) {
	if len(c.lacking) == 0 {
		return w, false, nil
	}
	w.ID = c.lacking[0]
	path := c.growing(w.ID)
	info, err := os.Lstat(path)
	if err == nil {
		w.At = info.Size()
		w.Check, err = feed.CheckAt(path, w.At)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	c.asked = w
	return w, true, atomicfile.Error("read", path, err)
}

// AskOthersFirst asks for the other records first: nothing comes of the one that was wanted.
func (c *Copies) AskOthersFirst() {
	if len(c.lacking) > 1 {
		c.lacking = append(c.lacking[1:], c.lacking[0])
	}
}

// Add adds what was wanted to its copy. ok is false for any other part, such as the answer to
// an earlier question.
func (c *Copies) Add(ch Chunk) (ok bool, err error) {
	e := c.listed[ch.ID]
	if ch.ID != c.asked.ID || ch.For != c.asked.At || e == nil {
		return false, nil
	}
	w := c.asked
	c.asked = Want{}
	return true, c.add(ch, w, e)
}

func (c *Copies) add(ch Chunk, w Want, e *Entry) error {
	switch {
	case ch.Unread:
		c.unread[ch.ID] = true
		c.dropLacking(ch.ID)
		return nil
	case ch.At != w.At && ch.At != 0:
		return ErrPart
	case ch.At == 0 && w.At > 0: // the copy differs
		if err := c.renew(ch.ID); err != nil {
			return err
		}
	}
	// No more is taken than what was listed: that is what was counted.
	end := max(min(ch.Size, e.Size), ch.At) // mutant without min: TestHostile
	data := ch.Data[:min(int64(len(ch.Data)), end-ch.At)]
	same, err := feed.Append(c.growing(ch.ID), feed.Chunk{At: ch.At, Before: ch.Check, Data: data})
	if err != nil {
		return err
	}
	if !same { // it was changed meanwhile
		return c.renew(ch.ID)
	}
	at := ch.At + int64(len(data))
	if at < end && len(data) == 0 {
		return ErrPart
	}
	if at < end {
		if c.anew != ch.ID {
			c.held[ch.ID] = at
		}
		return nil
	}
	if c.anew == ch.ID { // mutant never: TestHistory
		if err := atomicfile.Rename(c.growing(ch.ID), c.path(ch.ID), atomicfile.Synced); err != nil {
			return err
		}
		c.anew = ""
	}
	e.Size, c.held[ch.ID] = at, at
	c.dropLacking(ch.ID)
	return nil
}

func (c *Copies) dropLacking(id record.ID) {
	c.lacking = slices.DeleteFunc(c.lacking, func(other record.ID) bool { return other == id })
}
