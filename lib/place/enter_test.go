package place

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gt/internal/testenv"
)

func TestEnter(t *testing.T) {
	top := Real(t.TempDir())
	s := State(filepath.Join(top, "home/.local/state/gt"))
	at := func(name string) string { return filepath.Join(top, "home", name) }
	folder := func(name string) {
		testenv.NoError(t, os.MkdirAll(at(name), 0o700))
	}
	link := func(to, name string) {
		testenv.NoError(t, os.Symlink(to, at(name)))
	}
	for _, name := range []string{"repo/.git", "repo/api", "repo/deep/api", "plain/sub", "other/sub", "town/rig", "was"} {
		folder(name)
	}
	was := func(name string) Folder {
		f, err := Identify(at(name))
		testenv.NoError(t, err)
		return f
	}
	for _, home := range []string{"plain", "was"} {
		testenv.NoError(t, s.MakeHome(s.Home(at(home), false), at(home), ""))
	}
	testenv.NoError(t, s.Prepare(s.Town(at("town"))))
	api, old := was("repo/api"), was("was")
	link("../other", "repo/out")
	link(at("other"), "plain/out")
	link("../other", "town/out")
	link("repo", "current")
	link("../home/repo/..", "dots")
	link("loop", "loop")
	link("../../other", "repo/deep/out")
	testenv.NoError(t, os.Rename(at("was"), at("moved")))
	link("moved", "was")
	link("repo", "mine")
	unborn := api
	unborn.BirthTime, unborn.Inode = 0, unborn.Inode+1
	for _, c := range []struct {
		path   string
		was    Folder
		remade bool
		ends   string // the path of what is opened; "" if it is refused
		link   string // why
	}{
		{"repo/api", Folder{}, false, "repo/api", ""},
		{"repo/api", api, false, "repo/api", ""},
		{"repo/deep/api", api, false, "", ""},
		{"repo/deep/api", api, true, "repo/deep/api", ""},
		{"repo/deep/api", unborn, false, "repo/deep/api", ""},
		{"repo/out", unborn, false, "", "repo/out"},
		{"repo/out", api, true, "", "repo/out"},
		{"repo/out", Folder{}, false, "", "repo/out"},
		{"repo/out/sub", Folder{}, false, "", "repo/out"},
		{"repo/deep/out/sub", Folder{}, false, "", "repo/deep/out"},
		{"repo/out", was("other"), false, "other", ""},
		{"plain/out/sub", Folder{}, false, "", "plain/out"},
		{"town/out", Folder{}, true, "", "town/out"},
		{"current/api", Folder{}, false, "repo/api", ""},
		{"current/api", api, false, "repo/api", ""},
		{"current/out", Folder{}, false, "", "repo/out"},
		{"dots/repo/out", Folder{}, false, "", "repo/out"},
		{"dots/repo/api", Folder{}, false, "repo/api", ""},
		{"was", Folder{}, false, "moved", ""},
		{"was", old, false, "moved", ""},
		{"moved", old, false, "moved", ""},
	} {
		o, err := s.Enter(at(c.path), c.was, c.remade)
		var exchanged *ExchangedError
		switch {
		case c.ends == "" && !errors.As(err, &exchanged):
			t.Errorf("Enter(%s): %v", c.path, err)
		case c.ends == "" && c.link != "" && exchanged.Link != at(c.link):
			t.Errorf("Enter(%s): %v", c.path, err)
		case c.ends != "" && err != nil:
			t.Errorf("Enter(%s): %v", c.path, err)
		case c.ends != "" && !o.Folder.isUnchanged(was(c.ends)):
			t.Errorf("Enter(%s) opened %v", c.path, o.Folder)
		}
	}
	for _, name := range []string{"loop", "gone", "repo/gone"} {
		if _, err := s.Enter(at(name), Folder{}, false); err == nil || errors.As(err, new(*ExchangedError)) {
			t.Errorf("Enter(%s): %v", name, err)
		}
	}
}

// Whoever exchanges a folder again and again is never let through: what is opened is what
// was judged.
func TestEnterWhileExchanged(t *testing.T) {
	top := Real(t.TempDir())
	s := State(filepath.Join(top, "home/.local/state/gt"))
	repo, other := filepath.Join(top, "home/repo"), filepath.Join(top, "home/other")
	for _, dir := range []string{filepath.Join(repo, ".git"), filepath.Join(repo, "api"), other} {
		testenv.NoError(t, os.MkdirAll(dir, 0o700))
	}
	theirs, err := Identify(other)
	testenv.NoError(t, err)
	done, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		api, aside := filepath.Join(repo, "api"), filepath.Join(repo, "aside")
		for {
			select {
			case <-done:
				return
			default:
				_ = os.Rename(api, aside)
				_ = os.Symlink(other, api)
				_ = os.Remove(api)
				_ = os.Rename(aside, api)
			}
		}
	}()
	for range 3000 {
		o, err := s.Enter(filepath.Join(repo, "api"), Folder{}, false)
		if err != nil {
			continue
		}
		if o.SameFolder(theirs) {
			t.Fatalf("the other folder was opened, as %s", o.Path)
		}
		o.Close()
	}
	close(done)
	<-stopped
}
