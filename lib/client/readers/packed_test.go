package readers_test

import (
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// A rollout that Codex compressed is found and read as before, also from an offset on.
func TestPacked(t *testing.T) {
	r := readers.FindReader("codex")
	store := filepath.Join("..", "codex", "conversation", "testdata", "0.169.0-pane")
	n := 0
	testenv.NoError(t, r.Find(store, func(f conversation.File) {
		n++
		data, err := os.ReadFile(f.Path)
		testenv.NoError(t, err)
		dir := t.TempDir()
		path := filepath.Join(dir, strings.TrimPrefix(f.Path, store)+".zst")
		testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		e, err := zstd.NewWriter(nil)
		testenv.NoError(t, err)
		testenv.NoError(t, os.WriteFile(path, e.EncodeAll(data, nil), 0o600))
		var found []conversation.File
		testenv.NoError(t, r.Find(dir, func(f conversation.File) { found = append(found, f) }))
		if len(found) != 1 || found[0].ID != f.ID {
			t.Fatalf("%+v", found)
		}
		want, _ := r.Metadata(f)
		got, err := r.Metadata(found[0])
		if want.Title, got.Title = "", ""; err != nil || got != want {
			t.Errorf("%+v, want %+v, %v", got, want, err)
		}
		if all := entriesIn(t, r, found[0], nil); len(all) == 0 || !slices.Equal(all, entriesIn(t, r, f, nil)) {
			t.Errorf("%s: %d entries", path, len(all))
		}
		next, err := r.Read(found[0], conversation.Options{}, func(conversation.Entry) bool { return true })
		if err != nil || next != int64(len(data)) {
			t.Errorf("the next read begins at %d of %d, %v", next, len(data), err)
		}
		if _, err := r.Read(found[0], conversation.Options{From: next}, func(e conversation.Entry) bool { t.Errorf("%+v", e); return true }); err != nil {
			t.Error(err)
		}
		testenv.NoError(t, os.WriteFile(path, e.EncodeAll(data, nil)[:9], 0o600))
		if _, err := r.Read(found[0], conversation.Options{}, func(conversation.Entry) bool { return true }); err == nil {
			t.Error("half a file is read without an error")
		}
	}))
	if n == 0 {
		t.Error("no rollouts")
	}
}
