package place

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/sys/atomicfile"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	testenv.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestStateOf(t *testing.T) {
	home := Real(t.TempDir())
	real := filepath.Join(home, "dotfiles", "state")
	testenv.NoError(t, os.MkdirAll(real, 0o700))
	testenv.NoError(t, os.Symlink(real, filepath.Join(home, "link")))
	for want, vars := range map[string][]string{
		home + "/.local/state/gt": {"HOME=" + home},
		home + "/x/gt":            {"HOME=/nowhere", "XDG_STATE_HOME=" + home + "/x"},
		real + "/gt":              {"HOME=" + home, "XDG_STATE_HOME=" + home + "/link"}, // stow
	} {
		if got := StateOf(testenv.Getenv(vars...)); string(got) != want {
			t.Errorf("%q: %s, want %s", vars, got, want)
		}
	}
	// Without HOME the passwd entry's counts, and never a folder such as /tmp.
	for _, vars := range [][]string{nil, {"HOME=relative"}, {"XDG_STATE_HOME=relative"}} {
		if got := string(StateOf(testenv.Getenv(vars...))); IsBelow(got, "/tmp") || !filepath.IsAbs(got) {
			t.Errorf("%q: %s", vars, got)
		}
	}
}

func TestInside(t *testing.T) {
	for path, dir := range map[string]string{"/a": "/a", "/a/b": "/a", "/x": "/"} {
		if !IsBelow(path, dir) {
			t.Errorf("%s is in %s", path, dir)
		}
	}
	for path, dir := range map[string]string{"/ab": "/a", "/a": "/a/b", "/": "/a"} {
		if IsBelow(path, dir) {
			t.Errorf("%s is not in %s", path, dir)
		}
	}
	// Links do not hide that the state lies in a project.
	root := Real(t.TempDir())
	testenv.NoError(t, os.MkdirAll(filepath.Join(root, "project", "state"), 0o700))
	testenv.NoError(t, os.Symlink(filepath.Join(root, "project"), filepath.Join(root, "link")))
	s := StateOf(testenv.Getenv("XDG_STATE_HOME=" + filepath.Join(root, "link", "state")))
	if !s.IsInside(filepath.Join(root, "project")) || s.IsInside(filepath.Join(root, "project", "other")) {
		t.Error(s)
	}
}

// A link of another user's leads to no state: it could lead into a clone of ours.
func TestForeignLink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a link away")
	}
	root := Real(t.TempDir())
	testenv.NoError(t, os.MkdirAll(filepath.Join(root, "clone", "gt"), 0o700))
	testenv.NoError(t, os.MkdirAll(filepath.Join(root, "home", ".local"), 0o700))
	link, over := filepath.Join(root, "home", ".local", "state"), filepath.Join(root, "over")
	testenv.NoError(t, os.Symlink("../../clone", link))
	testenv.NoError(t, os.Symlink(filepath.Join("home", ".local", "state"), over))
	for _, e := range []string{"HOME=" + filepath.Join(root, "home"), "XDG_STATE_HOME=" + over} {
		if s := StateOf(testenv.Getenv(e)); s != State(filepath.Join(root, "clone", "gt")) || s.Check() != nil {
			t.Errorf("%s: %s, %v", e, s, s.Check())
		}
	}
	testenv.NoError(t, os.Lchown(link, 12345, 12345))
	for _, e := range []string{"HOME=" + filepath.Join(root, "home"), "XDG_STATE_HOME=" + over} {
		if s := StateOf(testenv.Getenv(e)); s != ForeignState || s.Check() == nil || s.IsInside("/") {
			t.Errorf("another user's, %s: %s", e, s)
		}
	}
}

// The name of a folder in the state is one name, whatever its folder is called.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"/", "/a", "/größe", "/..x", "/-rf", "/" + strings.Repeat("ö", 200), "/a\nb", "/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		k := entryName(path)
		if k == "" || len(k) > 255 || strings.ContainsAny(k, "/\x00\n") || k[0] == '.' || k[0] == '-' || k != entryName(path) {
			t.Fatalf("%q: %q", path, k)
		}
	})
}

// Two folders that had the same path have separate places, and one that returns gets its
// own again. A role's folder in a town belongs to the role.
func TestAnotherFolderAtTheSamePath(t *testing.T) {
	s, root := State(t.TempDir()), t.TempDir()
	dir, old := filepath.Join(root, "api"), filepath.Join(root, "old")
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	first := s.Home(dir, false).At
	testenv.NoError(t, s.MakeHome(s.Home(dir, false), dir, "api"))
	if s.Home(dir, false).At != first {
		t.Error("the same folder has two places")
	}
	testenv.NoError(t, os.Rename(dir, old))
	if s.Home(dir, false).At != first {
		t.Error("what is kept of a folder that is gone cannot be read")
	}
	testenv.NoError(t, os.Mkdir(dir, 0o700))
	second := s.Home(dir, false).At
	if second == first {
		t.Error("another folder has what the old one left")
	}
	if s.Home(dir, true).At != first {
		t.Error("a role's directory that was made anew has lost what belongs to the role")
	}
	testenv.NoError(t, s.MakeHome(s.Home(dir, false), dir, "api"))
	if s.Home(dir, false).At != second {
		t.Error("it has no place of its own")
	}
	testenv.NoError(t, os.Remove(dir))
	testenv.NoError(t, os.Rename(old, dir))
	if s.Home(dir, false).At != first {
		t.Error("the folder that came back has lost what it had")
	}
	homes, err := s.Homes()
	if err != nil || len(homes) != 2 || homes[first].Path != Real(dir) || homes[first].Address != "api" {
		t.Error(homes, err)
	}
	info, err := os.Stat(filepath.Join(first, folderRecord))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

func TestFixed(t *testing.T) {
	s, a, b := State(t.TempDir()), t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		testenv.NoError(t, s.MakeHome(s.Home(dir, false), dir, ""))
	}
	if at, _, _ := s.FixedHome("s1"); at != "" {
		t.Error(at)
	}
	testenv.NoError(t, s.FixHome("s1", s.Home(a, false).At))
	testenv.NoError(t, s.FixHome("s1", s.Home(b, false).At)) // its first hook's counts
	if at, dir, _ := s.FixedHome("s1"); at != s.Home(a, false).At || dir != Real(a) {
		t.Error(at, dir)
	}
	s.UnfixHome("s1")
	if at, _, _ := s.FixedHome("s1"); at != "" {
		t.Error(at)
	}
	// A link leads to a home of this state, whatever it says.
	testenv.NoError(t, os.Symlink("/etc", s.Path("sessions", "s2")))
	if at, _, _ := s.FixedHome("s2"); at != "" {
		t.Error(at)
	}
}

func TestTrust(t *testing.T) {
	s, root := State(filepath.Join(t.TempDir(), "state")), t.TempDir()
	write(t, filepath.Join(root, "town.toml"), "a = 1\n")
	write(t, filepath.Join(root, "roles", "witness.md"), "Watch.\n")
	if _, err := s.TrustOf(root); !errors.Is(err, ErrUntrusted) {
		t.Error(err)
	}
	w, err := Survey(root)
	testenv.NoError(t, err)
	if len(w.Files) != 2 {
		t.Error(w.Files)
	}
	testenv.NoError(t, s.RecordTrust(w))
	got, err := s.TrustOf(root)
	testenv.NoError(t, err)
	read := func(name string, want error) {
		t.Helper()
		data, err := got.Read(name)
		if !errors.Is(err, want) || err == nil && len(data) == 0 {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	read("town.toml", nil)
	read("roles/witness.md", nil)
	read("roles/other.md", fs.ErrNotExist)
	write(t, filepath.Join(root, "roles", "other.md"), "x")
	read("roles/other.md", ErrChanged)
	write(t, filepath.Join(root, "town.toml"), "a = 2\n")
	read("town.toml", ErrChanged)
	// A link is not what was shown, even to the same words.
	write(t, filepath.Join(root, "copy"), "a = 1\n")
	testenv.NoError(t, os.Remove(filepath.Join(root, "town.toml")))
	testenv.NoError(t, os.Symlink("copy", filepath.Join(root, "town.toml")))
	if _, err := got.Read("town.toml"); err == nil {
		t.Error("a link was followed")
	}
	testenv.NoError(t, os.Rename(filepath.Join(root, "roles"), filepath.Join(root, "r2")))
	testenv.NoError(t, os.Symlink("r2", filepath.Join(root, "roles")))
	if _, err := got.Read("roles/witness.md"); err == nil {
		t.Error("a linked folder was followed")
	}
	testenv.NoError(t, s.Untrust(root))
	if _, err := s.TrustOf(root); !errors.Is(err, ErrUntrusted) {
		t.Error(err)
	}
	if err := s.Untrust(root); !errors.Is(err, ErrUntrusted) {
		t.Error(err)
	}
}

// What is read is what was compared: a file that is exchanged all the while is never
// taken for what was trusted.
func TestTrustedBytesAreTheOnesRead(t *testing.T) {
	root := t.TempDir()
	good, evil, path := filepath.Join(root, "good"), filepath.Join(root, "evil"), filepath.Join(root, "town.toml")
	write(t, path, "good")
	w, err := Survey(root)
	testenv.NoError(t, err)
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; !stop.Load(); i++ {
			from, text := good, "good"
			if i%2 == 0 {
				from, text = evil, "evil"
			}
			if os.WriteFile(from, []byte(text), 0o600) == nil {
				_ = os.Rename(from, path)
			}
		}
	}()
	for range 400 {
		if data, err := w.Read("town.toml"); err == nil && string(data) != "good" {
			t.Fatalf("it read %q", data)
		}
	}
	stop.Store(true)
	<-done
}

func TestMirror(t *testing.T) {
	dir := t.TempDir()
	m := MirrorOf(dir, map[string]bool{"handoff": true, Checkpoint: true})
	for _, name := range []string{"handoff", Checkpoint, "session_id"} {
		testenv.NoError(t, m.Write(name, []byte("x\n")))
		data, err := m.Read(name, 10)
		if shown := name == "session_id"; shown != errors.Is(err, fs.ErrNotExist) || !shown && string(data) != "x\n" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	testenv.NoError(t, m.Remove("handoff"))
	testenv.NoError(t, m.Remove("handoff"))
	if err := (Mirror{}).Write("handoff", nil); err != nil {
		t.Error(err)
	}
	if _, err := (Mirror{}).Read("handoff", 10); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Nothing in a project is reached through a link, and nothing that is there under a
// second name is read.
func TestProjectLinks(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, "handoff"), "theirs")
	write(t, filepath.Join(elsewhere, "requests", "s1"), "theirs")
	for what, plant := range map[string]func(dir string) error{
		"the folder": func(dir string) error { return os.Symlink(elsewhere, filepath.Join(dir, Runtime)) },
		"the file": func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, Runtime, "requests"), 0o700),
				os.Symlink(filepath.Join(elsewhere, "handoff"), filepath.Join(dir, Runtime, "handoff")),
				os.Symlink(filepath.Join(elsewhere, "requests", "s1"), filepath.Join(dir, Runtime, "requests", "s1")))
		},
		"a second name": func(dir string) error {
			return errors.Join(os.MkdirAll(filepath.Join(dir, Runtime, "requests"), 0o700),
				os.Link(filepath.Join(elsewhere, "handoff"), filepath.Join(dir, Runtime, "handoff")),
				os.Link(filepath.Join(elsewhere, "requests", "s1"), filepath.Join(dir, Runtime, "requests", "s1")))
		},
	} {
		dir := t.TempDir()
		testenv.NoError(t, plant(dir))
		if data, err := MirrorOf(dir, nil).Read("handoff", 100); err == nil {
			t.Errorf("%s: the mirror reads %q", what, data)
		}
		if data, _, err := RequestOf(dir, "s1").Read(); err == nil {
			t.Errorf("%s: the request reads %q", what, data)
		}
		_ = MirrorOf(dir, nil).Write("handoff", []byte("ours"))
		_ = RequestOf(dir, "s1").Write([]byte("ours"))
		for _, name := range []string{"handoff", "requests/s1"} {
			if data, err := os.ReadFile(filepath.Join(elsewhere, name)); err != nil || string(data) != "theirs" {
				t.Errorf("%s: %s holds %q, %v", what, name, data, err)
			}
		}
	}
}

func TestRequest(t *testing.T) {
	dir := t.TempDir()
	r := RequestOf(dir, "s1")
	if _, _, err := r.Read(); !errors.Is(err, fs.ErrNotExist) || r.Exists() {
		t.Error(err)
	}
	testenv.NoError(t, r.Write([]byte("hello")))
	data, changed, err := r.Read()
	if err != nil || string(data) != "hello" || time.Since(changed).Abs() > time.Minute || !r.Exists() {
		t.Error(data, changed, err)
	}
	// Its writer can date it back, and forward; when it was changed stays.
	testenv.NoError(t, os.Chtimes(r.Path(), time.Time{}, time.Now().Add(time.Hour)))
	if _, changed, err := r.Read(); err != nil || time.Since(changed).Abs() > time.Minute {
		t.Error(changed, err)
	}
	if err := r.Write(make([]byte, MaxRequest+1)); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Error(err)
	}
	testenv.NoError(t, os.WriteFile(r.Path(), make([]byte, MaxRequest+1), 0o600))
	if _, _, err := r.Read(); !errors.Is(err, atomicfile.ErrTooLarge) {
		t.Error(err)
	}
	testenv.NoError(t, r.Remove())
	testenv.NoError(t, r.Remove())
}

// Settings that a person keeps elsewhere and links to are theirs; what anybody may
// write is not.
func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "dotfiles", "agents.toml"), "x")
	link := filepath.Join(dir, "agents.toml")
	testenv.NoError(t, os.Symlink(filepath.Join(dir, "dotfiles", "agents.toml"), link))
	if data, err := ReadConfig(link, 10); err != nil || string(data) != "x" {
		t.Error(data, err)
	}
	testenv.NoError(t, os.Chmod(filepath.Join(dir, "dotfiles", "agents.toml"), 0o666))
	if _, err := ReadConfig(link, 10); err == nil {
		t.Error("what anybody may write was read")
	}
	if _, err := ReadConfig(filepath.Join(dir, "none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A folder that moves keeps its place, and a new folder at the old path gets another. A
// role's folder does not take the role's place along.
func TestMovedFolder(t *testing.T) {
	s, root := State(t.TempDir()), t.TempDir()
	a, b, role := filepath.Join(root, "a"), filepath.Join(root, "b"), filepath.Join(root, "role")
	testenv.NoError(t, os.Mkdir(a, 0o700))
	if f, err := Identify(a); err != nil || f.BirthTime == 0 {
		t.Skip("the file system does not tell when a folder was made")
	}
	kept := s.Home(a, false)
	testenv.NoError(t, s.MakeHome(kept, a, "a"))
	testenv.NoError(t, os.Rename(a, b))
	moved := s.Home(b, false)
	if moved.At != kept.At {
		t.Fatalf("it has lost what it had: %v", moved)
	}
	testenv.NoError(t, os.Mkdir(a, 0o700)) // another, which comes first
	other := s.Home(a, false)
	if other.At == kept.At {
		t.Error("another folder has what the old one had")
	}
	testenv.NoError(t, s.MakeHome(other, a, "a"))
	testenv.NoError(t, s.MakeHome(moved, b, "b"))
	testenv.NoError(t, s.MakeHome(s.Home(b, false), b, "b"))
	homes, err := s.Homes()
	if err != nil || len(homes) != 2 || homes[kept.At].Path != Real(b) || homes[kept.At].Address != "b" || homes[other.At].Path != Real(a) {
		t.Error(homes, err)
	}
	testenv.NoError(t, os.Remove(a))
	testenv.NoError(t, os.Rename(b, a)) // and back
	back := s.Home(a, false)
	testenv.NoError(t, s.MakeHome(back, a, "a"))
	if homes, _ := s.Homes(); back.At != kept.At || homes[kept.At].Path != Real(a) {
		t.Error(back, homes)
	}

	testenv.NoError(t, os.Mkdir(role, 0o700))
	of := s.Home(role, true)
	testenv.NoError(t, s.MakeHome(of, role, "x/crew/y"))
	testenv.NoError(t, os.Rename(role, b))
	if s.Home(b, false).At == of.At {
		t.Error("who moves a role's directory has what is the role's")
	}
}

// Join joins as filepath.Join does.
func TestJoin(t *testing.T) {
	for _, dir := range []string{"/a/b", "/", "", "a", "/a/", "/a//b", "/a/../b", "/a/.b", ".", "/a/./b", "/a/.", "/a/.."} {
		for _, elem := range [][]string{nil, {"x"}, {"x", "y.json"}, {""}, {".lock"}, {"..", "x"}, {"x/../y"}, {"x/"}, {"/x"}, {"x//y"}, {"homes", "a b", "sessions", "é"}} {
			if got, want := Join(dir, elem...), filepath.Join(append([]string{dir}, elem...)...); got != want {
				t.Errorf("%q, %q: %q, want %q", dir, elem, got, want)
			}
		}
	}
}

// A folder is known again after its file system was mounted anew, as far as that records
// what lasts.
func TestFolderOnVolumes(t *testing.T) {
	was := Folder{Path: "/p", Device: 1, Inode: 2, BirthTime: 3}
	old := Folder{Path: "/p", Device: 1, Inode: 2}
	for name, c := range map[string]struct {
		was, here Folder
		on        volumeKind
		same      bool
	}{
		"another inode":                    {was, Folder{Path: "/p", Device: 1, Inode: 9, BirthTime: 3}, stableVolume, false},
		"another inode in user space":      {was, Folder{Path: "/p", Device: 4, Inode: 9, BirthTime: 3}, unstableVolume, true},
		"another birth in user space":      {was, Folder{Path: "/p", Device: 1, Inode: 9, BirthTime: 4}, unstableVolume, false},
		"no births in user space":          {old, Folder{Path: "/p", Device: 4, Inode: 9}, unstableVolume, true},
		"no births, another path":          {old, Folder{Path: "/q", Device: 4, Inode: 9}, unstableVolume, false},
		"no births on a disk":              {old, Folder{Path: "/p", Device: 1, Inode: 9}, stableVolume, false},
		"a container's copied folder":      {was, Folder{Path: "/p", Device: 4, Inode: 2, BirthTime: 9}, overlayVolume, true},
		"a container's other folder":       {was, Folder{Path: "/p", Device: 1, Inode: 9, BirthTime: 3}, overlayVolume, false},
		"a copied folder, but of no image": {was, Folder{Path: "/p", Device: 1, Inode: 2, BirthTime: 9}, stableVolume, false},
	} {
		if same := c.was.isUnchangedOn(c.here, c.on); same != c.same {
			t.Errorf("%s: %v", name, same)
		}
	}
}
