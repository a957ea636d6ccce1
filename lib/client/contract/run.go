package contract

import (
	"slices"
	"strings"
)

// Run is a running client, as it tells of itself.
type Run struct {
	Args     []string // with the program; empty if they cannot be read
	Getenv   func(string) string
	OnScreen func() bool // whether it reads single keys from a terminal
}

// Words returns the arguments after the program, or after the script of an interpreter.
func (r Run) Words() []string {
	for i, arg := range r.Args {
		if i > 0 && (strings.HasSuffix(arg, ".js") || strings.HasSuffix(arg, ".mjs") || strings.HasSuffix(arg, ".cjs")) {
			return r.Args[i+1:]
		}
	}
	return r.Args[min(1, len(r.Args)):]
}

// HasFlag reports whether the run has one of the flags, with or without "=VALUE".
func (r Run) HasFlag(flags ...string) bool {
	for _, word := range r.Words() {
		if word == "--" {
			return false
		}
		if name, _, _ := strings.Cut(word, "="); slices.Contains(flags, name) {
			return true
		}
	}
	return false
}

// WithFlag returns a function that reports whether a run has one of the flags.
func WithFlag(flags ...string) func(Run) bool {
	return func(r Run) bool { return r.HasFlag(flags...) }
}

// Subcommand returns the first word that is no flag and no value of one of the flags, or "".
func (r Run) Subcommand(withValue ...string) string {
	words := r.Words()
	for i, word := range words {
		if !strings.HasPrefix(word, "-") && (i == 0 || !slices.Contains(withValue, words[i-1])) {
			return word
		}
	}
	return ""
}

type SessionEnd struct {
	Reason string // the client's word
	Getenv func(string) string
	HungUp func() bool // reports whether the client's terminal is gone
	Busy   func() bool // reports whether the agent was in the middle of a turn
}

// Killed reports whether the reason, in the words of most clients, means that the session
// was ended from outside.
func Killed(e SessionEnd) bool {
	switch e.Reason {
	case "other", "error", "abort", "timeout":
		return true
	}
	return false
}
