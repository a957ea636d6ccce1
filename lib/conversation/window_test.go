package conversation

import "testing"

func TestWindowOf(t *testing.T) {
	for model, want := range map[string]int64{
		"claude-sonnet-4-5-20250929":                   200_000,
		"claude-opus-4-20250514":                       200_000,
		"claude-opus-4-6":                              200_000,
		"claude-opus-4-6[1m]":                          1_000_000,
		"claude-opus-4-7":                              1_000_000,
		"claude-sonnet-5":                              1_000_000,
		"claude-haiku-4-5-20251001":                    200_000,
		"claude-3-5-sonnet-20241022":                   200_000,
		"us.anthropic.claude-sonnet-4-5-20250929-v1:0": 200_000,
		"anthropic/claude-sonnet-4.5":                  200_000,
		"gemini-2.5-pro":                               1_048_576,
		"gpt-5.4":                                      0,
		"claude-next":                                  0,
		"":                                             0,
	} {
		if got := WindowOf(model); got != want {
			t.Errorf("%s: %d, not %d", model, got, want)
		}
	}
}
