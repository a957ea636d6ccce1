package account

import (
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// origin tells who says that a client keeps something in a place.
type origin int

const (
	usual  origin = iota // the client, of the home folder
	listed               // the person, in a list of gt's
	named                // a variable of the environment
	found                // its name, of a folder beside the usual one
)

// Place is a folder in which a client keeps what is its own: an account.
type Place struct {
	Dir     string
	by      origin
	Folders []string // in which of its folders the conversations are; "." is itself
}

// accounts are the places where a client keeps what is its own: the folder that
// its variable names, and those of the home folder, each a pattern, since people
// keep other accounts beside the usual one. They come one by one, for the last
// take a listing of the home folder.
func accounts(getenv func(string) string, variable string, patterns []string, folders ...string) iter.Seq[Place] {
	return func(yield func(Place) bool) {
		if dir := getenv(variable); dir != "" && !yield(Place{dir, named, folders}) {
			return
		}
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return
		}
		for _, pattern := range patterns {
			if !strings.Contains(pattern, "*") {
				if !yield(Place{filepath.Join(home, pattern), usual, folders}) {
					return
				}
				continue
			}
			others, _ := filepath.Glob(filepath.Join(escape(home), pattern))
			for _, dir := range others {
				if !yield(Place{dir, found, folders}) {
					return
				}
			}
		}
	}
}

// clients are those whose places are known.
var clients = []string{"claude", "codex", "copilot", "gemini", "qwen", "opencode", "pi"}

// Places are the accounts that a client can have, none of one that gt cannot
// read.
func Places(client string, getenv func(string) string) iter.Seq[Place] {
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
	return func(func(Place) bool) {}
}

// Dirs are the folders of places.
func Dirs(places iter.Seq[Place]) []string {
	var all []string
	for p := range places {
		all = append(all, p.Dir)
	}
	return all
}

// escape makes a path that filepath.Glob takes as it is.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// Stores returns those of the places that have a folder of one of these names in
// them, each once, whatever links lead to it.
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

// holding returns the places that have that folder.
func holding(places []string, folder string) []string {
	var found, real []string
	for _, place := range places {
		target, err := filepath.EvalSymlinks(filepath.Join(place, folder))
		if err != nil && !atomicfile.Absent(err) {
			target = filepath.Join(place, folder) // Find says why it cannot be read
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

func geminiPlaces(getenv func(string) string) iter.Seq[Place] {
	var places []Place
	if home := getenv("GEMINI_CLI_HOME"); filepath.IsAbs(home) {
		places = append(places, Place{filepath.Join(home, ".gemini"), named, []string{"tmp"}})
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		places = append(places, Place{filepath.Join(home, ".gemini"), usual, []string{"tmp"}})
	}
	return slices.Values(places)
}

func qwenPlaces(getenv func(string) string) iter.Seq[Place] {
	var places []Place
	for _, name := range []string{"QWEN_RUNTIME_DIR", "QWEN_HOME"} {
		if dir := getenv(name); filepath.IsAbs(dir) {
			places = append(places, Place{dir, named, QwenFolders})
		}
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		places = append(places, Place{filepath.Join(home, ".qwen"), usual, QwenFolders})
	}
	return slices.Values(places)
}

func opencodePlaces(getenv func(string) string) iter.Seq[Place] {
	var places []Place
	itself := []string{"."}
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		places = append(places, Place{filepath.Join(dir, "opencode"), named, itself})
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		places = append(places, Place{filepath.Join(home, ".local", "share", "opencode"), usual, itself})
	}
	if db := getenv("OPENCODE_DB"); filepath.IsAbs(db) && strings.HasSuffix(db, ".db") {
		places = append(places, Place{filepath.Dir(db), named, itself})
	}
	return slices.Values(places)
}

func piPlaces(getenv func(string) string) iter.Seq[Place] {
	home := getenv("HOME")
	path := func(name string) string {
		if rest, ok := strings.CutPrefix(name, "~/"); ok {
			name = filepath.Join(home, rest)
		}
		if !filepath.IsAbs(name) {
			return ""
		}
		return name
	}
	places := []Place{
		{path(getenv("PI_CODING_AGENT_DIR")), named, []string{"sessions"}},
		{path("~/.pi/agent"), usual, []string{"sessions"}},
	}
	chosen := []Place{{path(getenv("PI_CODING_AGENT_SESSION_DIR")), named, []string{"."}}}
	for _, p := range places {
		if data, err := atomicfile.Read(filepath.Join(p.Dir, "settings.json"), 1<<20); err == nil && p.Dir != "" {
			chosen = append(chosen, Place{path(gjson.GetBytes(data, "sessionDir").Str), p.by, []string{"."}})
		}
	}
	return slices.Values(slices.DeleteFunc(append(places, chosen...), func(p Place) bool { return p.Dir == "" }))
}

// QwenFolders are the folders of Qwen Code's in which conversations are.
var QwenFolders = []string{"projects", "tmp"}
