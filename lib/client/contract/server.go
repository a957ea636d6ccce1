package contract

import (
	"path/filepath"
	"strings"
)

// SharedServer is a server that runs the sessions of all the client's windows, with their
// hooks and commands. It has the environment of the first window and outlives all
// windows. So a hook's parent is not the client that the person sees, and the inherited
// environment is not that client's.
type SharedServer struct {
	// Program is the name of its process and of a window's.
	Program string
	// Var is a variable that its commands have.
	Var string
	// IsServer reports whether a Program with these arguments is the server, the next function
	// whether it can be a window that shows a server's session.
	IsServer func(args []string) bool
	IsWindow func(args []string) bool
	// Address returns the URL of the server that a window with these arguments shows. It is nil
	// if a client's windows show the server of their account.
	Address func(args []string) string
	// Dir returns the folder in which a window works that was started in dir with these
	// arguments.
	Dir func(args []string, dir string) string
	// AccountFolder returns the client's own folder. Each has a server of its own.
	AccountFolder func(getenv func(string) string) string
}

// DirFlag returns a SharedServer.Dir for a client that takes the folder as the argument of a
// flag, such as -C and --cd.
func DirFlag(short, long string) func(args []string, dir string) string {
	return func(args []string, dir string) string {
		at := dir
		for i, a := range args {
			to, ok := strings.CutPrefix(a, long+"=")
			if (a == short || a == long) && i+1 < len(args) {
				to, ok = args[i+1], true
			}
			if ok && filepath.IsAbs(to) {
				at = to
			} else if ok {
				at = filepath.Join(at, to)
			}
		}
		return at
	}
}
