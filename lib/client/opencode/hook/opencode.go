// Package hook describes OpenCode to the hooks.
package hook

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/contract"
)

// Client is OpenCode. Our plugin runs the hooks, so the input is Claude Code's and the
// answer has no limit.
var Client = contract.Client{
	Name:      Name,
	Processes: processes,
	StoreVars: []string{"OPENCODE_CONFIG_DIR", databaseVar},
	Accounts:  accounts,
	Dialect:   contract.Dialect{MaxContext: maxContext, Shape: contract.Plain, Compaction: true, Headless: headless},
}

func headless(r contract.Run) bool {
	return r.Subcommand("--log-level", "-m", "--model", "--agent") == "run"
}

// databaseVar names another database.
const databaseVar = "OPENCODE_DB"

func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	var places []contract.Place
	itself := []string{"."}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		places = append(places, contract.Place{Dir: filepath.Join(dir, "opencode"), By: contract.Named, Folders: itself})
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		places = append(places, contract.Place{Dir: filepath.Join(home, ".local", "share", "opencode"), By: contract.Usual, Folders: itself})
	}
	if db := getenv(databaseVar); filepath.IsAbs(db) && strings.HasSuffix(db, ".db") {
		places = append(places, contract.Place{Dir: filepath.Dir(db), By: contract.Named, Folders: itself})
	}
	return slices.Values(places)
}
