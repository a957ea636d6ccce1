package agent

import "strings"

// State is what an agent's screen shows of it.
type State int

const (
	Unknown State = iota
	Busy          // it works
	Waiting       // it asks the person something, or is ready for a prompt
)

func (s State) String() string { return [...]string{"", "running", "waiting"}[s] }

// ScreenState says what the text of an agent's screen shows: one of its busy patterns
// that it works, one of its prompt patterns, or the prompt that it is ready
// with, that it waits. Patterns are plain text; case does not matter. A client
// keeps what it said on its screen, so what stands further down counts.
func (c Client) ScreenState(screen string) State {
	screen = strings.ToLower(screen)
	busy, waiting := last(screen, c.BusyPatterns), last(screen, c.PromptPatterns)
	switch {
	case busy > waiting:
		return Busy
	case waiting >= 0 || busy < 0 && c.ReadyPrompt != "" && strings.Contains(screen, strings.ToLower(c.ReadyPrompt)):
		return Waiting
	case busy >= 0:
		return Busy
	}
	return Unknown
}

// Detect returns the agent whose patterns stand on a screen, without a name
// where there is none.
func (t *Table) Detect(screen string) Client {
	screen = strings.ToLower(screen)
	for _, c := range t.clients {
		if last(screen, c.DetectPatterns) >= 0 {
			return c
		}
	}
	return Client{}
}

// last is where the last of any of the patterns begins, -1 where none is.
func last(screen string, patterns []string) int {
	at := -1
	for _, p := range patterns {
		if p != "" {
			at = max(at, strings.LastIndex(screen, strings.ToLower(p)))
		}
	}
	return at
}
