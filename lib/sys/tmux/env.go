// Package tmux asks tmux and tells it what to do. It is the only package that
// runs tmux.
//
// Everything goes to tmux as separate arguments, so that no shell parses a
// path or a message. Sessions are addressed exactly ("=name:"), panes by their
// id ("%3"), and no format string holds text that came from outside, for tmux
// would run a #(command) in it.
package tmux

import "strings"

// FromEnv returns the socket of the tmux server and the id of the pane that
// the program runs in, both empty outside tmux.
func FromEnv(getenv func(string) string) (server, pane string) {
	server, _, _ = strings.Cut(getenv("TMUX"), ",")
	pane = getenv("TMUX_PANE")
	if server == "" || !isPane(pane) {
		return "", ""
	}
	return server, pane
}

// isPane checks the form of a pane's id: % and a number.
func isPane(s string) bool {
	digits, ok := strings.CutPrefix(s, "%")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}
