package conversation

import (
	"bytes"
	"io"
	"slices"
)

const (
	block = 256 << 10
	// MaxHeld is the longest line, in bytes, that a summary takes in.
	MaxHeld = 1 << 20
	// maxScan limits how far backward goes back from the end of the file. It does not
	// count lines over MaxHeld, which maxSkip limits.
	maxScan = 4 << 20
	maxSkip = 256 << 20
	// peek is how much of each end of a line over MaxHeld a reader gets.
	peek = 16 << 10
)

// NearEnd returns the offset of the first line that begins in the last maxScan bytes
// before size, and not before from. Lines over MaxHeld do not count, so that one picture
// does not hide the text before it.
func NearEnd(f io.ReaderAt, from, size int64) (int64, error) {
	start := size
	if size-from <= maxSkip {
		start = from // there may be no whole line yet
	}
	err := backward(f, size, func(at int64) bool {
		start = at
		return at > from
	})
	return max(start, from), err
}

// backward calls each with the offset of every line in the file's first size bytes, the
// last line first, until each returns false or maxScan is reached. It ignores bytes after
// the last line feed. If the file gets shorter meanwhile, backward stops without an
// error.
func backward(f io.ReaderAt, size int64, each func(at int64) bool) error {
	var (
		rest             int  // length of the part read so far of a line whose beginning is not read yet
		ended            bool // the line ends in a line feed
		skipping         bool // the line is over MaxHeld
		scanned, skipped int
		feeds            []int // the offsets of the line feeds in this block
	)
	buf := make([]byte, min(block, size))
	for pos := size; pos > 0 && scanned < maxScan && skipped < maxSkip; {
		n := min(block, pos)
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
			case skipping || !ended:
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
