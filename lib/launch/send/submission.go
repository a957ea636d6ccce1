package send

import (
	"time"

	"gt/lib/client/agent"
)

// state is the state of a text after its first Enter.
//
//	typed    The box shows the text. It becomes due when Enter should have emptied the box.
//	due      Enter has to be pressed again. Then it is typed.
//	emptied  The box is empty. It becomes typed if the box shows something again, because the
//	         client redraws its screen.
//	proven   The box stayed empty for long enough; proof is set.
//	failed   err is set. The text may still be in the box.
type state int

const (
	typed state = iota
	due
	emptied
	proven
	failed
)

// view is what one look at an agent shows.
type view struct {
	time         time.Time
	input        agent.Input // what its input box has
	deaf         bool        // the client drops what is typed
	hookReported bool        // a hook has reported the text as a prompt since it was typed
	another      bool        // a hook has reported another one since, which may be what it works on
	works        bool        // the screen shows that it works
	shown        bool        // the screen shows the text outside the box
}

// submission is a text whose Enter was pressed. It decides from views alone, without any
// I/O.
type submission struct {
	limits  Limits
	busy    bool         // the agent worked before
	hooked  bool         // the agent has a prompt hook
	refused func() bool  // as in Target; may be nil
	sight   func() Sight // what the conversation shows of the text; may be nil

	first, pressed time.Time     // the first and the last Enter
	again          time.Duration // how long after the last Enter the next is due
	empty          time.Time     // since when the box is empty; zero if it is not
	read           time.Time     // when the conversation was read last
	shown          bool          // the screen has shown the text
	worked         bool          // the screen has shown that the agent works

	proof Proof // set when proven
	err   error // set when failed
}

func newSubmission(first time.Time, limits Limits) *submission {
	return &submission{limits: limits, first: first, pressed: first, again: limits.Again}
}

// takeView returns the state of the text after a view.
func (s *submission) takeView(v view) state {
	s.shown, s.worked = s.shown || v.shown, s.worked || v.works
	switch {
	case v.input == agent.Draft:
		s.empty = time.Time{}
		return s.standing(v)
	case v.input != agent.NoInput:
		return s.gone(v)
	case v.time.Sub(s.first) < s.limits.Hook: // the client redraws its screen, and the text may still be there
		if s.empty.IsZero() {
			return typed
		}
		return emptied
	}
	return s.gone(v)
}

// standing returns the state of a text that is in the box.
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

// gone returns the state of a text that is not in the box. A hook's report may be a late
// one about the prompt before, so the box has to stay empty for a moment too.
func (s *submission) gone(v view) state {
	if s.empty.IsZero() {
		s.empty = v.time
	}
	settled := v.time.Sub(s.empty)
	switch {
	case v.deaf && !v.hookReported:
		s.err = ErrLost
		return failed
	case v.input == agent.Asks && s.hooked && !s.busy && !v.hookReported:
		if settled <= s.limits.Hook {
			return emptied // its hook may be late
		}
		s.err = ErrAskedFirst
		return failed
	case s.refused != nil && s.refused():
		s.err = ErrRefused
		return failed
	case s.refused != nil && settled <= noteWait:
		return emptied
	case v.hookReported && settled > 2*pollInterval:
		s.proof = Hook
	case s.busy && settled > 4*pollInterval:
		s.proof = Queued
	case !s.hooked && settled > 4*pollInterval:
		s.proof = Screen
	case settled > s.limits.Hook:
		return s.unreported(v, settled)
	default:
		return emptied
	}
	return proven
}

// unreported returns the state of a text that is not in the box, and of which no hook has
// told in time. An empty box proves nothing: only the conversation does. The text is
// certainly not taken if nothing shows it: no hook, no conversation and no screen. Another
// conversation that has it leaves that open.
func (s *submission) unreported(v view, settled time.Duration) state {
	over, in := settled > s.limits.Submit, Absent
	switch {
	case s.sight == nil && !v.another:
		in = Unknown
	case s.sight != nil && (over || v.time.Sub(s.read) > readEvery):
		s.read, in = v.time, s.sight()
	}
	switch {
	case in == Seen:
		s.proof = InConversation
		return proven
	case s.shown, s.worked && !v.another, in == Unknown, over && in == Guessed:
		s.proof = Screen
		return proven
	case over: // mutant never: TestSubmission
		s.err = ErrUntaken
		return failed
	}
	return emptied
}
