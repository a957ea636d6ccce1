// Package rig reads the rigs of a town. Hooks do without it, and link no TOML parser.
package rig

import (
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
	if t.Personal {
		return prefixes, nil
	}
	var file struct {
		Rigs map[string]struct {
			Beads struct {
				Prefix string `json:"prefix"`
			} `json:"beads"`
		} `json:"rigs"`
	}
	path := filepath.Join(t.Root, "mayor", "rigs.json") // not trusted; it only names sessions
	if err := atomicfile.ReadJSON(path, atomicfile.MaxSize, &file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for rig, r := range file.Rigs {
		if r.Beads.Prefix != "" {
			prefixes[rig] = r.Beads.Prefix
		}
	}
	own, err := readSettings(t)
	if err != nil {
		return nil, err
	}
	for rig, r := range own {
		if r.Prefix != "" {
			prefixes[rig] = r.Prefix
		}
	}
	return prefixes, nil
}

type rigSetting struct {
	Prefix      string `toml:"prefix"`
	Status      string `toml:"status"`
	MaxPolecats int    `toml:"max_polecats"`
}

// readSettings reads what the town's town.toml says about its rigs, by their names.
func readSettings(t town.Town) (map[string]rigSetting, error) {
	data, err := atomicfile.IfExists(t.Read("town.toml"))
	if err != nil {
		return nil, err
	}
	var file struct {
		Rigs map[string]rigSetting `toml:"rigs"`
	}
	if err := toml.Unmarshal(data, &file); err != nil {
		return nil, atomicfile.Error("read", filepath.Join(t.Root, "town.toml"), err)
	}
	return file.Rigs, nil
}

// readWisp returns Gas Town's temporary settings of a rig. They only keep agents from starting.
func readWisp(t town.Town, rig string) (map[string]any, error) {
	path := filepath.Join(t.Root, ".beads-wisp", "config", rig+".json")
	var file struct {
		Values map[string]any `json:"values"`
	}
	if err := atomicfile.ReadJSON(path, atomicfile.MaxSize, &file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return file.Values, nil
}

// ParkedStatus returns "parked" or "docked" if Gas Town or town.toml says so, and "" otherwise:
//
//	[rigs.gastown]
//	status = "parked"
func ParkedStatus(t town.Town, rig string) (string, error) {
	is := func(status string) bool { return status == "parked" || status == "docked" }
	if t.Personal || rig == "" {
		return "", nil
	}
	values, err := readWisp(t, rig)
	if status, _ := values["status"].(string); err != nil || is(status) {
		return status, err
	}
	own, err := readSettings(t)
	if status := own[rig].Status; err == nil && is(status) {
		return status, nil
	}
	return "", err
}

// MaxPolecats returns how many polecats of a rig may run at once, the lower limit of
// town.toml and Gas Town; 0 for no limit:
//
//	[rigs.gastown]
//	max_polecats = 4
func MaxPolecats(t town.Town, rig string) (int, error) {
	if t.Personal || rig == "" {
		return 0, nil
	}
	values, err := readWisp(t, rig)
	if err != nil {
		return 0, err
	}
	own, err := readSettings(t)
	if err != nil {
		return 0, err
	}
	most := max(0, own[rig].MaxPolecats)
	if n, _ := values["max_polecats"].(float64); n >= 1 && (most == 0 || int(n) < most) {
		most = int(n)
	}
	return most, nil
}
