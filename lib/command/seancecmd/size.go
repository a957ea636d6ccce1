package seancecmd

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
)

// conversationSize returns how many bytes the conversation of a session takes, with its subagents and
// what its client keeps in a folder beside it. It is 0 if only a database has it.
func conversationSize(all catalog.Catalog, s *catalog.Session) (n int64) {
	counted := map[string]bool{}
	count := func(path string, size int64) {
		if !counted[path] {
			counted[path] = true
			n += size
		}
	}
	for _, of := range append([]*catalog.Session{s}, all.Subagents(s.ID)...) {
		if of.File.Path == "" {
			continue
		}
		for _, f := range of.File.Files() {
			count(f.Path, f.Size)
			beside := strings.TrimSuffix(f.Path, filepath.Ext(f.Path))
			if beside == f.Path {
				continue
			}
			// What cannot be read counts as nothing.
			_ = filepath.WalkDir(beside, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					if info, err := d.Info(); err == nil {
						count(path, info.Size())
					}
				}
				return nil
			})
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
