package session

import (
	"path/filepath"

	"gt/lib/home"
)

// Lookup returns the record of a session that works, or worked, in dir; nil
// where there is none that can be read.
func Lookup(dir string, id ID) *Record {
	if !filepath.IsAbs(dir) {
		return nil
	}
	r, err := Store{Home: home.Home{Dir: dir}}.Get(id)
	if err != nil {
		return nil // what cannot be read says nothing
	}
	return r
}
