package mailcmd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/cli"
	"gt/lib/place/home"
	"gt/lib/place/identity"
	"gt/lib/place/rig"
	"gt/lib/state/instance"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/spelling"
)

// checkAddress returns an error with the nearest address for one in the town of a rig or
// worker that the town does not have. A worker is there if it has a folder, or a place in
// gt-session. Anything but an address is somebody else's to judge.
func checkAddress(from home.Home, to string) error {
	t := from.Town
	id, err := identity.Parse(to)
	if t.Personal || err != nil || id.Role == "" || id.Rig == "" || id == from.Identity {
		return nil
	}
	place := id.Rig
	if id.Role == identity.Crew || id.Role == identity.Polecat {
		place = id.Dir()
	}
	if info, err := os.Stat(filepath.Join(t.Root, filepath.FromSlash(place))); err == nil && info.IsDir() {
		return nil
	}
	prefixes, err := rig.Prefixes(t)
	if _, ok := prefixes[id.Rig]; err != nil || ok && place == id.Rig {
		return nil // what the town does not tell cannot be wrong
	}
	rigs, _ := atomicfile.Folders(t.Root)
	rigs = slices.Compact(slices.Sorted(slices.Values(slices.AppendSeq(rigs, maps.Keys(prefixes)))))
	var all []string
	for _, r := range rigs {
		for _, role := range []identity.Role{identity.Witness, identity.Refinery} {
			all = append(all, identity.Identity{Role: role, Rig: r}.Address())
		}
		for _, kind := range []string{"crew", "polecats"} {
			members, _ := atomicfile.Folders(filepath.Join(t.Root, r, kind)) // a rig can have none
			for _, name := range members {
				all = append(all, r+"/"+kind+"/"+name)
			}
		}
	}
	placed, err := instance.OfTown(t.State, t.Root).All()
	if err != nil {
		return err
	}
	for _, in := range placed {
		all = append(all, in.Role)
	}
	if slices.Contains(all, id.Address()) {
		return nil
	}
	err = fmt.Errorf("this town has no agent '%s'", id.Address())
	if near := spelling.Near(id.Address(), all); len(near) > 0 {
		return cli.Fail(cli.No, err, "did you mean "+strings.Join(near, " or ")+"?")
	}
	return cli.Fail(cli.No, err, "gt-session new --role ADDRESS --no-start makes the place of a worker")
}
