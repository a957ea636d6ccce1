package conversation

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Ends gives the lines of both ends of a file, whatever their lengths, and no line twice.
func TestEnds(t *testing.T) {
	long := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		lines       string
		first, last []int // the lengths of the lines, -1 for a first line that is cut off
	}{
		"short":                {"a\nbb\nccc\n", []int{1, 2, 3}, []int{3, 2, 1}},
		"no line feed":         {"a\nbb", []int{1}, []int{1}},
		"over the first read":  {"a\n" + long(frontSize) + "\nbb\n", []int{1, frontSize, 2}, []int{2, frontSize, 1}},
		"at its border":        {long(frontSize-1) + "\nbb\n", []int{frontSize - 1, 2}, []int{2, frontSize - 1}},
		"longer than it":       {long(2*frontSize) + "\nbb\n", []int{2 * frontSize, 2}, []int{2, 2 * frontSize}},
		"both ends":            {"a\n" + long(2*EndSize) + "\nbb\n", []int{1}, []int{2}},
		"longer than an end":   {long(2*EndSize) + "\nbb\n", []int{-1}, []int{2}},
		"one that has no feed": {long(EndSize), nil, nil},
	} {
		path := filepath.Join(t.TempDir(), "lines")
		testenv.NoError(t, os.WriteFile(path, []byte(c.lines), 0o600))
		for most := range len(c.first) + 1 {
			var first, last []int
			err := Ends(path, func(line []byte, whole bool) bool {
				if !whole && len(line) == EndSize {
					first = append(first, -1)
				} else {
					first = append(first, len(line))
				}
				return len(first) <= most
			}, func(line []byte) bool {
				last = append(last, len(line))
				return true
			})
			if want := c.first[:min(most+1, len(c.first))]; err != nil || !slices.Equal(first, want) || !slices.Equal(last, c.last) {
				t.Errorf("%s, %d: %v %v %v", name, most, first, last, err)
			}
		}
	}
}

// A record over several lines is given as one line, with what a client did not escape escaped;
// a torn one takes no record after it along.
func TestRecordsOverSeveralLines(t *testing.T) {
	const next = `{"b":1}`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"a text":                          {"{\"a\":\"x {\n}\n\\\"[\ty\r\n\"}\n" + next + "\n", []string{`{"a":"x {\n}\n\"[\ty\r\n"}`, next}},
		"indented":                        {"{\n  \"a\": [\n    {\"c\": \"}\"}\n  ]\n}\n" + next + "\n", []string{`{   "a": [     {"c": "}"}   ] }`, next}},
		"both":                            {"{\n\"a\":\n\"x\ny\"\n}\n", []string{"{ \"a\": \"x\\ny\" }"}},
		"no end":                          {"{\"a\":\"x\ny\"", []string{"{\"a\":\"x"}},
		"torn":                            {"{\"a\":\"x\ny\n" + next + "\n", []string{"{\"a\":\"x", "y", next}},
		"torn before one of another type": {`{"type":"tool","data":{"text":"cu{"type":"answer","data":{"text":"{\"type\":1}"}}` + "\n", []string{`{"type":"tool","data":{"text":"cu`, `{"type":"answer","data":{"text":"{\"type\":1}"}}`}},
		"parts of a type":                 {`{"type":"tool","data":[{"type":"a"}, {"type":"b{"},{"type":"c"}]}` + "\n", []string{`{"type":"tool","data":[{"type":"a"}, {"type":"b{"},{"type":"c"}]}`}},
		"closed too soon":                 {"{\"a\":\nx}\n{\"c\":\"x\ny\"}\n", []string{"{\"a\":", "x}", `{"c":"x\ny"}`}},
	} {
		path := filepath.Join(t.TempDir(), "lines")
		testenv.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		var got []string
		_, err := Lines(path, 0, func(line []byte, _ int64) bool {
			got = append(got, string(line))
			return true
		})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// A torn record is searched once for its end, however many of its lines could be that.
func TestLongRecordOverManyLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lines")
	testenv.NoError(t, os.WriteFile(path, []byte("{\"a\":\"\n"+strings.Repeat("x }\n", 64<<10)), 0o600))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	n := 0
	_, err := Lines(path, 0, func([]byte, int64) bool {
		n++
		return true
	})
	runtime.ReadMemStats(&after)
	if size := after.TotalAlloc - before.TotalAlloc; err != nil || n != 64<<10+1 || size > 16<<20 {
		t.Errorf("%d lines, %d bytes held: %v", n, size, err)
	}
}
