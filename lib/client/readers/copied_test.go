package readers_test

import (
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// Sync tools, backups and macOS leave files beside those of a client. No reader takes one of
// them for a conversation of its own, or in place of the one that the client goes on with.
func TestCopiedFiles(t *testing.T) {
	for _, r := range readers.Readers {
		stores, err := filepath.Glob(filepath.Join("..", r.Client(), "conversation", "testdata", "[0-9]*"))
		testenv.NoError(t, err)
		for _, original := range stores {
			store := t.TempDir()
			testenv.NoError(t, os.CopyFS(store, os.DirFS(original)))
			find := func() (paths []string, of map[string]string) {
				of = map[string]string{}
				testenv.NoError(t, r.Find(store, func(f conversation.File) {
					paths = append(paths, f.Path)
					if !f.IsSyncCopy && f.ID != "" {
						of[string(f.ID)] += filepath.Base(f.Path) + " "
					}
				}))
				return paths, of
			}
			paths, want := find()
			for _, form := range []string{
				"%s.sync-conflict-20261127-101010-ABCDEFG%s", "%s 2%s", "%s (1)%s", "%s (Max's conflicted copy 2026-11-27)%s", "%s (conflicted copy 2026-11-27 101010)%s",
				"%s_conflict-20261127-1%s", "%s - Copy%s", "%s copy%s", "%s.conflict1%s", "%s [Conflict]%s", "._%s%s", "%s%s~", "%s%s.bak", ".syncthing.%s%s.tmp", ".%s%s.icloud",
			} {
				var copies []string
				for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
					ext := filepath.Ext(path)
					to := filepath.Join(filepath.Dir(path), fmt.Sprintf(form, strings.TrimSuffix(filepath.Base(path), ext), ext))
					data, err := os.ReadFile(path)
					testenv.NoError(t, err)
					testenv.NoError(t, os.WriteFile(to, data, 0o600))
					copies = append(copies, to)
				}
				if _, got := find(); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %q: %v, want %v", original, form, got, want)
				}
				for _, path := range copies {
					testenv.NoError(t, os.Remove(path))
				}
			}
		}
	}
}
