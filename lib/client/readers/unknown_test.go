package readers_test

import (
	"bytes"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// Each reader knows the kinds of all records that real clients wrote, and names those of a
// client of the future.
func TestUnknown(t *testing.T) {
	for _, r := range readers.Readers {
		if _, ok := r.(conversation.Classifier); !ok {
			continue
		}
		stores, err := filepath.Glob(filepath.Join("..", r.Client(), "conversation", "testdata", "*"))
		if err != nil || len(stores) == 0 {
			t.Fatalf("%s has no stores: %v", r.Client(), err)
		}
		n := 0
		for _, store := range stores {
			r.Find(store, func(f conversation.File) { // some folders are no store
				n++
				if u, err := conversation.CountUnknown(r, f); err != nil || u.Records > 0 {
					t.Errorf("%s: %+v, %v", f.Path, u, err)
				}
				if strings.HasSuffix(f.Path, ".jsonl") {
					ofFuture(t, r, f)
				}
			})
		}
		if n == 0 {
			t.Errorf("%s: no conversation was found in %q", r.Client(), stores)
		}
	}
}

func ofFuture(t *testing.T, r conversation.Reader, f conversation.File) {
	t.Helper()
	data, err := os.ReadFile(f.Path)
	testenv.NoError(t, err)
	f.Store = t.TempDir()
	f.Path = filepath.Join(f.Store, filepath.Base(f.Path))
	data = bytes.Join(bytes.SplitAfter(data, []byte("\n"))[:1], nil)
	data = append(data, "{\"type\":\"tomorrow\",\"payload\":{\"type\":\"message\"}}\nnot JSON\n[1]\n{\"type\":\"tomorrow\",\"payload\":1}\n{\"sort\":\"later\"}\n{\"type\":\"torn\""...)
	testenv.NoError(t, os.WriteFile(f.Path, data, 0o600))
	u, err := conversation.CountUnknown(r, f)
	want := conversation.Unknown{Records: 4, Kinds: 3, First: []string{"tomorrow", "torn", "without a type"}}
	if r.Client() == "gemini" {
		want.First[2] = "sort"
	}
	if err != nil || !reflect.DeepEqual(u, want) {
		t.Errorf("%s: %+v, %v", f.Path, u, err)
	}
}
