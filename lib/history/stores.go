package history

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// accounts are the places where a client keeps what is its own: the folder that
// its variable names, and those of the home folder, each a pattern, since people
// keep other accounts beside the usual one.
func accounts(getenv func(string) string, variable string, patterns ...string) []string {
	var places []string
	if dir := getenv(variable); dir != "" {
		places = append(places, dir)
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		for _, pattern := range patterns {
			if !strings.Contains(pattern, "*") {
				places = append(places, filepath.Join(home, pattern))
				continue
			}
			others, _ := filepath.Glob(filepath.Join(escape(home), pattern))
			places = append(places, others...)
		}
	}
	return places
}

// escape makes a path that filepath.Glob takes as it is.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// stores returns those of the places that have a folder of one of these names in
// them, each once, whatever links lead to it.
func stores(places []string, folders ...string) []string {
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

// holding returns the places that have that folder.
func holding(places []string, folder string) []string {
	var found, real []string
	for _, place := range places {
		target, err := filepath.EvalSymlinks(filepath.Join(place, folder))
		if err != nil && !absent(err) {
			target = filepath.Join(place, folder) // Find says why it cannot be read
		} else if err != nil {
			continue
		}
		if slices.Contains(real, target) {
			continue
		}
		if info, err := os.Stat(target); err == nil && info.IsDir() || err != nil && !absent(err) {
			found, real = append(found, filepath.Clean(place)), append(real, target)
		}
	}
	return found
}
