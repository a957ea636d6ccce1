package seancecmd

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gt/lib/catalog"
	"gt/lib/conversation"
)

// diskSpace adds up files, each once. It has the paths of those that were counted.
type diskSpace map[string]bool

// addConversation returns how many bytes a conversation takes, with what its client keeps in
// a folder beside it: large results, subagents.
func (d diskSpace) addConversation(f conversation.File) (n int64) {
	for _, part := range f.Files() {
		n += d.add(part.Path)
		if beside := strings.TrimSuffix(part.Path, filepath.Ext(part.Path)); beside != part.Path {
			n += d.add(beside)
		}
	}
	return n
}

// add returns the size of a file, or of all files in a folder; 0 of what is not there.
func (d diskSpace) add(path string) (n int64) {
	filepath.WalkDir(path, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !d[path] {
			if info, err := e.Info(); err == nil {
				d[path] = true
				n += info.Size()
			}
		}
		return nil
	})
	return n
}

// largest returns the matching sessions with their sizes, the largest first. That of a session
// includes its subagents; it is 0 if only a database has it.
func largest(all catalog.Catalog, f catalog.Filter) []*catalog.Session {
	found := all.Select(f, 0)
	for _, s := range found {
		counted := diskSpace{}
		s.Size = 0
		for _, of := range append([]*catalog.Session{s}, all.Subagents(s.ID)...) {
			if of.File.Path != "" && of.File.Size > 0 {
				s.Size += counted.addConversation(of.File)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b *catalog.Session) int { return cmp.Compare(b.Size, a.Size) })
	return found
}
