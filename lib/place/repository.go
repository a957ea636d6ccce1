package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"gt/lib/sys/atomicfile"
)

// Top returns the top of the worktree that contains dir: the nearest folder with .git (a
// file in a linked worktree), up to limit. It returns dir if there is none, or if .git
// belongs to another user (see Counts) and the person does not say that it is safe.
func Top(dir, limit string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if !Counts(info, dir) && !IsSafe(at) {
				return dir
			}
			return at
		}
		if at == limit || at == filepath.Dir(at) {
			return dir
		}
	}
}

// Counts reports whether a file in or above dir belongs to this user or root, as git
// requires of a repository. For root, the user who called sudo and dir's owner count too:
// in a container, a mounted project belongs to another user.
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
	return err == nil && owner == uid // mutant always: ./attacks TestUserPlantsRepository
}
