package hook

import (
	"gt/lib/conversation"
	"gt/lib/sys/process"
)

// Why gt-record is told to bring a conversation's record up to date.
const (
	TurnEnded    = "turn"
	SessionEnded = "end"
)

// KeepConversation has gt-record bring the record of the session up to date, where the
// wiring says that the person wants one. It does not wait for it.
func (c *Invocation) KeepConversation(f Flags, why string) error {
	if f.Record != "on" || c.ID == "" || !conversation.HasReader(c.Agent) {
		return nil
	}
	args := []string{process.SiblingBinary("gt-record"), "sync", "--hook", "--agent", c.Agent, "--why", why}
	if why == SessionEnded && c.Input.Reason != "" {
		const most = 40
		args = append(args, "--reason="+c.env.Line(c.Input.Reason, most))
	}
	return process.Detach(c.Home.Runtime(), append(args, string(c.ID)), c.env.Environ, "")
}
