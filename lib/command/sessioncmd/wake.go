package sessioncmd

import (
	"errors"
	"fmt"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/conversation"
	"gt/lib/launch"
	"gt/lib/place/town"
	"gt/lib/state/instance"
)

// wake tells agents that wait for a prompt of a note, for gt-mail, and prints whom.
type wake struct {
	Agents []string `arg:"" help:"The agents, as GT_INSTANCE has them."`
}

func (c *wake) Run(env *cli.Env) (err error) {
	for _, name := range c.Agents {
		s, in := instance.OfAgent(town.Personal(env.Getenv).State, name)
		if in == nil {
			continue // it was removed
		}
		known, werr := agent.Load(env.Getenv, town.Find(env.Getenv, in.Path))
		if werr != nil {
			env.Warn("%v", werr)
		}
		told, werr := launch.Wake(env, s, known, in, conversation.NoteCame)
		if err = errors.Join(err, werr); told {
			fmt.Fprintln(env.Stdout, in.Name)
		}
	}
	return err
}
