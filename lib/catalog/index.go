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

// The index is what a log and its archive said when they were last read to their
// ends: .sessions/index.jsonl, a header, a line a session, the newest first, and
// a line of what is needed to go on. It saves reading them again and is nothing
// that anybody has to keep: what cannot be believed is made anew.
//
// It is believed where it is whole (a checksum), ours alone, and of this log and
// this archive, to which nothing but new lines has been added. Several processes
// may write it at once, for each writes a whole one in the place of another.

// indexVersion changes with the form of the index and with what take makes of an
// event.
const indexVersion = 2

// guarded is how much at the beginning of a file, and before the end of what was
// read, has to be the same.
const guarded = 4 << 10

// worthWriting is how much has to be new in the log before the index is written
// again: less is read faster than that is done. In tests it is less.
var worthWriting int64 = 256 << 10

// header says of what the index is the index.
type header struct {
	Log      covered `json:"log"`
	Archive  covered `json:"archive"` // nothing where there was none
	Sessions int     `json:"sessions"`
}

// covered is a file as far as it was read.
type covered struct {
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	Size   int64  `json:"size"`  // that it had
	Read   int64  `json:"read"`  // the end of its last whole line
	Guard  string `json:"guard"` // checksum of its beginning and of what stands before that end
}

// afterwards is the last line: what is needed to go on.
type afterwards struct {
	Actors map[string]*actor `json:"actors"`
}

// index is a cache that was read. Of its lines the beginnings are in memory.
type index struct {
	header
	entries []entry
	rest    []byte // the last line

	heads []byte // for lines
	sizes []int
}

// Where the index stands, in the log's folder.
const cacheDir, indexName = ".sessions", "index.jsonl"

func indexPath(log eventlog.Log) string {
	return filepath.Join(filepath.Dir(string(log)), cacheDir, indexName)
}

// load reads the index; it is nil where that cannot be believed. The file stays
// open, for nobody changes one that has the name, and its lines are read when
// they are wanted.
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

// take takes in lines that begin at an offset in f. What is not a line of an index,
// the checksum tells.
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

// readIndexed reads what is new since the index was written, where that can be
// believed, and else all.
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

// covers reports whether the index is of these files, and where in them it ends.
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
		if err != nil || i == 0 && now.Size != c.Size { // what is new in the archive belongs before the log
			return false
		}
		// Who wrote the index may have come later, and read more.
		f.size, f.end = now.Size, c.Read
		if now.Size = c.Size; now != c {
			return false
		}
	}
	return true
}

// readOn reads what is new. It is not done where that should have been told
// before what was told already.
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

// save writes the index, last as its last line; but none where a secret stands in
// what the log says of a session. That it is not written costs time and no more.
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
				return // what another program logged without care is not written once more
			}
			data = e.known.encode(data)
		}
	}
	data = append(append(data, last...), '\n')
	_ = cachefile.Write(dir, indexName, indexVersion, data)
}

// secrets returns what reports whether a secret stands in what the log says of a
// session. To look for one costs as much as all else; but folders, branches and
// names are the same in many sessions, and looked at once.
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

// covered describes the file as it is now, as far as it was read.
func (f *source) covered(read int64) (covered, error) {
	info, err := f.Stat()
	if err != nil {
		return covered{}, err
	}
	c := covered{Size: info.Size(), Read: read}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		c.Device, c.Inode = uint64(st.Dev), st.Ino // signed elsewhere
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
