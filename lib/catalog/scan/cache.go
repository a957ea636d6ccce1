package scan

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// The cache is a file of one JSON object a line: a header, and then a line a
// conversation with all its facts. It saves opening files again that have not
// changed, and nothing else: whoever deletes it loses a second. The lines have
// every field, in this order, so that they can be read in a pass without a JSON
// decoder. Where anything in it is not as it was written, all of it is made anew.
//
// It is read for every list. Two programs that write it at once each write a
// whole one.

// cacheVersion changes with the fields, and with what a reader makes of a file.
const cacheVersion = 1

// maxCache is the largest cache that is read, for some 500,000 conversations.
const maxCache = 512 << 20

// index is what the cache says, by the file's path and, within a database, id.
type index struct {
	lines   map[string]cached
	entries int
}

// cached is a line of the cache.
type cached struct {
	size, changed int64
	rest          string // its facts
}

func key(path string, id session.ID) string {
	if strings.HasSuffix(path, string(id)+".jsonl") {
		return path // which is so for most
	}
	return path + "\x00" + string(id)
}

// header is the first line: it says of the lines how many they are, and their
// checksum.
type header struct {
	Transcripts int    `json:"transcripts"`
	Version     int    `json:"version"`
	CRC         uint32 `json:"crc32c"`
}

func sum(lines []byte) uint32 { return crc32.Checksum(lines, crc32.MakeTable(crc32.Castagnoli)) }

// load reads the cache; what cannot be read, or believed, is empty.
func load(path string) index {
	none := index{}
	if path == "" {
		return none
	}
	data, err := atomicfile.ReadIf(path, maxCache, atomicfile.OursAlone)
	if err != nil {
		return none
	}
	first, lines, _ := bytes.Cut(data, []byte("\n"))
	var h header
	if json.Unmarshal(first, &h) != nil || h != (header{h.Transcripts, cacheVersion, sum(lines)}) {
		return none
	}
	rest := string(lines)
	x := index{lines: make(map[string]cached, bytes.Count(lines, []byte("\n")))}
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		s := scanner{rest: line}
		path, id := s.text(`{"path":`), s.text(`,"file_id":`)
		c := cached{size: s.number(`,"size":`), changed: s.number(`,"changed":`)}
		if c.rest = s.rest; s.failed {
			return none
		}
		x.lines[key(path, session.ID(id))] = c
		x.entries++
	}
	if x.entries != h.Transcripts {
		return none
	}
	return x
}

// facts returns what is known of a file, if it has not changed since.
func (x index) facts(f conversation.File) (conversation.Metadata, bool) {
	c, ok := x.lines[key(f.Path, f.ID)]
	if !ok || c.size != f.Size || c.changed != f.Changed {
		return conversation.Metadata{}, false
	}
	return decode(c.rest)
}

// Rewriting the cache costs more than looking at a few files again, as those of
// the sessions that run now have to be each time.
const (
	worthNew  = 8
	worthGone = 200
)

// outdated says whether the cache is worth writing anew: all conversations were
// found, so many of them looked at.
func (x index) outdated(all, fresh int) bool {
	return fresh > worthNew || fresh > 0 && all > x.entries || x.entries-(all-fresh) > worthGone
}

// save writes the cache. That it cannot be written costs time and no more.
func save(path string, all []conversation.Conversation) {
	if path == "" || atomicfile.Private(filepath.Dir(path)) != nil {
		return
	}
	var lines bytes.Buffer
	for _, c := range all {
		encode(&lines, c)
	}
	h, _ := json.Marshal(header{len(all), cacheVersion, sum(lines.Bytes())}) // three numbers
	atomicfile.Sweep(filepath.Dir(path), time.Now())                         // what a writer left that was killed
	_ = atomicfile.Write(path, slices.Concat(h, []byte("\n"), lines.Bytes()), atomicfile.Unsynced)
}

// encode writes a line; load and decode read it.
func encode(b *bytes.Buffer, c conversation.Conversation) {
	text := func(key, value string) {
		b.WriteString(key)
		quoted, _ := json.Marshal(value) // a string cannot fail
		b.Write(quoted)
	}
	number := func(key string, n int64) {
		b.WriteString(key)
		b.WriteString(strconv.FormatInt(n, 10))
	}
	moment := func(key string, t time.Time) {
		if t.IsZero() {
			number(key, 0)
			return
		}
		number(key, t.UnixNano())
	}
	f := &c.Metadata
	text(`{"path":`, c.File.Path)
	text(`,"file_id":`, string(c.File.ID))
	number(`,"size":`, c.File.Size)
	number(`,"changed":`, c.File.Changed)
	text(`,"id":`, string(f.ID))
	moment(`,"started":`, f.Started)
	moment(`,"last":`, f.Last)
	text(`,"subagent_of":`, string(f.Parent))
	text(`,"fork_of":`, string(f.ForkOf))
	text(`,"first":`, f.First)
	text(`,"cwd":`, f.CWD)
	text(`,"moved":`, f.Moved)
	text(`,"branch":`, f.Branch)
	text(`,"model":`, f.Model)
	text(`,"version":`, f.Version)
	number(`,"headless":`, bit(f.Headless))
	text(`,"title":`, f.Title)
	text(`,"prompt":`, f.Prompt)
	b.WriteString("}\n")
}

func decode(line string) (conversation.Metadata, bool) {
	s := scanner{rest: line}
	f := conversation.Metadata{
		ID: session.ID(s.text(`,"id":`)), Started: s.moment(`,"started":`), Last: s.moment(`,"last":`),
		Parent: session.ID(s.text(`,"subagent_of":`)), ForkOf: session.ID(s.text(`,"fork_of":`)), First: s.text(`,"first":`),
		CWD: s.text(`,"cwd":`), Moved: s.text(`,"moved":`), Branch: s.text(`,"branch":`), Model: s.text(`,"model":`), Version: s.text(`,"version":`),
		Headless: s.number(`,"headless":`) == 1, Title: s.text(`,"title":`), Prompt: s.text(`,"prompt":`),
	}
	return f, !s.failed && s.rest == "}"
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// scanner reads a line field by field, in the order in which they were written.
type scanner struct {
	rest   string
	failed bool
}

func (s *scanner) after(key string) bool {
	rest, ok := strings.CutPrefix(s.rest, key)
	s.rest, s.failed = rest, s.failed || !ok
	return !s.failed
}

func (s *scanner) text(key string) string {
	if !s.after(key) || !s.after(`"`) {
		return ""
	}
	i := strings.IndexByte(s.rest, '"')
	if i < 0 {
		s.failed = true
		return ""
	}
	if strings.IndexByte(s.rest[:i], '\\') < 0 {
		value := s.rest[:i]
		s.rest = s.rest[i+1:]
		return value
	}
	i = 0
	for ; i < len(s.rest) && s.rest[i] != '"'; i++ {
		if s.rest[i] == '\\' {
			i++
		}
	}
	if i >= len(s.rest) {
		s.failed = true
		return ""
	}
	var value string
	if json.Unmarshal([]byte(`"`+s.rest[:i+1]), &value) != nil {
		s.failed = true
	}
	s.rest = s.rest[i+1:]
	return value
}

func (s *scanner) number(key string) int64 {
	if !s.after(key) {
		return 0
	}
	i := strings.IndexAny(s.rest, ",}")
	if i < 0 {
		s.failed = true
		return 0
	}
	n, err := strconv.ParseInt(s.rest[:i], 10, 64)
	s.failed = s.failed || err != nil
	s.rest = s.rest[i:]
	return n
}

func (s *scanner) moment(key string) time.Time {
	if n := s.number(key); n != 0 {
		return time.Unix(0, n).UTC()
	}
	return time.Time{}
}
