package conversation

import "strings"

// The phrases with which gt starts and continues sessions. Gas Town's first prompts begin
// with the same name.
const (
	// Beacon begins the first line of a beacon (lib/launch/beacon).
	Beacon = "[GAS TOWN] "
	// Continuation is the first prompt of a conversation that goes on in a new process.
	Continuation = "Context compacted. Continue your previous task."
	// Handoff and FromNote begin and end the first prompt after a hand-over outside a
	// town.
	Handoff  = "Handoff"
	FromNote = "Go on from the note."
	// AskNote precedes FromNote for a session that may have no hook to give it the note.
	AskNote = "If no note was told to you, run `gt-prime`."
)

// MaxSubject is how many characters of a note's subject such a prompt has. maxPrompt is
// the prompt's largest size in bytes.
const (
	MaxSubject = 120
	maxPrompt  = 1 << 10
)

// IsOpening reports whether gt or Gas Town, and not a person, wrote a prompt to start or
// continue a session. The clients record both alike.
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

// fromNote reports whether a line is the first prompt after a hand-over. It checks both
// ends, so that a person can write about such a prompt.
func fromNote(line string) bool {
	subject, ends := strings.CutSuffix(line, " "+FromNote)
	subject, begins := strings.CutPrefix(subject, Handoff)
	if !begins || !ends || !strings.ContainsAny(subject[max(0, len(subject)-1):], ".!?") {
		return false
	}
	return subject == "." || subject == ". "+AskNote || strings.HasPrefix(subject, ": ")
}

// Asked returns the Excerpt of a prompt for a list, or "" if it is an opening.
func Asked(prompt string) string {
	if IsOpening(prompt) {
		return ""
	}
	return Excerpt(prompt)
}
