package hook

import (
	"slices"
	"strconv"
	"strings"

	"gt/lib/cli"
)

// FastPath returns a cli.Program's FastPath: it parses the arguments of a hook without kong.
func FastPath(begin func(Flags) cli.Command, command ...string) func(args []string) cli.Command {
	return func(args []string) cli.Command {
		if f, ok := ParseWired(args, command...); ok {
			return begin(f)
		}
		return nil
	}
}

// ParseWired parses the arguments with which clients call a command as a hook: "command --hook
// [--agent NAME] [--dialect NAME] [--cap N] [--fill N] [--notify REASONS] [--record on]".
// A program with a single command has no command name. ok is false for all other
// arguments, which the grammar parses.
func ParseWired(args []string, command ...string) (f Flags, ok bool) {
	begin := append(command, "--hook")
	if len(args) < len(begin) || !slices.Equal(args[:len(begin)], begin) {
		return Flags{}, false
	}
	f.Hook = true
	for rest := args[len(begin):]; len(rest) > 0; rest = rest[2:] {
		if len(rest) == 1 || strings.HasPrefix(rest[1], "-") {
			return Flags{}, false
		}
		switch value := rest[1]; rest[0] {
		case "--agent":
			f.Agent = value
		case "--dialect":
			f.Dialect = value
		case "--notify":
			f.Notify = value
		case "--record":
			f.Record = value
		case "--cap", "--fill":
			n, err := strconv.Atoi(value)
			if err != nil {
				return Flags{}, false
			}
			if rest[0] == "--cap" {
				f.Cap = n
			} else {
				f.Fill = &n
			}
		default:
			return Flags{}, false
		}
	}
	return f, true
}
