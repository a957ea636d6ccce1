package place

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"gt/lib/sys/atomicfile"
)

// Top returns the top of the worktree that dir is in: the nearest folder at or above
// dir, but not above limit, that contains .git (a file in a linked worktree). It returns
// dir itself if there is none, or if the .git belongs to another user (see Counts).
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

// Counts reports whether a file in or above the folder dir belongs to this user or to
// root, which git also requires of a repository. For root, a file of the user who called
// sudo counts too, and so does a file of dir's owner: in a container, a mounted project
// belongs to another user.
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
