package hook

import (
	"os"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
)

// Prepare returns a function that sets the program's arguments to wired if there are none
// and a client other than Claude Code runs it as a hook: such a client drops the "args" of
// Claude Code's wiring. Without wired, the program would do what it does for a person.
func Prepare(wired ...string) func(*cli.Env) {
	return func(env *cli.Env) {
		if len(env.Args) == 0 && foreign(env.Getenv, true) != nil && piped(env) {
			env.Args = wired
		}
	}
}

// foreign returns the client that runs this program as its hook although it is wired for
// another; nil if none does. named reports that the wiring names its client.
func foreign(getenv func(string) string, named bool) *contract.Client {
	for _, c := range registry.Clients() {
		if c.RunsForeignHooks != nil && c.RunsForeignHooks(getenv, named) {
			return c
		}
	}
	return nil
}

// piped reports whether standard input is not a terminal.
func piped(env *cli.Env) bool {
	f, ok := env.Stdin.(*os.File)
	if !ok {
		return env.Stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
