package instance

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/text/fold"
	"gt/lib/text/openjson"
)

// Parse reads an exported instance; Import validates it. It takes only fields that a person could
// have set: a file from elsewhere must start nothing, and name no process, socket or worktree.
func Parse(data []byte) (*Instance, error) {
	from := new(Instance)
	_, err := openjson.Unmarshal(data, from)
	return &Instance{
		ID: from.ID, Name: from.Name, Title: from.Title, Path: from.Path, Group: from.Group, ParentID: from.ParentID,
		Agent: from.Agent, Args: from.Args, Launcher: from.Launcher, Account: from.Account, Theme: from.Theme, Remain: from.Remain, Respawn: from.Respawn,
		Role: from.Role, Topic: from.Topic, Desired: Stopped, SessionID: from.SessionID, SessionAt: from.SessionAt, ChainID: from.ChainID,
		ForkOf: from.ForkOf, Acknowledged: from.Acknowledged, LoadedMCPNames: from.LoadedMCPNames,
		CreatedAt: from.CreatedAt, UpdatedAt: from.UpdatedAt,
	}, err
}

// Imported is what a file of another store adds to this one.
type Imported struct {
	Instances []*Instance // with ids; Import names those without a name
	Groups    []Group
}

// Import adds instances and returns the added ones. It skips known ids, so that a repeated
// import completes a killed one. It adds nothing if anything is invalid. It syncs once.
func (s Store) Import(i Imported) (added []*Instance, err error) {
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	defer lock.Unlock()
	there, err := s.ReadNamed()
	if err != nil {
		return nil, err
	}
	if added, err = selectNew(i.Instances, there); err != nil {
		return nil, err
	}
	if err := s.changeGroups(func(g *groups) error { return g.addImported(i, added) }); err != nil {
		return nil, err
	}
	for n, in := range added {
		if err := s.write(in, atomicfile.Unsynced); err != nil {
			return added[:n], errors.Join(err, s.sync(added[:n]))
		}
	}
	return added, s.sync(added)
}

// Adopt adds instances, each under its name or a free variant, and returns them. It syncs once.
func (s Store) Adopt(all []*Instance, now time.Time) ([]*Instance, error) {
	c, err := s.Begin()
	if err != nil {
		return nil, err
	}
	defer c.Release()
	names := maps.Clone(c.names)
	for n, in := range all {
		in.Name = makeNameUnique(in.Name, names)
		if err := c.create(in, now, atomicfile.Unsynced); err != nil {
			return all[:n], errors.Join(err, s.sync(all[:n]))
		}
	}
	return all, s.sync(all)
}

// Adoptable returns what Adopt would add.
func (s Store) Adoptable(all []*Instance, _ time.Time) ([]*Instance, error) {
	_, names, err := s.readNames()
	if err != nil {
		return nil, err
	}
	for _, in := range all {
		in.Name = makeNameUnique(in.Name, names)
	}
	return all, nil
}

func (s Store) sync(all []*Instance) error {
	if len(all) == 0 {
		return nil
	}
	var names []string
	for _, in := range all {
		names = append(names, string(in.ID)+suffix)
	}
	return atomicfile.Sync(s.path(""), names)
}

// Importable returns what Import would add.
func (s Store) Importable(i Imported) (added []*Instance, err error) {
	there, err := s.ReadNamed()
	if err != nil {
		return nil, err
	}
	return selectNew(i.Instances, there)
}

// selectNew returns the instances of all that are not among those there. It names those without a
// name, and clears their Managed. The error joins what is wrong with any of them.
func selectNew(all, there []*Instance) (added []*Instance, err error) {
	known, names := map[ID]*Instance{}, map[string]bool{}
	parents, seen := map[ID]ID{}, map[ID]bool{}
	for _, in := range there {
		known[in.ID], names[fold.Name(in.Name)], parents[in.ID] = in, true, in.ParentID
	}
	for n, in := range all {
		_, bad := session.ParseID(string(in.ID))
		switch other := known[in.ID]; {
		case in.ID == "":
			bad = errors.New("it has no id")
		case bad != nil:
			bad = fmt.Errorf("invalid id '%.40s'", in.ID)
		case seen[in.ID]:
			bad = fmt.Errorf("another has its id %s", in.ID)
		case other != nil && (other.Path != in.Path || other.Agent != in.Agent):
			bad = fmt.Errorf("%s, in '%s', has its id %s", other.Name, other.Path, in.ID)
		case other != nil: // it was imported before
		case in.Name != "" && names[fold.Name(in.Name)]:
			bad = Taken(there, in.Name)
		default:
			added, parents[in.ID] = append(added, in), in.ParentID
			if in.Name != "" {
				names[fold.Name(in.Name)] = true
			}
		}
		seen[in.ID] = true
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("agent %d (%.80s): %w", n+1, cmp.Or(in.Title, in.Name), bad))
		}
	}
	if err != nil {
		return nil, err
	}
	for _, in := range added {
		in.Managed = nil // its template belongs elsewhere
		if in.Name == "" {
			in.Name = makeNameUnique(NameFor(cmp.Or(in.Title, filepath.Base(in.Path))), names)
		}
		bad := in.validate(in.ID)
		if data, merr := openjson.File(in); merr != nil || len(data) > maxFile {
			bad = errors.Join(bad, merr, fmt.Errorf("it has more than %d bytes", maxFile))
		}
		for up, depth := in.ParentID, 0; up != ""; up, depth = parents[up], depth+1 {
			if up == in.ID || depth > len(parents) {
				bad = errors.Join(bad, errors.New("it is its own parent"))
				break
			}
		}
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", in.Name, bad))
		}
	}
	return added, err
}

// makeNameUnique returns name or a variant that is not in names, and adds it.
func makeNameUnique(name string, names map[string]bool) string {
	one := name
	for n := 2; names[fold.Name(one)]; n++ {
		one = Variant(name, fmt.Sprintf("-%d", n))
	}
	names[fold.Name(one)] = true
	return one
}

// addImported adds the groups of an import and of its instances. Existing groups stay unchanged.
func (g *groups) addImported(i Imported, added []*Instance) error {
	before := slices.Clone(g.Groups)
	for _, one := range i.Groups {
		if err := CheckGroup(one.Path); err != nil {
			return err
		}
		g.add(one.Path)
	}
	for _, in := range added {
		if in.Group != "" {
			g.add(in.Group)
		}
	}
	for n, one := range g.Groups {
		if slices.ContainsFunc(before, func(old Group) bool { return old.Path == one.Path }) {
			continue
		}
		if at := slices.IndexFunc(i.Groups, func(other Group) bool { return other.Path == one.Path }); at >= 0 {
			g.Groups[n] = i.Groups[at]
		}
	}
	return nil
}
