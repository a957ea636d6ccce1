// Package town finds the folder that sessions share: where the event log, the
// PID files and the notes between agents are.
package town

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"gt/lib/atomicfile"
)

// Town is the folder that sessions share.
type Town struct {
	Root string
	// Personal says that it is the user's own, outside any project: it has
	// no roles, and notes stay in each home.
	Personal bool
	// Foreign is a file that would make a folder the town, were it ours (see
	// Find); empty where none was passed over.
	Foreign string
}

// Find returns the town of dir, the first that holds: GT_ROOT, else
// GT_TOWN_ROOT, where it names a folder; the nearest folder at or above dir
// with town.toml or Gas Town's mayor/town.json; the personal town
// $XDG_STATE_HOME/gt (~/.local/state/gt, and without a HOME a folder of the
// user's in the temporary folder). The folder of a personal town may
// not exist yet.
//
// A town.toml or town.json that another user than us and root could have
// written makes no town, or who can write to a folder above ours, such as
// /tmp, would read what we log and say what our agents are told. A variable
// is our own word, and is taken.
func Find(getenv func(string) string, dir string) Town {
	for _, key := range []string{"GT_ROOT", "GT_TOWN_ROOT"} {
		if root := getenv(key); root != "" {
			if info, err := os.Stat(root); err == nil && info.IsDir() && filepath.IsAbs(root) {
				return Town{Root: filepath.Clean(root)}
			}
		}
	}
	foreign := ""
	for d := dir; ; d = filepath.Dir(d) {
		switch is, other := at(d); {
		case is:
			return Town{Root: d, Foreign: foreign}
		case foreign == "":
			foreign = other
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	t := Personal(getenv)
	t.Foreign = foreign
	return t
}

// at says whether a folder is a town, and which file makes it none because
// another user could have written it.
func at(dir string) (is bool, foreign string) {
	for _, path := range []string{filepath.Join(dir, "town.toml"), filepath.Join(dir, "mayor", "town.json")} {
		info, err := os.Stat(path)
		switch {
		case err != nil || !info.Mode().IsRegular():
		case info.Mode().Perm()&0o002 == 0 && atomicfile.Own(path) == nil:
			return true, foreign
		case foreign == "":
			foreign = path
		}
	}
	return false, foreign
}

// Above returns the towns that folders are in, each once. A folder may be gone.
func Above(dirs iter.Seq[string]) []Town {
	var towns []Town
	seen := map[string]bool{}
	for dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for d := filepath.Clean(dir); !seen[d]; d = filepath.Dir(d) {
			seen[d] = true
			if is, _ := at(d); is {
				towns = append(towns, Town{Root: d})
				break
			}
		}
	}
	return towns
}

// Personal is the town of this user, of which every folder is that is in no
// other.
func Personal(getenv func(string) string) Town {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			// A service without a home still has a thread to keep.
			return Town{Root: filepath.Join(os.TempDir(), fmt.Sprintf("gt-%d", os.Getuid())), Personal: true}
		}
		state = filepath.Join(home, ".local", "state")
	}
	return Town{Root: filepath.Join(state, "gt"), Personal: true}
}

// Transcripts is the cache of what is known of the clients' own transcripts. It
// lies in a personal town, for it is of all folders of the user's.
func (t Town) Transcripts() string { return filepath.Join(t.Root, ".sessions", "transcripts.jsonl") }

// Events is the path of the event log.
func (t Town) Events() string { return filepath.Join(t.Root, ".events.jsonl") }

// Feed is the path of Gas Town's excerpt of the event log, for people to read.
func (t Town) Feed() string { return filepath.Join(t.Root, ".feed.jsonl") }

// Pids is the folder of the PID files.
func (t Town) Pids() string { return filepath.Join(t.Root, ".runtime", "pids") }
