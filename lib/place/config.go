package place

import (
	"errors"
	"os"
	"path/filepath"

	"gt/lib/sys/atomicfile"
)

// Config returns a path in the person's configuration, $XDG_CONFIG_HOME/gt (~/.config/gt),
// or "" if neither variable is an absolute path.
func Config(getenv func(string) string, elem ...string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(append([]string{dir, "gt"}, elem...)...)
}

// ReadConfig returns at most limit bytes of a file from Config. It follows links, because
// people keep their settings elsewhere (stow, chezmoi). The file must belong to the person
// or root and not be writable by everybody.
func ReadConfig(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, atomicfile.Error("open", path, err)
	}
	f, err := atomicfile.Open(real)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		switch uid := atomicfile.Owner(info); {
		case uid != 0 && uid != os.Geteuid():
			err = errors.New("it belongs to another user")
		case info.Mode().Perm()&0o002 != 0:
			err = errors.New("everybody can write to it")
		}
	}
	if err != nil {
		return nil, atomicfile.Error("use", path, err)
	}
	data, err := atomicfile.ReadFrom(f, limit)
	return data, atomicfile.Error("read", path, err)
}
