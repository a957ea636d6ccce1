// Package feed copies files that grow, such as event logs, from a host to others.
//
// A copy is a prefix of its original, so its size is the place at which it goes on, and a check
// of its end says whether the original still begins with it: a kill, a cut line or a message
// that comes twice cannot hurt it. If the original begins otherwise (after a prune, or with a
// backup), its host sends it from its beginning on. That grows beside the copy, in <file>.part,
// and takes its place once it is complete. Neither side has to remember anything.
package feed

import (
	"bytes"
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

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/lazyregexp"
)

// MaxChunk bounds the data of a chunk, in bytes.
const MaxChunk = 256 << 10

// maxSent bounds what is sent to all hosts at once: other messages wait behind it on a slow line.
const maxSent = 64 << 10

// MaxCopy bounds the copy of a log, in bytes: another host must not fill this one's disk.
const MaxCopy = 1 << 30

// MaxFeeds bounds the logs of a host, and MaxBytes their copies together.
const (
	MaxFeeds = 1024
	MaxBytes = 2 << 30
)

// Want asks for the bytes of a file from a place on.
type Want struct {
	Name  string `json:"name"`
	From  int64  `json:"from"`
	Check string `json:"check,omitempty"` // of the bytes before From
	Most  int64  `json:"most,omitempty"`  // bytes that may come; MaxChunk if 0
}

// Chunk is a part of a file. It begins at the place that was asked for, or at 0 if the file
// begins otherwise than the copy.
type Chunk struct {
	Name string `json:"name"`
	For  int64  `json:"for"` // the place that was asked for
	At   int64  `json:"at"`
	Size int64  `json:"size"` // of the file, as far as its lines are complete
	// Before is the check of the file's bytes before At.
	Before string `json:"before,omitempty"`
	// None says that there is no such file, or that it cannot be read.
	None bool   `json:"none,omitempty"`
	Data []byte `json:"-"`
}

// ErrChunk is returned for an invalid chunk.
var ErrChunk = errors.New("an invalid part of a file")

// Marshal returns the chunk as a line of JSON and its data.
func (c Chunk) Marshal() ([]byte, error) {
	head, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), c.Data...), nil
}

// Unmarshal parses what Marshal returned. It does not check the name.
func Unmarshal(data []byte) (c Chunk, err error) {
	head, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || json.Unmarshal(head, &c) != nil {
		return c, ErrChunk
	}
	beginsRight := c.At == 0 || c.At > 0 && c.At == c.For
	fits := len(rest) == 0 || len(rest) <= MaxChunk && int64(len(rest)) <= c.Size-c.At
	if !beginsRight || !fits || c.Size < 0 {
		return c, ErrChunk
	}
	c.Data = rest
	return c, nil
}

// restarts reports whether the file begins otherwise than what was known of it.
func (c Chunk) restarts() bool { return c.At == 0 && c.For > 0 }

// Head is how far a log has grown.
type Head struct {
	Size int64 `json:"size"`
	// Check is the SHA-256 of the first 4 KB and the last 64 KB before Size. A copy
	// that differs from its original does so at its end when something is appended.
	Check string `json:"check,omitempty"`
}

var feedName = lazyregexp.New(`^(events|town\.[A-Za-z0-9_][A-Za-z0-9._-]{0,127})$`)

// CheckName returns an error unless s can name a log.
func CheckName(s string) error {
	if !feedName().MatchString(s) {
		return fmt.Errorf("invalid name of a log '%.80s'", s)
	}
	return nil
}

// Read returns the part of a file that w asks for; its beginning if the file begins otherwise than
// w.Check says. With lines it leaves out an incomplete last line. A part can end within a line.
func Read(f *os.File, w Want, lines bool) (Chunk, error) {
	c := Chunk{Name: w.Name, For: w.From, At: w.From}
	info, err := f.Stat()
	if err != nil {
		return c, atomicfile.Error("read", f.Name(), err)
	}
	if c.At > info.Size() {
		c.At = 0
	} else if c.At > 0 {
		if c.Before, err = PrefixSum(f, c.At); err != nil || c.Before != w.Check {
			c.At, c.Before = 0, ""
		}
	}
	if c.Size = info.Size(); lines {
		c.Size, err = LastLine(f, c.At, c.Size)
	}
	if err == nil {
		most := int64(MaxChunk)
		if w.Most > 0 {
			most = min(w.Most, most)
		}
		c.Data = make([]byte, min(c.Size-c.At, most))
		_, err = f.ReadAt(c.Data, c.At)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return c, atomicfile.Error("read", f.Name(), err)
	}
	return c, nil
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

// PrefixSum returns the check of the bytes before a place; see Head.
func PrefixSum(f *os.File, size int64) (string, error) {
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

// PrefixSumOf returns the check of the first size bytes of the file at path; see Head.
func PrefixSumOf(path string, size int64) (string, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return PrefixSum(f, size)
}

const partSuffix = ".part"

// growingPath returns the file to which bytes of the copy at path are appended.
func growingPath(path string) string {
	if atomicfile.Exists(path + partSuffix) {
		return path + partSuffix
	}
	return path
}

func sizeOf(path string) int64 {
	info, err := os.Lstat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Size returns the size of the copy at path: 0 if there is none, and -1 while a new one grows
// beside it.
func Size(path string) int64 {
	if growingPath(path) != path {
		return -1
	}
	return sizeOf(path)
}

// NextWant returns what to ask for to go on with the copy at path.
func NextWant(name, path string) (w Want, err error) {
	path = growingPath(path)
	if w.Name, w.From = name, sizeOf(path); w.From > 0 {
		w.Check, err = PrefixSumOf(path, w.From)
	}
	return w, err
}

// Discard removes the copy at path, and what grows beside it.
func Discard(path string) error {
	return errors.Join(atomicfile.Remove(path), atomicfile.Remove(path+partSuffix))
}

// Append appends to the copy at path what it lacks of a chunk, up to a size of most bytes. same
// is false, and nothing of the chunk is kept, if the chunk does not follow the copy or is of a file
// that begins otherwise. complete reports whether the copy is complete now. A chunk of a file that
// was begun anew starts a copy beside the old one, which it replaces once it is complete.
func Append(path string, c Chunk, most int64) (same, complete bool, err error) {
	to := growingPath(path)
	if c.restarts() {
		to = path + partSuffix
		if err := atomicfile.Remove(to); err != nil {
			return false, false, err
		}
	}
	if c.At > sizeOf(to) { // a part between them is missing
		return false, false, nil
	}
	// The copy ends where the file does, after most bytes at the latest, but never before c.At.
	end := max(min(c.Size, most), c.At) // mutant without min: ./lib/relay/mirror TestHostile
	same, err = appendAt(to, c.At, c.Before, c.Data[:min(int64(len(c.Data)), end-c.At)])
	if err == nil && !same && to != path {
		err = atomicfile.Remove(to)
	}
	if err != nil || !same || sizeOf(to) < end {
		return same, false, err
	}
	if to != path { // mutant never: TestHistory
		err = atomicfile.Rename(to, path, atomicfile.Synced)
	}
	return true, err == nil, err
}

// appendAt appends to the file at path what it lacks of data, which begins at the offset at. same
// is false, and nothing is written, if the file differs from data, or before it: before is that
// part's check (see Head).
func appendAt(path string, at int64, before string, data []byte) (same bool, err error) {
	if err := atomicfile.EnsurePrivateDir(filepath.Dir(path)); err != nil {
		return false, err
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if at > 0 {
		sum, err := PrefixSum(f, at)
		if err != nil || sum != before { // mutant never: TestOtherBeginning
			return false, atomicfile.Error("read", path, err)
		}
	}
	known := make([]byte, min(sizeOf(path)-at, int64(len(data))))
	if _, err := f.ReadAt(known, at); err != nil || !bytes.HasPrefix(data, known) {
		return false, atomicfile.Error("read", path, err)
	}
	if rest := data[len(known):]; len(rest) > 0 {
		_, err = f.Write(rest) // what was written stays: the size says how much
	}
	return true, atomicfile.Error("write", path, err)
}

// Source follows the logs of this host. It remembers in <state>/relay/feeds.json what was sent.
type Source struct {
	state place.State
	sent  map[string]*sentState
}

type sentState struct {
	Head
	unchangedInfo fs.FileInfo // the file's, when it last had nothing new, or nil
}

// NewSource returns a Source that goes on where the last one stopped.
func NewSource(state place.State) (*Source, error) {
	s := &Source{state, map[string]*sentState{}}
	data, err := atomicfile.IfExists(atomicfile.Read(s.path(), 16<<20))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(data, &s.sent) != nil { // that each is sent again is all it costs
		s.sent = map[string]*sentState{}
	}
	return s, nil
}

func (s *Source) path() string { return s.state.Path("relay", "feeds.json") }

// Store keeps what was sent. If it is lost, the bytes are sent again.
func (s *Source) Store() error { return atomicfile.WriteJSON(s.path(), s.sent, atomicfile.Unsynced) }

// Heads returns how far each log was sent.
func (s *Source) Heads() map[string]Head {
	heads := map[string]Head{}
	for name, f := range s.sent {
		heads[name] = f.Head
	}
	return heads
}

// NextChunk returns the next bytes of a log that were not sent. ok is false if there are none.
// The caller sends them and then calls RecordSent.
func (s *Source) NextChunk(name, path string) (c Chunk, ok bool, err error) {
	f, err := atomicfile.IfExists(atomicfile.Open(path))
	if err != nil || f == nil {
		return c, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, false, atomicfile.Error("read", path, err)
	}
	state := s.sent[name]
	if state == nil {
		state = new(sentState)
		s.sent[name] = state
	}
	if state.unchangedInfo != nil && os.SameFile(state.unchangedInfo, info) && state.unchangedInfo.Size() == info.Size() && state.unchangedInfo.ModTime().Equal(info.ModTime()) {
		return c, false, nil
	}
	c, err = Read(f, Want{Name: name, From: state.Size, Check: state.Check, Most: maxSent}, true)
	if err == nil && len(c.Data) == 0 {
		if state.unchangedInfo = info; c.restarts() { // it was begun anew, and has no whole line yet
			state.Head = Head{}
		}
	}
	return c, len(c.Data) > 0, err
}

// RecordSent records that a chunk of NextChunk was sent.
func (s *Source) RecordSent(c Chunk, path string) (err error) {
	was := s.sent[c.Name]
	was.Size = c.At + int64(len(c.Data))
	was.Check, err = PrefixSumOf(path, was.Size)
	return err
}

// Copies are the copies of another host's logs, in one folder.
type Copies struct {
	dir  string
	logs map[string]*copyState
	most int64 // MaxBytes
}

// copyState is what is known of the copy of a log.
type copyState struct {
	// isDoubted reports that the log may begin otherwise by now.
	isDoubted   bool
	checkedHead string // Head.Check of the last head that the copy was found to agree with
}

// OpenCopies returns the copies in a folder.
func OpenCopies(dir string) (*Copies, error) {
	c := &Copies{dir, map[string]*copyState{}, MaxBytes}
	if path := c.Path("events"); atomicfile.Exists(growingPath(path)) {
		c.logs["events"] = new(copyState)
	}
	towns, err := atomicfile.Entries(filepath.Join(dir, "towns"))
	for _, e := range towns {
		if name := "town." + e.Name(); CheckName(name) == nil {
			c.logs[name] = new(copyState)
		}
	}
	return c, err
}

// Path returns where the copy of a log is.
func (c *Copies) Path(name string) string {
	if town, ok := strings.CutPrefix(name, "town."); ok {
		return filepath.Join(c.dir, "towns", town, ".events.jsonl")
	}
	return filepath.Join(c.dir, ".events.jsonl")
}

// totalSize returns how many bytes the copies have.
func (c *Copies) totalSize() (n int64) {
	for name := range c.logs {
		n += sizeOf(c.Path(name)) + sizeOf(c.Path(name)+partSuffix)
	}
	return n
}

// ErrFull is returned for a copy that would become larger than MaxCopy, or all than MaxBytes, and
// for one more than MaxFeeds.
var ErrFull = fmt.Errorf("the copy would become larger than %d MiB, or all than %d, or there are over %d", MaxCopy>>20, MaxBytes>>20, MaxFeeds)

// AddChunk adds a chunk to its copy, and reports whether the copy took it. Otherwise, or if it is not
// complete, Want says what to ask for.
func (c *Copies) AddChunk(ch Chunk) (taken bool, err error) {
	if err := CheckName(ch.Name); err != nil || ch.None {
		return false, err
	}
	l := c.logs[ch.Name]
	switch n := int64(len(ch.Data)); {
	case l == nil && len(c.logs) >= MaxFeeds, // mutant never: ./lib/relay TestManyLogs
		ch.At+n > MaxCopy,
		c.totalSize()+n > c.most: // mutant never: TestMostBytes
		return false, ErrFull
	case l == nil:
		l = new(copyState)
		c.logs[ch.Name] = l
	}
	if ch.restarts() {
		l.checkedHead = ""
	}
	taken, _, err = Append(c.Path(ch.Name), ch, MaxCopy)
	l.isDoubted = err == nil && !taken
	return taken, err
}

// Compare compares a copy with the head that its log had just now. One that is longer or differs is
// doubted: IsComplete is false, so that the log is asked for again.
func (c *Copies) Compare(name string, head Head) {
	l, have := c.logs[name], sizeOf(c.Path(name))
	switch {
	case l == nil:
	case have > head.Size: // a backup was restored there, unless a newer head is on its way
		l.isDoubted = true
	case have == head.Size && have > 0 && l.checkedHead != head.Check:
		if sum, err := PrefixSumOf(c.Path(name), have); err != nil || sum != head.Check {
			l.isDoubted = true
			return
		}
		l.checkedHead = head.Check
	}
}

// IsComplete reports whether a copy has what its log has, as far as is known.
func (c *Copies) IsComplete(name string, head Head) bool {
	l := c.logs[name]
	if l == nil {
		return head.Size == 0
	}
	return !l.isDoubted && Size(c.Path(name)) >= head.Size
}

// Want returns what to ask for to go on with the copy of a log.
func (c *Copies) Want(name string) (Want, error) { return NextWant(name, c.Path(name)) }
