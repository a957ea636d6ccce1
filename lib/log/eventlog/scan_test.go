package eventlog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gt/internal/testenv"
)

// pieces are lines, and parts of lines, that a scan might take for what they are
// not.
var pieces = []string{
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"session_start","actor":"a","payload":{"session_id":"s"}}`,
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"session_end","actor":"a","payload":{"session_id":"s"}}`,
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"nudge","actor":"a","payload":{"type":"handoff"}}`,
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"patrol_started"}`,
	`{"type":"handoff","ts":"2026-01-17T01:00:00Z"}`,
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type" : "session_resume"}`,
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"session\u005fstart"}`,
	`{"ts":"2026-01-17T01:00:00Z","source":"gt","type":"nudge\","type":"session_start"}`,
	`{"ts":"x\","source":"gt","type":"session_start"}`, `{"ts":"x\\","source":"gt","type":"session_start"}`,
	`{"ts":"x","source":"gt\","type":"nudge","type":"handoff"}`,
	`{"ts":"x","source":"gt","type":"nudge","type":"handoff"}`, `{"ts":"x","source":"gt","type":"handoff"`,
	`{"ts":"x","source":"gt","type":"handoff`, `{"ts":"x","source":"gt","type":"`, `{"ts":"x","source":"`, `{"ts":"x`, `{"ts":"`,
	`{"ts":"x","source":"gt","type":5,"actor":"handoff"}`, `{"ts":"x","source":{"type":"nudge"},"type":"handoff"}`,
	`{"payload":{"type":"handoff"},"type":"nudge"}`, `{"payload":{"type":"nudge"},"type":"handoff"}`,
	`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"nudge","actor":"a"}`,
	`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"handoff","actor":"a"}`,
	`{"ts":"2026-01-17T01:00:00.123Z","source":"gt","type":"\u0068andoff","actor":"a"}`,
	`{"ts":"2026\",\"T01:00:00.1234Z","source":"gt","type":"nudge","type":"handoff"}`,
	`{"ts":"2026","type":"handoff"}`, `{"ts":"2026","type":"handoff","source":"gt","type":"nudge"}`,
	`{"ts":"","type":"handoff","x":"","source":"gt","type":"nudge"}`,
	`"session_start"`, `[{"type":"handoff"}]`, "", " ", "\r", "\x00\xff", `{}`, "null",
}

// told is what a scan tells of a file: where each line that it gives lies, and
// what it holds.
func told(at int64, line []byte) string { return fmt.Sprintf("%d %.60q %d", at, line, len(line)) }

// slowly tells the same by the JSON of each line.
func slowly(t testing.TB, data []byte) (lines []string, end int64) {
	t.Helper()
	end, err := forEachHead(bytes.NewReader(data), int64(len(data)), func(h Head, at, size int64) {
		if h.IsLifecycle() && size <= maxLifecycle {
			lines = append(lines, told(at, data[at:at+size-1]))
		}
	})
	testenv.NoError(t, err)
	return lines, end
}

// inParts scans each part between two borders.
func inParts(t testing.TB, data []byte, borders ...int64) (lines []string, end int64) {
	t.Helper()
	size := int64(len(data))
	borders = append(borders, 0, size)
	slices.Sort(borders)
	for i, from := range borders[:len(borders)-1] {
		e, err := ScanLifecycle(bytes.NewReader(data), from, borders[i+1], size, func(line []byte, at int64) {
			if at < from || at >= borders[i+1] {
				t.Errorf("a line at %d, between %d and %d", at, from, borders[i+1])
			}
			lines = append(lines, told(at, line))
		})
		testenv.NoError(t, err)
		if e != from {
			end = max(end, e)
		}
	}
	return lines, end
}

// Wherever a file is divided, and whatever stands in it, each line that tells of
// a session's life is given once, and no other.
func TestScanLifecycle(t *testing.T) {
	for seed := range testenv.Seeds(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b bytes.Buffer
		for range r.IntN(40) {
			b.WriteString(pieces[r.IntN(len(pieces))])
			switch r.IntN(60) {
			case 0: // torn
			case 1:
				b.WriteString(strings.Repeat("x", r.IntN(3*scanBlock)) + "\n")
			case 2:
				b.WriteString(strings.Repeat(" ", scanBlock-b.Len()%scanBlock-r.IntN(2)) + "\n")
			default:
				b.WriteString("\n")
			}
		}
		data := b.Bytes()
		want, wantEnd := slowly(t, data)
		var borders []int64
		for range r.IntN(6) {
			borders = append(borders, r.Int64N(int64(len(data))+1))
		}
		got, end := inParts(t, data, borders...)
		if !slices.Equal(got, want) || end != wantEnd {
			t.Fatalf("seed %d, borders %v: ends at %d, not %d\n%s\nnot\n%s", seed, borders, end, wantEnd,
				strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// At every border.
func TestScanLifecycleBorders(t *testing.T) {
	data := []byte(strings.Join(pieces[:6], "\n") + "\n\n" + pieces[0][:30])
	want, wantEnd := slowly(t, data)
	for border := range int64(len(data)) {
		if got, end := inParts(t, data, border); !slices.Equal(got, want) || end != wantEnd {
			t.Fatalf("border %d: ends at %d, not %d\n%s", border, end, wantEnd, strings.Join(got, "\n"))
		}
	}
}

// A line that is longer than what is read at once is given whole; one without
// end is not held in memory.
func TestScanLifecycleLongLines(t *testing.T) {
	start, nudge := pieces[0], pieces[2]
	long := func(line string, n int) string { return line[:len(line)-1] + strings.Repeat("x", n) + "}\n" }
	data := []byte(long(start, 200_000) + long(nudge, 3<<20) + long(start, 3<<20) + nudge + "\n" +
		long(start, maxLifecycle) + long(nudge, maxLifecycle) + start + "\n" + long(start, 2<<20)[:2<<20])
	want, wantEnd := slowly(t, data)
	if len(want) != 3 {
		t.Fatalf("%d lines", len(want))
	}
	for _, borders := range [][]int64{nil, {1 << 20, 4 << 20}, {100_000, 20 << 20, 30 << 20, int64(len(data)) - 5}} {
		if got, end := inParts(t, data, borders...); !slices.Equal(got, want) || end != wantEnd {
			t.Errorf("borders %v: ends at %d, not %d\n%s\nnot\n%s", borders, end, wantEnd, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// The place of a type tells the same as the JSON.
func FuzzScanLifecycle(f *testing.F) {
	for _, p := range pieces {
		f.Add([]byte(p + "\n" + pieces[0] + "\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantEnd := slowly(t, data)
		if got, end := inParts(t, data, int64(len(data)/2)); !slices.Equal(got, want) || end != wantEnd {
			t.Fatalf("ends at %d, not %d\n%s\nnot\n%s", end, wantEnd, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}
