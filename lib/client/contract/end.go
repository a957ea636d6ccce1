package contract

type End struct {
	Reason string // the client's word
	Getenv func(string) string
	HungUp func() bool // reports whether the client's terminal is gone
	Busy   func() bool // reports whether the agent was in the middle of a turn
}

// Killed reports whether the reason, in the words of most clients, means that the session
// was ended from outside.
func Killed(e End) bool {
	switch e.Reason {
	case "other", "error", "abort", "timeout":
		return true
	}
	return false
}
