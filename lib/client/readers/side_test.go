package readers_test

import (
	"gt/internal/testenv"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// A crash or a full disk cuts off the small files in which clients keep names and folders beside
// their conversations. Every conversation is still found and read, and belongs to its folder.
func TestDamagedSideFiles(t *testing.T) {
	for _, r := range readers.Readers {
		stores, err := filepath.Glob(filepath.Join("..", r.Client(), "conversation", "testdata", "[0-9]*"))
		testenv.NoError(t, err)
		for _, original := range stores {
			store := t.TempDir()
			testenv.NoError(t, os.CopyFS(store, os.DirFS(original)))
			conversations := map[string]bool{}
			found := func() (entries, folders map[string]string) {
				entries, folders = map[string]string{}, map[string]string{}
				testenv.NoError(t, r.Find(store, func(f conversation.File) {
					conversations[f.Path] = true
					m, _ := r.Metadata(f) // which may name the file that is damaged
					for _, e := range entriesIn(t, r, f, nil) {
						entries[f.Path] += e.Text + "\x00"
					}
					folders[f.Path] = m.CWD
				}))
				return entries, folders
			}
			entries, folders := found()
			testenv.NoError(t, filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || conversations[path] || conversations[filepath.Dir(path)] {
					return err
				}
				if ext := filepath.Ext(path); ext != ".json" && ext != ".yaml" && ext != ".jsonl" {
					return nil
				}
				info, err := d.Info()
				if err != nil {
					return err
				}
				return os.Truncate(path, info.Size()-10)
			}))
			gotEntries, gotFolders := found()
			for path := range entries {
				if gotEntries[path] != entries[path] {
					t.Errorf("%s: %q, want %q", path, gotEntries[path], entries[path])
				}
				if gotFolders[path] != folders[path] && r.Client() != "antigravity" { // which keeps it nowhere else
					t.Errorf("%s: the folder %q, want %q", path, gotFolders[path], folders[path])
				}
			}
		}
	}
}
