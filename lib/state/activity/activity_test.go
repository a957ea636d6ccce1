package activity

import "testing"

// The agent is told once when its context has become that full, and again after a
// compaction, or when it was emptier in between.
func TestMeasure(t *testing.T) {
	var s State
	for i, step := range []struct {
		tokens, window int64
		compactions    int
		share          int
		want           Warning
		tell           bool
	}{
		{139_999, 200_000, 0, 70, NoWarning, false},
		{140_000, 200_000, 0, 70, Due, false},
		{150_000, 200_000, 0, 70, Due, true}, // not told yet
		{160_000, 200_000, 0, 70, Delivered, false},
		{190_000, 200_000, 0, 70, Delivered, false},
		{150_000, 200_000, 1, 70, Due, true}, // compacted, and as full again
		{150_000, 200_000, 1, 70, Delivered, false},
		{100_000, 200_000, 1, 70, NoWarning, false},
		{150_000, 200_000, 1, 70, Due, false},
		{0, 200_000, 2, 70, NoWarning, false},
		{150_000, 0, 2, 70, NoWarning, false}, // a window that nobody knows
		{150_000, 200_000, 2, 0, NoWarning, false},
		{150_000, 1_000_000, 2, 70, NoWarning, false},
		{150_000, 1_000_000, 2, 15, Due, false},
	} {
		s = s.Measure(step.tokens, step.window, step.compactions, step.share)
		if s.Warning != step.want {
			t.Errorf("step %d: %q, not %q", i, s.Warning, step.want)
		}
		if step.tell {
			s.Warning = Delivered
		}
	}
}
