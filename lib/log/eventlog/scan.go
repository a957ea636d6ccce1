package eventlog

import (
	"bytes"
	"io"
	"sync"

	"github.com/tidwall/gjson"
)

const (
	// scanBlock is how many bytes are read at once. Larger blocks, which do not fit into
	// the processor's cache, are slower.
	scanBlock = 64 << 10
	// maxLifecycle bounds a life-cycle event. Longer lines are skipped without being held
	// in memory.
	maxLifecycle = 16 << 20
)

// blocks are buffers for scans, of which a large log needs many.
var blocks = sync.Pool{New: func() any { return new([scanBlock]byte) }}

// ScanLifecycle calls each for the complete life-cycle events that begin between from and
// to, oldest first, without line feed and with their offset. size is the size of f. The
// bytes are valid only during the call.
//
// It returns the end of the last complete line, or from if there is none. Scans of adjacent
// parts, which can run concurrently, together see each line once.
func ScanLifecycle(f io.ReaderAt, from, to, size int64, each func(line []byte, at int64)) (end int64, err error) {
	end = from
	passing := false // skipping a line that began before from or is too long
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
	at, have := from, 0 // offset of buf in f, and bytes in buf
	for at < to {
		more := min(int64(len(buf)-have), size-at-int64(have))
		n, err := f.ReadAt(buf[have:have+int(more)], at+int64(have))
		if err != nil && err != io.EOF {
			return end, err
		}
		seen := have // these bytes have no line feed
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
		if pos == 0 && have == len(buf) && !passing { // a line longer than the buffer
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
		if n == 0 { // end of the file
			break
		}
	}
	return end, nil
}

// lifecycle reports whether a line is a life-cycle event. It parses only lines that do not
// have the form that gt and Gas Town write.
func lifecycle(line []byte) bool {
	if kind, ok := typeInPlace(line); ok {
		return Lifecycle(string(kind))
	}
	return Lifecycle(gjson.GetBytes(line[:min(len(line), maxHead)], "type").Str)
}

// typeInPlace returns the type of a line that has the form that gt and Gas Town write.
func typeInPlace(line []byte) (kind []byte, ok bool) {
	const (
		begin = `{"ts":"`
		ts    = len("2026-01-17T01:00:00.000Z")
		rest  = `","source":"gt","type":"`
		at    = len(begin) + ts + len(rest)
	)
	if len(line) <= at || string(line[len(begin)+ts:at]) != rest || string(line[:len(begin)]) != begin {
		return nil, false
	}
	kind, _, ok = bytes.Cut(line[at:], []byte(`"`))
	ok = ok && bytes.IndexByte(line[:at+len(kind)], '\\') < 0 && bytes.IndexByte(line[len(begin):len(begin)+ts], '"') < 0
	return kind, ok
}
