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
	"gt/lib/text/openjson"
)

// Store is the folder of a town's or a profile's instances. Reading needs no lock.
type Store struct {
	State place.State
	// Dir is the folder, relative to the state: instances, profiles/work/instances or
	// towns/<town>/instances.
	Dir string
	// Warn is told of files that are no use, and what became of them. It may be nil.
	Warn func(error)
}

// Personal is the store of a profile; "" is the personal town.
func Personal(state place.State, profile string) Store {
	if profile == "" {
		return Store{State: state, Dir: folder}
	}
	return Store{State: state, Dir: filepath.Join("profiles", profile, folder)}
}

// Profiles returns the names of the profiles, sorted.
func Profiles(state place.State) ([]string, error) {
	entries, err := atomicfile.ReadDir(state.Path("profiles"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", state.Path("profiles"), err)
	}
	var names []string
	for _, e := range entries {
		if CheckName(e.Name()) == nil && e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// OfTown is the store of a trusted town.
func OfTown(state place.State, root string) Store {
	dir, err := filepath.Rel(string(state), state.Town(root))
	if err != nil { // both are absolute
		dir = filepath.Join("towns", filepath.Base(root))
	}
	return Store{State: state, Dir: filepath.Join(dir, folder)}
}

// Stores returns all stores that a state has.
func Stores(state place.State) ([]Store, error) {
	all := []Store{Personal(state, "")}
	for _, kind := range []string{"profiles", "towns"} {
		entries, err := atomicfile.ReadDir(state.Path(kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, atomicfile.Error("read", state.Path(kind), err)
		}
		for _, e := range entries {
			all = append(all, Store{State: state, Dir: filepath.Join(kind, e.Name(), folder)})
		}
	}
	return all, nil
}

const (
	folder   = "instances"
	suffix   = ".json"
	lockName = ".lock"
	maxFile  = 1 << 20
	lockWait = 5 * time.Second
)

// Errors of looking for an instance.
var (
	ErrNone  = errors.New("no such instance")
	ErrTaken = errors.New("the name is taken")
	// ErrClosed says that an instance was closed, and never changes again.
	ErrClosed = errors.New("it is closed")
)

func (s Store) path(name string) string { return s.State.Path(s.Dir, name) }

func (s Store) warn(err error) {
	if s.Warn != nil && err != nil {
		s.Warn(err)
	}
}

// file is the file of an instance in one of the folders; "" is the one of those that are
// neither archived nor closed.
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
	return in, in.valid(id)
}

// Get returns an instance, ErrNone where there is none.
func (s Store) Get(id ID) (*Instance, error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return nil, ErrNone
	}
	in, err := s.get("", id)
	if err == nil && in.Managed == nil || err != nil && !errors.Is(err, ErrNone) {
		return in, err
	}
	in, _, err = s.newest(in, id)
	return in, err
}

// get returns the copy of an instance that lies in a folder.
func (s Store) get(folder string, id ID) (*Instance, error) {
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
			in.Managed.State = lifecycle.State(folder) // whatever somebody has written into it
		}
		return in, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNone
	case !atomicfile.Unread(err):
		s.warn(err) // it is no use, and nothing replaces it
		return nil, ErrNone
	}
	return nil, err
}

// sequentialBelow is how many instances one processor reads in no time.
const sequentialBelow = 32

// file is one of the files that All reads.
type file struct {
	id     ID
	in     *Instance
	err    error
	warned []error // in the order of the files, whoever reads them
}

func (f *file) read(s Store) {
	s.Warn = func(err error) { f.warned = append(f.warned, err) }
	f.in, f.err = s.get("", f.id)
}

// All returns the instances, in the order in which they were made, without those that are
// archived or closed. Those that cannot be read now are missing, and the error says which;
// one that is no use is passed over with a warning.
func (s Store) All() ([]*Instance, error) {
	entries, err := atomicfile.ReadDir(s.path(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", s.path(""), err)
	}
	files := make([]file, 0, len(entries)/2)
	litter := false // of writers that were killed
	for _, e := range entries {
		litter = litter || strings.HasPrefix(e.Name(), ".") && e.Name() != lockName
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok && e.Name() != groupsFile {
			files = append(files, file{id: ID(name)})
		}
	}
	s.readAll(files)
	all := make([]*Instance, 0, len(files))
	elsewhere := sync.OnceValues(s.retired) // read once there is one that may have a newer copy
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
				in, folder, err = s.newest(in, in.ID)
			}
		}
		switch {
		case err == nil && folder != "": // it was about to be moved there
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

// readAll reads files, many of them on several processors.
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

// lock takes the folder's lock.
func (s Store) lock() (*flock.Lock, error) {
	if err := s.State.Prepare(s.path("")); err != nil {
		return nil, err
	}
	return flock.Acquire(s.path(lockName), lockWait)
}

// Create notes a new instance, for which the caller has filled in everything but the
// times, and the id where it needs none that is known before. ErrTaken says that another has its name.
func (s Store) Create(in *Instance, now time.Time) error {
	c, err := s.Begin()
	if err != nil {
		return err
	}
	defer c.Release()
	return c.Create(in, now)
}

// A Tx notes new instances, however many, and reads those that are there once.
// Nobody else notes any until it is released.
type Tx struct {
	All   []*Instance // that are there, and were made
	store Store
	lock  *flock.Lock
	names map[string]bool
}

// Begin begins one.
func (s Store) Begin() (*Tx, error) {
	lock, err := s.lock()
	if err != nil {
		return nil, err
	}
	c := &Tx{store: s, lock: lock}
	if c.All, c.names, err = s.named(); err != nil {
		lock.Unlock()
		return nil, err
	}
	return c, nil
}

// named returns all instances, and the names that are taken: of those and of the archived
// ones.
func (s Store) named() (all []*Instance, names map[string]bool, err error) {
	if all, err = s.All(); err != nil {
		return nil, nil, err
	}
	archived, err := s.In(Archived)
	if err != nil {
		return nil, nil, err
	}
	names = map[string]bool{}
	for _, in := range append(archived, all...) {
		names[in.Name] = true
	}
	return all, names, nil
}

// Release ends it.
func (c *Tx) Release() { c.lock.Unlock() }

// Create is Store.Create.
func (c *Tx) Create(in *Instance, now time.Time) error {
	return c.create(in, now, atomicfile.Synced)
}

func (c *Tx) create(in *Instance, now time.Time, d atomicfile.Durability) error {
	if c.names[in.Name] {
		return fmt.Errorf("%w: %s", ErrTaken, in.Name)
	}
	for _, other := range c.All { // of a template none has a worktree
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
			// Its start says what is wrong, or makes the folder.
		default: // without its identity, another folder would pass for it
			return atomicfile.Error("use", in.Path, err)
		}
	}
	in.CreatedAt, in.UpdatedAt = now.UTC(), now.UTC()
	if err := c.store.write(in, d); err != nil {
		return err
	}
	c.All = append(c.All, in)
	c.names[in.Name] = true
	return nil
}

// Enter opens the folder of an instance, in which its agent is to work, if it is the one
// that it was (see place.State.Enter). A role's directory may be made again.
func (s Store) Enter(in *Instance) (*place.Opened, error) {
	var was place.Folder
	if in.Folder != nil {
		was = *in.Folder
	}
	return s.State.Enter(in.Path, was, in.Role != "")
}

// put writes an instance. It is on disk when put returns.
func (s Store) put(in *Instance) error { return s.write(in, atomicfile.Synced) }

func (s Store) write(in *Instance, d atomicfile.Durability) error {
	if err := in.valid(in.ID); err != nil {
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
	if in.scrubbed() {
		return f.WriteWithoutBackups(data, d) // they have the secrets
	}
	return f.Write(data, d)
}

// Locked is an instance whose agent nobody else starts or stops.
type Locked struct {
	*Instance
	store  Store
	lock   *flock.Lock
	copies []string // the folders that have one, where it is Managed
	closed bool     // when it was taken
}

// Hold takes an instance's lock, and waits for it at most that long; flock.ErrBusy says
// that somebody else is at it. The instance is as it is now, not as it was before the
// wait.
func (s Store) Hold(id ID, wait time.Duration) (*Locked, error) {
	if _, err := session.ParseID(string(id)); err != nil {
		return nil, ErrNone
	}
	// No lock is made for what is not there.
	at, err := s.where(id)
	if err != nil {
		return nil, err
	} else if at == nil {
		return nil, ErrNone
	}
	lock, err := flock.Acquire(s.path(string(id)+".lock"), wait)
	if err != nil {
		return nil, err
	}
	in, err := s.Get(id) // what is damaged is set aside when it is written
	if err != nil {
		lock.Unlock()
		return nil, err
	}
	h := &Locked{Instance: in, store: s, lock: lock}
	if in.Managed != nil {
		h.closed = in.folder() == Closed
		if h.copies, err = s.where(id); err != nil {
			lock.Unlock()
			return nil, err
		}
	}
	return h, nil
}

// Release gives the instance back.
func (h *Locked) Release() { h.lock.Unlock() }

// Put writes the instance. One that was closed stays as it is: ErrClosed.
func (h *Locked) Put(now time.Time) error {
	if h.closed {
		return ErrClosed
	}
	h.UpdatedAt = now.UTC()
	if err := h.store.put(h.Instance); err != nil || h.Managed == nil {
		return err
	}
	h.closed = h.folder() == Closed
	return h.completeMove()
}

// Rename gives the instance another name.
func (h *Locked) Rename(name string, now time.Time) error {
	if err := CheckName(name); err != nil {
		return err
	}
	lock, err := h.store.lock()
	if err != nil {
		return err
	}
	defer lock.Unlock()
	all, err := h.store.All()
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name == name && other.ID != h.ID {
			return fmt.Errorf("%w: %s", ErrTaken, name)
		}
	}
	h.Name = name
	return h.Put(now)
}

// Move puts the instance into a group, which is made where it is missing; "" takes it
// out of its group.
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

// Remove removes the instance; its children become children of nobody.
func (h *Locked) Remove(now time.Time) error {
	all, err := h.store.All()
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

// Now is the session that an instance's agent has, as its hook told.
type Now struct {
	SessionID session.ID `json:"session_id"`
	Agent     string     `json:"agent,omitempty"`
	At        time.Time  `json:"at"`
}

// Session returns the session that an instance's agent has now: what its hook told
// since the agent was started, or else what it was given. "" where neither is known.
func (s Store) Session(in *Instance) session.ID {
	if id, ok := s.currentSession(in); ok {
		return id
	}
	return in.SessionID
}

// HookReported reports whether a hook of the instance's agent told of its session since the agent
// was started.
func (s Store) HookReported(in *Instance) bool {
	_, ok := s.currentSession(in)
	return ok
}

func (s Store) currentSession(in *Instance) (session.ID, bool) {
	var now Now
	data, err := atomicfile.Read(s.path(string(in.ID)+sessionSuffix), maxFile)
	if err == nil {
		_, err = openjson.Unmarshal(data, &now)
	}
	if err != nil || now.At.Before(in.StartedAt.Truncate(time.Millisecond)) {
		return "", false
	}
	id, err := session.ParseID(string(now.SessionID))
	if id == in.ForkOf { // Claude Code until 2.1.213 tells its parent's id at the start of a fork
		return "", false
	}
	return id, err == nil
}
