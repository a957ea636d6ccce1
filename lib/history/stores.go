package history

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// origin tells who says that a client keeps something in a place.
type origin int

const (
	usual  origin = iota // the client, of the home folder
	listed               // the person, in a list of gt's
	named                // a variable of the environment
	found                // its name, of a folder beside the usual one
)

// account is a folder in which a client keeps what is its own.
type account struct {
	dir     string
	by      origin
	folders []string // in which of its folders the conversations are; "." is itself
}

// accounts are the places where a client keeps what is its own: the folder that
// its variable names, and those of the home folder, each a pattern, since people
// keep other accounts beside the usual one. They come one by one, for the last
// take a listing of the home folder.
func accounts(getenv func(string) string, variable string, patterns []string, folders ...string) iter.Seq[account] {
	return func(yield func(account) bool) {
		if dir := getenv(variable); dir != "" && !yield(account{dir, named, folders}) {
			return
		}
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return
		}
		for _, pattern := range patterns {
			if !strings.Contains(pattern, "*") {
				if !yield(account{filepath.Join(home, pattern), usual, folders}) {
					return
				}
				continue
			}
			others, _ := filepath.Glob(filepath.Join(escape(home), pattern))
			for _, dir := range others {
				if !yield(account{dir, found, folders}) {
					return
				}
			}
		}
	}
}

// placesOf are the accounts that a client can have, none of one that gt cannot
// read.
func placesOf(client string, getenv func(string) string) iter.Seq[account] {
	switch client {
	case "claude":
		return accounts(getenv, "CLAUDE_CONFIG_DIR", []string{".claude", ".claude-*", ".claude_*", ".claude-accounts/*", ".config/claude*"}, "projects")
	case "codex":
		return accounts(getenv, "CODEX_HOME", []string{".codex", ".codex-*", ".codex_*"}, "sessions", "archived_sessions")
	case "copilot":
		return accounts(getenv, "COPILOT_HOME", []string{".copilot", ".copilot-*", ".copilot_*"}, "session-state")
	case "gemini":
		return geminiPlaces(getenv)
	case "qwen":
		return qwenPlaces(getenv)
	case "opencode":
		return opencodePlaces(getenv)
	case "pi":
		return piPlaces(getenv)
	}
	return func(func(account) bool) {}
}

// dirs are the folders of places.
func dirs(places iter.Seq[account]) []string {
	var all []string
	for p := range places {
		all = append(all, p.dir)
	}
	return all
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
