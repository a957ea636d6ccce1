package contract

// End is what is known at the end of a session.
type End struct {
	Reason string // in the client's word
	Getenv func(string) string
	HungUp func() bool // whether the client's terminal is gone
	Busy   func() bool // whether the agent was in the middle of a turn
}

// Killed reports whether a reason is that of a session which somebody ended from
// outside, as most clients say it.
func Killed(e End) bool {
	switch e.Reason {
	case "other", "error", "abort", "timeout":
		return true
	}
	return false
}
