// Package mirror copies the records of conversations of a host to another one that may read
// them.
//
// The other host asks, and this one answers, while both are there; the hub keeps nothing.
// A list says which records there are, in the order of their changes, so that the other
// host asks only for what changed since. The records are copied as all files are (feed).
package mirror

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"

	"gt/lib/record"
	"gt/lib/relay/feed"
)

// Limits of what is taken of a host: a record, all of them, and their number.
const (
	MaxRecord  = 256 << 20
	MaxBytes   = 2 << 30
	MaxRecords = 50_000
)

// pageSize is how many records are listed at once: about 180 KB.
const pageSize = 1500

// Entry is a record in a list.
type Entry struct {
	ID      record.ID `json:"id"`
	Size    int64     `json:"size"`    // of its complete lines; -1: it is gone
	Changed int64     `json:"changed"` // in seconds since 1970
	// Tail is a digest of the last bytes; of a packed record, which does not change, "".
	Tail string `json:"tail,omitempty"`
}

// tailOf returns the digest of the last bytes before a place in a file.
func tailOf(f *os.File, size int64) (string, error) {
	last := make([]byte, min(size, 4<<10))
	if _, err := f.ReadAt(last, size-int64(len(last))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	sum := sha256.Sum256(last)
	return hex.EncodeToString(sum[:8]), nil
}

// Page is a part of a list: the records that changed after number After, up to number
// Through. A page without records only says how long the list is.
type Page struct {
	List    string  `json:"list"` // names the numbering
	After   int64   `json:"after"`
	Through int64   `json:"through"`
	Last    int64   `json:"last"`
	Off     bool    `json:"off,omitempty"` // the receiver may read none
	Records []Entry `json:"records,omitempty"`
}

// PageRequest asks for the page after a number.
type PageRequest struct {
	List  string `json:"list,omitempty"`
	After int64  `json:"after"`
}

// Source lists and reads the records of this host.
type Source struct {
	store   record.Store
	list    string
	scratch string
	last    int64
	all     map[record.ID]*listed
	open    map[string]*unpacked // by the host that asks
}

type listed struct {
	Entry
	number int64
	seen   fs.FileInfo
}

// unpacked is a packed record that a host reads part by part.
type unpacked struct {
	id   record.ID
	seen fs.FileInfo
	f    *os.File
}

// NewSource returns a Source. list names its numbers, which no other Source has; packed records
// are unpacked on the file system of the folder scratch.
func NewSource(store record.Store, list, scratch string) *Source {
	return &Source{store: store, list: list, scratch: scratch, all: map[record.ID]*listed{}, open: map[string]*unpacked{}}
}

// LastChange returns the number of the last change.
func (s *Source) LastChange() int64 { return s.last }

// Scan notes which records have changed.
func (s *Source) Scan() error {
	ids, err := s.store.IDs()
	if err != nil {
		return err
	}
	there := make(map[record.ID]bool, len(ids))
	var changed []*listed
	for _, id := range ids {
		there[id] = true
		path := s.store.File(id)
		info, err := os.Lstat(path)
		if err != nil {
			continue // the next time tells
		}
		was := s.all[id]
		if was != nil && sameVersion(was.seen, info) {
			continue
		}
		e := Entry{ID: id, Changed: info.ModTime().Unix()}
		if path != s.store.Path(id) { // packed
			e.Size, err = s.store.Size(id)
		} else {
			e.Size, e.Tail, err = s.end(id, info.Size())
		}
		if err == nil {
			changed = append(changed, &listed{Entry: e, seen: info})
		}
	}
	for id, was := range s.all {
		if !there[id] && was.Size >= 0 {
			changed = append(changed, &listed{Entry: Entry{ID: id, Size: -1, Changed: was.Changed}})
		}
	}
	slices.SortFunc(changed, func(a, b *listed) int { return cmp.Or(cmp.Compare(a.Changed, b.Changed), cmp.Compare(a.ID, b.ID)) })
	for _, c := range changed {
		s.last++
		c.number = s.last
		s.all[c.ID] = c
	}
	return nil
}

// end returns where the last complete line of a record ends, and the digest of its last bytes.
func (s *Source) end(id record.ID, size int64) (end int64, tail string, err error) {
	f, err := s.store.Unpacked(id, s.scratch)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	if end, err = feed.LastLine(f, 0, size); err == nil {
		tail, err = tailOf(f, end)
	}
	return end, tail, err
}

func sameVersion(a, b fs.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// Page answers what asks for a page.
func (s *Source) Page(n PageRequest) Page {
	if n.List != s.list || n.After < 0 || n.After > s.last {
		n.After = 0
	}
	p := Page{List: s.list, After: n.After, Through: n.After, Last: s.last}
	later := slices.SortedFunc(maps.Values(s.all), func(a, b *listed) int { return cmp.Compare(a.number, b.number) })
	for _, l := range later {
		if l.number <= n.After {
			continue
		}
		if len(p.Records) == pageSize {
			return p
		}
		p.Records, p.Through = append(p.Records, l.Entry), l.number
	}
	p.Through = s.last
	return p
}

// Length returns a page that only says how long the list is.
func (s *Source) Length() Page {
	return Page{List: s.list, After: s.last, Through: s.last, Last: s.last}
}

// Open opens the lines of a record for a host. A packed one stays open for its next question. The
// caller calls done.
func (s *Source) Open(host string, id record.ID) (f *os.File, done func(), err error) {
	if _, err := record.ParseID(string(id)); err != nil {
		return nil, nil, err
	}
	path := s.store.File(id)
	if path == s.store.Path(id) {
		s.Left(host)
		f, err = s.store.Unpacked(id, s.scratch)
		return f, func() { f.Close() }, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if u := s.open[host]; u != nil && u.id == id && sameVersion(u.seen, info) {
		return u.f, func() {}, nil
	}
	s.Left(host)
	if f, err = s.store.Unpacked(id, s.scratch); err != nil {
		return nil, nil, err
	}
	s.open[host] = &unpacked{id, info, f}
	return f, func() {}, nil
}

// Left closes what a host was reading.
func (s *Source) Left(host string) {
	if u := s.open[host]; u != nil {
		u.f.Close()
		delete(s.open, host)
	}
}
