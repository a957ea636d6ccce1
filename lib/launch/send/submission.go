package send

import (
	"time"

	"gt/lib/client/agent"
)

// A state is where a text is from its first Enter on:
//
//	typed    its box shows it. It becomes due when Enter should have emptied the box.
//	due      Enter has to be pressed again; then it is typed.
//	emptied  the box is empty. It becomes typed if the box shows something again, because the
//	         client draws its screen anew.
//	proven   the box stayed empty for long enough, with the proof.
//	failed   with the reason. What was typed may still be in the box.
type state int

const (
	typed state = iota
	due
	emptied
	proven
	failed
)

// A view is what one look at an agent shows.
type view struct {
	time  time.Time
	input agent.Input // what its input box has
	deaf  bool        // its client drops what is typed
	heard bool        // a hook of the agent's told of a prompt since the text was typed
}

// A submission is a text whose Enter was pressed. Nothing in it looks or presses: see decides
// by a view.
type submission struct {
	limits  Limits
	busy    bool        // the agent worked before
	hooked  bool        // a hook of the agent's tells
	refused func() bool // reports whether the client noted that it dropped the text; nil if it notes nothing

	first, pressed time.Time     // when Enter was pressed first, and last
	again          time.Duration // how long after the last one it is pressed again
	empty          time.Time     // since when the box is empty; zero if it is not

	proof Proof // of a text that is proven
	err   error // of one that failed
}

func newSubmission(first time.Time, limits Limits) *submission {
	return &submission{limits: limits, first: first, pressed: first, again: limits.Again}
}

// see returns the state of the text at a view.
func (s *submission) see(v view) state {
	switch {
	case v.input == agent.Draft:
		s.empty = time.Time{}
		return s.standing(v)
	case v.input != agent.NoInput:
		return s.gone(v)
	case v.time.Sub(s.first) < s.limits.Hook: // the client draws its screen anew, and the text may still be there then
		if s.empty.IsZero() {
			return typed
		}
		return emptied
	}
	return s.gone(v)
}

// standing returns the state of a text that its box shows.
func (s *submission) standing(v view) state {
	switch {
	case v.time.Sub(s.first) > s.limits.Submit:
		s.err = ErrNotSubmitted
		return failed
	case v.time.Sub(s.pressed) > s.again:
		s.pressed, s.again = v.time, 2*s.again
		return due
	}
	return typed
}

// gone returns the state of a text that its box does not show. A hook that told can be that of
// the prompt before, which came late. So the box has to stay empty for a moment; the agent may
// ask something at once.
func (s *submission) gone(v view) state {
	if s.empty.IsZero() {
		s.empty = v.time
	}
	settled := v.time.Sub(s.empty)
	switch {
	case v.deaf && !v.heard:
		s.err = ErrLost
		return failed
	case s.refused != nil && s.refused():
		s.err = ErrRefused
		return failed
	case s.refused != nil && settled <= noteWait:
		return emptied
	case v.heard && settled > 2*pollInterval:
		s.proof = Hook
	case s.busy && settled > 4*pollInterval:
		s.proof = Queued
	case !s.hooked && settled > 4*pollInterval, settled > s.limits.Hook:
		s.proof = Screen
	default:
		return emptied
	}
	return proven
}
