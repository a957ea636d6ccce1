// Package home finds the folder that a session works from and keeps its state
// in, and says who works there.
package home

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/place/identity"
	"gt/lib/place/town"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/sys/process"
)

// Home is the folder of a session, with the town that it belongs to and the
// identity that works in it.
type Home struct {
	Dir      string
	Town     town.Town
	Identity identity.Identity
	// Ignored is a GT_ROLE that is no address and was passed over.
	Ignored string
	// Problem is why nothing can be kept of this home: the person has no state
	// folder, or it cannot be believed. Nil where all is well.
	Problem error

	kept place.Kept // where what belongs to it is kept
	role bool       // it is a role's directory in a town
}

// in completes a home of which folder, town and identity are known, and perhaps the
// folder that keeps what belongs to it.
func (h Home) in(at string) Home {
	h.role = !h.Town.Personal && h.Identity.Role != ""
	state := h.Town.State
	real := h.Dir
	if at == "" {
		real = place.Real(h.Dir)
	}
	if h.Problem = state.Check(); h.Problem == nil && state.Within(real) {
		h.Problem = fmt.Errorf("nothing is kept for '%s': gt's own state lies in it, where whoever can write to the project can write it; "+
			"XDG_STATE_HOME moves it", h.Dir)
	}
	switch {
	case h.Problem != nil:
		h.kept = place.Kept{At: place.Nowhere.Path("home")}
	case at != "":
		h.kept = place.Kept{At: at}
	default:
		h.kept = state.Home(real, h.role)
	}
	return h
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
	return FindIn(place.StateOf(getenv), getenv, dir, own)
}

// FindIn is Find where the state is known.
func FindIn(state place.State, getenv func(string) string, dir, own string) Home {
	return find(state, getenv, dir, own, "")
}

// find is Find where the state is known, and with at the folder of it that keeps
// what belongs to the home.
func find(state place.State, getenv func(string) string, dir, own, at string) Home {
	project := getenv("CLAUDE_PROJECT_DIR")
	if !filepath.IsAbs(project) || !isDir(project) {
		project = dir
	}
	var h Home
	set := getenv("GT_HOME")
	if uuid := getenv("GT_SESSION_UUID"); own != "" && uuid != "" && uuid != own {
		set = ""
	}
	if filepath.IsAbs(set) && (at != "" || isDir(set)) {
		h.Dir = filepath.Clean(set)
		project = h.Dir
	}
	h.Town = town.FindIn(state, getenv, project)

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
		h.Dir = place.Top(project, h.Town.Root)
	}
	for _, d := range []string{dir, getenv("CLAUDE_PROJECT_DIR"), h.Dir} {
		process.Distrust(d)
	}
	if !ok {
		id = identity.Named(h.Dir)
	}
	h.Identity = id
	return h.in(at)
}

// Fixed is the home of a session that has had it from its first hook on: dir, kept at
// at, whatever folder its client is in by now, which is cwd. Where the home has moved
// since and the client is in it, it is where it is now.
func Fixed(state place.State, getenv func(string) string, at, dir, cwd, own string) Home {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && cwd != dir {
		if now := FindIn(state, getenv, cwd, own); now.Runtime() == at {
			return now
		}
	}
	return find(state, func(key string) string {
		switch key {
		case "GT_HOME":
			return dir
		case "GT_SESSION_UUID":
			return own
		}
		return getenv(key)
	}, dir, own, at)
}

// OfSession is the home of a session of which a record is kept; ok is false where
// none is noted, and with an error where that could not be read.
func OfSession(state place.State, id string) (h Home, ok bool, err error) {
	at, dir, err := state.Fixed(id)
	if at == "" {
		return Home{}, false, err
	}
	t := town.Town{Root: string(state), State: state, Personal: true}
	h = Home{Dir: dir, Town: t, Identity: identity.Named(dir)}.in(at)
	return h, h.Problem == nil, h.Problem
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
	return Home{Dir: dir, Town: t, Identity: id}.in("")
}

// In is the home that a folder is outside of any town.
func In(state place.State, dir string) Home {
	t := town.Town{Root: string(state), State: state, Personal: true}
	return At(t, identity.Named(dir), dir)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Runtime is the folder that keeps what belongs to the home, in the state.
func (h Home) Runtime() string { return h.kept.At }

// Path is a file or folder in Runtime.
func (h Home) Path(elem ...string) string {
	return filepath.Join(append([]string{h.kept.At}, elem...)...)
}

// mirrorList names the files that git does not show in a home of a town.
const mirrorList = "mirror"

// HasMirror reports whether other programs of the town read and write files of S1's
// in the home: in a trusted town, for who has a role in it. A role's directory that is
// a link to elsewhere has none: whoever can write to the town can have made it one.
func (h Home) HasMirror() bool {
	return h.role && h.Town.Trust != nil && h.Problem == nil && place.Inside(place.Real(h.Dir), place.Real(h.Town.Root))
}

// SetMirror notes which files of place.MirrorFiles may be written where other
// programs read them: those that git does not show there.
func (h Home) SetMirror(names []string) error {
	if err := h.Prepare(); err != nil {
		return err
	}
	text := strings.Join(names, "\n") + "\n"
	if old, err := atomicfile.Read(h.Path(mirrorList), 4096); err == nil && string(old) == text {
		return nil
	}
	return atomicfile.Write(h.Path(mirrorList), []byte(text), atomicfile.Unsynced)
}

// Mirror is where other programs of the town read and write the files that S1
// names; it has none where HasMirror does not hold. Before SetMirror it can be read,
// and nothing is written into it.
func (h Home) Mirror() place.Mirror {
	if !h.HasMirror() {
		return place.Mirror{}
	}
	data, err := atomicfile.Read(h.Path(mirrorList), 4096)
	if err != nil {
		return place.MirrorUnknown(h.Dir)
	}
	only := map[string]bool{}
	for name := range strings.FieldsSeq(string(data)) {
		only[name] = true
	}
	return place.MirrorOf(h.Dir, only)
}

// Prepare makes Runtime, private to the user. It makes no folder for the home
// itself: a worktree that was removed under a session does not come back.
func (h Home) Prepare() error {
	if h.Problem != nil {
		return h.Problem
	}
	return h.Town.State.MakeHome(h.kept, h.Dir, h.Identity.Address())
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
