package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"gt/lib/cli"
	"gt/lib/place"
	"gt/lib/state/lifecycle"
	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
	"gt/lib/text/fold"
	"gt/lib/text/openjson"
)

// Store is the folder of a town's or profile's instances. Reading needs no lock.
type Store struct {
	State place.State
	// Dir is relative to the state: instances, profiles/work/instances or towns/<town>/instances.
	Dir string
	// Warn is called for unusable files; may be nil.
	Warn func(error)
}

// Personal returns the store of a profile, or of the personal town for "".
func Personal(state place.State, profile string) Store {
	if profile == "" {
		return Store{State: state, Dir: folder}
	}
	return Store{State: state, Dir: filepath.Join("profiles", profile, folder)}
}

func Profiles(state place.State) ([]string, error) {
	names, err := atomicfile.Folders(state.Path("profiles"))
	return slices.DeleteFunc(names, func(name string) bool { return CheckName(name) != nil }), err
}

// OfTown returns the store of a trusted town.
func OfTown(state place.State, root string) Store {
	dir, _ := filepath.Rel(string(state), state.Town(root)) // never fails: both are absolute
	return Store{State: state, Dir: filepath.Join(dir, folder)}
}

func Stores(state place.State) ([]Store, error) {
	all := []Store{Personal(state, "")}
	for _, kind := range []string{"profiles", "towns"} {
		entries, err := atomicfile.Entries(state.Path(kind))
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			all = append(all, Store{State: state, Dir: filepath.Join(kind, e.Name(), folder)})
		}
	}
	return all, nil
}

// ReadEverywhere returns the instances of all stores, without those that cannot be read.
func ReadEverywhere(state place.State) (all []*Instance) {
	stores, _ := Stores(state)
	for _, s := range stores {
		some, _ := s.ReadInstances()
		all = append(all, some...)
	}
	return all
}

// Walk calls do with each instance of all stores until a call fails, and returns its error.
func Walk(state place.State, do func(Store, *Instance) error) error {
	stores, err := Stores(state)
	if err != nil {
		return err
	}
	for _, s := range stores {
		instances, err := s.ReadInstances()
		if err != nil {
			return err
		}
		for _, in := range instances {
			if err := do(s, in); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	folder   = "instances"
	suffix   = ".json"
	lockName = ".lock"
	maxFile  = 1 << 20
	lockWait = 5 * time.Second
)

var (
	ErrNone  = errors.New("no such instance")
	ErrTaken = errors.New("the name is taken")
	// ErrClosed reports that an instance is closed and never changes again.
	ErrClosed = errors.New("it is closed")
)

func (s Store) path(name string) string { return s.State.Path(s.Dir, name) }

func (s Store) warn(err error) {
	if s.Warn != nil && err != nil {
		s.Warn(err)
	}
}

// file returns an instance's file in a folder: "", Archived or Closed.
func (s Store) file(folder string, id ID) atomicfile.Rolling {
	return atomicfile.Rolling{Path: s.path(filepath.Join(folder, string(id)+suffix)), Limit: maxFile, Warn: s.Warn, Valid: func(data []byte) error {
		_, err := parse(id, data)
		return err
	}}
}

func parse(id ID, data []byte) (*Instance, error) {
	in := new(Instance)
	unknown, err := openjson.Unmarshal(data, in)
	if err != nil {
		return nil, err
	}
	in.unknown = unknown
	if in.Managed != nil {
		in.Managed.ID = string(in.ID)
	}
	return in, in.validate(id)
}

// Get returns an instance, or ErrNone. Of copies in several folders it returns the one that counts.
func (s Store) Get(id ID) (*Instance, error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return nil, ErrNone
	}
	in, err := s.readInstance("", id)
	if err == nil && in.Managed == nil || err != nil && !errors.Is(err, ErrNone) {
		return in, err
	}
	in, _, err = s.newestCopy(in, id)
	return in, err
}

// readInstance reads a file. It returns ErrNone if that is missing or, with a warning, unusable.
func (s Store) readInstance(folder string, id ID) (*Instance, error) {
	var in *Instance
	f := s.file(folder, id)
	f.Valid = func(data []byte) (err error) {
		in, err = parse(id, data)
		return err
	}
	_, err := f.Read()
	switch {
	case err == nil:
		if folder != "" && in.Managed != nil {
			in.Managed.State = lifecycle.State(folder) // the folder decides, not the file's content
		}
		return in, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case !atomicfile.IsSystemError(err):
		s.warn(err) // it is unusable, and has no earlier generation
		return nil, ErrNone
	}
	return nil, err
}

// sequentialBelow is up to how many instances one processor reads fast enough.
const sequentialBelow = 32

// file is a file that ReadInstances reads.
type file struct {
	id     ID
	in     *Instance
	err    error
	warned []error // in the order of the files
}

func (f *file) read(s Store) {
	s.Warn = func(err error) { f.warned = append(f.warned, err) }
	f.in, f.err = s.readInstance("", f.id)
}

// ReadInstances returns the instances in order of creation, also those that a person has put away
// (IsArchived), but none of a template in the folders Archived and Closed. If some cannot be read,
// the error says which. Unusable ones are skipped with a warning.
func (s Store) ReadInstances() ([]*Instance, error) {
	entries, err := atomicfile.Entries(s.path(""))
	if err != nil {
		return nil, err
	}
	files := make([]file, 0, len(entries)/2)
	litter := false // temporary files of killed writers
	for _, e := range entries {
		litter = litter || strings.HasPrefix(e.Name(), ".") && e.Name() != lockName
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Name() != groupsFile {
			files = append(files, file{id: ID(name)})
		}
	}
	s.readAll(files)
	all := make([]*Instance, 0, len(files))
	elsewhere := sync.OnceValues(s.retired) // only if needed
	var unread error
	for _, f := range files {
		for _, err := range f.warned {
			s.warn(err)
		}
		in, folder, err := f.in, "", f.err
		if err == nil && in.Managed != nil {
			retired, failed := elsewhere()
			if failed != nil {
				return nil, failed
			}
			if retired[in.ID] {
				in, folder, err = s.newestCopy(in, in.ID)
			}
		}
		switch {
		case err == nil && folder != "": // the copy that counts is archived or closed
		case err == nil:
			all = append(all, in)
		case !errors.Is(err, ErrNone):
			unread = errors.Join(unread, err)
		}
	}
	if litter {
		atomicfile.Sweep(s.path(""), time.Now())
	}
	slices.SortStableFunc(all, func(a, b *Instance) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all, unread
}

func (s Store) readAll(files []file) {
	read := func(some []file) {
		for i := range some {
			some[i].read(s)
		}
	}
	if len(files) < sequentialBelow {
		read(files)
		return
	}
	cli.Parallel(slices.Collect(slices.Chunk(files, sequentialBelow)), read)
}

func (s Store) lock() (*flock.Lock, error) { return s.State.Lock(s.path(lockName), lockWait) }

// Create adds an instance. The caller has set everything but the times and, optionally, the
// id. It returns ErrTaken if the name is in use.
func (s Store) Create(in *Instance, now time.Time) error {
	c, err := s.Begin()
	if err != nil {
		return err
	}
	defer c.Release()
	return c.Create(in, now)
}

// Tx adds any number of instances but reads the existing ones once. It has the lock until Release.
type Tx struct {
	All   []*Instance // the existing and the added ones
	store Store
	lock  *flock.Lock
	names map[string]bool
}

// Begin takes the store's lock until Release, reads the instances, and sets unusable files aside.
func (s Store) Begin() (*Tx, error) {
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	c := &Tx{store: s, lock: lock}
	if c.All, c.names, err = s.readNames(); err != nil {
		lock.Unlock()
		return nil, err
	}
	s.setAside(c.All)
	return c, nil
}

// setAside renames the files of instances that are not usable any more, which every list
// would warn of. The caller holds the folder's lock.
func (s Store) setAside(usable []*Instance) {
	ids, _ := s.ids("") // whoever reads them reports the error
	for _, id := range ids {
		if !slices.ContainsFunc(usable, func(in *Instance) bool { return in.ID == id }) {
			_, _ = s.file("", id).Repair() // it warns
		}
	}
}

// readNames returns all instances, and the names in use as fold.Name has them, including those of
// archived ones.
func (s Store) readNames() (all []*Instance, names map[string]bool, err error) {
	if all, err = s.ReadInstances(); err != nil {
		return nil, nil, err
	}
	archived, err := s.ReadFolder(Archived)
	if err != nil {
		return nil, nil, err
	}
	names = map[string]bool{}
	for _, in := range append(archived, all...) {
		names[fold.Name(in.Name)] = true
	}
	return all, names, nil
}

// ReadNamed returns all instances that have a name here, those that a template archived among them.
func (s Store) ReadNamed() ([]*Instance, error) {
	all, err := s.ReadInstances()
	if err != nil {
		return nil, err
	}
	archived, err := s.ReadFolder(Archived)
	return append(all, archived...), err
}

// FindNamed returns the first of the instances that has the name, or nil.
func FindNamed(all []*Instance, name string) *Instance {
	if i := slices.IndexFunc(all, func(in *Instance) bool { return fold.SameName(in.Name, name) }); i >= 0 {
		return all[i]
	}
	return nil
}

func (c *Tx) Release() { c.lock.Unlock() }

// Taken returns the ErrTaken for a name, and says if an archived one, which no list shows, has it.
func Taken(all []*Instance, name string) error {
	for _, in := range all {
		switch {
		case !fold.SameName(in.Name, name):
		case in.IsArchived():
			return fmt.Errorf("%w: %s is archived (gt-session unarchive %[2]s brings it back)", ErrTaken, name)
		case in.Managed != nil && in.Managed.State == lifecycle.Archived:
			return fmt.Errorf("%w: %s is an archived session of the template %s", ErrTaken, name, in.Managed.Template)
		}
	}
	return fmt.Errorf("%w: %s", ErrTaken, name)
}

func (c *Tx) Create(in *Instance, now time.Time) error {
	return c.create(in, now, atomicfile.Synced)
}

// create is Create, synced or not. It sets in's times, and its id and Folder if they are missing.
func (c *Tx) create(in *Instance, now time.Time, d atomicfile.Durability) error {
	if c.names[fold.Name(in.Name)] {
		return Taken(c.All, in.Name)
	}
	for _, other := range c.All { // a template's cannot clash: its path has the session's id
		if in.Worktree != nil && other.Worktree != nil && other.Worktree.Path == in.Worktree.Path {
			return fmt.Errorf("the worktree '%s' is %s's", in.Worktree.Path, other.Name)
		}
	}
	if in.Group != "" {
		if err := c.store.ensureGroup(in.Group); err != nil {
			return err
		}
	}
	if in.ID == "" {
		in.ID = ID(session.NewID())
	}
	if in.Folder == nil && in.Worktree == nil {
		var exchanged *place.ExchangedError
		dir, err := c.store.Enter(in)
		switch {
		case err == nil:
			in.Folder = &dir.Folder
			dir.Close()
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.As(err, &exchanged):
			// The start reports it, or makes the folder.
		default: // without an identity, another folder could take its place
			return atomicfile.Error("use", in.Path, err)
		}
	}
	in.CreatedAt, in.UpdatedAt = now.UTC(), now.UTC()
	if err := c.store.write(in, d); err != nil {
		return err
	}
	c.All = append(c.All, in)
	c.names[fold.Name(in.Name)] = true
	return nil
}

// Enter opens an instance's folder if it is still the same one (see place.State.Enter). A
// role's directory may be made anew.
func (s Store) Enter(in *Instance) (*place.Opened, error) {
	var recorded place.Folder
	if in.Folder != nil {
		recorded = *in.Folder
	}
	return s.State.Enter(in.Path, recorded, in.Role != "")
}

// write writes an instance to the folder of its state. A copy in another folder stays.
func (s Store) write(in *Instance, d atomicfile.Durability) error {
	if err := in.validate(in.ID); err != nil {
		return err
	}
	if in.Managed != nil {
		in.Managed.Revision++
		if err := s.State.Prepare(s.path(in.folder())); err != nil {
			return err
		}
	}
	data, err := openjson.File(in)
	if err != nil {
		return err
	}
	f := s.file(in.folder(), in.ID)
	if in.scrubbed() { // mutant never: ./lib/reconcile/perform TestRetained
		return f.WriteWithoutBackups(data, d) // those have the secrets
	}
	return f.Write(data, d)
}

// Locked is an instance whose lock is held, so that nothing else starts or stops its agent.
type Locked struct {
	*Instance
	store  Store
	lock   *flock.Lock
	copies []string // folders with a copy, if Managed
	closed bool     // when it was locked
}

// Hold locks an instance, waiting at most that long, and reads it afterwards. It returns
// flock.ErrBusy if another holds the lock.
func (s Store) Hold(id ID, wait time.Duration) (*Locked, error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return nil, ErrNone
	}
	// Make no lock for an instance that does not exist.
	at, err := s.instancePaths(id)
	if err != nil {
		return nil, err
	} else if at == nil {
		return nil, ErrNone
	}
	lock, err := flock.Acquire(s.path(string(id)+".lock"), wait)
	if err != nil {
		return nil, err
	}
	in, err := s.Get(id) // a damaged file is set aside by the next write
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	h := &Locked{Instance: in, store: s, lock: lock}
	if in.Managed != nil {
		h.closed = in.folder() == Closed
		if h.copies, err = s.instancePaths(id); err != nil {
			lock.Unlock()
			return nil, err
		}
	}
	return h, nil
}

func (h *Locked) Release() { h.lock.Unlock() }

// Put writes the instance, or returns ErrClosed for one that was closed.
func (h *Locked) Put(now time.Time) error {
	if h.closed {
		return ErrClosed
	}
	h.UpdatedAt = now.UTC()
	if err := h.store.write(h.Instance, atomicfile.Synced); err != nil || h.Managed == nil {
		return err
	}
	h.closed = h.folder() == Closed
	return h.completeMove()
}

// Rename gives the instance another name. ErrTaken: another one has that, maybe an archived one.
func (h *Locked) Rename(name string, now time.Time) error {
	if err := CheckName(name); err != nil {
		return err
	}
	lock, err := h.store.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	all, err := h.store.ReadNamed()
	if err != nil {
		return err
	}
	for _, other := range all {
		if fold.SameName(other.Name, name) && other.ID != h.ID {
			return Taken(all, other.Name)
		}
	}
	h.Name = name
	return h.Put(now)
}

// Move puts the instance into a group, creating it if necessary; "" takes it out of its group.
func (h *Locked) Move(group string, now time.Time) error {
	lock, err := h.store.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	if group != "" {
		if err := h.store.ensureGroup(group); err != nil {
			return err
		}
	}
	h.Group = group
	return h.Put(now)
}

// Remove removes the instance. Its children lose their parent.
func (h *Locked) Remove(now time.Time) error {
	all, err := h.store.ReadInstances()
	if err != nil {
		return err
	}
	for _, child := range all {
		if child.ParentID != h.ID {
			continue
		}
		held, err := h.store.Hold(child.ID, lockWait)
		if err != nil {
			return err
		}
		held.ParentID = ""
		err = held.Put(now)
		held.Release()
		if err != nil {
			return err
		}
	}
	if err := atomicfile.Remove(h.store.path(string(h.ID) + sessionSuffix)); err != nil {
		return err
	}
	if err := h.store.file("", h.ID).Remove(); err != nil {
		return err
	}
	h.lock.Remove()
	return nil
}

const sessionSuffix = ".session"

// CurrentSession is the session that an instance's agent has now, as its hook reported.
type CurrentSession struct {
	SessionID session.ID `json:"session_id"`
	Agent     string     `json:"agent,omitempty"`
	At        time.Time  `json:"at"`
}

// Session returns the session of an instance's agent: the one that its hook has reported
// since the start, else the one that it was given, or "".
func (s Store) Session(in *Instance) session.ID {
	if id, ok := s.currentSession(in); ok {
		return id
	}
	return in.SessionID
}

// HookReported reports whether a hook of the agent has reported its session since the start.
func (s Store) HookReported(in *Instance) bool {
	_, ok := s.currentSession(in)
	return ok
}

// currentSession returns the session that a hook has reported since the instance's start, if any.
func (s Store) currentSession(in *Instance) (session.ID, bool) {
	var reported CurrentSession
	err := atomicfile.ReadJSON(s.path(string(in.ID)+sessionSuffix), maxFile, &reported)
	if err != nil || reported.At.Before(in.StartedAt.Truncate(time.Millisecond)) {
		return "", false
	}
	id, err := session.ParseID(string(reported.SessionID))
	if id == in.ForkOf { // up to 2.1.213, Claude Code reports its parent's id when a fork starts
		return "", false
	}
	return id, err == nil
}
