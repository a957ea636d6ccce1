package sandbox

import (
	"errors"
	"os"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/client/names"
	"gt/lib/sys/process"
)

// RefuseBelowAgent returns an error, which says why, if an agent runs this command: trust is the
// person's decision. An agent outside a sandbox could still write the file itself.
func RefuseBelowAgent(env *cli.Env, why string) error {
	refusal := cli.Fail(cli.AnswerNo, errors.New(why), "run this in a terminal of your own")
	for _, name := range names.SessionVars() { // agents can also be nested
		if env.Getenv(name) != "" { // mutant never: . TestScripts/town_trust
			return refusal
		}
	}
	known := agent.Builtin()
	for _, pid := range process.Ancestors(os.Getpid()) {
		if known.IsClient(process.Name(pid)) {
			return refusal
		}
	}
	return nil
}
