package sessioncmd

import (
	"strings"

	"gt/lib/cli"
	"gt/lib/view/roster"
)

// offerAdoption prints the command that adopts strangers in these panes.
func offerAdoption(env *cli.Env, panes []string) {
	if len(panes) > 0 {
		env.Hint("gt-session did not start %s; %s adopts such agents", strings.Join(panes, ", "), roster.Adopts)
	}
}
