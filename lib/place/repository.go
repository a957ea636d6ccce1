package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"gt/lib/sys/atomicfile"
)

// Top returns the top of the worktree that dir is in: the nearest folder at or above
// it, but not above limit, that holds .git, which is a file in a linked worktree; dir
// itself where there is none. What another user has put above a folder makes no
// worktree of it.
func Top(dir, limit string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if !Counts(info, dir) {
				return dir
			}
			return at
		}
		if at == limit || at == filepath.Dir(at) {
			return dir
		}
	}
}

// Counts reports whether what is found in or above the folder that somebody works in
// is theirs, or root's, as git wants it of a repository. For root that is also what
// belongs to who called sudo, and to whom the folder belongs: in a container all of a
// project that was mounted is another user's.
func Counts(info fs.FileInfo, dir string) bool {
	uid := atomicfile.Owner(info)
	switch {
	case uid == os.Geteuid() || uid == 0:
		return true
	case os.Geteuid() != 0:
		return false
	case os.Getenv("SUDO_UID") == strconv.Itoa(uid):
		return true
	}
	owner, err := ownerOf(dir)
	return err == nil && owner == uid
}
