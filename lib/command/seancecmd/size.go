package seancecmd

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
)

// conversationSize returns how many bytes the conversation of a session takes, with its
// subagents and what its client keeps in a folder beside it. It is 0 if only a database has
// it.
func conversationSize(all catalog.Catalog, s *catalog.Session) (n int64) {
	var folders []string // with all that is in them
	for _, of := range append([]*catalog.Session{s}, all.Subagents(s.ID)...) {
		if of.File.Path == "" {
			continue
		}
		for _, f := range of.File.Files() {
			if slices.ContainsFunc(folders, func(dir string) bool { return strings.HasPrefix(f.Path, dir+"/") }) {
				continue
			}
			n += f.Size
			if beside := strings.TrimSuffix(f.Path, filepath.Ext(f.Path)); beside != f.Path {
				n += pathSize(beside)
				folders = append(folders, beside)
			}
		}
	}
	return n
}

// largest returns the matching sessions with their sizes, the largest first.
func largest(all catalog.Catalog, f catalog.Filter) []*catalog.Session {
	found := all.Select(f, 0)
	for _, s := range found {
		s.Size = conversationSize(all, s)
	}
	slices.SortStableFunc(found, func(a, b *catalog.Session) int { return cmp.Compare(b.Size, a.Size) })
	return found
}
