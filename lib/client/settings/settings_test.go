package settings

import (
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	return string(data)
}

func write(t *testing.T, path, text string, perm fs.FileMode) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(path, []byte(text), perm))
	testenv.NoError(t, os.Chmod(path, perm))
}

// replaceWith edits to a fixed text and asks for a backup.
func replaceWith(text string) func([]byte) (Edit, error) {
	return func([]byte) (Edit, error) { return Edit{Text: []byte(text), Backup: true}, nil }
}

func TestNewFileIsPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".claude", "settings.json")
	if data, err := Read(path); data != nil || err != nil {
		t.Fatalf("Read gives %q, %v", data, err)
	}
	backup, err := Update(path, replaceWith("{}"))
	if err != nil || backup != "" || HasBackup(path) {
		t.Fatalf("Update gives %q, %v", backup, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestModeIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	write(t, path, "a", 0o640)
	backup, err := Update(path, replaceWith("b"))
	if err != nil || read(t, path) != "b" || read(t, backup) != "a" {
		t.Fatal(backup, err)
	}
	for path, want := range map[string]fs.FileMode{path: 0o640, backup: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, not %v (%v)", path, info.Mode(), want, err)
		}
	}
}

// keep overwrites no backup and writes none twice.
func TestBackups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for i, step := range []struct{ old, backup string }{
		{"one", ".gt-backup"}, {"two", ".gt-backup.1"}, {"one", ".gt-backup"}, {"two", ".gt-backup.1"}, {"three", ".gt-backup.2"},
	} {
		write(t, path, step.old, 0o600)
		backup, err := Update(path, replaceWith("changed"))
		if err != nil || backup != path+step.backup || read(t, backup) != step.old {
			t.Errorf("step %d: backup %s, %v", i, backup, err)
		}
	}
	write(t, path, "four", 0o600)
	if backup, err := Update(path, func([]byte) (Edit, error) { return Edit{Text: []byte("x")}, nil }); err != nil || backup != "" {
		t.Errorf("a backup that nobody asked for: %s, %v", backup, err)
	}
}

// An edit that changes nothing, or fails, leaves not even a lock.
func TestNothingToDo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "s")
	if _, err := Update(path, func(old []byte) (Edit, error) { return Edit{Text: old, Backup: true}, nil }); err != nil {
		t.Error(err)
	}
	broken := errors.New("broken")
	if _, err := Update(path, func([]byte) (Edit, error) { return Edit{}, broken }); err != broken {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	write(t, path, "a", 0o600)
	if _, err := Update(path, func([]byte) (Edit, error) { return Edit{}, nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A link stays a link, wherever it leads, and the file behind it changes.
func TestLinks(t *testing.T) {
	for name, c := range map[string]struct {
		link   string // the target of settings.json
		folder string // the target of the folder of settings.json
		target string
	}{
		"absolute":             {"$/dot/s.json", "", "dot/s.json"},
		"relative":             {"../dot/s.json", "", "dot/s.json"},
		"dangling":             {"../dot/new.json", "", "dot/new.json"},
		"two":                  {"../dot/again", "", "dot/s.json"},
		"relative in a linked": {"../s.json", "dot/deep/claude", "dot/deep/s.json"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range []string{"dot/deep/claude", "home"} {
				testenv.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
			}
			link := func(to, at string) {
				testenv.NoError(t, os.Symlink(strings.Replace(to, "$", root, 1), filepath.Join(root, at)))
			}
			link("s.json", "dot/again")
			if c.folder == "" {
				c.folder = "home"
			}
			link(c.folder, "claude")
			link(c.link, "claude/settings.json")
			target := filepath.Join(root, c.target)
			if name != "dangling" {
				write(t, target, "old", 0o644)
			}

			path := filepath.Join(root, "claude/settings.json")
			backup, err := Update(path, replaceWith("new"))
			if err != nil || read(t, target) != "new" {
				t.Fatalf("%v", err)
			}
			if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the link became %v, %v", info.Mode(), err)
			}
			if name != "dangling" && (read(t, backup) != "old" || filepath.Dir(backup) != filepath.Dir(path)) {
				t.Errorf("backup %s", backup)
			}
		})
	}

	path := filepath.Join(t.TempDir(), "loop")
	os.Symlink("loop", path)
	if _, err := Update(path, replaceWith("x")); err == nil || !strings.Contains(err.Error(), "too many symbolic links") {
		t.Error(err)
	}
}

// Concurrent edits lose no change.
func TestContention(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	const n = 32
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			line := fmt.Sprintf("<%d>", i)
			_, err := Update(path, func(old []byte) (Edit, error) {
				return Edit{Text: append(append([]byte{}, old...), line...), Backup: true}, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text := read(t, path)
	for i := range n {
		if strings.Count(text, fmt.Sprintf("<%d>", i)) != 1 {
			t.Errorf("%d is lost or there twice", i)
		}
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	write(t, file, "", 0o600)
	if data, err := Read(file); data == nil || err != nil {
		t.Errorf("an empty file is one that is there: %v, %v", data, err)
	}
	if _, err := Update(filepath.Join(file, "settings.json"), replaceWith("x")); err == nil {
		t.Error("a folder that is a file")
	}
}
