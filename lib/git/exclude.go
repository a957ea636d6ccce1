package git

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gt/lib/atomicfile"
)

// Exclude keeps files of that pattern out of what git shows in the repository
// that dir is in: it adds a line to the repository's info/exclude, which all
// its worktrees share and which is never committed. What a person wrote there
// stays, and a line that is there is not added again. Outside git there is
// nothing to do.
func Exclude(dir, pattern string) error {
	info := commonDir(dir)
	if info == "" {
		return nil
	}
	info = filepath.Join(info, "info")
	path := filepath.Join(info, "exclude")
	if has, _, err := hasLine(path, pattern); has || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(info, 0o777); err != nil { // as git makes it, under the umask
		return atomicfile.Error("create", info, err)
	}
	// No lock: whoever may read the file could hold one. Two who add the line at
	// once add it twice, which git minds as little as an empty line.
	_, torn, err := hasLine(path, pattern)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	line := pattern + "\n"
	if torn {
		line = "\n" + line
	}
	f, err := atomicfile.OpenAppend(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return atomicfile.Error("write", path, err)
}

// hasLine says whether the file has that line, and whether its last line lacks
// its end.
func hasLine(path, line string) (has, torn bool, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return false, false, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, atomicfile.MaxSize))
	for l := range bytes.Lines(data) {
		has = has || string(bytes.TrimRight(l, "\r\n")) == line
	}
	return has, len(data) > 0 && data[len(data)-1] != '\n', err
}

// commonDir returns the git directory that all worktrees of the repository
// share, "" outside git. dir may be below the top of its worktree.
func commonDir(dir string) string {
	for {
		gitDir, err := Dir(dir)
		if err == nil {
			data, err := atomicfile.Read(filepath.Join(gitDir, "commondir"), maxHead)
			if err != nil {
				return gitDir // no linked worktree
			}
			common := strings.TrimSpace(string(data))
			if !filepath.IsAbs(common) {
				common = filepath.Join(gitDir, common)
			}
			return common
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}
