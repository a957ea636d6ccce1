package contract

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"
)

// Origin says how gt knows a Place.
type Origin int

const (
	Usual  Origin = iota // the client's folder in the home folder
	Listed               // the person listed it in gt's settings
	Named                // a variable of the environment names it
	Found                // its name matches, beside the usual folder
)

// Place is a client's own folder: an account.
type Place struct {
	Dir     string
	By      Origin
	Folders []string // the subfolders that have the conversations; "." is Dir itself

	// Sessions is the folder that the person chose for the account's new conversations, or "".
	Sessions string
}

// Accounts returns a function for Client.Accounts: the folder that the client's variable
// names, and those of the home folder that match a pattern, because people keep other
// accounts beside the usual folder. It is a sequence, because finding the last ones needs a
// listing of the home folder.
func Accounts(variable string, patterns []string, folders ...string) func(getenv func(string) string) iter.Seq[Place] {
	return func(getenv func(string) string) iter.Seq[Place] {
		return func(yield func(Place) bool) {
			if dir := getenv(variable); dir != "" && !yield(Place{Dir: dir, By: Named, Folders: folders}) {
				return
			}
			home := getenv("HOME")
			if !filepath.IsAbs(home) {
				return
			}
			for _, pattern := range patterns {
				origin, dirs := Usual, []string{filepath.Join(home, pattern)}
				if strings.Contains(pattern, "*") {
					origin = Found
					dirs, _ = filepath.Glob(filepath.Join(escape(home), pattern))
				}
				for _, dir := range dirs {
					if !yield(Place{Dir: dir, By: origin, Folders: folders}) {
						return
					}
				}
			}
		}
	}
}

// OnlyAbsolute yields the places whose folder is absolute: one made of an unset variable is not.
func OnlyAbsolute(places ...Place) iter.Seq[Place] {
	return slices.Values(slices.DeleteFunc(places, func(p Place) bool { return !filepath.IsAbs(p.Dir) }))
}

func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
