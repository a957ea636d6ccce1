package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/text/openjson"
)

const groupsFile = "groups.json"

// maxGroups bounds the file, in bytes. v0.2.0 kept the unknown parts of an imported file in it,
// which could have 100 MB.
const maxGroups = 256 << 20

// Group is a group of instances. Empty groups are kept.
type Group struct {
	Path     string `json:"path"` // such as work/backend
	Expanded bool   `json:"expanded"`
	Order    int    `json:"order"` // among its siblings
}

type groups struct {
	Groups  []Group `json:"groups"`
	unknown openjson.Unknown
}

// MarshalJSON keeps fields of a newer gt.
func (g *groups) MarshalJSON() ([]byte, error) {
	type plain groups
	return openjson.Marshal((*plain)(g), g.unknown)
}

func parseGroups(data []byte) (*groups, error) {
	g := new(groups)
	unknown, err := openjson.Unmarshal(data, g)
	if err != nil {
		return nil, err
	}
	for _, one := range g.Groups {
		if err := CheckGroup(one.Path); err != nil {
			return nil, err
		}
	}
	g.unknown = unknown
	return g, nil
}

func (s Store) groupsFile() atomicfile.Rolling {
	return atomicfile.Rolling{Path: s.path(groupsFile), Limit: maxGroups, Warn: s.Warn, Valid: func(data []byte) error {
		_, err := parseGroups(data)
		return err
	}}
}

var (
	ErrNoGroup  = errors.New("no such group")
	ErrNotEmpty = errors.New("the group is not empty")
	ErrIsGroup  = errors.New("the group exists")
	ErrInItself = errors.New("it would be in itself")
)

func (s Store) loadGroups() (*groups, error) {
	data, err := s.groupsFile().Read()
	if errors.Is(err, fs.ErrNotExist) {
		return new(groups), nil
	} else if err != nil {
		return nil, err
	}
	return parseGroups(data)
}

// Groups returns the groups, each before its subgroups.
func (s Store) Groups() ([]Group, error) {
	g, err := s.loadGroups()
	if err != nil {
		return nil, err
	}
	return g.sorted(), nil
}

// sorted returns the groups in the order of a tree: each before its subgroups, siblings by Order.
func (g *groups) sorted() []Group {
	order := map[string]int{}
	for _, one := range g.Groups {
		order[one.Path] = one.Order
	}
	all := slices.Clone(g.Groups)
	slices.SortStableFunc(all, func(a, b Group) int {
		x, y := strings.Split(a.Path, "/"), strings.Split(b.Path, "/")
		for i := range min(len(x), len(y)) {
			if x[i] == y[i] {
				continue
			}
			// The order of the siblings at which the paths part decides.
			p, q := strings.Join(x[:i+1], "/"), strings.Join(y[:i+1], "/")
			if order[p] != order[q] {
				return order[p] - order[q]
			}
			return strings.Compare(p, q)
		}
		return len(x) - len(y)
	})
	return all
}

// ensureGroup makes a group and its parents if they are missing. It needs the folder's lock.
func (s Store) ensureGroup(group string) error {
	if err := CheckGroup(group); err != nil {
		return err
	}
	return s.changeGroups(func(g *groups) error {
		g.add(group)
		return nil
	})
}

// add adds a group as the last of its siblings, after the parents that are missing.
func (g *groups) add(group string) {
	if parent := path.Dir(group); parent != "." {
		g.add(parent)
	}
	if g.hasGroup(group) {
		return
	}
	last := 0
	for _, one := range g.Groups {
		if path.Dir(one.Path) == path.Dir(group) {
			last = max(last, one.Order)
		}
	}
	g.Groups = append(g.Groups, Group{Path: group, Expanded: true, Order: last + 1})
}

func (g *groups) hasGroup(group string) bool {
	return slices.ContainsFunc(g.Groups, func(one Group) bool { return one.Path == group })
}

// changeGroups writes the file if change has changed the groups. The caller holds the store's lock.
func (s Store) changeGroups(change func(*groups) error) error {
	g, err := s.loadGroups() // a damaged file is set aside by the next write
	if err != nil {
		return err
	}
	before := slices.Clone(g.Groups)
	if err := change(g); err != nil || slices.Equal(before, g.Groups) {
		return err
	}
	data, err := openjson.File(g)
	if err != nil {
		return err
	}
	if len(data) > maxGroups { // it could not be read again
		return fmt.Errorf("cannot keep the groups: they have more than %d bytes", maxGroups)
	}
	return s.groupsFile().Write(data, atomicfile.Synced)
}

// NewGroup makes a group and its parents, or returns ErrIsGroup.
func (s Store) NewGroup(group string) error {
	if err := CheckGroup(group); err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	return s.changeGroups(func(g *groups) error {
		if g.hasGroup(group) {
			return fmt.Errorf("%w: %s", ErrIsGroup, group)
		}
		g.add(group)
		return nil
	})
}

// RemoveGroup removes a group and its subgroups, or returns ErrNotEmpty if one holds instances.
func (s Store) RemoveGroup(group string) error {
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	all, err := s.ReadInstances()
	if err != nil {
		return err
	}
	for _, in := range all {
		if IsInGroup(in.Group, group) {
			is := ""
			if in.IsArchived() {
				is = ", which is archived"
			}
			return fmt.Errorf("%w: %s holds %s%s", ErrNotEmpty, in.Group, in.Name, is)
		}
	}
	return s.changeGroups(func(g *groups) error {
		if !g.hasGroup(group) {
			return fmt.Errorf("%w: %s", ErrNoGroup, group)
		}
		g.Groups = slices.DeleteFunc(g.Groups, func(one Group) bool { return IsInGroup(one.Path, group) })
		return nil
	})
}

// MoveGroup moves a group with its subgroups and instances. It writes the new path first, then each
// instance, and removes the old path last, so that a repeated command completes a killed one.
func (s Store) MoveGroup(group, to string, now time.Time) error {
	if err := CheckGroup(to); err != nil {
		return err
	}
	if IsInGroup(to, group) {
		return fmt.Errorf("cannot move group '%s' to '%s': %w", group, to, ErrInItself)
	}
	// Instance locks come before the folder's lock.
	held, err := s.holdGroup(group)
	defer func() {
		for _, h := range held {
			h.Release()
		}
	}()
	if err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if err := s.changeGroups(func(g *groups) error { return g.copy(group, to) }); err != nil {
		return err
	}
	for _, h := range held {
		if !IsInGroup(h.Group, group) {
			continue // moved meanwhile
		}
		h.Group = to + strings.TrimPrefix(h.Group, group)
		if err := h.Put(now); err != nil {
			return err
		}
	}
	return s.changeGroups(func(g *groups) error {
		g.Groups = slices.DeleteFunc(g.Groups, func(one Group) bool { return IsInGroup(one.Path, group) })
		return nil
	})
}

// holdGroup locks the instances of a group. On error it returns those that it has locked.
func (s Store) holdGroup(group string) (held []*Locked, err error) {
	all, err := s.ReadInstances()
	if err != nil {
		return nil, err
	}
	for _, in := range all {
		if !IsInGroup(in.Group, group) {
			continue
		}
		h, err := s.Hold(in.ID, lockWait)
		if errors.Is(err, ErrNone) {
			continue
		} else if err != nil {
			return held, fmt.Errorf("%s: %w", in.Name, err)
		}
		held = append(held, h)
	}
	return held, nil
}

// copy adds a copy of a group and its subgroups at to. The originals stay.
func (g *groups) copy(group, to string) error {
	if !g.hasGroup(group) {
		return fmt.Errorf("%w: %s", ErrNoGroup, group)
	}
	for _, one := range g.sorted() {
		if !IsInGroup(one.Path, group) {
			continue
		}
		path := to + strings.TrimPrefix(one.Path, group)
		g.add(path)
		for i := range g.Groups {
			if g.Groups[i].Path == path {
				g.Groups[i].Expanded = one.Expanded
			}
		}
	}
	return nil
}
