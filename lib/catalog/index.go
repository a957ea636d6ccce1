package catalog

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"os"
	"path/filepath"
	"syscall"

	"gt/lib/log/eventlog"
	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/cachefile"
	"gt/lib/text/redact"
)

// The index, .sessions/index.jsonl, holds the content of a log and its archive as of the
// last time they were read: a header, one line for each session, newest first, and a line
// with the state needed to go on. It is a cache, and is rebuilt if it cannot be trusted.
//
// It is trusted if its checksum is right, if it belongs to this user, and if this log and
// archive have only grown since. Several processes may write it at once: each replaces
// the whole file.

// indexVersion changes with the index's format and with what take makes of an event.
const indexVersion = 2

// guarded is how many bytes at the beginning of a file, and before the end of the part
// read, must be unchanged.
const guarded = 4 << 10

// worthWriting is how many new bytes of log make a new index worth writing: reading fewer
// is faster. Tests use less.
var worthWriting int64 = 256 << 10

// header says which files the index covers.
type header struct {
	Log      covered `json:"log"`
	Archive  covered `json:"archive"` // zero if there was none
	Sessions int     `json:"sessions"`
}

// covered is a file and the part of it that was read.
type covered struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Size   int64  `json:"size"`  // the file's size
	Read   int64  `json:"read"`  // the end of the last whole line
	Guard  string `json:"guard"` // the checksum of the file's beginning and of the bytes before Read
}

// afterwards is the last line: the state needed to go on.
type afterwards struct {
	Actors map[string]*actor `json:"actors"`
}

// index is an index file that was read. Only the heads of its lines are in memory.
type index struct {
	header
	entries []entry
	rest    []byte // the last line

	heads []byte // the heads of the current lines
	sizes []int
}

const cacheDir, indexName = ".sessions", "index.jsonl"

func indexPath(log eventlog.Log) string {
	return filepath.Join(filepath.Dir(string(log)), cacheDir, indexName)
}

// load reads the index, or returns nil if it cannot be trusted. The file stays open, and
// lines are read on demand: writers replace the file and never change it.
func load(path string) *index {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil
	}
	x := &index{}
	err = cachefile.Read(f, indexVersion, &x.header, func(lines []byte, at int64) { x.take(f, lines, at) })
	if err != nil || x.rest == nil || len(x.entries) != x.Sessions {
		f.Close()
		return nil
	}
	return x
}

// take adds lines that begin at an offset in f. It does not validate them, because the
// checksum does.
func (x *index) take(f *os.File, lines []byte, at int64) {
	if x.entries == nil {
		x.entries = make([]entry, 0, min(max(x.Sessions, 0), 1<<20))
	}
	heads, sizes, first := x.heads[:0], x.sizes[:0], len(x.entries)
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte("\n"))
		if bytes.HasPrefix(line, []byte(keyID)) {
			head := headOf(line)
			heads, sizes = append(heads, head...), append(sizes, len(head))
			x.entries = append(x.entries, entry{in: f, at: at, size: len(line)})
		} else {
			x.rest = bytes.Clone(line)
		}
		at += int64(len(line)) + 1
		lines = rest
	}
	all := string(heads)
	for i, size := range sizes {
		x.entries[first+i].head, all = all[:size], all[size:]
	}
	x.heads, x.sizes = heads, sizes
}

// readIndexed reads only what is new since the index was written if the index can be
// trusted, and else everything.
func (all sources) readIndexed(path string, progress Progress) (Catalog, error) {
	if x := load(path); x != nil && x.covers(all) {
		if r, done, err := x.readOn(path, all, progress); done || err != nil {
			return r, err
		}
	}
	b, err := all.read(progress)
	if err != nil {
		return Catalog{}, err
	}
	r := b.catalog()
	if last, err := json.Marshal(afterwards{b.actors}); err == nil {
		all.save(path, r, last)
	}
	return r, nil
}

// covers reports whether the index is of these files, and sets where the part that it
// covers ends.
func (x *index) covers(all sources) bool {
	for i, c := range []covered{x.Archive, x.Log} {
		f := all[i]
		if f == nil {
			if c != (covered{}) {
				return false
			}
			continue
		}
		now, err := f.covered(c.Read)
		if err != nil || i == 0 && now.Size != c.Size { // new lines in the archive come before the log's
			return false
		}
		// The index's writer may have opened the file later, and read more.
		f.size, f.end = now.Size, c.Read
		if now.Size = c.Size; now != c {
			return false
		}
	}
	return true
}

// readOn reads what is new. done is false if an event belongs before one that is already
// in the index.
func (x *index) readOn(path string, all sources, progress Progress) (r Catalog, done bool, err error) {
	r, last := Catalog{x.entries}, x.rest
	var b *builder
	inOrder := true
	err = all.scan(progress, func(_ int, e *found) {
		if b == nil {
			var then afterwards
			b = newBook(r)
			inOrder = json.Unmarshal(x.rest, &then) == nil && then.Actors != nil
			b.actors = then.Actors
		}
		inOrder = inOrder && b.add(&e.event)
	})
	if err != nil || !inOrder {
		return Catalog{}, false, err
	}
	if b != nil {
		r = b.catalog()
		last, err = json.Marshal(afterwards{b.actors})
	}
	if log := all[1]; err == nil && log != nil && log.end-x.Log.Read >= worthWriting {
		all.save(path, r, last)
	}
	return r, true, nil
}

// save writes the index, with last as its last line. It writes none if the log has a
// secret about a session. Errors are ignored, because they only cost time.
func (all sources) save(path string, r Catalog, last []byte) {
	dir, err := place.SharedIn(filepath.Dir(filepath.Dir(path)), cacheDir).MakeOurs()
	if err != nil {
		return
	}
	defer dir.Close()
	h := header{Sessions: len(r.entries)}
	for i, c := range []*covered{&h.Archive, &h.Log} {
		if f := all[i]; f != nil {
			var err error
			if *c, err = f.covered(f.end); err != nil {
				return
			}
			c.Size = f.size // it may have grown since
		}
	}
	data, err := cachefile.Begin(indexVersion, h, len(r.entries)*512)
	if err != nil {
		return
	}
	secret := secrets()
	for i := range r.entries {
		if e := &r.entries[i]; e.known == nil {
			line, err := e.line()
			if err != nil {
				return
			}
			data = append(append(data, line...), '\n')
		} else {
			if secret(e.known) {
				return // a secret in the log must not be copied
			}
			data = e.known.encode(data)
		}
	}
	data = append(append(data, last...), '\n')
	_ = cachefile.Write(dir, indexName, indexVersion, data)
}

// secrets returns a function that reports whether the log has a secret about a session.
// The check costs as much as everything else. Folders, branches and names are the same in
// many sessions, so each text is checked once.
func secrets() func(*Session) bool {
	clean := redact.Of(nil)
	secret := map[string]bool{}
	return func(s *Session) bool {
		for _, f := range s.facts() {
			if f.Text == nil || *f.Text == "" {
				continue
			}
			is, seen := secret[*f.Text]
			if !seen {
				is = clean(*f.Text) != *f.Text
				secret[*f.Text] = is
			}
			if is {
				return true
			}
		}
		return false
	}
}

// covered returns the file's identity, its size, and the part of it that was read.
func (f *source) covered(read int64) (covered, error) {
	info, err := f.Stat()
	if err != nil {
		return covered{}, err
	}
	c := covered{Size: info.Size(), Read: read}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		c.Device, c.Inode = uint64(st.Dev), st.Ino // their types differ between systems
	}
	hash := fnv.New64a()
	var part [guarded]byte
	for _, from := range []int64{0, max(read-guarded, 0)} {
		n, err := f.ReadAt(part[:min(guarded, read-from)], from)
		if err != nil {
			return covered{}, err
		}
		hash.Write(part[:n])
	}
	c.Guard = hex.EncodeToString(hash.Sum(nil))
	return c, nil
}
