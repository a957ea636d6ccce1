// Package cachefile keeps computed results in a file: a header and one JSON object per
// line. Deleting a cache never changes an answer, so failures are harmless: a file that is
// damaged, of another version or writable by others counts as missing, and one that cannot
// be written is not written.
//
// Several processes may write a cache at once. Each replaces the whole file, and an open
// file keeps its content.
package cachefile

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"gt/lib/sys/atomicfile"
)

const (
	// maxSize and maxLine are far more than any cache has, in bytes.
	maxSize = 2 << 30
	maxLine = 16 << 20

	sumDigits = 8
)

// begin returns the beginning of a version's header. The checksum of everything after
// itself follows.
func begin(version int) []byte { return []byte(`{"version":` + strconv.Itoa(version) + `,"sum":"`) }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func digits(sum uint32) string {
	return hex.EncodeToString([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

var errDamaged = errors.New("not a complete cache of this version")

// Read reads a cache. It decodes the header's members into header, and passes the complete
// lines in memory to take, with the offset of the first. Both are valid only if Read
// returns no error, because the checksum covers everything. Lines can be read again from f
// while it is open.
func Read(f *os.File, version int, header any, take func(lines []byte, at int64)) error {
	info, err := f.Stat()
	if err == nil {
		err = atomicfile.OursAlone(info)
	}
	if err != nil {
		return err
	}
	if info.Size() > maxSize {
		return errDamaged
	}
	first := begin(version)
	var wanted string // checksum
	var got uint32
	headed := false
	buf := make([]byte, 64<<10)
	for at, have := int64(0), 0; ; {
		n, err := f.ReadAt(buf[have:], at+int64(have))
		if err != nil && err != io.EOF {
			return err
		}
		fresh := buf[have : have+n]
		have += n
		if wanted == "" {
			sum := len(first) + sumDigits
			if have < sum || !bytes.HasPrefix(buf, first) {
				return errDamaged
			}
			wanted, fresh = string(buf[len(first):sum]), buf[sum:have]
		}
		got = crc32.Update(got, castagnoli(), fresh)
		lines := buf[:bytes.LastIndexByte(buf[:have], '\n')+1]
		whole := len(lines)
		from := at
		if !headed && whole > 0 {
			headed = true
			line, _, _ := bytes.Cut(lines, []byte("\n"))
			if json.Unmarshal(line, header) != nil {
				return errDamaged
			}
			lines, from = lines[len(line)+1:], at+int64(len(line))+1
		}
		if len(lines) > 0 {
			take(lines, from)
		}
		switch {
		case n == 0:
			if !headed || have > whole || digits(got) != wanted {
				return errDamaged
			}
			return nil
		case whole == 0 && have == len(buf):
			if len(buf) >= maxLine {
				return errDamaged
			}
			buf = append(buf, make([]byte, len(buf))...)
		}
		have = copy(buf, buf[whole:have])
		at += int64(whole)
	}
}

// Begin returns the first line of a cache, including the header's members. The caller
// appends lines, each with its line feed, and calls Write. size is their approximate length
// in bytes.
func Begin(version int, header any, size int) ([]byte, error) {
	own, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	data := slices.Grow(begin(version), sumDigits+len(own)+size)
	data = append(data, "00000000"...)
	data = append(data, `",`...)
	return append(append(data, own[1:]...), '\n'), nil
}

// Write completes the data that Begin returned and writes it into an opened folder, without
// sync. It also removes temporary files of killed writers.
func Write(dir *os.Root, name string, version int, data []byte) error {
	at := len(begin(version)) + sumDigits
	copy(data[at-sumDigits:at], digits(crc32.Checksum(data[at:], castagnoli())))
	atomicfile.SweepIn(dir, []string{name}, time.Now())
	return atomicfile.WriteIn(dir, name, data)
}
