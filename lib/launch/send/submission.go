package send

import (
	"time"

	"gt/lib/client/agent"
)

// state is the state of a text after its first Enter.
//
//	textTyped    The box shows the text. Enter is due once it should have emptied the box.
//	enterDue     Enter has to be pressed again. Then the state is textTyped.
//	boxEmptied   The box is empty. If it shows something again, because the client redraws its
//	             screen, the state is textTyped.
//	takenProven  The box stayed empty for long enough; proof is set.
//	sendFailed   err is set. The text may still be in the box.
type state int

const (
	textTyped state = iota
	enterDue
	boxEmptied
	takenProven
	sendFailed
)

// view is what one look at an agent shows.
type view struct {
	time          time.Time
	input         agent.Input // what its input box has
	deaf          bool        // the client drops what is typed
	hookReported  bool        // a hook has reported the text as a prompt since it was typed
	otherReported bool        // a hook has reported another one since, which may be what it works on
	works         bool        // the screen shows that it works
	shown         bool        // the screen shows the text outside the box
}

// submission is a text whose Enter was pressed. It decides from views alone, without any
// I/O.
type submission struct {
	limits  Limits
	busy    bool         // the agent worked before
	hasHook bool         // the agent has a prompt hook
	refused func() bool  // as in Target; may be nil
	sight   func() Sight // what the conversation shows of the text; may be nil

	firstEnter, lastEnter time.Time     // the first and the last Enter
	enterWait             time.Duration // how long after the last Enter the next is due
	emptySince            time.Time     // since when the box is empty; zero if it is not
	read                  time.Time     // when the conversation was read last
	shown                 bool          // the screen has shown the text
	worked                bool          // the screen has shown that the agent works

	proof Proof // set when takenProven
	err   error // set when sendFailed
}

func newSubmission(first time.Time, limits Limits) *submission {
	return &submission{limits: limits, firstEnter: first, lastEnter: first, enterWait: limits.Again}
}

// takeView returns the state of the text after a view.
func (s *submission) takeView(v view) state {
	s.shown, s.worked = s.shown || v.shown, s.worked || v.works
	switch {
	case v.input == agent.Draft:
		s.emptySince = time.Time{}
		return s.judgeInBox(v)
	case v.input != agent.NoInput:
		return s.judgeGone(v)
	case v.time.Sub(s.firstEnter) < s.limits.Hook: // the client redraws its screen, and the text may still be there
		if s.emptySince.IsZero() { // as it was at the last view with a box
			return textTyped
		}
		return boxEmptied
	}
	return s.judgeGone(v)
}

// judgeInBox returns the state of a text that is in the box.
func (s *submission) judgeInBox(v view) state {
	switch {
	case v.time.Sub(s.firstEnter) > s.limits.Submit:
		s.err = ErrNotSubmitted
		return sendFailed
	case v.time.Sub(s.lastEnter) > s.enterWait:
		s.lastEnter, s.enterWait = v.time, 2*s.enterWait
		return enterDue
	}
	return textTyped
}

// judgeGone returns the state of a text that is not in the box. A hook's report may be a late
// one about the prompt before, so the box has to stay empty for a moment too. It has to stay empty
// twice as long where no hook tells: of a busy agent, and of a client without hooks.
func (s *submission) judgeGone(v view) state {
	if s.emptySince.IsZero() {
		s.emptySince = v.time
	}
	settled := v.time.Sub(s.emptySince)
	switch {
	case v.deaf && !v.hookReported:
		s.err = ErrLost
		return sendFailed
	case v.input == agent.Asks && s.hasHook && !s.busy && !v.hookReported:
		if settled <= s.limits.Hook {
			return boxEmptied // its hook may be late
		}
		s.err = ErrAskedFirst
		return sendFailed
	case s.refused != nil && s.refused():
		s.err = ErrRefused
		return sendFailed
	case s.refused != nil && settled <= noteWait:
		return boxEmptied // the client may log yet that it dropped the text
	case v.hookReported && settled > 2*pollInterval:
		s.proof = Hook
	case s.busy && settled > 4*pollInterval:
		s.proof = Queued
	case !s.hasHook && settled > 4*pollInterval:
		s.proof = Screen
	case settled > s.limits.Hook:
		return s.judgeUnreported(v, settled)
	default:
		return boxEmptied
	}
	return takenProven
}

// judgeUnreported returns the state of a text that has been out of the box for settled, and of
// which no hook has told in time. A conversation that has it proves that it was taken. If there is none
// to read, or the screen has shown the text or work, the empty box suffices (Screen). If nothing
// shows the text until the end (over), it was not taken. A guess, a text in what may be another
// agent's conversation, leaves that open, and counts as Screen at the end.
func (s *submission) judgeUnreported(v view, settled time.Duration) state {
	over, sight := settled > s.limits.Submit, Absent // also between two readings
	switch {
	case s.sight == nil && !v.otherReported:
		sight = Unknown
	case s.sight != nil && (over || v.time.Sub(s.read) > readEvery):
		s.read, sight = v.time, s.sight()
	}
	switch {
	case sight == Seen:
		s.proof = InConversation
		return takenProven
	case s.shown, s.worked && !v.otherReported, sight == Unknown, over && sight == Guessed:
		s.proof = Screen
		return takenProven
	case over: // mutant never: TestSubmission
		s.err = ErrUntaken
		return sendFailed
	}
	return boxEmptied
}
