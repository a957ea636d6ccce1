package conversation

import (
	"bytes"
	"errors"
	"gt/internal/testenv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A file that grows or shrinks meanwhile gives the lines that are there.
func TestChangingFile(t *testing.T) {
	content := []byte(strings.Repeat("a line of a conversation\n", 50_000))
	shrunk := readerAt(func(p []byte, off int64) (int, error) {
		if off < 100_000 {
			return 0, io.EOF
		}
		return copy(p, content[off:]), nil
	})
	n := 0
	err := linesBackward(shrunk, int64(len(content)), func(int64) bool { n++; return true })
	if err != nil || n == 0 {
		t.Errorf("%d lines, %v", n, err)
	}
	broken := readerAt(func([]byte, int64) (int, error) { return 0, syscall.EIO })
	if err := linesBackward(broken, 10, nil); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v", err)
	}
}

type readerAt func([]byte, int64) (int, error)

func (r readerAt) ReadAt(p []byte, off int64) (int, error) { return r(p, off) }

// backward gives the offsets of a file's lines, from the last to the first.
func TestBackward(t *testing.T) {
	for seed := range testenv.Seeds(60) {
		r := rand.New(rand.NewPCG(seed, 0))
		var want []int64
		var content bytes.Buffer
		for range r.IntN(30) {
			n := r.IntN(100)
			switch r.IntN(4) {
			case 0:
				n = r.IntN(2 * blockSize)
			case 1:
				n = blockSize - 2 + r.IntN(4)
			}
			line := strings.Repeat(string(rune('a'+r.IntN(26))), n)
			want = append(want, int64(content.Len()))
			content.WriteString(line + "\n")
		}
		if r.IntN(2) == 0 {
			content.WriteString(strings.Repeat("torn", r.IntN(blockSize)))
		}
		size := content.Len()
		var got []int64
		err := linesBackward(bytes.NewReader(content.Bytes()), int64(size), func(at int64) bool {
			got = append(got, at)
			return true
		})
		testenv.NoError(t, err)
		if size > maxScan { // it stops at maxScan
			want = want[len(want)-len(got):]
		}
		slices.Reverse(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d lines, want %d", seed, len(got), len(want))
		}
	}
}
