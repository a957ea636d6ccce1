// Package tmux runs tmux. No other package does.
//
// All arguments are passed separately, so that no shell parses a path or a message.
// Sessions are addressed exactly ("=name:") and panes by id ("%3"). No format string
// contains text from outside, because tmux would run a #(command) in it.
package tmux

import "strings"

// FromEnv returns the socket of the tmux server and the id of the pane that the program
// runs in, or "" outside tmux.
func FromEnv(getenv func(string) string) (server, pane string) {
	server, _, _ = strings.Cut(getenv("TMUX"), ",")
	pane = getenv("TMUX_PANE")
	if server == "" || !isPane(pane) {
		return "", ""
	}
	return server, pane
}

func isPane(s string) bool {
	digits, ok := strings.CutPrefix(s, "%")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
