package wiring

import "testing"

// A folder is trusted if it, a folder above it, or the parent of a "trust parent" entry
// is listed.
func TestTrusts(t *testing.T) {
	folders := map[string]string{"/a/b": "TRUST_FOLDER", "/c/d": "TRUST_PARENT", "/e": "DO_NOT_TRUST"}
	for dir, want := range map[string]bool{
		"/a/b": true, "/a/b/c": true, "/a": false, "/a/bc": false, "/c/x": true, "/c": true, "/e": false, "/": false,
	} {
		if got := trusts(folders, dir); got != want {
			t.Errorf("%s: %v", dir, got)
		}
	}
}
