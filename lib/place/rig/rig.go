// Package rig reads the rigs of a town. It is separate from package town so that the
// hooks, which do not need it, do not link a TOML parser.
package rig

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
)

// Prefixes returns the session prefix of each rig. It reads Gas Town's mayor/rigs.json
// and then town.toml, which wins:
//
//	[rigs.gastown]
//	prefix = "gt"
//
// It returns no prefixes for a town without either file.
func Prefixes(t town.Town) (identity.Prefixes, error) {
	prefixes := identity.Prefixes{}
	path := filepath.Join(t.Root, "mayor", "rigs.json")
	data, err := atomicfile.Read(path, atomicfile.MaxSize) // not trusted: it only names sessions
	if t.Personal {
		err = fs.ErrNotExist
	}
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
	data, err = t.Read("town.toml")
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

// Parked returns "parked" or "docked" where a rig is, as Gas Town keeps it or town.toml
// has it, and "" otherwise:
//
//	[rigs.gastown]
//	status = "parked"
func Parked(t town.Town, rig string) (string, error) {
	is := func(status string) bool { return status == "parked" || status == "docked" }
	if t.Personal || rig == "" {
		return "", nil
	}
	path := filepath.Join(t.Root, ".beads-wisp", "config", rig+".json")
	data, err := atomicfile.Read(path, atomicfile.MaxSize) // not trusted: it only keeps agents from starting
	if err == nil {
		var file struct {
			Values map[string]any `json:"values"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			return "", atomicfile.Error("read", path, err)
		}
		if status, _ := file.Values["status"].(string); is(status) {
			return status, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	data, err = t.Read("town.toml")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	var file struct {
		Rigs map[string]struct {
			Status string `toml:"status"`
		} `toml:"rigs"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return "", atomicfile.Error("read", filepath.Join(t.Root, "town.toml"), err)
	}
	if status := file.Rigs[rig].Status; is(status) {
		return status, nil
	}
	return "", nil
}
