package conversation

import (
	"strconv"
	"strings"
)

const (
	window200k = 200_000
	window1M   = 1_000_000
)

// WindowOf returns the context window of a model in tokens, as far as its name tells, or
// 0 if the model is unknown. If in doubt it returns the larger value, because callers
// warn by it.
func WindowOf(model string) int64 {
	name := strings.ToLower(model)
	if strings.HasPrefix(name, "gemini-") {
		return 1 << 20
	}
	_, rest, ok := strings.Cut(name, "claude-")
	if !ok {
		return 0
	}
	if strings.Contains(name, "[1m]") || strings.HasSuffix(name, "-1m") {
		return window1M
	}
	// claude-3-5-sonnet-20241022, claude-opus-4-20250514, anthropic/claude-sonnet-4.5
	var version []int
	for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') }) {
		if n, err := strconv.Atoi(word); err == nil && n < 100 && len(version) < 2 {
			version = append(version, n)
		}
	}
	switch major, minor := at(version, 0), at(version, 1); {
	case major == 0:
		return 0
	case major > 4, major == 4 && minor > 6:
		return window1M
	}
	return window200k
}

func at(all []int, i int) int {
	if i < len(all) {
		return all[i]
	}
	return 0
}
