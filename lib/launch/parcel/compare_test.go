package parcel

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A file that cannot be read to its end is not taken for another one, which --force would
// put aside.
func TestCompareFiles(t *testing.T) {
	failure := errors.New("no more")
	files := map[string]string{"empty": "", "begun": "one\n", "whole": "one\ntwo\n", "other": "One\ntwo\n", "failing": "one\n!"}
	open := func(path string) (io.ReadCloser, error) {
		text, fails := strings.CutSuffix(files[path], "!")
		r := io.Reader(strings.NewReader(text))
		if fails {
			r = io.MultiReader(r, iotest.ErrReader(failure))
		}
		return io.NopCloser(r), nil
	}
	for _, c := range []struct {
		path, other  string
		begins, same bool
		fails        bool
	}{
		{"empty", "whole", true, false, false},
		{"begun", "whole", true, false, false},
		{"whole", "whole", true, true, false},
		{"whole", "begun", false, false, false},
		{"other", "whole", false, false, false},
		{"whole", "failing", false, false, true},
		{"begun", "failing", false, false, true},
		{"failing", "whole", false, false, true},
	} {
		begins, same, err := CompareFiles(open, c.path, c.other)
		if begins != c.begins || same != c.same || errors.Is(err, failure) != c.fails {
			t.Errorf("%s and %s: begins %v, same %v, %v", c.path, c.other, begins, same, err)
		}
	}
}
