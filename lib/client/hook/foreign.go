package hook

import (
	"os"

	"gt/lib/cli"
	"gt/lib/client/contract"
	"gt/lib/client/registry"
)

// Args are the arguments that the program was called with. A client that runs Claude
// Code's hooks too drops what stands there under "args": called as a hook with
// nothing, a program does what Claude Code's wiring calls it for, and not what it
// does for a person.
func Args(env *cli.Env, wired ...string) []string {
	if len(env.Args) == 0 && foreign(env.Getenv, true) != nil && piped(env) {
		return wired
	}
	return env.Args
}

// foreign is the client that runs us as its hook although we are wired for another,
// nil where none does. named reports that the wiring names that other.
func foreign(getenv func(string) string, named bool) *contract.Client {
	for _, c := range registry.Clients() {
		if c.RunsForeignHooks != nil && c.RunsForeignHooks(getenv, named) {
			return c
		}
	}
	return nil
}

// piped reports whether somebody may say something on standard input.
func piped(env *cli.Env) bool {
	f, ok := env.Stdin.(*os.File)
	if !ok {
		return env.Stdin != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}
