package wiring

import "testing"

// A folder is trusted where it is, where what holds it is, and where the parent
// of another was trusted on its account.
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
