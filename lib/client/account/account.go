package account

import (
	"iter"
	"os"
	"path/filepath"
	"slices"

	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/sys/atomicfile"
)

// Place is a client's own folder: an account.
type Place = contract.Place

// Places returns the accounts that a client can have. It returns none if gt cannot read
// the client's files.
func Places(client string, getenv func(string) string) iter.Seq[Place] {
	if c := registry.Of(client); c != nil && c.Accounts != nil {
		return c.Accounts(getenv)
	}
	return func(func(Place) bool) {}
}

func Dirs(places iter.Seq[Place]) []string {
	var all []string
	for p := range places {
		all = append(all, p.Dir)
	}
	return all
}

// Stores returns the places that have one of these folders, each once even if several
// links lead to it.
func Stores(places []string, folders ...string) []string {
	var all []string
	for _, folder := range folders {
		for _, place := range holding(places, folder) {
			if !slices.Contains(all, place) {
				all = append(all, place)
			}
		}
	}
	return all
}

func holding(places []string, folder string) []string {
	var found, real []string
	for _, place := range places {
		target, err := filepath.EvalSymlinks(filepath.Join(place, folder))
		if err != nil && !atomicfile.Absent(err) {
			target = filepath.Join(place, folder) // Find returns the error
		} else if err != nil {
			continue
		}
		if slices.Contains(real, target) {
			continue
		}
		if info, err := os.Stat(target); err == nil && info.IsDir() || err != nil && !atomicfile.Absent(err) {
			found, real = append(found, filepath.Clean(place)), append(real, target)
		}
	}
	return found
}
