// Package home finds a session's folder, its place in the state, and the agent's identity.
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

type Home struct {
	Dir      string
	Town     town.Town
	Identity identity.Identity
	// Ignored is the value of GT_ROLE if it is invalid.
	Ignored string
	// Problem says why gt cannot keep anything of this home: the person has no state
	// folder, or it is not safe.
	Problem error

	entry        place.HomeEntry // its place in the state
	isRoleFolder bool            // it is a role's folder in a town

	unnamed bool // Identity is the folder's own name, and the other homes were not asked
}

// completeHome completes a home with a known folder, town and identity: it sets Problem, finds its
// place in the state unless that is known as at, and names an unnamed home outside a town
// (nameOutsideTown).
func (h Home) completeHome(at string) Home {
	h.isRoleFolder = !h.Town.Personal && h.Identity.Role != ""
	state := h.Town.State
	real := h.Dir
	if at == "" {
		real = place.Real(h.Dir)
	}
	if h.Problem = state.Check(); h.Problem == nil && state.IsInside(real) {
		// Others who can write to the project could change it.
		h.Problem = fmt.Errorf("gt's own state lies inside '%s', so nothing is kept for this folder: "+
			"work in a project's folder, or set XDG_STATE_HOME to a folder outside", h.Dir)
	}
	switch {
	case h.Problem != nil:
		h.entry = place.HomeEntry{At: place.MissingState.Path("home")}
	case at != "" && h.entry.At == at: // read together with the folder
	case at != "" && h.unnamed: // the place has a record of the name
		h.entry = state.HomeEntryAt(at)
	case at != "":
		h.entry = place.HomeEntry{At: at}
	default:
		h.entry = state.Home(real, h.isRoleFolder)
	}
	if h.unnamed && h.Problem == nil && h.Town.Personal {
		h.Identity = h.nameOutsideTown(real)
	}
	return h
}

// nameOutsideTown returns the identity of a home outside a town: the recorded name, else one that
// no other home has.
func (h Home) nameOutsideTown(real string) identity.Identity {
	address, known := h.entry.Address()
	switch given, err := identity.Parse(address); {
	case err == nil && given.Role == "":
		return given
	case known:
		return h.Identity
	}
	return identity.NameFolder(h.Dir, func(names []string) map[string]bool {
		return h.Town.State.Addresses(real, names)
	})
}

// Find returns the home of a session in dir. The first of these counts: GT_HOME if it is a
// folder; in a town, the role's folder; the top of the git worktree that contains the
// client's project folder (CLAUDE_PROJECT_DIR, or else dir); that folder itself. A home in
// a town is never above the town.
//
// The town is the home's, so that a command that a session runs in another repository still
// finds its own town's log and notes.
//
// own is the session's id if it is certain, as from a hook's input, or "". gt-prime sets
// GT_HOME and GT_SESSION_UUID together for a session's commands. So if GT_SESSION_UUID is
// another session's, GT_HOME was inherited too and is ignored.
func Find(getenv func(string) string, dir, own string) Home {
	return FindIn(place.ScopeOf(getenv), dir, own)
}

// FindIn is Find in a scope.
func FindIn(s place.Scope, dir, own string) Home { return findAt(s, dir, own, "") }

// findAt is FindIn with the home's place in the state, at, which is "" if that is not known.
// sessionID is FindIn's own.
func findAt(s place.Scope, dir, sessionID, at string) Home {
	agent := s.Agent
	project := agent.Project
	if !filepath.IsAbs(project) || !atomicfile.IsFolder(project) {
		project = dir
	}
	h := Home{Ignored: agent.Ignored}
	workdir := agent.Workdir
	if sessionID != "" && agent.Session != "" && agent.Session != sessionID {
		workdir = ""
	}
	if filepath.IsAbs(workdir) && (at != "" || atomicfile.IsFolder(workdir)) {
		h.Dir = filepath.Clean(workdir)
		project = h.Dir
	}
	h.Town = town.FindIn(s, project)

	id, ok := agent.Identity, agent.Named
	if !ok && !h.Town.Personal {
		if rel, err := filepath.Rel(h.Town.Root, project); err == nil {
			id, ok = identity.FromDir(rel)
		}
	}
	if h.Dir == "" && ok && !h.Town.Personal {
		if role := id.Dir(); role != "" && atomicfile.IsFolder(filepath.Join(h.Town.Root, role)) {
			h.Dir = filepath.Join(h.Town.Root, role)
		}
	}
	if h.Dir == "" {
		h.Dir = place.Top(project, h.Town.Root)
	}
	for _, d := range []string{dir, agent.Project, h.Dir} { // no program is taken from there
		process.Distrust(d)
	}
	if h.unnamed = !ok; h.unnamed {
		id = identity.NameByBase(h.Dir)
	}
	h.Identity = id
	return h.completeHome(at)
}

// FixedHome returns the home that a session's first hook found: the folder dir, whose state is in the
// folder at. own is the session's id. If dir is gone and cwd, the client's current folder, is in a
// home with the same state, the home has moved there, and FixedHome returns that.
func FixedHome(s place.Scope, at, dir, cwd, own string) Home {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) && cwd != dir {
		if moved := FindIn(s, cwd, own); moved.Runtime() == at {
			return moved
		}
	}
	s.Agent.Workdir, s.Agent.Session = dir, own
	return findAt(s, dir, own, at)
}

// OfSession returns a session's recorded home. ok is false if there is none or, with an
// error, if it cannot be used.
func OfSession(state place.State, id string) (h Home, ok bool, err error) {
	kept, dir, err := state.FixedEntry(id)
	if kept.At == "" {
		return Home{}, false, err
	}
	t := town.PersonalIn(state)
	h = Home{Dir: dir, Town: t, Identity: identity.NameByBase(dir), unnamed: true, entry: kept}.completeHome(kept.At)
	return h, h.Problem == nil, h.Problem
}

// InTown returns a home from OfSession with its town and the role that it has there.
func (h Home) InTown() Home {
	s := place.Scope{State: h.Town.State, Agent: place.Agent{Workdir: h.Dir}}
	return findAt(s, h.Dir, "", h.entry.At)
}

// FilesOfSession is OfSession for callers that only read the home's files in a state that was
// checked. The home has no folder and no identity.
func FilesOfSession(state place.State, id string) (h Home, ok bool, err error) {
	at, err := state.FixedPlace(id)
	if at == "" {
		return Home{}, false, err
	}
	return Home{Town: town.PersonalIn(state), entry: place.HomeEntry{At: at}}, true, nil
}

// FindOtherHome returns the home of another agent in dir. It ignores the scope's own agent.
func FindOtherHome(s place.Scope, dir string) Home {
	s.Agent = place.Agent{}
	return FindIn(s, dir, "")
}

// NewHome returns the home with this town, identity and folder, for a hand-over to another session.
func NewHome(t town.Town, id identity.Identity, dir string) Home {
	return Home{Dir: dir, Town: t, Identity: id}.completeHome("")
}

// HomeOutsideTown returns the home of a folder outside any town.
func HomeOutsideTown(state place.State, dir string) Home {
	t := town.PersonalIn(state)
	return Home{Dir: dir, Town: t, Identity: identity.NameByBase(dir), unnamed: true}.completeHome("")
}

// Enter opens a folder in which sessions of the home work, if it is still the same (see
// place.State.Enter). A role's folder may be made anew.
func (h Home) Enter(dir string) (*place.Opened, error) {
	var recorded place.Folder
	if dir == h.Dir && !h.isRoleFolder {
		recorded = h.Town.State.RecordedFolder(h.entry)
	}
	return h.Town.State.Enter(dir, recorded, h.isRoleFolder)
}

func (h Home) Runtime() string { return h.entry.At }

func (h Home) Path(elem ...string) string {
	return place.Join(h.entry.At, elem...)
}

// mirrorList lists what git does not show in a home of a town.
const mirrorList = "mirror"

// HasMirror reports whether the home has Gas Town's files: in a trusted town if the agent has a
// role. A role's folder that is a link out of the town has none, because anybody who can
// write to the town can have made the link.
func (h Home) HasMirror() bool {
	return h.isRoleFolder && h.Town.Trust != nil && h.Problem == nil &&
		place.IsBelow(place.Real(h.Dir), place.Real(h.Town.Root)) // mutant always: TestMirrorStaysInTown
}

// SetMirror records which of place.MirrorFiles git does not show in the home. Only these
// may be written there.
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

// Mirror returns the home's copies of markers and checkpoints for the town's other programs. It is
// empty without HasMirror. Until SetMirror has kept the names that git ignores, nothing is written.
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

// Prepare creates Runtime with mode 0700, but not the home itself: a worktree that was
// removed under a session does not come back.
func (h Home) Prepare() error {
	if h.Problem != nil {
		return h.Problem
	}
	return h.Town.State.MakeHome(h.entry, h.Dir, h.Identity.Address())
}

// lockWait bounds the wait for the home's lock, which is held for milliseconds.
const lockWait = 3 * time.Second

// Lock locks the home's state, creating Runtime if necessary. It waits at most three seconds.
func (h Home) Lock() (*flock.Lock, error) { return h.LockWithin(lockWait) }

// LockWithin is Lock with another limit on the wait.
func (h Home) LockWithin(wait time.Duration) (*flock.Lock, error) {
	if err := h.Prepare(); err != nil {
		return nil, err
	}
	return flock.Acquire(h.Path("lock"), wait)
}
