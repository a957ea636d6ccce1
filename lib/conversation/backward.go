package conversation

import (
	"bytes"
	"io"
	"slices"
)

const (
	// block is how much is read at a time.
	block = 256 << 10
	// MaxHeld is the longest line that a summary is made of.
	MaxHeld = 1 << 20
	// maxScan is how far back from the end of the file anything is looked
	// for. What lies in very long lines is not counted, but bounded by
	// maxSkip.
	maxScan = 4 << 20
	maxSkip = 256 << 20
	// peek is how much of each end of a very long line is looked at.
	peek = 16 << 10
)

// NearEnd returns where the lines begin that lie in the last megabytes before size,
// and not before from. What lies in lines over MaxHeld does not count, so that one
// picture does not hide what was said before it.
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

// backward calls each for where the lines of the file's first size bytes begin, the
// last one first, until it returns false or maxScan is reached. What stands after the
// last line feed is not yet a line.
//
// Of a file that is cut short meanwhile, what was seen until then counts.
func backward(f io.ReaderAt, size int64, each func(at int64) bool) error {
	var (
		rest             int  // how much is known of a line whose beginning is not read yet
		ended            bool // it ends in a line feed
		skipping         bool // it is over MaxHeld
		scanned, skipped int
		feeds            []int // where the line feeds of this block are
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
		if pos == 0 { // the first line begins where the file does
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
