package send

import (
	"errors"
	"strconv"
	"time"

	"gt/lib/client/agent"
)

// Errors of answering a question of a client's.
var (
	ErrNoQuestion = errors.New("it is not asking anything")
	ErrNoOption   = errors.New("its client does not offer that")
	ErrChanged    = errors.New("its client asks something else now")
	ErrNotTaken   = errors.New("its client did not take the answer: the question is still on its screen")
)

// Question returns what the client asks now. It returns ErrNoQuestion only after a moment
// without one: a client that draws its screen anew clears it first.
func (t Target) Question() (agent.Question, error) { return t.awaitQuestion(redrawTime) }

// awaitQuestion returns the client's question, or ErrNoQuestion after patience without one.
func (t Target) awaitQuestion(patience time.Duration) (agent.Question, error) {
	begin := time.Now()
	for last := begin; ; time.Sleep(pollInterval) { // last is when it was last there
		screen, err := t.capture()
		if err != nil {
			return agent.Question{}, err
		}
		if q, ok := t.Client.Question(screen); ok {
			if last = time.Now(); last.Sub(begin) < openWait && t.Client.MayAskTrust(agent.Plain(screen)) {
				continue // it may still ask whether to trust its folder
			}
			return q, nil
		}
		if time.Since(last) > patience {
			return agent.Question{}, ErrNoQuestion
		}
	}
}

// reread returns what the client asks now. It waits a moment before it believes that this is
// not q any more, because a screen that is being redrawn can show only a part of q.
func (t Target) reread(q agent.Question, patience time.Duration) (agent.Question, error) {
	for begin := time.Now(); ; time.Sleep(pollInterval) {
		current, err := t.awaitQuestion(patience)
		if err != nil || current.IsSameQuestion(q) || time.Since(begin) > redrawTime {
			return current, err
		}
	}
}

const (
	// openWait bounds the wait for a client that asks before it has opened its folder.
	openWait = 5 * time.Second
	// redrawTime is how long a client takes to draw its screen anew.
	redrawTime = time.Second
	// restartTime is how long the screen of a busy client can be empty before the question that
	// was just answered is drawn once more. Who sees it may answer it again, which Gemini CLI
	// takes for another answer.
	restartTime = 3 * time.Second
)

// Answer chooses the n-th option of the client's question. If it is selected already, Enter
// takes it. Otherwise Answer types the option's number, then Enter if the number only
// selects. If the options have no numbers, it moves with the arrow keys and presses Enter
// once the screen shows the selection.
//
// Enter after a number is for an option that the number has selected on the screen. A busy
// client may still have the number before it, and would choose twice: Gemini CLI stays
// untrusted then, because the second choice keeps it from starting itself again.
//
// If digest is not "", only the question with that digest is answered, else ErrChanged.
func (t Target) Answer(n int, digest string, limits Limits) (agent.Option, error) {
	q, err := t.Question()
	if err != nil {
		return agent.Option{}, err
	}
	if digest != "" && q.Digest() != digest {
		return agent.Option{}, ErrChanged
	}
	if n < 1 || n > len(q.Options) {
		return agent.Option{}, ErrNoOption
	}
	wanted := q.Options[n-1]
	if q.Next != "" || wanted.Selected { // mutant never: . TestScripts/session_answer$
		return wanted, t.selectOption(q, n-1, limits)
	}
	if err := t.Server.TypeText(t.Pane, strconv.Itoa(n)); err != nil {
		return agent.Option{}, err
	}
	var selected time.Time
	return wanted, t.waitUntilTaken(q, limits, func(current agent.Question) bool {
		if current.Options[n-1].Selected && selected.IsZero() {
			selected = time.Now()
		}
		return !selected.IsZero() && time.Since(selected) > limits.Again
	})
}

// selectOption selects an option with the arrow keys, a step at a time, and confirms it.
func (t Target) selectOption(q agent.Question, at int, limits Limits) error {
	for q.Selected() != at {
		from, key := q.Selected(), q.Next
		if from > at {
			key = q.Previous
		}
		if err := t.Server.PressKeys(t.Pane, key); err != nil {
			return err
		}
		for begin := time.Now(); q.Selected() == from; time.Sleep(pollInterval) {
			current, err := t.reread(q, redrawTime)
			switch {
			case err != nil:
				return err
			case !current.IsSameQuestion(q):
				return ErrChanged
			case current.Selected() == from && time.Since(begin) > limits.Submit:
				return ErrNotTaken
			}
			q = current
		}
	}
	return t.waitUntilTaken(q, limits, func(current agent.Question) bool { return current.Selected() == at })
}

// waitUntilTaken waits until the client asks something else or nothing. It presses Enter once, when
// enter says so of the question on the screen.
func (t Target) waitUntilTaken(q agent.Question, limits Limits, enter func(current agent.Question) bool) error {
	entered := false
	for begin := time.Now(); ; time.Sleep(pollInterval) {
		current, err := t.reread(q, restartTime)
		switch {
		case errors.Is(err, ErrNoQuestion):
			return nil
		case err != nil:
			return err
		case !current.IsSameQuestion(q):
			return nil // it asks the next thing
		case time.Since(begin) > limits.Submit:
			return ErrNotTaken
		case !entered && enter(current):
			if err := t.Server.TypeText(t.Pane, "\r"); err != nil {
				return err
			}
			entered = true
		}
	}
}
