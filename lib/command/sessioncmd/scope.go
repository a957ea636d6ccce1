package sessioncmd

import (
	"fmt"

	"gt/lib/cli"
	"gt/lib/view/roster"
)

type scope = roster.Scope

// ProvideScope returns the scope of the named profile, or else of the surrounding town, or else
// the person's own. kong passes it to a command whose Run takes one.
func (p profile) ProvideScope(env *cli.Env) (scope, error) {
	return roster.FindScope(env, p.Profile)
}

type everywhereFlag struct {
	profile
	Everywhere bool `short:"A" name:"everywhere" help:"The agents of all profiles and workspaces."`
}

func (e everywhereFlag) Validate() error {
	if e.Everywhere && e.Profile != "" {
		return fmt.Errorf("-A means all profiles (leave -p %s out)", e.Profile)
	}
	return nil
}

func (e everywhereFlag) scopes(env *cli.Env) ([]scope, error) {
	return roster.Chosen(env, e.Profile, e.Everywhere)
}
