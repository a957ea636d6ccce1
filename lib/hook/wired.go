package hook

import (
	"slices"
	"strings"
)

// Wired reads the arguments with which clients call a command as their hook:
// "command --hook [--agent NAME]". ok is false for all others, which are the
// grammar's to read.
func Wired(args []string, command string) (f Flags, ok bool) {
	if len(args) < 2 || !slices.Equal(args[:2], []string{command, "--hook"}) {
		return Flags{}, false
	}
	f.Hook = true
	switch rest := args[2:]; {
	case len(rest) == 0:
		return f, true
	case len(rest) == 2 && rest[0] == "--agent" && !strings.HasPrefix(rest[1], "-"):
		f.Agent = rest[1]
		return f, true
	}
	return Flags{}, false
}
