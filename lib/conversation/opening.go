package conversation

import "strings"

// The words with which gt starts and continues sessions. Gas Town begins a first prompt
// with the same name.
const (
	// Beacon is what the first line of a beacon begins with (lib/launch/beacon).
	Beacon = "[GAS TOWN] "
	// Continuation is the first prompt of a conversation that goes on in a new process.
	Continuation = "Context compacted. Continue your previous task."
	// Handoff and FromNote are how the first prompt after a hand-over begins and ends
	// outside a town.
	Handoff  = "Handoff"
	FromNote = "Go on from the note."
	// AskNote stands before the end for a session that perhaps has no hook to be told
	// the note by.
	AskNote = "If no note was told to you, run `gt-prime`."
)

// MaxSubject is how many characters of a note's subject such a prompt has, and
// maxPrompt how many bytes it can have with them.
const (
	MaxSubject = 120
	maxPrompt  = 1 << 10
)

// IsOpening reports whether a prompt is one with which gt, or Gas Town, starts or
// continues a session: the client keeps it like what a person asked, but nobody asked
// for anything.
func IsOpening(prompt string) bool {
	prompt = strings.TrimSpace(prompt)
	line, more, _ := strings.Cut(prompt, "\n")
	switch {
	case line == Continuation:
		return true
	case strings.HasPrefix(line, Beacon):
		return strings.Contains(line, " <- ") && strings.Count(line, " • ") >= 2
	}
	return more == "" && len(line) <= maxPrompt && fromNote(line)
}

// fromNote reports whether a line is the first prompt after a hand-over: from its
// first word to its last, so that what a person says of one is not taken for it.
func fromNote(line string) bool {
	subject, ends := strings.CutSuffix(line, " "+FromNote)
	subject, begins := strings.CutPrefix(subject, Handoff)
	if !begins || !ends || !strings.ContainsAny(subject[max(0, len(subject)-1):], ".!?") {
		return false
	}
	return subject == "." || subject == ". "+AskNote || strings.HasPrefix(subject, ": ")
}

// Asked returns the Excerpt of a prompt for a list, or nothing of an opening.
func Asked(prompt string) string {
	if IsOpening(prompt) {
		return ""
	}
	return Excerpt(prompt)
}
