package place

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/bounded"
	"gt/lib/sys/process"
)

// Top returns the top of the worktree that contains dir: the nearest folder with .git (a
// file in a linked worktree), up to limit. It returns dir if there is none, or if .git
// belongs to another user and the person does not say that it is safe.
func Top(dir, limit string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			if !HasTrustedOwner(info, dir) && !IsSafe(at) {
				return dir
			}
			return at
		}
		if at == limit || at == filepath.Dir(at) {
			return dir
		}
	}
}

// HasTrustedOwner reports whether a file in or above dir belongs to this user or root, as git
// requires of a repository. For root, the user who called sudo and dir's owner count too:
// in a container, a mounted project belongs to another user.
func HasTrustedOwner(info fs.FileInfo, dir string) bool {
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

// safeWait bounds the question to git, whose program a busy machine takes long to start.
const safeWait = 5 * time.Second

// IsSafe reports whether the person's git configuration lists the top of a repository as a
// safe.directory. It reads no repository's configuration. Only another user's repository is
// asked about, for git is a process of its own.
func IsSafe(top string) bool {
	git, err := process.LookPath("git", top, os.Environ())
	if err != nil {
		return false
	}
	env := append(process.PersonEnviron(os.Environ()), "PATH="+process.SearchPath(top, os.Environ()), "LC_ALL=C", "GIT_DIR=/dev/null")
	got, err := bounded.Program{
		Path: git, Args: []string{"config", "--type=path", "--get-all", "-z", "safe.directory"}, Dir: "/", Env: env, Within: safeWait, Most: 1 << 20,
	}.Run(context.Background())
	if err != nil {
		return false // it lists none
	}
	is := false
	for dir := range strings.SplitSeq(strings.TrimSuffix(string(got.Out), "\x00"), "\x00") {
		switch begin, all := strings.CutSuffix(dir, "/*"); {
		case dir == "": // an empty value resets the list
			is = false
		case dir == "*" || dir == top || all && strings.HasPrefix(top, begin+"/"):
			is = true
		}
	}
	return is
}
