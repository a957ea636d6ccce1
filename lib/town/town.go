// Package town finds the folder that sessions share: where the event log, the
// PID files and the notes between agents are.
package town

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"gt/lib/atomicfile"
	"gt/lib/identity"
)

// Town is the folder that sessions share.
type Town struct {
	Root string
	// Personal says that it is the user's own, outside any project: it has
	// no roles, and notes stay in each home.
	Personal bool
}

// Find returns the town of dir, the first that holds: GT_ROOT, else
// GT_TOWN_ROOT, where it names a folder; the nearest folder at or above dir
// with town.toml or Gas Town's mayor/town.json; the personal town
// $XDG_STATE_HOME/gt (~/.local/state/gt, and without a HOME a folder of the
// user's in the temporary folder). The folder of a personal town may
// not exist yet.
func Find(getenv func(string) string, dir string) Town {
	for _, key := range []string{"GT_ROOT", "GT_TOWN_ROOT"} {
		if root := getenv(key); root != "" {
			if info, err := os.Stat(root); err == nil && info.IsDir() && filepath.IsAbs(root) {
				return Town{Root: filepath.Clean(root)}
			}
		}
	}
	for d := dir; ; d = filepath.Dir(d) {
		if isFile(filepath.Join(d, "town.toml")) || isFile(filepath.Join(d, "mayor", "town.json")) {
			return Town{Root: d}
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if home == "" {
			// A service without a home still has a thread to keep.
			return Town{Root: filepath.Join(os.TempDir(), fmt.Sprintf("gt-%d", os.Getuid())), Personal: true}
		}
		state = filepath.Join(home, ".local", "state")
	}
	return Town{Root: filepath.Join(state, "gt"), Personal: true}
}

// Events is the path of the event log.
func (t Town) Events() string { return filepath.Join(t.Root, ".events.jsonl") }

// Pids is the folder of the PID files.
func (t Town) Pids() string { return filepath.Join(t.Root, ".runtime", "pids") }

// Prefixes reads which prefix the sessions of each rig have: from town.toml
//
//	[rigs.gastown]
//	prefix = "gt"
//
// and from Gas Town's mayor/rigs.json. A town without either has none.
func (t Town) Prefixes() (identity.Prefixes, error) {
	prefixes := identity.Prefixes{}
	path := filepath.Join(t.Root, "mayor", "rigs.json")
	data, err := atomicfile.Read(path, atomicfile.MaxSize)
	if err == nil {
		var file struct {
			Rigs map[string]struct {
				Beads struct {
					Prefix string `json:"prefix"`
				} `json:"beads"`
			} `json:"rigs"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			return nil, atomicfile.Error("read", path, err)
		}
		for rig, r := range file.Rigs {
			if r.Beads.Prefix != "" {
				prefixes[rig] = r.Beads.Prefix
			}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	path = filepath.Join(t.Root, "town.toml")
	data, err = atomicfile.Read(path, atomicfile.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return prefixes, nil
	} else if err != nil {
		return nil, err
	}
	var file struct {
		Rigs map[string]struct {
			Prefix string `toml:"prefix"`
		} `toml:"rigs"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, atomicfile.Error("read", path, err)
	}
	for rig, r := range file.Rigs {
		if r.Prefix != "" {
			prefixes[rig] = r.Prefix
		}
	}
	return prefixes, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
