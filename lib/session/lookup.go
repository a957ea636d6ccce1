package session

import (
	"path/filepath"

	"gt/lib/home"
)

// Lookup returns the record of a session that works, or worked, in dir; nil
// where there is none. An error says that nobody knows what it holds.
func Lookup(dir string, id ID) (*Record, error) {
	if !filepath.IsAbs(dir) {
		return nil, nil
	}
	return Store{Home: home.Home{Dir: dir}}.Get(id)
}
