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

// newStoreGuard returns what decides which files of a client's store may be read here.
func newStoreGuard(env *cli.Env) account.StoreGuard {
	return newStoreGuardWith(env, sync.OnceValue(func() *agent.Table { return agents(env) }))
}

// newStoreGuardWith returns a guard that uses the caller's table of agents.
func newStoreGuardWith(env *cli.Env, table func() *agent.Table) account.StoreGuard {
	return account.StoreGuard{
		Getenv:   env.Getenv,
		Projects: []string{git.Top(env.Dir)},
		Known: func(client string) account.TableAccounts {
			c := table().FindClient(client)
			return account.TableAccounts{Accounts: c.ListedAccounts(env.Getenv("HOME")), Variable: c.StoreEnv, Store: c.Store}
		},
	}
}

// foreignStoreError turns err, which refuses a path that only a log or a record names, into the
// command's error. Only on a terminal it hints how to allow the path: an agent would follow that.
func foreignStoreError(env *cli.Env, s *catalog.Session, err error) error {
	err = cli.Fail(cli.AnswerNo, err)
	if term.IsTerminal(env.Stderr) {
		return cli.WithHint(err, "if it is an account of yours, list its folder: accounts = [\"…\"] under [agents.%s] in ~/.config/gt/agents.toml", clientName(s))
	}
	return err
}

// clientName returns the session's client. Gas Town's events do not name one and are Claude Code's.
func clientName(s *catalog.Session) string { return cmp.Or(s.Agent, contract.Default) }

// accountOf returns the client's folder with the session's conversation, "" if unknown. It
// fails if the folder is not the person's own, unless the client would use it by default in
// the person's environment.
func accountOf(guard account.StoreGuard, client agent.Client, s *catalog.Session) (string, error) {
	switch {
	case s.Store != "" && client.AccountChange(guard.Getenv, s.Store) == "":
		return s.Store, nil // the client would use it here
	case s.Store != "":
		return s.Store, storesOf(guard, s).CheckAccount(clientName(s), s.Store)
	}
	store, _, err := storesOf(guard, s).FindAccount(clientName(s), s.Transcript)
	if err != nil && !pathExists(s.Transcript) {
		return "", nil
	}
	return store, err
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil
}

// storesOf returns the guard with the session's folder as a further project: a store inside a
// project is not the person's, so its files are refused.
func storesOf(guard account.StoreGuard, s *catalog.Session) account.StoreGuard {
	if filepath.IsAbs(s.CWD) && !s.IsForeign() {
		guard.Projects = append([]string{git.Top(s.CWD)}, guard.Projects...)
	}
	return guard
}
