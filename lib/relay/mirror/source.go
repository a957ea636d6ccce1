// Package mirror copies the records of conversations of a host to another one that may read
// them.
//
// The other host asks, and this one answers, while both are there; the hub keeps nothing.
// A list, a file to which a line is appended for each record that changes, says which records
// there are. The list and the records are copied as all files are (feed).
package mirror

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"gt/lib/record"
	"gt/lib/relay/feed"
	"gt/lib/sys/atomicfile"
)

// Limits of what is taken of a host: a record, all of them, and their number.
const (
	MaxRecord  = 256 << 20
	MaxBytes   = 2 << 30
	MaxRecords = 50_000
)

// maxList bounds a list, in bytes. A list is written anew once it has more outdated lines than
// there are records and staleLines together.
const (
	maxList    = 32 << 20
	staleLines = 1000
)

// Entry is a record in a list: a line of JSON. The last one of a record counts.
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

// Source lists and reads the records of this host.
type Source struct {
	store       record.Store
	dir         string
	entries     map[record.ID]*listedRecord
	lines       int // of the list; -1 if it has to be written anew
	head        feed.Head
	openRecords map[string]*unpacked // by the host that asks
}

type listedRecord struct {
	Entry
	info fs.FileInfo
}

// unpacked is a packed record that a host reads part by part.
type unpacked struct {
	id   record.ID
	info fs.FileInfo
	f    *os.File
}

// NewSource returns a Source. Its list is in a folder, as records.list; packed records are unpacked
// on the file system of that.
func NewSource(store record.Store, dir string) *Source {
	s := &Source{store: store, dir: dir, entries: map[record.ID]*listedRecord{}, lines: -1, openRecords: map[string]*unpacked{}}
	data, err := atomicfile.Read(s.listPath(), maxList)
	if err != nil {
		return s // it is written anew
	}
	s.lines = 0
	for line := range bytes.Lines(data) {
		if e, ok := parseEntry(line); ok {
			s.entries[e.ID] = &listedRecord{Entry: e}
		}
		s.lines++
	}
	return s
}

func (s *Source) listPath() string { return filepath.Join(s.dir, "records.list") }

// parseEntry parses a line of a list.
func parseEntry(line []byte) (e Entry, ok bool) {
	if json.Unmarshal(line, &e) != nil || e.Size < -1 {
		return e, false
	}
	_, err := record.ParseID(string(e.ID))
	return e, err == nil
}

// Head returns how long the list is.
func (s *Source) Head() feed.Head { return s.head }

// Scan finds the records that are new, changed or gone since the last call, and lists them.
func (s *Source) Scan() error {
	ids, err := s.store.IDs()
	if err != nil {
		return err
	}
	present := make(map[record.ID]bool, len(ids))
	var changed []*listedRecord
	for _, id := range ids {
		present[id] = true
		path := s.store.File(id)
		info, err := os.Lstat(path)
		if err != nil {
			continue // the next time tells
		}
		was := s.entries[id]
		if was != nil && sameVersion(was.info, info) {
			continue
		}
		e := Entry{ID: id, Changed: info.ModTime().Unix()}
		if path != s.store.Path(id) { // packed
			e.Size, err = s.store.Size(id)
		} else {
			e.Size, e.Tail, err = s.completeEnd(id, info.Size())
		}
		switch {
		case err != nil:
		case was != nil && was.Entry == e:
			was.info = info
		default:
			changed = append(changed, &listedRecord{e, info})
		}
	}
	for id, was := range s.entries {
		if !present[id] && was.Size >= 0 {
			changed = append(changed, &listedRecord{Entry: Entry{ID: id, Size: -1, Changed: was.Changed}})
		}
	}
	return s.recordChanges(changed)
}

// recordChanges appends changed entries to the list, or writes it anew if it is lost or too many of
// its lines are outdated. A size of -1 means that a record is gone. s.lines is -1 after an error.
func (s *Source) recordChanges(changed []*listedRecord) (err error) {
	for _, c := range changed {
		s.entries[c.ID] = c
	}
	anew := s.lines < 0 || s.lines+len(changed) > 2*len(s.entries)+staleLines || !atomicfile.Exists(s.listPath())
	if anew {
		maps.DeleteFunc(s.entries, func(_ record.ID, l *listedRecord) bool { return l.Size < 0 })
		changed, s.lines = slices.Collect(maps.Values(s.entries)), 0
	}
	slices.SortFunc(changed, func(a, b *listedRecord) int {
		return cmp.Or(cmp.Compare(a.Changed, b.Changed), cmp.Compare(a.ID, b.ID))
	})
	var lines []byte
	for _, c := range changed {
		line, err := json.Marshal(c.Entry)
		if err != nil {
			return err
		}
		lines = append(append(lines, line...), '\n')
	}
	if s.lines += len(changed); anew {
		err = atomicfile.Write(s.listPath(), lines, atomicfile.Unsynced)
	} else if len(lines) > 0 {
		err = s.appendLines(lines)
	}
	if err == nil {
		s.head.Size = feed.Size(s.listPath())
		s.head.Check, err = feed.PrefixSumOf(s.listPath(), s.head.Size)
	}
	if err != nil {
		s.lines = -1
	}
	return err
}

func (s *Source) appendLines(lines []byte) error {
	f, err := atomicfile.OpenAppend(s.listPath())
	if err != nil {
		return err
	}
	defer f.Close()
	return atomicfile.AppendLines(f, lines)
}

// completeEnd returns where the last complete line of a record ends, and the digest of its last bytes.
func (s *Source) completeEnd(id record.ID, size int64) (end int64, tail string, err error) {
	f, err := s.store.OpenUnpacked(id, s.dir)
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

// Open opens the lines of a record, or the list if id is empty, for a host. A packed record stays open
// for the next question of the host. The caller calls done.
func (s *Source) Open(host string, id record.ID) (f *os.File, done func(), err error) {
	if id == "" {
		f, err = atomicfile.Open(s.listPath())
		return f, func() { f.Close() }, err
	}
	if _, err := record.ParseID(string(id)); err != nil {
		return nil, nil, err
	}
	path := s.store.File(id)
	if path == s.store.Path(id) {
		s.CloseHost(host)
		f, err = s.store.OpenUnpacked(id, s.dir)
		return f, func() { f.Close() }, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, nil, err
	}
	if u := s.openRecords[host]; u != nil && u.id == id && sameVersion(u.info, info) {
		return u.f, func() {}, nil
	}
	s.CloseHost(host)
	if f, err = s.store.OpenUnpacked(id, s.dir); err != nil {
		return nil, nil, err
	}
	s.openRecords[host] = &unpacked{id, info, f}
	return f, func() {}, nil
}

// CloseHost closes what a host was reading.
func (s *Source) CloseHost(host string) {
	if u := s.openRecords[host]; u != nil {
		u.f.Close()
		delete(s.openRecords, host)
	}
}
