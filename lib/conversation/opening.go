package conversation

import "strings"

// The words with which gt starts and continues sessions. Gas Town begins a first prompt
// with the same name.
const (
	// Beacon is what the first line of a beacon begins with (lib/launch/beacon).
	Beacon = "[GAS TOWN] "
	// Continuation is the first prompt of a conversation that goes on in a new process.
	Continuation = "Context compacted. Continue your previous task."
)

// IsOpening reports whether a prompt is one with which gt, or Gas Town, starts or
// continues a session: the client keeps it like what a person asked, but nobody asked
// for anything.
func IsOpening(prompt string) bool {
	line, _, _ := strings.Cut(strings.TrimSpace(prompt), "\n")
	return line == Continuation || strings.HasPrefix(line, Beacon) && strings.Contains(line, " <- ") && strings.Count(line, " • ") >= 2
}

// Asked returns the Excerpt of a prompt for a list, or nothing of an opening.
func Asked(prompt string) string {
	if IsOpening(prompt) {
		return ""
	}
	return Excerpt(prompt)
}
