// Package hook describes pi to the hooks.
package hook

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/client/contract"
	"gt/lib/client/names"
	"gt/lib/sys/atomicfile"
)

// Client is pi. Our extension runs the hooks, so the input is Claude Code's and the
// answer has no limit.
var Client = contract.Client{
	Client:   &names.Pi,
	Accounts: accounts,
	// pi overwrites its arguments, so the extension tells whether a person sees the run.
	Fields:  []contract.FieldName{{Name: "headless", Field: contract.Headless}},
	Dialect: contract.Dialect{MaxContext: 10000, Shape: contract.Plain, Compaction: true},
}

// accounts yields pi's account folders, and the folders that the person chose for sessions alone.
func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	home := getenv("HOME")
	path := func(name string) string {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		return name
	}
	places := []contract.Place{
		{Dir: path(getenv(names.PiDir)), By: contract.Named, Folders: []string{"sessions"}},
		{Dir: path("~/.pi/agent"), By: contract.Usual, Folders: []string{"sessions"}},
	}
	chosen := []contract.Place{{Dir: path(getenv(names.PiSessions)), By: contract.Named, Folders: []string{"."}}}
	for _, p := range places {
		if !filepath.IsAbs(p.Dir) {
			continue // or the working directory's file, a project's, would be read
		}
		if data, err := atomicfile.Read(filepath.Join(p.Dir, "settings.json"), 1<<20); err == nil {
			chosen = append(chosen, contract.Place{Dir: path(gjson.GetBytes(data, "sessionDir").Str), By: p.By, Folders: []string{"."}})
		}
	}
	places = slices.Collect(contract.OnlyAbsolute(append(places, chosen...)...))
	// New sessions go into the first chosen folder. The usual account's settings do not count while
	// the variable names another account.
	for _, p := range chosen {
		if filepath.IsAbs(p.Dir) && (p.By == contract.Named || places[0].By != contract.Named) {
			places[0].Sessions = p.Dir
			break
		}
	}
	return slices.Values(places)
}
