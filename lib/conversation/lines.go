package conversation

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

const (
	// MaxRecord is the longest line that Lines gives. It skips longer ones, such as a
	// picture or a tool's output of many megabytes, without holding them.
	MaxRecord = 16 << 20
	// Unread says of which records MaxRecord and gemini.MaxMessages are the limits.
	Unread = "over 16 MB or after the 262,144th"
	// EndSize is how much of each end of a file Ends reads.
	EndSize = 64 << 10
	// frontSize is how much of the front Ends reads at first, which mostly suffices.
	frontSize = 8 << 10
	// MaxFront is how much of a file's front is searched for the first prompt. Clients
	// can write a lot before it.
	MaxFront = 256 << 10
)

// Lines calls each with the records of a file of lines from an offset on, without their
// line feeds, and with the offset of each, until it returns false. It returns the offset
// after the last record given. The bytes are valid only during the call.
//
// A line is a record, but for what a crash or an editor leaves: NUL bytes around one, a byte
// order mark, or two on one line, of which the first may be torn. What follows the last line
// feed is a record if it is a whole JSON object, and ignored otherwise: its end may still come.
// A record of at most MaxHeld bytes over several lines, because of line feeds that a client did
// not escape or an editor put in, is given as one line.
func Lines(path string, from int64, each func(line []byte, at int64) bool) (next int64, err error) {
	return LinesWithin(path, from, MaxRecord, each, nil)
}

// ReadRecords is a Reader's Read for a file whose lines are records: it calls each for the
// entries of every record from o.From on. mayAsk reports whether a line may hold a prompt, which
// o.Skip does not pass over.
func ReadRecords(path string, o Options, mayAsk func(line []byte) bool, entries func(gjson.Result) []Entry, each func(Entry) bool) (int64, error) {
	return Lines(path, o.From, func(line []byte, at int64) bool {
		if o.Skip != nil && !mayAsk(line) && o.Skip(line) {
			return true
		}
		for _, e := range entries(ParseRecord(line)) {
			if e.Offset = at; !each(e) {
				return false
			}
		}
		return true
	})
}

// Giver gives entries to the caller of a Read until that wants no more.
type Giver struct {
	Each    func(Entry) bool
	Stopped bool
}

// Give gives an entry, unless the caller has wanted no more.
func (g *Giver) Give(e Entry) {
	g.Stopped = g.Stopped || !g.Each(e)
}

// HasMore reports whether a file has complete lines from an offset on. A follower asks often,
// and mostly nothing is new.
func HasMore(path string, from int64) (more bool, err error) {
	_, err = Lines(path, from, func([]byte, int64) bool {
		more = true
		return false
	})
	return more, err
}

// Skipped returns how many lines of a file Lines skips.
func Skipped(path string) (n int, err error) {
	_, err = LinesWithin(path, 0, MaxRecord, func([]byte, int64) bool { return true }, func(_, _ []byte, _ int64) bool {
		n++
		return true
	})
	return n, err
}

// file is what Lines and Ends read: a file, or the content of a compressed one.
type file interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// PackedSuffix is the ending of compressed files. Unpack returns their content, at most limit
// bytes of it. It is nil in the programs of hooks, which read no old conversation.
const PackedSuffix = ".zst"

var Unpack func(r io.Reader, limit int64) ([]byte, error)

// maxUnpacked limits the content of a compressed file, which is held in memory.
const maxUnpacked = 256 << 20

// openFile opens a file, following links. The content of a compressed one is held in memory.
func openFile(path string) (file, error) {
	f, err := atomicfile.OpenFollowing(path)
	if err != nil || !strings.HasSuffix(path, PackedSuffix) || Unpack == nil {
		return f, err
	}
	defer f.Close()
	data, err := Unpack(f, maxUnpacked)
	if err != nil {
		return nil, atomicfile.Error("read", path, err)
	}
	return content{bytes.NewReader(data)}, nil
}

type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

// lineReaders are used again, for a first list reads thousands of files.
var lineReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 256<<10) }}

// LinesWithin is Lines with a limit of most bytes to a line. Of a longer line it gives long only
// the first and last peekSize bytes; if long is nil, it skips the line.
func LinesWithin(path string, from, most int64, each func(line []byte, at int64) bool, long func(front, back []byte, at int64) bool) (next int64, err error) {
	f, err := openFile(path)
	if err != nil {
		return from, err
	}
	defer f.Close()
	if from > 0 {
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return from, atomicfile.Error("read", path, err)
		}
	}
	r := lineReader{Reader: lineReaders.Get().(*bufio.Reader), file: f, most: most}
	defer lineReaders.Put(r.Reader)
	r.Reset(f)
	for at, more := from, true; more; {
		line, size, err := r.readLine(at)
		if err == nil && size <= min(most, MaxHeld) && line[0] == '{' && line[len(line)-1] == '\n' {
			line, size, err = r.joinLines(line, at)
		}
		if err == io.EOF {
			return at, nil
		} else if err != nil {
			return at, atomicfile.Error("read", path, err)
		}
		begin := at
		at += size
		switch {
		case size <= most:
			if next, more = recordsOn(line, begin, each); !more {
				return next, nil
			}
		case long != nil:
			front, back := make([]byte, peekSize), make([]byte, peekSize)
			frontLength, _ := f.ReadAt(front, begin)
			b, _ := f.ReadAt(back, at-1-peekSize)
			more = long(front[:frontLength], back[:b], begin)
		}
		next = at
	}
	return next, nil
}

// lineReader reads a file line by line.
type lineReader struct {
	*bufio.Reader
	file       file
	most       int64  // the length of the longest line that it holds
	held       []byte // the last line, if it was longer than the reader's buffer
	apartUntil int64  // before this offset no lines belong together
}

// readLine reads the line at an offset, with its line feed. It returns io.EOF for what follows
// the last line feed, unless that is a whole record. Of a line over most bytes it returns only
// the size and the end.
func (r *lineReader) readLine(at int64) (line []byte, size int64, err error) {
	line, err = r.ReadSlice('\n')
	size = int64(len(line))
	for errors.Is(err, bufio.ErrBufferFull) { // measures the line before any of it is held
		line, err = r.ReadSlice('\n')
		size += int64(len(line))
	}
	if int64(len(line)) < size && size <= r.most && (err == nil || err == io.EOF) {
		r.held = slices.Grow(r.held[:0], int(size))
		line = r.held[:size]
		if n, rerr := r.file.ReadAt(line, at); int64(n) < size {
			return nil, 0, cmp.Or(err, rerr) // the file may have been cut off meanwhile
		}
	}
	if err == io.EOF && size > 0 && size <= r.most && endsWhole(line) {
		err = nil
	}
	return line, size, err
}

// joinLines returns the record that begins with the line at an offset and goes on in the next
// lines, and its length in the file. If the line is whole, or no next lines complete it, it returns
// the line, and the reader goes on behind it.
func (r *lineReader) joinLines(line []byte, at int64) (record []byte, length int64, err error) {
	size := int64(len(line))
	if at < r.apartUntil {
		return line, size, nil
	}
	if r.Buffered() == 0 {
		line = slices.Clone(line) // the next is read into its place
	}
	if next, _ := r.Peek(1); len(next) == 0 || !continuesRecord(next[0]) || gjson.ValidBytes(line) || findJoint(line) > 0 {
		return line, size, nil
	}
	line = slices.Clone(line) // the buffer is read into again
	if record, length = rejoinLines(line, r.Reader); record != nil {
		return record, length, nil
	}
	r.apartUntil = at + length
	_, err = r.file.Seek(at+size, io.SeekStart)
	r.Reset(r.file)
	return line, size, err
}

// continuesRecord reports whether a line that begins with c can be more of the record before it.
func continuesRecord(c byte) bool { return c != '{' && c != byteOrderMark[0] && c != 0 }

// rejoinLines returns the record that begins with a line and goes on in those that r has next, as
// in JSON that was indented or wrapped, and its length in the file. If there is none, it returns
// nil and the length of what it looked at. In the record, line feeds, carriage returns and tabs
// within a text are escaped, and other line feeds are blanks. It is validated only once, when each
// of its brackets is closed.
func rejoinLines(line []byte, r *bufio.Reader) (record []byte, length int64) {
	depth, inText, escaped, atLineStart := 0, false, false, false // depth counts the open brackets
	add := func(part []byte) {
		for _, char := range part {
			raw := bytes.IndexByte(rawInText, char)
			switch {
			case inText && raw >= 0:
				record = append(record, '\\', "nrt"[raw])
				escaped = false
				continue
			case inText:
				inText = char != '"' || escaped
				escaped = char == '\\' && !escaped
			case char == '"':
				inText = true
			case char == '{', char == '[':
				depth++
			case char == '}', char == ']':
				depth--
			case char == '\n':
				char = ' '
			}
			record = append(record, char)
		}
		length += int64(len(part))
		atLineStart = part[len(part)-1] == '\n'
	}
	for add(line); depth > 0 && length < MaxHeld; {
		next, err := r.ReadSlice('\n')
		if atLineStart && len(next) > 0 && !continuesRecord(next[0]) && (next[0] != '{' || gjson.ValidBytes(next)) { // another record
			break
		}
		if len(next) > 0 {
			add(next)
		}
		if depth <= 0 {
			if record = bytes.TrimRight(record, "\r "); gjson.ValidBytes(record) {
				return record, length
			}
			break
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	return nil, length
}

// rawInText are the control characters that may stand in a text and are escaped.
var rawInText = []byte("\n\r\t")

// restOfRecord is joinLines for a text in memory: it returns the record that begins with a line and
// goes on in text[from:], and the offset in text of what follows it. If the line is whole, or
// nothing completes it, restOfRecord returns line and from.
func restOfRecord(line, text []byte, from int) (record []byte, next int) {
	if from >= len(text) || len(line) == 0 || line[0] != '{' || !continuesRecord(text[from]) || gjson.ValidBytes(line) || findJoint(line) > 0 {
		return line, from
	}
	whole, length := rejoinLines(append(slices.Clone(line), '\n'), bufio.NewReader(bytes.NewReader(text[from:])))
	if whole == nil {
		return line, from
	}
	return whole, from + int(length) - len(line) - 1 // length counts the line and its feed, too
}

// byteOrderMark is the byte order mark that an editor may have put before a file's first record.
var byteOrderMark = []byte("\xef\xbb\xbf")

// recordsOn calls each with the records on a line, and with the offset of each, until it
// returns false; next is the offset after that one.
func recordsOn(line []byte, at int64, each func(record []byte, at int64) bool) (next int64, more bool) {
	const cut = "\x00\r\n"
	for more = true; more && len(line) > 0; {
		if rest, marked := bytes.CutPrefix(line, byteOrderMark); marked {
			line, at = rest, at+int64(len(byteOrderMark))
			continue
		}
		record := line
		switch i := bytes.IndexByte(line, 0); {
		case i == 0:
			record = line[:len(line)-len(bytes.TrimLeft(line, "\x00"))]
		case i > 0:
			record = line[:i]
		}
		if i := findJoint(record); i > 0 {
			record = record[:i]
		}
		begin := at
		line, at = line[len(record):], at+int64(len(record))
		if record = bytes.TrimRight(record, cut); len(record) > 0 {
			more = each(record, begin)
		}
	}
	return at, more
}

// findJoint returns where the second of two records on one line begins, or 0 if there is only one.
// The second begins where the first ends, or where a crash has cut the first off. In the latter case
// it is found only if it begins as the first does.
func findJoint(line []byte) int {
	var begin []byte
	if bytes.HasPrefix(line, []byte(`{"`)) {
		const short = 16 // more than a nested object has in common with a record
		begin = line[:min(len(line), short)]
		if i := bytes.IndexByte(begin[2:], '"'); i >= 0 && !bytes.HasPrefix(begin, []byte(`{"type"`)) {
			begin = begin[:i+3]
		}
	}
	typed, tries := []byte(`{"type":"`), 0
	for from := 1; ; from++ { // most lines have nothing that can be a second record
		i := bytes.Index(line[min(from, len(line)):], []byte(`{"`))
		if i < 0 {
			return 0
		}
		if from += i; line[from-1] == '}' || begin != nil && bytes.HasPrefix(line[from:], begin) {
			break
		}
		// A record of another type can stand where the rest of a text is lost. As a value within
		// the record it would follow one of "[,: ".
		if bytes.HasPrefix(line, typed) && bytes.HasPrefix(line[from:], typed) && bytes.IndexByte([]byte("[,: \t"), line[from-1]) < 0 && tries < maxTries {
			if tries++; gjson.ValidBytes(line[from:]) {
				return from
			}
		}
	}
	for from := 0; ; { // the second begins behind the first
		i := bytes.Index(line[from:], []byte(`}{"`))
		if i < 0 {
			break
		}
		if from += i + 1; gjson.ValidBytes(line[:from]) || gjson.ValidBytes(line[from:]) {
			return from
		}
	}
	for from, tries := 1, 0; begin != nil && tries < maxTries; tries++ { // the first is cut off
		i := bytes.Index(line[from:], begin)
		if i < 0 || tries == 0 && gjson.ValidBytes(line) {
			break
		}
		if from += i; gjson.ValidBytes(line[from:]) {
			return from
		}
		from++
	}
	return 0
}

// maxTries limits how often findJoint validates what can be a record.
const maxTries = 100

// endsWhole reports whether a line without a line feed ends in a whole record.
func endsWhole(line []byte) bool {
	line = bytes.TrimPrefix(bytes.TrimRight(line, "\x00 \r"), byteOrderMark)
	line = line[bytes.LastIndexByte(line, 0)+1:]
	if i := findJoint(line); i > 0 {
		line = line[i:]
	}
	return len(line) > 1 && line[0] == '{' && line[len(line)-1] == '}' && gjson.ValidBytes(line)
}

// ParseRecord parses a line as a JSON object. The result does not exist if it is none, such as
// a torn one.
func ParseRecord(line []byte) gjson.Result {
	if len(line) == 0 || line[0] != '{' || !gjson.ValidBytes(line) {
		return gjson.Result{}
	}
	return gjson.ParseBytes(line)
}

// HasPair reports whether a line may have a JSON object with that text as the key's value.
// It costs far less than parsing the line.
func HasPair(line []byte, key, value string) bool {
	for quoted, text := []byte(`"`+key+`"`), []byte(`"`+value+`"`); ; {
		i := bytes.Index(line, quoted)
		if i < 0 {
			return false
		}
		line = line[i+len(quoted):]
		if rest, ok := bytes.CutPrefix(bytes.TrimLeft(line, " "), []byte(":")); ok && bytes.HasPrefix(bytes.TrimLeft(rest, " "), text) {
			return true
		}
	}
}

// FrontAndBack calls front with the lines of a conversation from the beginning on until it
// needs no more, within MaxFront, and back with those in the last EndSize bytes from the
// back. If more than EndSize is needed, front gets the first lines again.
func FrontAndBack(f File, front, back func(line []byte) (more bool)) error {
	more := true // whether front needs more than the first lines that Ends reads
	err := Ends(f.Path, func(line []byte, whole bool) bool {
		more = !whole || front(line)
		return whole && more
	}, back)
	if err == nil && more && f.Size > EndSize {
		_, err = Lines(f.Path, 0, func(line []byte, at int64) bool { return front(line) && at < MaxFront })
	}
	return err
}

// endBlocks are used again, as lineReaders are.
var endBlocks = sync.Pool{New: func() any { return new([EndSize]byte) }}

// Ends reads the complete lines in the first and in the last EndSize bytes of a file. It
// calls first in order and last from the back, each until it returns false. If the first
// line is longer, first gets its beginning and whole is false. Both get all lines of a
// smaller file.
func Ends(path string, first func(line []byte, whole bool) bool, last func(line []byte) bool) error {
	f, err := openFile(path)
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return atomicfile.Error("read", path, err)
	}
	block := endBlocks.Get().(*[EndSize]byte)
	defer endBlocks.Put(block)
	most := min(EndSize, size)
	read := func(at, n int64) ([]byte, error) {
		got, err := f.ReadAt(block[:n], at)
		if err != nil && err != io.EOF {
			return nil, atomicfile.Error("read", path, err)
		}
		return block[:got], nil
	}
	// A small part of the front is read first, and all of it only if first wants more.
	for n, given, more := min(frontSize, most), 0, true; ; n = most {
		front, err := read(0, n)
		if err != nil {
			return err
		}
		for more {
			line, _, whole := bytes.Cut(front[min(given, len(front)):], []byte("\n"))
			if !whole && (n < size || !endsWhole(line)) {
				break
			}
			given += len(line) + 1
			line, given = restOfRecord(line, front, given)
			_, more = recordsOn(line, 0, func(line []byte, _ int64) bool { return first(line, true) })
		}
		if !more || n == most {
			if given == 0 && size > EndSize {
				first(front, false)
			}
			break
		}
	}
	if last == nil {
		return nil
	}
	back, err := read(size-most, most)
	if err != nil {
		return err
	}
	if size > EndSize {
		_, back, _ = bytes.Cut(back, []byte("\n")) // the end of a line
	}
	var lines [][]byte // in order: to look for them from the back would be slower
	for whole := true; whole; {
		var line []byte
		if line, back, whole = bytes.Cut(back, []byte("\n")); !whole && !endsWhole(line) {
			break
		}
		line, rest := restOfRecord(line, back, 0)
		back = back[rest:]
		recordsOn(line, 0, func(line []byte, _ int64) bool {
			lines = append(lines, line)
			return true
		})
	}
	for _, line := range slices.Backward(lines) {
		if !last(line) {
			break
		}
	}
	return nil
}

const (
	blockSize = 256 << 10
	// MaxHeld is the longest line, in bytes, that a summary takes in.
	MaxHeld = 1 << 20
	// maxScan limits how far backward goes back from the end of the file. It does not
	// count lines over MaxHeld, which maxSkip limits.
	maxScan = 4 << 20
	maxSkip = 256 << 20
	// peekSize is how much of each end of a line over MaxHeld a reader gets.
	peekSize = 16 << 10
)

// TailStart returns the offset of the first line that begins in the last maxScan bytes
// before size, and not before from. Lines over MaxHeld do not count, so that one picture
// does not hide the text before it.
func TailStart(f io.ReaderAt, from, size int64) (int64, error) {
	start := size
	if size-from <= maxSkip {
		start = from // if linesBackward finds no whole line; in more than maxSkip it may have given up
	}
	err := linesBackward(f, size, func(at int64) bool {
		start = at
		return at > from
	})
	return max(start, from), err
}

// linesBackward calls each with the offset of every line in the file's first size bytes, the
// last line first, until each returns false or maxScan is reached. It ignores bytes after
// the last line feed. If the file gets shorter meanwhile, linesBackward stops without an
// error.
func linesBackward(f io.ReaderAt, size int64, each func(at int64) bool) error {
	var (
		rest             int  // length of the part read so far of a line whose beginning is not read yet
		ended            bool // the line ends in a line feed
		skipping         bool // the line is over MaxHeld
		scanned, skipped int
		feeds            []int // the offsets of the line feeds in this block
	)
	buf := make([]byte, min(blockSize, size))
	for pos := size; pos > 0 && scanned < maxScan && skipped < maxSkip; {
		n := min(blockSize, pos)
		data := buf[:n]
		if got, err := f.ReadAt(data, pos-n); int64(got) < n {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		pos -= n
		feeds = feeds[:0]
		for i := bytes.IndexByte(data, '\n'); i >= 0; {
			feeds = append(feeds, i)
			next := bytes.IndexByte(data[i+1:], '\n')
			if next < 0 {
				break
			}
			i += 1 + next
		}
		if len(feeds) == 0 && pos > 0 {
			switch {
			case skipping || !ended: // in a long line, or behind the last line feed
				skipped += len(data)
			case len(data)+rest > MaxHeld:
				skipping = true
				skipped += len(data)
			default:
				rest += len(data)
			}
			continue
		}
		scanned += len(data)
		if pos == 0 { // the first line begins at the start of the file
			feeds = slices.Insert(feeds, 0, -1)
		}
		for _, feed := range slices.Backward(feeds) {
			if ended && !each(pos+int64(feed)+1) {
				return nil
			}
			ended = true
		}
		rest, skipping = max(feeds[0], 0), false
	}
	return nil
}

// EndsInCall reports whether the conversation ends in the middle of a tool call: since the last
// prompt, a call has got no result. It reads the end of the file.
func EndsInCall(r Reader, f File) bool {
	file, err := atomicfile.Open(f.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	near, err := TailStart(file, 0, f.Size)
	if err != nil {
		return false
	}
	runs := map[string]bool{}
	_, err = r.Read(f, Options{From: near}, func(e Entry) bool {
		switch e.Kind {
		case Prompt:
			clear(runs)
		case Call:
			runs[e.CallID] = true
		case Result:
			delete(runs, e.CallID)
		}
		return true
	})
	return err == nil && len(runs) > 0
}
