package contract

import (
	"iter"
	"path/filepath"
	"strings"
)

// Origin tells who says that a client keeps something in a place.
type Origin int

// Who can say so.
const (
	Usual  Origin = iota // the client, of the home folder
	Listed               // the person, in a list of gt's
	Named                // a variable of the environment
	Found                // its name, of a folder beside the usual one
)

// Place is a folder in which a client keeps what is its own: an account.
type Place struct {
	Dir     string
	By      Origin
	Folders []string // in which of its folders the conversations are; "." is itself
}

// Accounts are the places where a client keeps what is its own: the folder that
// its variable names, and those of the home folder, each a pattern, since people
// keep other accounts beside the usual one. They come one by one, for the last
// take a listing of the home folder.
func Accounts(getenv func(string) string, variable string, patterns []string, folders ...string) iter.Seq[Place] {
	return func(yield func(Place) bool) {
		if dir := getenv(variable); dir != "" && !yield(Place{dir, Named, folders}) {
			return
		}
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return
		}
		for _, pattern := range patterns {
			if !strings.Contains(pattern, "*") {
				if !yield(Place{filepath.Join(home, pattern), Usual, folders}) {
					return
				}
				continue
			}
			others, _ := filepath.Glob(filepath.Join(escape(home), pattern))
			for _, dir := range others {
				if !yield(Place{dir, Found, folders}) {
					return
				}
			}
		}
	}
}

// escape makes a path that filepath.Glob takes as it is.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
