// Package feed copies append-only files, such as event logs, from a host to others.
//
// A copy is a prefix of the original, so its size is the place at which it continues: a
// kill, a cut line or a message that comes twice cannot hurt it. An epoch names the bytes
// of an original. When a file was not only appended to (a prune, a backup), its host
// begins a new epoch, and the copy is replaced once the new one is complete.
package feed

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
)

// MaxChunk bounds the data of a chunk, in bytes.
const MaxChunk = 256 << 10

// MaxCopy bounds a copy, in bytes: another host must not fill this one's disk.
const MaxCopy = 1 << 30

// MaxFeeds bounds the files of a host, and MaxBytes their copies together.
const (
	MaxFeeds = 1024
	MaxBytes = 2 << 30
)

// Chunk is a part of a file.
type Chunk struct {
	Feed  string `json:"feed"`
	Epoch string `json:"epoch"`
	At    int64  `json:"at"`   // place of the first byte
	Size  int64  `json:"size"` // of the original, as far as its lines are complete
	// Before is the check of the original's bytes before At.
	Before string `json:"before"`
	Data   []byte `json:"-"`
}

// Marshal returns the chunk as a line of JSON and its data.
func (c Chunk) Marshal() ([]byte, error) {
	head, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), c.Data...), nil
}

// Unmarshal parses what Marshal returned.
func Unmarshal(data []byte) (c Chunk, err error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok {
		return c, errors.New("a chunk without its first line")
	}
	if err := json.Unmarshal(head, &c); err != nil {
		return c, err
	}
	if c.At < 0 || c.Size < 0 || len(rest) > MaxChunk {
		return c, errors.New("an invalid chunk")
	}
	c.Data = rest
	return c, errors.Join(checkFeed(c.Feed), checkEpoch(c.Epoch))
}

// Head is how far an original has grown.
type Head struct {
	Epoch string `json:"epoch"`
	Size  int64  `json:"size"`
	// Check is the SHA-256 of the first 4 KB and the last 64 KB before Size. A copy
	// that differs from its original does so at its end when something is appended.
	Check string `json:"check,omitempty"`
}

// Want is what a copy lacks: the bytes from From on. Renew asks for an epoch after Epoch,
// because the copy differs from the original.
type Want struct {
	Feed  string `json:"feed"`
	Epoch string `json:"epoch"`
	From  int64  `json:"from"`
	Renew bool   `json:"renew,omitempty"`
}

// Check returns an error unless the want is well-formed.
func (w Want) Check() error {
	if w.From < 0 {
		return errors.New("an invalid place in a file")
	}
	if w.Epoch == "" {
		return checkFeed(w.Feed)
	}
	return errors.Join(checkFeed(w.Feed), checkEpoch(w.Epoch))
}

var (
	feedName  = lazyregexp.New(`^(events|town\.[A-Za-z0-9_][A-Za-z0-9._-]{0,127})$`)
	epochName = lazyregexp.New(`^[0-9]{16}-[0-9a-f]{8}$`)
)

func checkFeed(s string) error {
	if !feedName().MatchString(s) {
		return fmt.Errorf("invalid name of a feed '%.80s'", s)
	}
	return nil
}

func checkEpoch(s string) error {
	if !epochName().MatchString(s) {
		return fmt.Errorf("invalid epoch '%.80s'", s)
	}
	return nil
}

// epochAfter returns a new epoch that sorts after another, even if the clock went back.
func epochAfter(now time.Time, last string) string {
	n := uint64(max(now.UnixMilli(), 0))
	var before uint64
	if _, err := fmt.Sscanf(last, "%016d-", &before); err == nil && before >= n && before < 9e15 {
		n = before + 1
	}
	var random [4]byte
	rand.Read(random[:])
	return fmt.Sprintf("%016d-%s", n, hex.EncodeToString(random[:]))
}

// Source follows the files of this host. It remembers in <state>/relay/feeds.json what
// was sent.
type Source struct {
	state place.State
	sent  map[string]*sent
}

type sent struct {
	Head
	seen fs.FileInfo // when it had nothing new
}

// NewSource returns a Source that goes on where the last one stopped.
func NewSource(state place.State) (*Source, error) {
	s := &Source{state, map[string]*sent{}}
	data, err := atomicfile.Read(s.path(), 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", s.path(), err)
	}
	if json.Unmarshal(data, &s.sent) != nil { // a new epoch of each is all it costs
		s.sent = map[string]*sent{}
	}
	return s, nil
}

func (s *Source) path() string { return s.state.Path("relay", "feeds.json") }

// Store keeps what was sent. If it is lost, the bytes are sent again.
func (s *Source) Store() error {
	data, err := json.Marshal(s.sent)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path(), append(data, '\n'), atomicfile.Unsynced)
}

// Heads returns how far each feed was sent.
func (s *Source) Heads() map[string]Head {
	heads := map[string]Head{}
	for name, f := range s.sent {
		heads[name] = f.Head
	}
	return heads
}

// NextChunk returns the next bytes of a file that were not sent. ok is false if there are none.
// The caller sends them and then calls Sent.
func (s *Source) NextChunk(name, path string, now time.Time) (c Chunk, ok bool, err error) {
	f, info, err := open(path)
	if f == nil {
		return c, false, err
	}
	defer f.Close()
	was := s.sent[name]
	if was != nil && was.seen != nil && os.SameFile(was.seen, info) && was.seen.Size() == info.Size() && was.seen.ModTime().Equal(info.ModTime()) {
		return c, false, nil
	}
	if was == nil || !was.holds(f, info.Size()) {
		last := ""
		if was != nil {
			last = was.Epoch
		}
		was = &sent{Head: Head{Epoch: epochAfter(now, last)}}
		s.sent[name] = was
	}
	c, err = read(f, name, was.Head, was.Size, info.Size())
	if err == nil && len(c.Data) == 0 {
		was.seen = info
	}
	return c, len(c.Data) > 0, err
}

// Sent records that a chunk of NextChunk was sent.
func (s *Source) Sent(c Chunk, path string) error {
	was := s.sent[c.Feed]
	if was == nil || was.Epoch != c.Epoch {
		return nil
	}
	f, _, err := open(path)
	if f == nil {
		return err
	}
	defer f.Close()
	was.Size = c.At + int64(len(c.Data))
	was.Check, err = Check(f, was.Size)
	return err
}

// Answer returns what a copy wants of a file that was sent already.
func (s *Source) Answer(w Want, path string, now time.Time) (c Chunk, ok bool, err error) {
	was := s.sent[w.Feed]
	if was == nil {
		return c, false, nil
	}
	if w.Renew && w.Epoch >= was.Epoch {
		*was = sent{Head: Head{Epoch: epochAfter(now, w.Epoch)}}
		return c, false, nil // Next sends it
	}
	f, info, err := open(path)
	if f == nil {
		return c, false, err
	}
	defer f.Close()
	if !was.holds(f, info.Size()) {
		return c, false, nil // Next begins a new epoch
	}
	from := w.From
	if w.Epoch != was.Epoch {
		from = 0
	}
	if from >= was.Size {
		return c, false, nil
	}
	c, err = read(f, w.Feed, was.Head, from, was.Size)
	return c, len(c.Data) > 0, err
}

// open opens a file that may not exist, then f is nil.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := atomicfile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, atomicfile.Error("read", path, err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, nil, atomicfile.Error("read", path, err)
	}
	return f, info, nil
}

// read returns the next part of a file as a chunk.
func read(f *os.File, name string, head Head, from, size int64) (Chunk, error) {
	c, err := Part(f, from, size)
	c.Feed, c.Epoch = name, head.Epoch
	return c, err
}

// Part reads complete lines of a file from a place on, but at least a part of a long line. The
// chunk names no feed.
func Part(f *os.File, from, size int64) (Chunk, error) {
	end, err := LastLine(f, from, size)
	if err != nil {
		return Chunk{}, atomicfile.Error("read", f.Name(), err)
	}
	data := make([]byte, min(end-from, MaxChunk))
	if _, err := f.ReadAt(data, from); err != nil && !errors.Is(err, io.EOF) {
		return Chunk{}, atomicfile.Error("read", f.Name(), err)
	}
	before, err := Check(f, from)
	if err != nil {
		return Chunk{}, atomicfile.Error("read", f.Name(), err)
	}
	return Chunk{At: from, Size: end, Before: before, Data: data}, nil
}

// LastLine returns the end of the last complete line, at least from: what follows it may
// still be written.
func LastLine(f *os.File, from, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > from; {
		begin := max(from, end-int64(len(buf)))
		n, err := f.ReadAt(buf[:end-begin], begin)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return begin + int64(i) + 1, nil
		}
		end = begin
	}
	return from, nil
}

// holds reports whether the file still begins with what was sent.
func (s *sent) holds(f *os.File, size int64) bool {
	if size < s.Size {
		return false
	}
	sum, err := Check(f, s.Size)
	return err == nil && (s.Size == 0 || sum == s.Check)
}

// Check returns the check of the bytes before a place; see Head.
func Check(f *os.File, size int64) (string, error) {
	first := make([]byte, min(size, 4<<10))
	last := make([]byte, min(size, 64<<10))
	if _, err := f.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if _, err := f.ReadAt(last, size-int64(len(last))); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	sum := sha256.Sum256(append(first, last...))
	return hex.EncodeToString(sum[:16]), nil
}

// Copies are the copies of another host's files, in one folder.
type Copies struct {
	dir   string
	feeds map[string]*held
	most  int64 // MaxBytes
}

// totalSize returns how many bytes the copies have.
func (c *Copies) totalSize() (n int64) {
	for name := range c.feeds {
		n += size(c.Path(name)) + size(c.Path(name)+".part")
	}
	return n
}

type held struct {
	Epoch string `json:"epoch"`
	// Next is the epoch of <file>.part, which replaces the copy once it is complete.
	Next string `json:"next,omitempty"`

	// Differs reports that the copy differs from the original, which has to begin a new epoch.
	Differs bool `json:"differs,omitempty"`

	// checked is the size at which the copy was found to be as the original.
	checked int64
	// short counts how many heads in a row were older than the copy.
	short int
}

// OpenCopies returns the copies in a folder.
func OpenCopies(dir string) (*Copies, error) {
	c := &Copies{dir, map[string]*held{}, MaxBytes}
	path := filepath.Join(dir, "feeds.json")
	data, err := atomicfile.Read(path, 16<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", path, err)
	}
	if json.Unmarshal(data, &c.feeds) != nil {
		c.feeds = map[string]*held{} // the next chunk says which epoch there is
	}
	return c, nil
}

func (c *Copies) store() error {
	data, err := json.Marshal(c.feeds)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(c.dir, "feeds.json"), append(data, '\n'), atomicfile.Unsynced)
}

// Path returns where the copy of a feed is.
func (c *Copies) Path(name string) string {
	if town, ok := strings.CutPrefix(name, "town."); ok {
		return filepath.Join(c.dir, "towns", town, ".events.jsonl")
	}
	return filepath.Join(c.dir, ".events.jsonl")
}

// ErrFull is returned for a copy that would become larger than MaxCopy, or all than MaxBytes, and
// for one more than MaxFeeds.
var ErrFull = fmt.Errorf("the copy would become larger than %d MiB, or all than %d, or there are over %d", MaxCopy>>20, MaxBytes>>20, MaxFeeds)

// Add adds a chunk to its copy, and returns what is missing, if anything.
func (c *Copies) Add(ch Chunk) (want *Want, err error) {
	h := c.feeds[ch.Feed]
	if h == nil {
		if len(c.feeds) >= MaxFeeds { // mutant never: ./lib/relay TestManyLogs
			return nil, ErrFull
		}
		h = new(held)
		if !atomicfile.Exists(c.Path(ch.Feed)) {
			h.Epoch = ch.Epoch
		} // otherwise its epoch is unknown, and it stays until there is a complete new one
		c.feeds[ch.Feed] = h
		if err := c.store(); err != nil {
			return nil, err
		}
	}
	path := c.Path(ch.Feed)
	if ch.Epoch < h.Epoch {
		return nil, nil // an old message
	}
	if ch.Epoch == h.Epoch {
		return c.append(path, ch)
	}
	part := path + ".part"
	if h.Next != ch.Epoch {
		if ch.Epoch < h.Next {
			return nil, nil
		}
		if err := atomicfile.Remove(part); err != nil {
			return nil, err
		}
		h.Next, h.Differs = ch.Epoch, false
		if err := c.store(); err != nil {
			return nil, err
		}
	}
	if want, err = c.append(part, ch); want != nil || err != nil || size(part) < ch.Size {
		return want, err
	}
	if err := atomicfile.Rename(part, path, atomicfile.Unsynced); err != nil {
		return nil, err
	}
	h.Epoch, h.Next, h.checked = ch.Epoch, "", 0
	return nil, c.store()
}

// Missing returns what a copy lacks of an original that has grown this far.
func (c *Copies) Missing(name string, head Head) *Want {
	h := c.feeds[name]
	switch {
	case h == nil && head.Size > 0, h != nil && head.Epoch > max(h.Epoch, h.Next):
		return &Want{Feed: name, Epoch: head.Epoch}
	case h == nil:
		return nil
	case head.Epoch < max(h.Epoch, h.Next): // the host was set back, and does not know its own epoch
		return h.renew(name, max(h.Epoch, h.Next))
	case h.Differs:
		return &Want{Feed: name, Epoch: max(h.Epoch, h.Next), Renew: true}
	case head.Epoch == h.Epoch:
		have := size(c.Path(name))
		if have > head.Size { // a backup was restored there, unless a newer head is on its way
			return h.renew(name, head.Epoch)
		}
		if have < head.Size {
			return &Want{Feed: name, Epoch: head.Epoch, From: have}
		}
		if h.checked != have && head.Check != "" {
			if sum, err := CheckAt(c.Path(name), have); err != nil || sum != head.Check {
				h.Differs = true
				return &Want{Feed: name, Epoch: h.Epoch, Renew: true}
			}
			h.checked = have
		}
	case head.Epoch == h.Next:
		return &Want{Feed: name, Epoch: head.Epoch, From: size(c.Path(name) + ".part")}
	}
	return nil
}

// shortFor is how many heads in a row have to be older than a copy before its original counts
// as set back. Until then what was sent later came earlier.
const shortFor = 3

// Heads compares a copy with a new head of its original. The caller calls it once for each.
func (c *Copies) Heads(name string, head Head) {
	h := c.feeds[name]
	switch {
	case h == nil:
	case head.Epoch < max(h.Epoch, h.Next), head.Epoch == h.Epoch && size(c.Path(name)) > head.Size:
		h.short++
	default:
		h.short = 0
	}
}

// renew asks for a new epoch, if the original was set back.
func (h *held) renew(name, epoch string) *Want {
	if h.short < shortFor {
		return nil
	}
	return &Want{Feed: name, Epoch: epoch, Renew: true}
}

func size(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// append writes what a file lacks of a chunk.
func (c *Copies) append(path string, ch Chunk) (*Want, error) {
	switch have := size(path); {
	case ch.At > have:
		return &Want{Feed: ch.Feed, Epoch: ch.Epoch, From: have}, nil
	case ch.At+int64(len(ch.Data)) > MaxCopy:
		return nil, ErrFull
	case c.totalSize()+int64(len(ch.Data)) > c.most: // mutant never: TestMostBytes
		return nil, ErrFull
	}
	same, err := Append(path, ch)
	if err != nil || same {
		return nil, err
	}
	c.feeds[ch.Feed].Differs = true
	return &Want{Feed: ch.Feed, Epoch: ch.Epoch, Renew: true}, c.store()
}

// Append writes what the file at path lacks of a chunk that begins within it or at its end.
// same is false, and nothing is written, if the file differs from what the chunk is of.
func Append(path string, ch Chunk) (same bool, err error) {
	if err := atomicfile.EnsurePrivateDir(filepath.Dir(path)); err != nil {
		return false, err
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, atomicfile.Error("write", path, err)
	}
	known := ch.Data[:min(max(info.Size()-ch.At, 0), int64(len(ch.Data)))]
	before, err := CheckAt(path, ch.At)
	if err != nil {
		return false, err
	}
	same, err = equal(path, ch.At, known)
	if err != nil || !same || before != ch.Before { // mutant never: TestHistory
		return false, err
	}
	if rest := ch.Data[len(known):]; len(rest) > 0 {
		if _, err := f.Write(rest); err != nil { // what was written stays: the size says how much
			return true, atomicfile.Error("write", path, err)
		}
	}
	return true, nil
}

// CheckAt is Check of the file at path.
func CheckAt(path string, size int64) (string, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return "", atomicfile.Error("read", path, err)
	}
	defer f.Close()
	return Check(f, size)
}

// equal reports whether a file has these bytes at a place.
func equal(path string, at int64, data []byte) (bool, error) {
	if len(data) == 0 {
		return true, nil
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return false, atomicfile.Error("read", path, err)
	}
	defer f.Close()
	have := make([]byte, len(data))
	if _, err := f.ReadAt(have, at); err != nil {
		return false, atomicfile.Error("read", path, err)
	}
	return bytes.Equal(have, data), nil
}
