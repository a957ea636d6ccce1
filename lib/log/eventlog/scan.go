package eventlog

import (
	"bytes"
	"io"
	"sync"

	"github.com/tidwall/gjson"

	"gt/lib/text/fastjson"
)

const (
	// scanBlock is how much of a file is read at once: it fits in a processor's
	// own memory, and a larger one is slower.
	scanBlock = 64 << 10
	// maxLifecycle is the longest line that can tell of a session's life. A
	// longer one is passed over without being held in memory.
	maxLifecycle = 16 << 20
)

// blocks are what scans read into; a large log has many parts.
var blocks = sync.Pool{New: func() any { return new([scanBlock]byte) }}

// ScanLifecycle calls each for the whole lines that begin in a part of f, from
// one offset to another, and tell of a session's life by their type, the oldest
// first: without the line feed, and with where each begins. size is where f
// ends. The bytes are valid only during the call.
//
// It returns where the last whole line that it saw ends, from where it saw none.
// Neighbouring parts, which several may scan at once, together see each line
// once, wherever the border between them lies.
func ScanLifecycle(f io.ReaderAt, from, to, size int64, each func(line []byte, at int64)) (end int64, err error) {
	end = from
	passing := false // over the rest of a line that is another's, or too long
	if from > 0 {
		var before [1]byte
		if _, err := f.ReadAt(before[:], from-1); err != nil {
			return end, ignoreEOF(err)
		}
		passing = before[0] != '\n'
	}
	block := blocks.Get().(*[scanBlock]byte)
	defer blocks.Put(block)
	buf := block[:]
	at, have := from, 0 // where buf begins in f, and how much is in it
	for at < to {
		more := min(int64(len(buf)-have), size-at-int64(have))
		n, err := f.ReadAt(buf[have:have+int(more)], at+int64(have))
		if err != nil && err != io.EOF {
			return end, err
		}
		seen := have // without a line feed
		have += n
		pos := 0
		for at+int64(pos) < to {
			skip := max(pos, seen)
			i := bytes.IndexByte(buf[skip:have], '\n')
			if i < 0 {
				break
			}
			feed := skip + i
			if !passing && lifecycle(buf[pos:feed]) {
				each(buf[pos:feed], at+int64(pos))
			}
			passing = false
			pos = feed + 1
			end = at + int64(pos)
		}
		if pos == 0 && have == len(buf) && !passing { // a line that is longer than the buffer
			if passing = have >= maxHead && !lifecycle(buf[:maxHead]) || have >= maxLifecycle; !passing {
				buf = append(buf, make([]byte, len(buf))...)
				continue
			}
		}
		if passing {
			pos = have
		}
		copy(buf, buf[pos:have])
		at, have = at+int64(pos), have-pos
		if n == 0 { // the end of the file
			break
		}
	}
	return end, nil
}

// lifecycle reports whether a line tells of a session's life. Most lines have the
// form that gt and Gas Town write, and show their type at its place; of all
// others the JSON is read. The answer is the same.
func lifecycle(line []byte) bool {
	if othersInPlace(line) {
		return false
	}
	kind, ok := kindInPlace(line)
	if !ok {
		if len(line) > maxHead {
			line = line[:maxHead]
		}
		kind = []byte(gjson.GetBytes(line, "type").Str)
	}
	return Lifecycle(string(kind))
}

// othersInPlace says that a line is surely another's: of gt's or Gas Town's own
// form, with a type that begins like none of a session's life.
func othersInPlace(line []byte) bool {
	const (
		begin = `{"ts":"`
		ts    = len("2026-01-17T01:00:00.000Z")
		rest  = `","source":"gt","type":"`
		at    = len(begin) + ts + len(rest)
	)
	if len(line) <= at || string(line[len(begin)+ts:at]) != rest || string(line[:len(begin)]) != begin {
		return false
	}
	for _, c := range line[len(begin) : len(begin)+ts] {
		if c == '"' || c == '\\' {
			return false
		}
	}
	return line[at] != SessionStart[0] && line[at] != Handoff[0] && line[at] != '\\'
}

// kindInPlace reads the type of a line that begins with time, source and type,
// where it needs no escape.
func kindInPlace(line []byte) (kind []byte, ok bool) {
	const ts, source, typ = `{"ts":"`, `,"source":"`, `,"type":"`
	if len(line) < len(ts) || string(line[:len(ts)]) != ts {
		return nil, false
	}
	_, rest, ok := fastjson.Text(line[len(ts):])
	if !ok || len(rest) < len(source) || string(rest[:len(source)]) != source {
		return nil, false
	}
	_, rest, ok = fastjson.Text(rest[len(source):])
	if !ok || len(rest) < len(typ) || string(rest[:len(typ)]) != typ {
		return nil, false
	}
	kind, _, ok = fastjson.Text(rest[len(typ):])
	return kind, ok && bytes.IndexByte(kind, '\\') < 0
}
