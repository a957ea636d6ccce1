package handoffcmd

import (
	"gt/lib/client/agent"
	"gt/lib/live/status"
	"gt/lib/state/activity"
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
	if busy == "" {
		return nil
	}
	return h.env.ConfirmBusy([]string{"it is busy: " + busy}, "nothing was handed over")
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
