// Package hook describes OpenCode to the hooks.
package hook

import (
	"cmp"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/sys/atomicfile"
)

// Client is OpenCode. Our plugin runs the hooks, so the input is Claude Code's and the
// answer has no limit.
var Client = contract.Client{
	Client:           &names.OpenCode,
	Accounts:         accounts,
	HasConversations: holds,
	Dialect: contract.Dialect{
		MaxContext: 10000, Shape: contract.Plain, Compaction: true, SharedServer: &server,
		Headless: func(r contract.Run) bool { return subcommand(r) == "run" },
	},
}

func subcommand(r contract.Run) string {
	return r.Subcommand("--log-level", "-m", "--model", "--agent", "--port", "--hostname", "--mdns-domain", "--cors")
}

// server is "opencode serve" or "opencode web", which runs the plugins; "opencode attach URL" is
// a window of it.
var server = contract.SharedServer{
	Program: "opencode",
	Var:     "OPENCODE",
	IsServer: func(args []string) bool {
		word := subcommand(contract.Run{Args: args})
		return word == "serve" || word == "web"
	},
	IsWindow: func(args []string) bool { return subcommand(contract.Run{Args: args}) == "attach" },
	Address: func(args []string) string {
		words := (contract.Run{Args: args}).Words()
		i := slices.IndexFunc(words, func(word string) bool { return strings.Contains(word, "://") })
		if i < 0 {
			return ""
		}
		return words[i]
	},
	Dir: contract.DirFlag("--dir", "--dir"),
	AccountFolder: func(getenv func(string) string) string {
		return filepath.Join(cmp.Or(getenv("XDG_DATA_HOME"), filepath.Join(getenv("HOME"), ".local", "share")), "opencode")
	},
}

// accounts returns the folders that can have OpenCode's database. OPENCODE_DB names a file, whose
// folder it takes.
func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	itself := []string{"."}
	places := []contract.Place{
		{Dir: filepath.Join(getenv("XDG_DATA_HOME"), "opencode"), By: contract.Named, Folders: itself},
		{Dir: filepath.Join(getenv("HOME"), ".local", "share", "opencode"), By: contract.Usual, Folders: itself},
	}
	if db := getenv(names.OpenCodeDatabase); strings.HasSuffix(db, ".db") {
		places = append(places, contract.Place{Dir: filepath.Dir(db), By: contract.Named, Folders: itself})
	}
	return contract.OnlyAbsolute(places...)
}

// holds reports whether OpenCode's data folder has a database, or the files of older versions. One
// that cannot be read does: its reader returns the error. macOS puts "._" files beside others.
func holds(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "storage", "session")); err == nil || !atomicfile.IsAbsent(err) {
		return true
	}
	entries, err := os.ReadDir(dir)
	return err != nil && !atomicfile.IsAbsent(err) || slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasSuffix(e.Name(), ".db") && !strings.HasPrefix(e.Name(), "._")
	})
}
