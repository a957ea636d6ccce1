// Package crew finds an agent of a town by a short name: crew, crew/max or max.
package crew

import (
	"fmt"
	"path/filepath"
	"strings"

	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
)

type Ambiguous struct {
	Name  string
	Among []string // addresses
}

func (a *Ambiguous) Error() string {
	return fmt.Sprintf("'%s' means %d agents: %s", a.Name, len(a.Among), strings.Join(a.Among, ", "))
}

// Find returns the agent that a short name means: the crew's only member, a member, or any
// agent of that name. Those of the asker's rig come first. An agent is in the town if it
// has a folder. It returns false if there is none.
func Find(t town.Town, own identity.Identity, name string) (identity.Identity, bool, error) {
	name = strings.TrimSuffix(name, "/")
	kind, member, ok := strings.Cut(name, "/")
	switch {
	case t.Personal, name == "", ok && (kind != "crew" && kind != "polecats" || strings.Contains(member, "/")):
		return identity.Identity{}, false, nil
	case !ok && name != "crew":
		kind, member = "", name
	}
	var found, ours []identity.Identity
	rigs, _ := atomicfile.Folders(t.Root)
	for _, rig := range rigs {
		for _, k := range []string{"crew", "polecats"} {
			if kind != "" && k != kind {
				continue
			}
			members, _ := atomicfile.Folders(filepath.Join(t.Root, rig, k))
			for _, who := range members {
				id, err := identity.Parse(rig + "/" + k + "/" + who)
				if err != nil || member != "" && who != member {
					continue
				}
				found = append(found, id)
				if rig == own.Rig {
					ours = append(ours, id)
				}
			}
		}
	}
	if len(ours) > 0 {
		found = ours
	}
	switch len(found) {
	case 0:
		return identity.Identity{}, false, nil
	case 1:
		return found[0], true, nil
	}
	many := &Ambiguous{Name: name}
	for _, id := range found {
		many.Among = append(many.Among, id.Address())
	}
	return identity.Identity{}, false, many
}
