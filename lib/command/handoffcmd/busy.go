package handoffcmd

import (
	"fmt"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/status"
	"gt/lib/state/activity"
	"gt/lib/text/term"
)

// allowBusy asks at the terminal before another agent is cut off in a turn or in what it runs
// in the background, and refuses elsewhere.
func (h handover) allowBusy() error {
	if !h.agent.IsSet() || h.id == "" {
		return nil
	}
	is := status.OfActivity(status.Hook, activity.Read(h.home, h.id))
	if is.Status == status.Running && h.showsPrompt() {
		is.Status = status.Waiting
	}
	busy := status.Busy(is.Status, is.Reason, is.Background)
	switch {
	case busy == "":
		return nil
	case !term.IsTerminal(h.env.Stdin):
		return cli.Fail(cli.AnswerNo, fmt.Errorf("nothing was handed over: it is busy: %s", busy), "--now does it all the same")
	}
	return h.env.Confirm("it is busy: "+busy+"\nGo on? [y/N] ", "nothing was handed over", "--now")
}

// showsPrompt reports whether the agent's screen shows that it waits. No hook tells of a turn
// that a person interrupted.
func (h handover) showsPrompt() bool {
	table, err := h.table()
	if err != nil || h.pane.ID == "" {
		return false
	}
	text, err := h.server.CapturePane(h.pane.ID)
	return err == nil && table.FindClient(h.name).ScreenState(text) == agent.Waiting
}
