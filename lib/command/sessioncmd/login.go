package sessioncmd

import (
	"fmt"

	"gt/lib/cli"
	"gt/lib/client/agent"
	"gt/lib/live/fleet"
	"gt/lib/text/term"
)

type login struct {
	client, account string // account is the client's folder, "" for the usual one
	names           []string
}

func logins(members []fleet.Member) (all []login) {
	at := map[[2]string]int{}
	for _, m := range members {
		if !m.Login {
			continue
		}
		key := [2]string{m.Agent, m.Account}
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key], all = i, append(all, login{client: m.Agent, account: m.Account})
		}
		all[i].names = append(all[i].names, m.Name)
	}
	return all
}

func (l login) describeRefusal(env *cli.Env) string {
	account := ""
	if l.account != "" {
		account = " of " + env.DisplayPath(l.account)
	}
	return fmt.Sprintf("the login of %s%s is refused", l.client, account)
}

func (l login) fix(known *agent.Table) string {
	client := known.FindClient(l.client)
	command := l.client
	if l.account != "" && client.StoreEnv != "" {
		command = client.StoreEnv + "=" + term.Quote(l.account) + " " + command
	}
	return "log in with " + command + "; then gt-session send " + l.names[0] + " 'Go on.'"
}
