package conversation

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

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

// Lines calls each with the lines of a file from an offset on, without their line feeds,
// and with the offset of each, until it returns false. It ignores a last line without a
// line feed. It returns the offset after the last line given. The bytes are valid only
// during the call.
func Lines(path string, from int64, each func(line []byte, at int64) bool) (next int64, err error) {
	return LinesWithin(path, from, MaxRecord, each, nil)
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

// lineReaders are used again, for a first list reads thousands of files.
var lineReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 256<<10) }}

// LinesWithin is Lines with a limit of its own. It calls long, if that is not nil, with
// both ends of a line over most bytes, and holds no more of it.
func LinesWithin(path string, from, most int64, each func(line []byte, at int64) bool, long func(front, back []byte, at int64) bool) (next int64, err error) {
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return from, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return from, atomicfile.Error("read", path, err)
	}
	r := lineReaders.Get().(*bufio.Reader)
	defer lineReaders.Put(r)
	r.Reset(f)
	var held []byte
	for at := from; ; {
		line, err := r.ReadSlice('\n')
		size := int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			for errors.Is(err, bufio.ErrBufferFull) { // measures the line before any of it is held
				line, err = r.ReadSlice('\n')
				size += int64(len(line))
			}
			if err == nil && size <= most {
				held = slices.Grow(held[:0], int(size))
				line = held[:size]
				if n, rerr := f.ReadAt(line, at); int64(n) < size {
					err = rerr // the file may have been cut off meanwhile
				}
			}
		}
		switch {
		case err == io.EOF:
			return at, nil
		case err != nil:
			return at, atomicfile.Error("read", path, err)
		}
		begin, more := at, true
		at += size
		switch {
		case size <= most:
			more = each(bytes.TrimSuffix(line[:len(line)-1], []byte("\r")), begin)
		case long != nil:
			front, back := make([]byte, peek), make([]byte, peek)
			a, _ := f.ReadAt(front, begin)
			b, _ := f.ReadAt(back, at-1-peek)
			more = long(front[:a], back[:b], begin)
		}
		if !more {
			return at, nil
		}
	}
}

// FrontAndBack calls front with the lines of a conversation from the beginning on until it
// needs no more, within MaxFront, and back with those in the last EndSize bytes from the
// back. If more than EndSize is needed, front gets the first lines again.
func FrontAndBack(f File, front, back func(line []byte) (more bool)) error {
	more := true
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
	f, err := atomicfile.OpenFollowing(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return atomicfile.Error("read", path, err)
	}
	size := info.Size()
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
	for n, given, more := min(frontSize, most), 0, true; ; n = most {
		front, err := read(0, n)
		if err != nil {
			return err
		}
		for more {
			line, _, whole := bytes.Cut(front[min(given, len(front)):], []byte("\n"))
			if !whole {
				break
			}
			given += len(line) + 1
			more = first(line, true)
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
	var lines [][]byte // bytes.LastIndexByte would be slower
	for {
		line, after, whole := bytes.Cut(back, []byte("\n"))
		if !whole {
			break
		}
		lines, back = append(lines, line), after
	}
	for _, line := range slices.Backward(lines) {
		if len(line) > 0 && !last(line) {
			break
		}
	}
	return nil
}
