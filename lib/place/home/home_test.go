package home

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/internal/testenv"
	"gt/lib/place"
	"gt/lib/sys/flock"
)

func TestFind(t *testing.T) {
	root := testenv.Tree(t,
		"repo/.git/", "repo/sub/deep/", "linked/.git", "linked/sub/", "plain/sub/",
		"town/town.toml", "town/gastown/crew/max/.git", "town/gastown/crew/max/sub/", "town/gastown/polecats/Toast/",
		"town/gastown/refinery/rig/", "town/gastown/witness/", "town/mayor/sub/", "town/deacon/dogs/boot/", "town/scratch/",
		"town/repo/.git/", "town/repo/sub/", "mono/.git/", "mono/town/town.toml", "mono/town/x/",
		"bare/town.toml", "bare/gastown/refinery/")
	at := func(p string) string { return filepath.Join(root, p) }
	const mine = "GT_SESSION_UUID=mine"
	for name, c := range map[string]struct {
		vars []string
		dir  string
		own  string // the hook's session
		home string
		who  string
		town string // empty for the personal one
	}{
		"a repository":                 {dir: "repo", home: "repo", who: "repo"},
		"a folder in it":               {dir: "repo/sub/deep", home: "repo", who: "repo"},
		"a linked worktree":            {dir: "linked/sub", home: "linked", who: "linked"},
		"no repository":                {dir: "plain/sub", home: "plain/sub", who: "sub"},
		"the client's project":         {vars: []string{"CLAUDE_PROJECT_DIR=" + at("repo/sub")}, dir: "plain", home: "repo", who: "repo"},
		"a relative project":           {vars: []string{"CLAUDE_PROJECT_DIR=repo"}, dir: "plain", home: "plain", who: "plain"},
		"the mayor":                    {dir: "town/mayor/sub", home: "town/mayor", who: "mayor", town: "town"},
		"boot":                         {dir: "town/deacon/dogs/boot", home: "town/deacon/dogs/boot", who: "boot", town: "town"},
		"crew":                         {dir: "town/gastown/crew/max/sub", home: "town/gastown/crew/max", who: "gastown/crew/max", town: "town"},
		"a polecat":                    {dir: "town/gastown/polecats/Toast", home: "town/gastown/polecats/Toast", who: "gastown/polecats/Toast", town: "town"},
		"the refinery":                 {dir: "town/gastown/refinery", home: "town/gastown/refinery/rig", who: "gastown/refinery", town: "town"},
		"a refinery without its clone": {dir: "bare/gastown/refinery", home: "bare/gastown/refinery", who: "gastown/refinery", town: "bare"},
		"the town itself":              {dir: "town", home: "town", who: "town", town: "town"},
		"nobody's in the town":         {dir: "town/scratch", home: "town/scratch", who: "scratch", town: "town"},
		"a repository in the town":     {dir: "town/repo/sub", home: "town/repo", who: "repo", town: "town"},
		"a town in a repository":       {dir: "mono/town/x", home: "mono/town/x", who: "x", town: "mono/town"},
		"the project is crew's":        {vars: []string{"CLAUDE_PROJECT_DIR=" + at("town/gastown/crew/max")}, dir: "repo", home: "town/gastown/crew/max", who: "gastown/crew/max", town: "town"},
		"GT_ROLE from anywhere":        {vars: []string{"GT_ROLE=gastown/crew/max"}, dir: "town/scratch", home: "town/gastown/crew/max", who: "gastown/crew/max", town: "town"},
		"GT_ROLE and GT_ROOT":          {vars: []string{"GT_ROLE=mayor", "GT_ROOT=" + at("town")}, dir: "repo", home: "town/mayor", who: "mayor", town: "town"},
		"GT_ROLE without its folder":   {vars: []string{"GT_ROLE=gastown/crew/joe"}, dir: "town/scratch", home: "town/scratch", who: "gastown/crew/joe", town: "town"},
		"GT_ROLE before the folder":    {vars: []string{"GT_ROLE=mayor"}, dir: "town/gastown/crew/max", home: "town/mayor", who: "mayor", town: "town"},
		"GT_ROLE outside a town":       {vars: []string{"GT_ROLE=gastown/crew/max"}, dir: "repo/sub", home: "repo", who: "gastown/crew/max"},
		"an invalid GT_ROLE":           {vars: []string{"GT_ROLE=a/b/c/d"}, dir: "town/mayor", home: "town/mayor", who: "mayor", town: "town"},

		"GT_HOME":                      {vars: []string{"GT_HOME=" + at("repo")}, dir: "plain", home: "repo", who: "repo"},
		"GT_HOME is gone":              {vars: []string{"GT_HOME=" + at("none")}, dir: "plain", home: "plain", who: "plain"},
		"GT_HOME is a file":            {vars: []string{"GT_HOME=" + at("linked/.git")}, dir: "plain", home: "plain", who: "plain"},
		"GT_HOME is relative":          {vars: []string{"GT_HOME=repo"}, dir: "plain", home: "plain", who: "plain"},
		"GT_HOME of this session":      {vars: []string{"GT_HOME=" + at("repo"), mine}, dir: "plain", own: "mine", home: "repo", who: "repo"},
		"GT_HOME of a parent":          {vars: []string{"GT_HOME=" + at("repo"), mine}, dir: "plain", own: "child", home: "plain", who: "plain"},
		"GT_HOME for a command":        {vars: []string{"GT_HOME=" + at("repo"), mine}, dir: "plain", home: "repo", who: "repo"},
		"GT_HOME from another folder":  {vars: []string{"GT_HOME=" + at("town/gastown/crew/max"), mine}, dir: "repo", home: "town/gastown/crew/max", who: "gastown/crew/max", town: "town"},
		"GT_HOME from another town":    {vars: []string{"GT_HOME=" + at("repo"), mine}, dir: "town/mayor", home: "repo", who: "repo"},
		"GT_HOME before the project":   {vars: []string{"GT_HOME=" + at("repo"), "CLAUDE_PROJECT_DIR=" + at("plain")}, dir: "plain", home: "repo", who: "repo"},
		"GT_HOME of a town in a repo":  {vars: []string{"GT_HOME=" + at("mono/town/x"), mine}, dir: "repo", home: "mono/town/x", who: "x", town: "mono/town"},
		"GT_HOME of the refinery":      {vars: []string{"GT_HOME=" + at("town/gastown/refinery/rig"), mine}, dir: "plain", home: "town/gastown/refinery/rig", who: "gastown/refinery", town: "town"},
		"GT_HOME and a GT_ROLE":        {vars: []string{"GT_HOME=" + at("repo"), "GT_ROLE=gastown/crew/max"}, dir: "town/mayor", home: "repo", who: "gastown/crew/max"},
		"GT_HOME with a trailing dot.": {vars: []string{"GT_HOME=" + at("repo") + "/./"}, dir: "plain", home: "repo", who: "repo"},
	} {
		t.Run(name, func(t *testing.T) {
			getenv := testenv.Getenv(append(c.vars, "HOME="+at("user"))...)
			for _, dir := range []string{"town", "bare", "mono/town"} {
				trust, err := place.Survey(at(dir))
				if err == nil {
					err = place.StateOf(getenv).RecordTrust(trust)
				}
				testenv.NoError(t, err)
			}
			h := Find(getenv, at(c.dir), c.own)
			if h.Dir != at(c.home) {
				t.Errorf("home %s", h.Dir)
			}
			if got := h.Identity.Address(); got != c.who {
				t.Errorf("identity %s", got)
			}
			want := at(c.town)
			if c.town == "" {
				want = at("user/.local/state/gt")
			}
			if h.Town.Root != want || h.Town.Personal != (c.town == "") {
				t.Errorf("town %+v", h.Town)
			}
			if (h.Ignored != "") != (name == "an invalid GT_ROLE") {
				t.Errorf("ignored %q", h.Ignored)
			}
		})
	}
}

// What is kept of a home lies in the state, and leaves no trace in the home.
func TestPrepareLeavesTheProjectAlone(t *testing.T) {
	dir, state := t.TempDir(), place.State(filepath.Join(t.TempDir(), "state"))
	h := HomeOutsideTown(state, dir)
	for range 2 {
		testenv.NoError(t, h.Prepare())
	}
	if info, err := os.Stat(h.Runtime()); err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(filepath.Dir(h.Runtime())) != string(state) {
		t.Error(h.Runtime(), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

// Where the state cannot be believed, nothing is kept, and the error says why.
func TestNoState(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(t.TempDir(), "open")
	testenv.NoError(t, os.Mkdir(open, 0o700))
	testenv.NoError(t, os.Chmod(open, 0o777))
	file := filepath.Join(t.TempDir(), "file")
	testenv.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		state place.State
		want  string
	}{
		"none":               {place.MissingState, "HOME is not set"},
		"in the project":     {place.State(filepath.Join(dir, "state")), "gt's own state lies inside"},
		"the project itself": {place.State(dir), "gt's own state lies inside"},
		"for others":         {place.State(open), "can write to it"},
		"a file":             {place.State(file), "not a folder"},
	} {
		h := HomeOutsideTown(c.state, dir)
		if h.Problem == nil || !strings.Contains(h.Problem.Error(), c.want) {
			t.Errorf("%s: %v", name, h.Problem)
		}
		if err := h.Prepare(); err == nil {
			t.Errorf("%s: it was prepared", name)
		}
		if _, err := h.Lock(); err == nil {
			t.Errorf("%s: it was locked", name)
		}
		if h.Runtime() == "" || place.IsBelow(h.Runtime(), dir) {
			t.Errorf("%s: its files are in %s", name, h.Runtime())
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Error(entries, err)
	}
}

func TestLockIsForOne(t *testing.T) {
	h := HomeOutsideTown(place.State(t.TempDir()), t.TempDir())
	lock, err := h.Lock()
	testenv.NoError(t, err)
	if _, err := flock.Acquire(h.Path("lock"), 0); !errors.Is(err, flock.ErrBusy) {
		t.Error(err)
	}
	lock.Unlock()
	if lock, err = h.Lock(); err != nil {
		t.Fatal(err)
	}
	lock.Unlock()
}

// A worktree that was removed under a session does not come back, and what is kept
// of it can still be read and written.
func TestRemovedHome(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	state := place.State(t.TempDir())
	h := HomeOutsideTown(state, dir)
	testenv.NoError(t, h.Prepare())
	testenv.NoError(t, os.Remove(dir))
	gone := HomeOutsideTown(state, dir)
	if err := gone.Prepare(); err != nil || gone.Runtime() != h.Runtime() {
		t.Error(gone.Runtime(), err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("it is back")
	}
}

// A role's directory that leads out of the town is nobody's to write S1's files into.
func TestMirrorStaysInTown(t *testing.T) {
	root := testenv.Tree(t, "town/town.toml", "town/gastown/crew/max/", "elsewhere/")
	testenv.NoError(t, os.Symlink(filepath.Join(root, "elsewhere"), filepath.Join(root, "town/gastown/crew/joe")))
	getenv := testenv.Getenv("XDG_STATE_HOME=" + filepath.Join(root, "state"))
	trust, err := place.Survey(filepath.Join(root, "town"))
	if err == nil {
		err = place.StateOf(getenv).RecordTrust(trust)
	}
	testenv.NoError(t, err)
	for role, want := range map[string]bool{"max": true, "joe": false} {
		h := Find(testenv.Getenv("XDG_STATE_HOME="+filepath.Join(root, "state"), "GT_ROLE=gastown/crew/"+role), filepath.Join(root, "town"), "")
		if h.Identity.Name != role || h.HasMirror() != want {
			t.Errorf("%s in %s: %v", h.Identity.Address(), h.Dir, h.HasMirror())
		}
	}
}
