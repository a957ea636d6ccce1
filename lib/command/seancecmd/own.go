package seancecmd

import (
	"cmp"
	"os"
	"path/filepath"
	"sync"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/client/account"
	"gt/lib/client/agent"
	"gt/lib/client/contract"
	"gt/lib/place/git"
	"gt/lib/text/term"
)

// owned says which accounts and conversations are the person's own.
func owned(env *cli.Env) account.Own {
	table := sync.OnceValue(func() *agent.Table { return agents(env) })
	return account.Own{
		Getenv:   env.Getenv,
		Projects: []string{git.Top(env.Dir)},
		Known: func(client string) account.Known {
			c := table().Of(client)
			return account.Known{Accounts: c.Listed(env.Getenv), Variable: c.StoreEnv, Store: c.Store}
		},
	}
}

// passed is the error of what is the word of a log or a record, and not used. How
// to allow it is told a person only: an agent that reads it would do it.
func passed(env *cli.Env, s *catalog.Session, err error) error {
	err = cli.Fail(cli.No, err)
	if term.IsTerminal(env.Stderr) {
		return cli.WithHint(err, "if it is an account of yours, list its folder: accounts = [\"…\"] under [agents.%s] in ~/.config/gt/agents.toml", clientName(s))
	}
	return err
}

// clientName is the session's client. Where the log does not say, it is Claude
// Code: so it is with Gas Town's events.
func clientName(s *catalog.Session) string { return cmp.Or(s.Agent, contract.Default) }

// accountOf is the client's folder that the session's conversation lies in; empty
// where that is not known. One that is not the person's own is an error, unless
// the client would take it by what the person's environment says.
func accountOf(own account.Own, client agent.Client, s *catalog.Session) (string, error) {
	switch {
	case s.Store != "" && client.Account(own.Getenv, s.Store) == "":
		return s.Store, nil
	case s.Store != "":
		return s.Store, storesOf(own, s).Account(clientName(s), s.Store)
	}
	store, _, err := storesOf(own, s).File(clientName(s), s.Transcript)
	if err != nil && !there(s.Transcript) {
		return "", nil
	}
	return store, err
}

// there reports whether a log's word for a conversation names anything at all on
// this machine.
func there(path string) bool {
	_, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil
}

// storesOf takes the session's folder for a project, besides.
func storesOf(own account.Own, s *catalog.Session) account.Own {
	if filepath.IsAbs(s.CWD) {
		own.Projects = append([]string{git.Top(s.CWD)}, own.Projects...)
	}
	return own
}
