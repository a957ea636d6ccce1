package live

import (
	"gt/lib/client/agent"
	"gt/lib/live/status"
)

// ShowsQuestion reports whether an agent's screen, captured with its styles, shows a question that
// can be answered. told is what its hooks report: no hook tells of each question.
//
// A question without a selected option counts if a hook told of one, or if the screen ends in it.
// Elsewhere its words are of the conversation, and in the input box they are a draft. What a
// client offers when its account is spent cuts off no turn.
func ShowsQuestion(c agent.Client, styled string, told status.Observation) bool {
	q, asks := c.Question(styled)
	switch {
	case !asks, c.ScreenState(agent.Plain(styled)) == agent.Busy, told.Reason == status.Limited, told.Reason == status.Failed, told.Reason == status.Suspended:
		return false
	case told.Reason.Asks():
		return true
	case !c.KnowsInput() && told.Status != status.Running: // it can be an old one
		return false
	}
	return q.Selected() >= 0 || c.EndsInQuestion(styled)
}
