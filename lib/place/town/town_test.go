package town

import (
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"
	"gt/lib/place"
)

func TestFind(t *testing.T) {
	root := testenv.Tree(t, "town/town.toml", "town/rig/crew/max/sub/", "town/inner/mayor/town.json", "town/inner/x/",
		"gas/mayor/town.json", "gas/x/", "odd/town.toml/", "odd/x/", "plain/", "other/", "state/", "file")
	at := func(p string) string { return filepath.Join(root, p) }
	personal := []string{"HOME=" + at("home")}
	for name, c := range map[string]struct {
		vars     []string
		dir      string
		root     string
		personal bool
	}{
		"town.toml here":               {personal, "town", at("town"), false},
		"town.toml above":              {personal, "town/rig/crew/max/sub", at("town"), false},
		"the nearest":                  {personal, "town/inner/x", at("town/inner"), false},
		"Gas Town's":                   {personal, "gas/x", at("gas"), false},
		"a folder called town.toml":    {personal, "odd/x", at("home/.local/state/gt"), true},
		"none":                         {personal, "plain", at("home/.local/state/gt"), true},
		"GT_ROOT":                      {append(personal, "GT_ROOT="+at("other")), "town", at("other"), false},
		"GT_ROOT before GT_TOWN_ROOT":  {append(personal, "GT_TOWN_ROOT="+at("gas"), "GT_ROOT="+at("other")), "town", at("other"), false},
		"GT_TOWN_ROOT":                 {append(personal, "GT_TOWN_ROOT="+at("gas")), "town", at("gas"), false},
		"GT_ROOT with a slash":         {append(personal, "GT_ROOT="+at("other")+"/"), "town", at("other"), false},
		"GT_ROOT is gone":              {append(personal, "GT_ROOT="+at("none")), "town", at("town"), false},
		"GT_ROOT is gone, other holds": {append(personal, "GT_ROOT="+at("none"), "GT_TOWN_ROOT="+at("gas")), "town", at("gas"), false},
		"GT_ROOT is a file":            {append(personal, "GT_ROOT="+at("file")), "town", at("town"), false},
		"GT_ROOT is relative":          {append(personal, "GT_ROOT=."), "town", at("town"), false},
		"GT_ROOT in the plain":         {append(personal, "GT_ROOT="+at("none")), "plain", at("home/.local/state/gt"), true},
		"XDG_STATE_HOME":               {append(personal, "XDG_STATE_HOME="+at("state")), "plain", at("state/gt"), true},
		"XDG_STATE_HOME is relative":   {append(personal, "XDG_STATE_HOME=state"), "plain", at("home/.local/state/gt"), true},
		"XDG_STATE_HOME without HOME":  {[]string{"XDG_STATE_HOME=" + at("state")}, "plain", at("state/gt"), true},
	} {
		t.Run(name, func(t *testing.T) {
			getenv := testenv.Getenv(c.vars...)
			for _, dir := range []string{"town", "town/inner", "gas"} {
				trust, err := place.Survey(at(dir))
				if err == nil {
					err = place.StateOf(getenv).RecordTrust(trust)
				}
				testenv.NoError(t, err)
			}
			got := Find(getenv, at(c.dir))
			if got.Root != c.root || got.Personal != c.personal || got.State != place.StateOf(getenv) || got.Untrusted != "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Looking for a town makes none.
func TestFindChangesNothing(t *testing.T) {
	root := testenv.Tree(t, "home/")
	Find(testenv.Getenv("HOME="+filepath.Join(root, "home")), root)
	entries, err := os.ReadDir(filepath.Join(root, "home"))
	if err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

func TestPaths(t *testing.T) {
	town := Town{Root: "/t", State: "/s"}
	if town.Events() != "/t/.events.jsonl" || filepath.Dir(filepath.Dir(filepath.Dir(town.Pids()))) != "/s" {
		t.Error(town.Events(), town.Pids())
	}
	town.Trust = &place.Trust{GitShows: true}
	if town.Events() != town.State.Town("/t")+"/.events.jsonl" {
		t.Error(town.Events())
	}
}

// What claims to be a town is none before the person has trusted it, nor once
// another folder is in its place; and it hides none above it.
func TestUntrusted(t *testing.T) {
	root := testenv.Tree(t, "home/", "top/town.toml", "top/a/town.toml", "top/a/b/")
	at := func(p string) string { return filepath.Join(root, p) }
	getenv := testenv.Getenv("HOME=" + at("home"))
	state := place.StateOf(getenv)
	trust := func(dir string) {
		t.Helper()
		w, err := place.Survey(at(dir))
		if err == nil {
			err = state.RecordTrust(w)
		}
		testenv.NoError(t, err)
	}
	want := func(what, root, untrusted string) {
		t.Helper()
		if got := Find(getenv, at("top/a/b")); got.Root != root || got.Personal != (root == string(state)) || got.Untrusted != untrusted {
			t.Errorf("%s: %+v", what, got)
		}
	}
	want("none is trusted", string(state), at("top/a"))
	trust("top")
	want("the one above is", at("top"), at("top/a"))
	trust("top/a")
	want("both are", at("top/a"), "")
	testenv.NoError(t, os.Rename(at("top/a"), at("old")))
	testenv.NoError(t, os.MkdirAll(at("top/a/b"), 0o700))
	testenv.NoError(t, os.WriteFile(at("top/a/town.toml"), nil, 0o600))
	want("another is in its place", at("top"), at("top/a"))
	testenv.NoError(t, state.Untrust(at("top")))
	want("the trust was taken back", string(state), at("top/a"))
	testenv.NoError(t, os.Symlink(at("top"), at("link")))
	trust("top")
	if got := Find(getenv, at("link")); got.Personal {
		t.Errorf("by a link: %+v", got)
	}
}

// A file that is no plain file marks no town.
func TestMarks(t *testing.T) {
	root := testenv.Tree(t, "home/", "a/", "b/town.toml/")
	at := func(p string) string { return filepath.Join(root, p) }
	testenv.NoError(t, os.Symlink("/etc/passwd", at("a/town.toml")))
	for _, dir := range []string{"a", "b"} {
		if got := Find(testenv.Getenv("HOME="+at("home")), at(dir)); got.Untrusted != "" {
			t.Errorf("%+v", got)
		}
	}
}
