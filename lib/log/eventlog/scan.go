package eventlog

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

const (
	// scanBlock is how many bytes are read at once. Larger blocks, which do not fit into
	// the processor's cache, are slower.
	scanBlock = 64 << 10
	// maxLifecycle bounds a life-cycle event. Longer lines are skipped without being held
	// in memory.
	maxLifecycle = 16 << 20
)

// readerPool are readers for scans, of which a large log needs many.
var readerPool = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, scanBlock) }}

// ScanLifecycle calls each for the complete life-cycle events that begin between from and
// to, oldest first, without line feed and with their offset. size is the size of f. The
// bytes are valid only during the call.
//
// It returns the end of the last complete line, or from if there is none. Scans of adjacent
// parts, which can run concurrently, together see each line once.
func ScanLifecycle(f io.ReaderAt, from, to, size int64, each func(line []byte, at int64)) (end int64, err error) {
	end = from
	skipping := false // skipping a line that began before from or is too long
	if from > 0 {
		var before [1]byte
		if _, err := f.ReadAt(before[:], from-1); err != nil {
			return end, ignoreEOF(err)
		}
		skipping = before[0] != '\n'
	}
	in := readerPool.Get().(*bufio.Reader)
	defer readerPool.Put(in)
	in.Reset(io.NewSectionReader(f, from, size-from))
	for at := from; at < to; end = at {
		begin := at
		var long []byte // what came before line, of one that is longer than a block
		line, err := in.ReadSlice('\n')
		for ; err == bufio.ErrBufferFull; line, err = in.ReadSlice('\n') {
			if at += int64(len(line)); !skipping {
				long = append(long, line...)
				// Blocks fill maxHead exactly. By then the line shows whether it is a life-cycle event.
				skipping = len(long) == maxHead && !isLifecycleLine(long) || len(long) >= maxLifecycle
			}
			if skipping && at >= to {
				return end, nil // the line ends in the next part, whose scan skips it, too
			}
		}
		if err != nil {
			return end, ignoreEOF(err)
		}
		at += int64(len(line))
		if line = line[:len(line)-1]; long != nil {
			line = append(long, line...)
		}
		if !skipping && isLifecycleLine(line) {
			each(line, begin)
		}
		skipping = false
	}
	return end, nil
}

// isLifecycleLine reports whether a line is a life-cycle event. It parses only lines that do not
// have the form that gt and Gas Town write.
func isLifecycleLine(line []byte) bool {
	if kind, ok := typeInPlace(line); ok {
		return IsLifecycle(string(kind))
	}
	return IsLifecycle(gjson.GetBytes(line[:min(len(line), maxHead)], "type").Str)
}

// typeInPlace returns the type of a line that has the form that gt and Gas Town write. ok is false
// for any other line, and for one with an escape or a quote where that form has none.
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

// maxHead is how many bytes of a line are examined. The fields of interest are in the first
// few hundred. The rest of a line is copied without being held in memory.
const maxHead = 1 << 20

// maxType bounds a type, in bytes. Types are counted by name, and a hostile log can have
// huge ones.
const maxType = 200

// Head has the fields of an event that decide how long it is kept.
type Head struct {
	Time    time.Time // zero if the line has no valid time
	Type    string    // "" if the line is not an event; at most maxType bytes
	Session string    // payload.session_id
}

// IsLifecycle reports whether the event is about a session's life cycle. Such events outlive
// the log (see Archive).
func (h Head) IsLifecycle() bool { return IsLifecycle(h.Type) }

// parseHead returns the fields of an event. The line may be cut after maxHead bytes.
func parseHead(line []byte) Head {
	v := gjson.GetManyBytes(line, "ts", "type", "payload.session_id")
	h := Head{Type: v[1].Str, Session: v[2].Str}
	if len(h.Type) > maxType {
		h.Type = strings.Clone(h.Type[:maxType]) // frees the rest
	}
	if t, err := time.Parse(time.RFC3339, v[0].Str); err == nil {
		h.Time = t
	}
	return h
}

// ForEachHead calls each for every complete line of the log, oldest first, with its offset and
// size in bytes. Its memory does not grow with the log or a line. A missing log has no
// lines.
func (l Log) ForEachHead(each func(h Head, at, size int64)) error {
	f, err := atomicfile.IfExists(atomicfile.Open(string(l)))
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		_, err = forEachHead(f, info.Size(), each)
	}
	return atomicfile.Error("read", string(l), err)
}

// forEachHead calls each for the lines up to an offset. It returns the end of the last complete line.
func forEachHead(f io.ReaderAt, to int64, each func(h Head, at, size int64)) (int64, error) {
	r := newLineReader(f, 0, to)
	for {
		begin, err := r.nextLine()
		if err != nil {
			return r.at, ignoreEOF(err)
		}
		h, at := parseHead(begin), r.at
		size, whole, err := r.copyRest(io.Discard)
		if err != nil || !whole {
			return at, err
		}
		each(h, at, size)
	}
}

// lineReader reads a part of a file by lines. It holds only the beginning of a line in memory.
type lineReader struct {
	r         *bufio.Reader
	at        int64 // the offset of the line
	begin     []byte
	isPartial bool // begin is not the complete line
}

func newLineReader(f io.ReaderAt, from, to int64) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(io.NewSectionReader(f, from, to-from), maxHead), at: from}
}

// nextLine returns the beginning of the next line, usually all of it, or io.EOF. The bytes are
// valid until copyRest is called.
func (l *lineReader) nextLine() ([]byte, error) {
	begin, err := l.r.ReadSlice('\n')
	l.isPartial = errors.Is(err, bufio.ErrBufferFull)
	l.begin = begin
	if len(begin) > 0 && (l.isPartial || err == io.EOF) {
		err = nil
	}
	return begin, err
}

// copyRest writes the current line to w and moves to the next. whole is false for a last
// line without a line feed.
func (l *lineReader) copyRest(w io.Writer) (size int64, whole bool, err error) {
	for {
		n, err := w.Write(l.begin)
		size += int64(n)
		if err != nil {
			return size, false, err
		}
		whole = len(l.begin) > 0 && l.begin[len(l.begin)-1] == '\n'
		if !l.isPartial {
			break
		}
		if _, err := l.nextLine(); err != nil && err != io.EOF {
			return size, false, err
		}
	}
	l.at += size
	return size, whole, nil
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
