// Package home finds the folder that a session works from and keeps its state
// in, and says who works there.
package home

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/atomicfile"
	"gt/lib/flock"
	"gt/lib/identity"
	"gt/lib/process"
	"gt/lib/town"
)

// Home is the folder of a session, with the town that it belongs to and the
// identity that works in it.
type Home struct {
	Dir      string
	Town     town.Town
	Identity identity.Identity
	// Ignored is a GT_ROLE that is no address and was passed over.
	Ignored string
}

// Find returns the home of a session that runs in dir: GT_HOME where it names
// a folder; in a town the folder of the role; else the top of the git worktree
// that the client's project folder (CLAUDE_PROJECT_DIR), or else dir, is in;
// else that folder itself. A home in a town is never above it.
//
// The town is that of the home, so that a command that a session runs in
// another repository finds its own town's log and notes.
//
// own is the id of the session where it is known for certain, as from a hook's
// input. GT_HOME and GT_SESSION_UUID are set together, by gt-prime, for the
// commands that a session runs; so when GT_SESSION_UUID is another session's,
// GT_HOME was inherited from a parent and does not count.
func Find(getenv func(string) string, dir, own string) Home {
	project := getenv("CLAUDE_PROJECT_DIR")
	if !filepath.IsAbs(project) || !isDir(project) {
		project = dir
	}
	var h Home
	set := getenv("GT_HOME")
	if uuid := getenv("GT_SESSION_UUID"); own != "" && uuid != "" && uuid != own {
		set = ""
	}
	if filepath.IsAbs(set) && isDir(set) {
		h.Dir = filepath.Clean(set)
		project = h.Dir
	}
	h.Town = town.Find(getenv, project)

	id, ok, err := identity.FromEnv(getenv)
	if err != nil {
		h.Ignored = getenv("GT_ROLE")
	}
	if !ok && !h.Town.Personal {
		if rel, err := filepath.Rel(h.Town.Root, project); err == nil {
			id, ok = identity.FromDir(rel)
		}
	}
	if h.Dir == "" && ok && !h.Town.Personal {
		if role := id.Dir(); role != "" && isDir(filepath.Join(h.Town.Root, role)) {
			h.Dir = filepath.Join(h.Town.Root, role)
		}
	}
	if h.Dir == "" {
		h.Dir = worktree(project, h.Town.Root)
	}
	for _, d := range []string{dir, getenv("CLAUDE_PROJECT_DIR"), h.Dir} {
		process.Distrust(d)
	}
	if !ok {
		id = identity.Named(h.Dir)
	}
	h.Identity = id
	return h
}

// Elsewhere is the home of somebody who works in dir: of our environment only
// what says where towns are counts, and not who we are.
func Elsewhere(getenv func(string) string, dir string) Home {
	return Find(func(key string) string {
		switch key {
		case "HOME", "XDG_STATE_HOME", "GT_ROOT", "GT_TOWN_ROOT":
			return getenv(key)
		}
		return ""
	}, dir, "")
}

// At is the home that a folder is, whoever asks: for a hand-over to another
// session, which is read from the folder and not from our own environment.
func At(t town.Town, id identity.Identity, dir string) Home {
	return Home{Dir: dir, Town: t, Identity: id}
}

// worktree returns the nearest folder at or above dir, but not above top, that
// holds .git, which is a file in a linked worktree; dir itself where there is
// none.
func worktree(dir, top string) string {
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return d
		}
		if d == top || d == filepath.Dir(d) {
			return dir
		}
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Runtime is the folder of the home's own state, <home>/.runtime.
func (h Home) Runtime() string { return filepath.Join(h.Dir, ".runtime") }

// Path is a file or folder in Runtime.
func (h Home) Path(elem ...string) string {
	return filepath.Join(append([]string{h.Dir, ".runtime"}, elem...)...)
}

// Prepare makes Runtime: private to the user, and invisible to git. It refuses
// a symbolic link, and a folder that is somebody else's; one that others may
// write to, as a loose umask makes it, is theirs no more.
//
// It makes no folder for the home itself: a worktree that was removed under a
// session does not come back.
func (h Home) Prepare() error {
	if _, err := os.Stat(h.Dir); err != nil {
		return atomicfile.Error("use", h.Dir, err)
	}
	if err := atomicfile.Private(h.Runtime()); err != nil {
		return err
	}
	if info, err := os.Lstat(h.Runtime()); err == nil && info.Mode().Perm()&0o022 != 0 {
		if err := os.Chmod(h.Runtime(), info.Mode().Perm()&^0o022); err != nil {
			return atomicfile.Error("make private", h.Runtime(), err)
		}
	}
	ignore := h.Path(".gitignore")
	if _, err := os.Lstat(ignore); err == nil {
		return nil
	}
	return atomicfile.Write(ignore, []byte("*\n"), atomicfile.Unsynced)
}

// restart begins the name of the file in which one hand-over tells the restarted
// side what to become.
const restart = "restart-"

// Restart is the path for the restart file of that name.
func (h Home) Restart(name string) string { return h.Path(restart + name + ".json") }

// IsRestart says whether a path can be that of a restart file.
func IsRestart(path string) bool {
	return filepath.IsAbs(path) && strings.HasPrefix(filepath.Base(path), restart)
}

// SweepRestarts removes the restart files that nobody came to read within a
// minute: their hand-over was killed, and they hold an environment, with its
// keys.
func (h Home) SweepRestarts(now time.Time) {
	entries, err := os.ReadDir(h.Runtime())
	if err != nil {
		return // then nobody can read them either
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), restart) {
			continue
		}
		if info, err := e.Info(); err == nil && now.Sub(info.ModTime()).Abs() > time.Minute {
			os.Remove(h.Path(e.Name()))
		}
	}
}

// lockWait is how long a program waits for another that works in the same
// home. Each holds the lock for some milliseconds.
const lockWait = 3 * time.Second

// Lock makes the caller the only one to change this home's state. It prepares
// Runtime first.
func (h Home) Lock() (*flock.Lock, error) { return h.LockWithin(lockWait) }

// LockWithin is Lock with another patience: where what is done under the lock
// is worth more of the time that a hook has, or less.
func (h Home) LockWithin(wait time.Duration) (*flock.Lock, error) {
	if err := h.Prepare(); err != nil {
		return nil, err
	}
	return flock.Acquire(h.Path("lock"), wait)
}
