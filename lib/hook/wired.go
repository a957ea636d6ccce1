package hook

import (
	"slices"
	"strings"
)

// Wired reads the arguments with which clients call a command as their hook:
// "command --hook [--agent NAME]". ok is false for all others, which are the
// grammar's to read.
// A program that is but one command has none to name.
func Wired(args []string, command ...string) (f Flags, ok bool) {
	begin := append(command, "--hook")
	if len(args) < len(begin) || !slices.Equal(args[:len(begin)], begin) {
		return Flags{}, false
	}
	f.Hook = true
	switch rest := args[len(begin):]; {
	case len(rest) == 0:
		return f, true
	case len(rest) == 2 && rest[0] == "--agent" && !strings.HasPrefix(rest[1], "-"):
		f.Agent = rest[1]
		return f, true
	}
	return Flags{}, false
}
