package instance

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/state/lifecycle"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/openjson"
)

// Managed is what an instance from a template has besides: its state (package lifecycle) and its
// configuration. It is part of the instance's file, so that a change of state is one write.
type Managed struct {
	lifecycle.Session
	// Revision counts the writes. If a kill left copies in two folders, a closed one
	// counts, else the one with the higher revision.
	Revision int `json:"revision"`
	// Runtime is "" for tmux, or exec:PROGRAM.
	Runtime string `json:"runtime,omitempty"`
	// Worktree reports that the session's template had worktree = true when it was made. Its
	// first start makes the worktree.
	Worktree bool `json:"worktree,omitempty"`
	// Overlay overrides the template, by key. It may hold secrets.
	Overlay map[string]string `json:"overlay,omitempty"`
	// Fields are the digests of the parts of Hash, by name.
	Fields map[string]string `json:"config_fields,omitempty"`

	unknown openjson.Unknown
}

// UnmarshalJSON keeps fields of a newer gt.
func (m *Managed) UnmarshalJSON(data []byte) (err error) {
	type plain Managed
	m.unknown, err = openjson.Unmarshal(data, (*plain)(m))
	return err
}

func (m *Managed) MarshalJSON() ([]byte, error) {
	type plain Managed
	return openjson.Marshal((*plain)(m), m.unknown)
}

// SlotText returns a session's place in its pool, or "-".
func (m *Managed) SlotText() string {
	if m.Slot == 0 || m.State == lifecycle.Archived || m.State == lifecycle.Closed {
		return "-"
	}
	return strconv.Itoa(m.Slot)
}

// LacksWorktree reports whether a start of a session first makes its worktree, or sets it up.
func (in *Instance) LacksWorktree() bool {
	return in.Managed != nil && in.Managed.Worktree && (in.Worktree == nil || !in.Worktree.Ready || in.Worktree.SetUp)
}

// HasWorktree reports whether the worktree of an instance is there, or cannot be looked at.
func (in *Instance) HasWorktree() bool {
	if in.Worktree == nil {
		return false
	}
	is, err := atomicfile.IsPresent(in.Worktree.Path)
	return is || err != nil
}

func (m *Managed) valid() error {
	if m.State == "" || m.Generation < 1 || m.Token == "" {
		return errors.New("its state, generation or token is missing")
	}
	return CheckName(m.Template)
}

// Scrub removes an instance's secrets: the conversation's id, and the overlay's variables and
// prompt. It is called for closed instances and for old archived ones that are never reactivated.
func (in *Instance) Scrub() {
	in.SessionID, in.SessionAt, in.ForkOf = "", time.Time{}, ""
	if in.Managed != nil {
		maps.DeleteFunc(in.Managed.Overlay, func(key, _ string) bool { return key == "prompt" || strings.HasPrefix(key, "env.") })
	}
}

// The folders of instances that ReadInstances leaves out.
const (
	Archived = "archived"
	Closed   = "closed"
)

// folder returns the subfolder of the store that has the instance's file: Archived, Closed or "".
func (in *Instance) folder() string {
	if in.Managed != nil {
		switch in.Managed.State {
		case lifecycle.Archived:
			return Archived
		case lifecycle.Closed:
			return Closed
		}
	}
	return ""
}

// scrubbed reports whether an instance's secrets were removed and must not be kept in a backup.
func (in *Instance) scrubbed() bool {
	return in.folder() != "" && !in.Managed.ScrubbedAt.IsZero()
}

// instancePaths returns the folders with the instance's file: two after a kill during a move.
func (s Store) instancePaths(id ID) (all []string, err error) {
	for _, folder := range []string{"", Archived, Closed} {
		is, err := atomicfile.IsPresent(s.file(folder, id).Path)
		if err != nil {
			return nil, err
		} else if is {
			all = append(all, folder)
		}
	}
	return all, nil
}

// newestCopy returns the copy of an instance that counts (see Managed.Revision), and its folder.
// main is the copy in the folder "", or nil.
func (s Store) newestCopy(main *Instance, id ID) (found *Instance, folder string, err error) {
	found = main
	for _, other := range []string{Archived, Closed} {
		in, err := s.readInstance(other, id)
		if errors.Is(err, ErrNone) {
			continue
		} else if err != nil {
			return nil, "", err
		}
		if in.Managed != nil && (found == nil || other == Closed || found.Managed != nil && in.Managed.Revision > found.Managed.Revision) {
			found, folder = in, other
		}
	}
	if found == nil {
		return nil, "", ErrNone
	}
	return found, folder, nil
}

// retired returns the ids of archived and closed instances.
func (s Store) retired() (map[ID]bool, error) {
	all := map[ID]bool{}
	for _, folder := range []string{Archived, Closed} {
		ids, err := s.ids(folder)
		if err != nil {
			return nil, err
		}
		for _, id := range ids {
			all[id] = true
		}
	}
	return all, nil
}

func (s Store) ids(folder string) (ids []ID, err error) {
	entries, err := atomicfile.Entries(s.path(folder))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Name() != groupsFile {
			ids = append(ids, ID(name))
		}
	}
	return ids, nil
}

// ReadFolder returns the archived or closed instances, in order of creation.
func (s Store) ReadFolder(folder string) ([]*Instance, error) {
	return s.readAccepted(folder, func(ID) bool { return true })
}

// readAccepted is ReadFolder for the instances whose id is accepted.
func (s Store) readAccepted(folder string, accepted func(ID) bool) (all []*Instance, unread error) {
	ids, err := s.ids(folder)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if !accepted(id) {
			continue
		}
		in, err := s.Get(id)
		switch {
		case err == nil && in.folder() == folder:
			all = append(all, in)
		case err != nil && !errors.Is(err, ErrNone):
			unread = errors.Join(unread, err)
		}
	}
	sortByCreation(all)
	return all, unread
}

func sortByCreation(all []*Instance) {
	slices.SortFunc(all, func(a, b *Instance) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
}

// TearingDown returns the closed instances whose runtime may still run: those that still
// have a lock file (see MarkTornDown).
func (s Store) TearingDown() ([]*Instance, error) { return s.readAccepted(Closed, s.hasLock) }

func (s Store) hasLock(id ID) bool { return atomicfile.Exists(s.path(string(id) + ".lock")) }

// MarkTornDown records that only its record is left of a closed instance, by removing its lock.
func (h *Locked) MarkTornDown() {
	if h.folder() == Closed {
		h.lock.Remove()
	}
}

// Forget removes the records of closed instances that match is, except the newest keep, and
// those whose runtime may still run.
func (s Store) Forget(is func(*Instance) bool, keep int) error {
	all, err := s.ReadFolder(Closed)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(in *Instance) bool { return !is(in) || s.hasLock(in.ID) })
	slices.SortStableFunc(all, func(a, b *Instance) int { return a.Managed.ClosedAt.Compare(b.Managed.ClosedAt) })
	for _, in := range all[:max(0, len(all)-keep)] {
		h, err := s.TryHold(in.ID)
		if err != nil {
			return err
		} else if h == nil {
			continue
		}
		if err := s.file(Closed, in.ID).Remove(); err != nil {
			h.Release()
			return err
		}
		h.lock.Remove()
	}
	return nil
}

// TornDown calls MarkTornDown unless the instance is locked.
func (s Store) TornDown(id ID) error {
	h, err := s.TryHold(id)
	if h != nil {
		h.MarkTornDown()
		h.Release()
	}
	return err
}

// TryHold is Hold without waiting. It returns nil for an instance that is locked, or gone.
func (s Store) TryHold(id ID) (*Locked, error) {
	h, err := s.Hold(id, 0)
	if errors.Is(err, flock.ErrBusy) || errors.Is(err, ErrNone) {
		return nil, nil
	}
	return h, err
}

// completeMove removes the copies of an instance that do not count, and a scrubbed one's secrets.
func (h *Locked) completeMove() error {
	at := h.folder()
	for _, other := range h.copies {
		if other != at {
			if err := h.store.file(other, h.ID).Remove(); err != nil {
				return err
			}
		}
	}
	h.copies = []string{at}
	if h.scrubbed() {
		return atomicfile.Remove(h.store.path(string(h.ID) + sessionSuffix))
	}
	return nil
}

// CompleteMoves completes interrupted moves between the folders, except of locked instances.
func (s Store) CompleteMoves() error {
	seen := map[ID]int{}
	for _, folder := range []string{"", Archived, Closed} {
		ids, err := s.ids(folder)
		if err != nil {
			return err
		}
		for _, id := range ids {
			seen[id]++
		}
	}
	for id, n := range seen {
		if n == 1 {
			continue
		}
		h, err := s.TryHold(id)
		if err != nil {
			return err
		} else if h == nil {
			continue
		}
		if h.Managed != nil {
			err = h.completeMove()
		}
		h.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// Root is the parent of Dir.
func (s Store) Root() string { return filepath.Dir(s.Dir) }

// LockLifecycle takes the lock for reads, decisions and writes that concern the states of all
// instances. It must not be held while waiting for anything. Take an instance's lock before it.
func (s Store) LockLifecycle() (*flock.Lock, error) { return s.lockBeside("instances.lock", lockWait) }

// LockController takes the lock of the process that runs ticks, or returns flock.ErrBusy.
func (s Store) LockController() (*flock.Lock, error) { return s.lockBeside("controller.lock", 0) }

// LockWorkers takes the lock for choosing a town's worker.
func (s Store) LockWorkers() (*flock.Lock, error) { return s.lockBeside("workers.lock", workersWait) }

// LockStarts locks the starts of agents that count towards the person's maximum.
func (s Store) LockStarts() (*flock.Lock, error) { return s.lockBeside("starts.lock", workersWait) }

// workersWait is long because choosing an idle worker removes its worktree.
const workersWait = time.Minute

func (s Store) lockBeside(name string, wait time.Duration) (*flock.Lock, error) {
	return s.State.Lock(s.State.Path(s.Root(), name), wait)
}
