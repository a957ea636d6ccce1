package send

import (
	"errors"
	"strconv"
	"time"

	"gt/lib/client/agent"
)

// Errors of answering a question of a client's.
var (
	ErrNoQuestion = errors.New("its client asks nothing")
	ErrNoOption   = errors.New("its client does not offer that")
	ErrNotTaken   = errors.New("its client did not take the answer: the question is still on its screen")
)

// Question returns what the client asks now.
func (t Target) Question() (agent.Question, error) {
	screen, err := t.Server.CaptureStyled(t.Pane)
	if err != nil {
		return agent.Question{}, err
	}
	q, ok := t.Client.Question(screen)
	if !ok {
		return q, ErrNoQuestion
	}
	return q, nil
}

// Answer takes the n-th option of the question that the client asks now, by its number,
// and with Enter where the number only selects it.
func (t Target) Answer(n int, limits Limits) (agent.Option, error) {
	q, err := t.Question()
	if err != nil {
		return agent.Option{}, err
	}
	if n < 1 || n > len(q.Options) {
		return agent.Option{}, ErrNoOption
	}
	if err := t.Server.Type(t.Pane, strconv.Itoa(n)); err != nil {
		return agent.Option{}, err
	}
	begin, entered := time.Now(), false
	for ; ; time.Sleep(glance) {
		now, err := t.Question()
		same := err == nil && len(now.Options) == len(q.Options)
		for i := range q.Options {
			same = same && now.Options[i].Text == q.Options[i].Text
		}
		switch {
		case errors.Is(err, ErrNoQuestion):
			return q.Options[n-1], nil
		case err != nil:
			return q.Options[n-1], err
		case !same:
			return q.Options[n-1], nil // it asks the next thing
		case time.Since(begin) > limits.Submit:
			return q.Options[n-1], ErrNotTaken
		case !entered && now.Options[n-1].Selected && time.Since(begin) > limits.Again:
			if err := t.Server.Type(t.Pane, "\r"); err != nil {
				return q.Options[n-1], err
			}
			entered = true
		}
	}
}
