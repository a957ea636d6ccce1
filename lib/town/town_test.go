package town

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(vars ...string) func(string) string {
	return func(key string) string {
		for _, kv := range vars {
			if k, v, _ := strings.Cut(kv, "="); k == key {
				return v
			}
		}
		return ""
	}
}

// tree makes folders (with a slash at the end) and empty files in a new folder.
func tree(t *testing.T, paths ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, p := range paths {
		path := filepath.Join(root, p)
		dir := filepath.Dir(path)
		if strings.HasSuffix(p, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir != path {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

func TestFind(t *testing.T) {
	root := tree(t, "town/town.toml", "town/rig/crew/max/sub/", "town/inner/mayor/town.json", "town/inner/x/",
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
		"HOME is relative":             {[]string{"HOME=home"}, "plain", filepath.Join(os.TempDir(), fmt.Sprint("gt-", os.Getuid())), true},
		"no HOME":                      {nil, "plain", filepath.Join(os.TempDir(), fmt.Sprint("gt-", os.Getuid())), true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Find(env(c.vars...), at(c.dir))
			if got != (Town{Root: c.root, Personal: c.personal}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Looking for a town makes none.
func TestFindChangesNothing(t *testing.T) {
	root := tree(t, "home/")
	Find(env("HOME="+filepath.Join(root, "home")), root)
	entries, err := os.ReadDir(filepath.Join(root, "home"))
	if err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

func TestPaths(t *testing.T) {
	town := Town{Root: "/t"}
	if town.Events() != "/t/.events.jsonl" || town.Pids() != "/t/.runtime/pids" {
		t.Error(town.Events(), town.Pids())
	}
}

// What another user could have written makes no town, and hides none above it.
func TestForeign(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	planted := filepath.Join(top, "a", "town.toml")
	for _, path := range []string{filepath.Join(top, "town.toml"), planted} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := func(string) string { return "" }
	if got := Find(none, dir); got.Root != filepath.Dir(planted) || got.Foreign != "" {
		t.Errorf("%+v", got)
	}
	if err := os.Chmod(planted, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := Find(none, dir); got.Root != top || got.Foreign != planted {
		t.Errorf("%+v", got)
	}
	env := func(key string) string {
		if key == "GT_ROOT" {
			return filepath.Dir(planted)
		}
		return ""
	}
	if got := Find(env, dir); got.Root != filepath.Dir(planted) || got.Foreign != "" {
		t.Errorf("%+v", got)
	}
}
