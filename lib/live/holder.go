package live

import "fmt"

// Holder is the process that has a session's conversation open.
type Holder struct {
	PID         int
	Elsewhere   bool // it seems to run in another PID namespace or on another machine
	TmuxPane    string
	TmuxSession string
}

// String returns a phrase that names the process and its pane.
func (h *Holder) String() string {
	where := fmt.Sprintf("as process %d", h.PID)
	if h.Elsewhere {
		return where + " of another container or machine, for all that can be seen from here"
	}
	if h.TmuxPane != "" {
		where += " in tmux pane " + h.TmuxPane
		if h.TmuxSession != "" {
			where += " of " + h.TmuxSession
		}
	}
	return where
}
