package hook

import (
	"encoding/json"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/client/contract"
	"gt/lib/place"
)

func accounts(getenv func(string) string) iter.Seq[contract.Place] {
	return func(yield func(contract.Place) bool) {
		for p := range contract.Accounts(getenv, storeVar, []string{".claude", ".claude-*", ".claude_*", ".claude-accounts/*", ".config/claude*"}, conversations) {
			if !yield(p) {
				return
			}
		}
		for _, dir := range inTowns(getenv) {
			if !yield(contract.Place{Dir: dir, By: contract.Found, Folders: []string{conversations}}) {
				return
			}
		}
	}
}

const conversations = "projects"

const accountsFile = "mayor/accounts.json"

// inTowns returns the accounts that the person's towns list, as the person trusted them.
func inTowns(getenv func(string) string) (dirs []string) {
	towns, _ := place.StateOf(getenv).Towns() // ignores unreadable towns
	for _, t := range towns {
		data, err := t.Read(accountsFile)
		if err != nil {
			continue
		}
		var list struct {
			Accounts map[string]struct {
				Dir string `json:"config_dir"`
			} `json:"accounts"`
		}
		if json.Unmarshal(data, &list) != nil {
			continue
		}
		for _, account := range list.Accounts {
			dir := account.Dir
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = filepath.Join(getenv("HOME"), below)
			}
			if filepath.IsAbs(dir) && !place.Inside(place.Real(dir), place.Real(t.Path)) {
				dirs = append(dirs, filepath.Clean(dir))
			}
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
