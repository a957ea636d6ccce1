package status

import "gt/lib/client/agent"

// ShowsQuestion reports whether an agent's screen, captured with its styles, shows a question that
// can be answered. told is what its hooks report: no hook tells of each question.
//
// A question without a selected option counts if a hook told of one, or if the screen ends in it.
// Elsewhere its words are of the conversation, and in the input box they are a draft. What a
// client offers when its account is spent cuts off no turn.
func ShowsQuestion(c agent.Client, styled string, told Observation) bool {
	q, asks := c.Question(styled)
	switch {
	case !asks, c.ScreenState(agent.Plain(styled)) == agent.Busy, told.Reason == Limited, told.Reason == Failed, told.Reason == Suspended:
		return false
	case told.Reason.Asks():
		return true
	case !c.KnowsInput() && told.Status != Running: // it can be an old one
		return false
	}
	return q.Selected() >= 0 || c.EndsInQuestion(styled)
}
