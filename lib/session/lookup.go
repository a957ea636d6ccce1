package session

import (
	"path/filepath"

	"gt/lib/git"
	"gt/lib/home"
)

// Lookup returns the record of a session that works, or worked, in dir; nil
// where there is none. It lies in the session's home, which is dir or a folder
// above it, up to the top of the worktree. An error says that nobody knows what
// it holds.
func Lookup(dir string, id ID) (*Record, error) {
	if !filepath.IsAbs(dir) {
		return nil, nil
	}
	dir = filepath.Clean(dir)
	for top := git.Top(dir); ; dir = filepath.Dir(dir) {
		if r, err := (Store{Home: home.Home{Dir: dir}}).Get(id); r != nil || err != nil || dir == top {
			return r, err
		}
	}
}
