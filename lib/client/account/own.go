package account

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"gt/lib/client/contract"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// StoreGuard checks accounts and conversations that an event log, a record or a project names.
// gt reads only conversations in the person's own stores, and starts a client only with
// the person's own account. Otherwise the author of the log could choose a client's
// settings, and with them the programs that it runs.
//
// The person's own folders are: the client's default below HOME, folders that the person
// listed, the folder in the client's variable, and folders beside the default with a
// matching name. Because others could cause the last two, StoreGuard checks that they belong to
// the person or root, that nobody else can write to them, and that they are not in a
// project. It follows the person's links on the way to a store. A conversation must
// really be in the store, whatever links lead to it.
type StoreGuard struct {
	// Getenv is the environment that names a client's folder. For a hook it is the one
	// with which the client was started, because a project's settings can set variables
	// of hooks.
	Getenv func(string) string

	Projects []string

	// Known returns what the person's table of agents says of a client; nil means
	// nothing.
	Known func(client string) TableAccounts
}

// TableAccounts is what a person's table of agents says of a client's accounts.
type TableAccounts struct {
	Accounts []string // additional ones that the person listed

	// For a client that gt cannot read: the variable that names its folder, and the
	// default below HOME.
	Variable, Store string
}

var (
	errElsewhere  = errors.New("it is not in a folder in which one of your agents keeps its conversations")
	errProject    = errors.New("it is in the project")
	errSystem     = errors.New("it is a different folder for each process")
	errOwner      = errors.New("it belongs to somebody else")
	errWritable   = errors.New("other users can write to it")
	errRepository = errors.New("it is a repository, and nothing but its name suggests that it is your account")
)

// ForeignError is the reason why a path is not used.
type ForeignError struct {
	Path string
	Err  error
}

func (e *ForeignError) Error() string { return fmt.Sprintf("'%s' is not used: %v", e.Path, e.Err) }

func (e *ForeignError) Unwrap() error { return e.Err }

// IsKernelPath reports whether the path means a different folder for each process.
func (e *ForeignError) IsKernelPath() bool { return e.Err == errSystem }

// CheckAccount returns nil if a folder is one of a client's accounts and the person's; else a
// ForeignError.
func (o StoreGuard) CheckAccount(client, dir string) error {
	reason := errElsewhere
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return &ForeignError{dir, reason}
	}
	for p := range o.places(client) {
		if at, err := o.checkFolder(p, p.Dir); at != real {
			continue
		} else if err == nil {
			return nil
		} else {
			reason = err
		}
	}
	return &ForeignError{dir, reason}
}

// FindAccount returns the account that has a client's conversation, and the conversation's path
// without links. It returns a ForeignError if the account is not the person's. A
// conversation need not exist any more.
func (o StoreGuard) FindAccount(client, path string) (store, real string, err error) {
	reason := errElsewhere
	if filepath.IsAbs(path) {
		real = place.Real(path)
		for p := range o.places(client) {
			for _, folder := range p.Folders {
				at, err := o.checkFolder(p, filepath.Join(p.Dir, folder))
				if at == "" && IsUnreadable(err) && reason == errElsewhere {
					reason = err // it may be there
				}
				if at == "" || !place.IsBelow(real, at) && !o.isBehindLink(filepath.Join(p.Dir, folder), path, real) {
					continue
				}
				if err == nil { // the subfolder is the person's; so must the account be
					_, err = o.checkFolder(p, p.Dir)
				}
				if err == nil {
					return filepath.Clean(p.Dir), real, nil
				}
				reason = err
			}
		}
	}
	return "", "", &ForeignError{path, reason}
}

// isBehindLink reports whether a conversation is in a folder to which a link in a store leads, as from a
// project's folder to one that is synchronized. Such a folder must be the person's alone and
// outside of the projects, and the file itself must be no link.
func (o StoreGuard) isBehindLink(store, path, real string) bool {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil || filepath.Join(dir, filepath.Base(path)) != real || !place.IsBelow(filepath.Clean(path), store) {
		return false
	}
	_, err = o.checkFolder(Place{By: contract.Named}, dir)
	return err == nil
}

// FindAnyAccount returns the real path of a conversation that is in one of the person's accounts, of any client.
func (o StoreGuard) FindAnyAccount(path string) (real string, err error) {
	for _, c := range registry.Clients() {
		if c.Accounts == nil {
			continue
		}
		if _, real, err = o.FindAccount(c.Name, path); err == nil {
			return real, nil
		}
	}
	return "", err
}

// places returns a client's accounts: those that Places finds and those of the person's table.
func (o StoreGuard) places(client string) iter.Seq[Place] {
	return func(yield func(Place) bool) {
		var folders []string
		for p := range Places(client, o.Getenv) {
			if folders = p.Folders; !yield(p) {
				return
			}
		}
		if o.Known == nil {
			return
		}
		k := o.Known(client)
		// If gt cannot read the client, only the table can name its folder.
		if folders == nil {
			folders = []string{"."}
			for p := range contract.Accounts(k.Variable, []string{k.Store}, ".")(o.Getenv) {
				if k.Store != "" && !yield(p) {
					return
				}
			}
		}
		for _, dir := range k.Accounts {
			if !yield(Place{Dir: dir, By: contract.Listed, Folders: folders}) {
				return
			}
		}
	}
}

// checkFolder returns a folder's real path, or "" if it does not exist, and an error if it may
// not be the person's.
func (o StoreGuard) checkFolder(p Place, dir string) (real string, err error) {
	real, err = filepath.EvalSymlinks(dir)
	switch {
	case IsUnreadable(err):
		return "", err
	case err != nil || !filepath.IsAbs(dir):
		return "", errElsewhere
	}
	if p.By == contract.Usual || p.By == contract.Listed {
		return real, nil // the client's default, or listed by the person
	}
	home, _ := filepath.EvalSymlinks(o.Getenv("HOME"))
	for _, project := range o.Projects {
		if top, err := filepath.EvalSymlinks(project); err == nil && place.IsBelow(real, top) && (home == "" || !place.IsBelow(home, top)) {
			return real, errProject
		}
	}
	if p.By == contract.Found {
		if _, err := os.Lstat(filepath.Join(real, ".git")); err == nil {
			return real, errRepository
		}
	}
	return real, checkPrivate(real, home)
}

// IsUnreadable reports whether the error means that gt could not look, and not that the
// path is missing or foreign.
func IsUnreadable(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno != syscall.ENOENT && errno != syscall.ENOTDIR
}

// checkPrivate returns nil if only the person and root can write to a folder or replace it, otherwise the
// reason. From within the home folder, it does not check the home folder and those above it.
func checkPrivate(dir, home string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case IsUnreadable(err):
			return err
		case err != nil:
			return errElsewhere
		}
		if isKernelPath(at) {
			return errSystem
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		mode := info.Mode()
		// In a sticky folder above dir, those who can write cannot replace what is not theirs.
		switch {
		case !ok || st.Uid != 0 && !IsPersons(info, home):
			return errOwner
		case mode&0o002 != 0 && (at == dir || mode&fs.ModeSticky == 0),
			mode&0o020 != 0 && st.Uid != 0 && int(st.Gid) != os.Getegid() && (at == dir || mode&fs.ModeSticky == 0):
			return errWritable
		}
		if up := filepath.Dir(at); up == at || up == home {
			return nil
		}
	}
}

// IsPersons reports whether a file is the person's: the current user's or, if root runs gt
// for somebody, the owner's of the home folder.
func IsPersons(info fs.FileInfo, home string) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if int(st.Uid) == os.Geteuid() {
		return true
	}
	if os.Geteuid() != 0 {
		return false
	}
	at, err := os.Stat(home)
	if err != nil {
		return false
	}
	owner, ok := at.Sys().(*syscall.Stat_t)
	return ok && owner.Uid == st.Uid
}

// CheckWorkFolder returns the real path of a folder that a log names as an agent's working folder.
// It returns a ForeignError if the folder is not the person's, or if its name means
// another folder for each process, such as /proc/self/cwd. If it does not exist, the
// error is os.Stat's.
func (o StoreGuard) CheckWorkFolder(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", &fs.PathError{Op: "stat", Path: dir, Err: syscall.ENOTDIR}
	case isKernelPath(filepath.Clean(dir)) || isKernelPath(real):
		return "", &ForeignError{dir, errSystem}
	case !IsPersons(info, o.Getenv("HOME")):
		return "", &ForeignError{dir, errOwner}
	}
	return real, nil
}

// isKernelPath reports whether a path is in a virtual file system of the kernel, which differs
// for each process.
func isKernelPath(path string) bool {
	return slices.ContainsFunc([]string{"/proc", "/sys", "/dev/fd"}, func(top string) bool { return place.IsBelow(path, top) })
}

// Place is a client's own folder: an account.
type Place = contract.Place

// Places returns the accounts that a client can have. It returns none if gt cannot read
// the client's files.
func Places(client string, getenv func(string) string) iter.Seq[Place] {
	if c := registry.FindClient(client); c != nil && c.Accounts != nil {
		return c.Accounts(getenv)
	}
	return func(func(Place) bool) {}
}

// FindCurrent returns the account that a client with this environment uses.
func FindCurrent(client string, getenv func(string) string) (conversation.ClientFolder, error) {
	for p := range Places(client, getenv) {
		if p.By == contract.Found {
			break // these come last; a client uses one only if its variable names it
		}
		return conversation.ClientFolder{Dir: p.Dir, Sessions: p.Sessions}, nil
	}
	return conversation.ClientFolder{}, errors.New("HOME is not set")
}

// Stores returns the folders in which a client keeps conversations: only existing ones, each
// once even if several links lead to it. A client can have several accounts.
func Stores(client string, getenv func(string) string) (stores []string) {
	c := registry.FindClient(client)
	if c == nil || c.Accounts == nil {
		return nil
	}
	places := slices.Collect(c.Accounts(getenv))
	maxFolders := 0
	for _, p := range places {
		maxFolders = max(maxFolders, len(p.Folders))
	}
	var seen []string
	for i := range maxFolders {
		for _, p := range places {
			dir := filepath.Clean(p.Dir)
			if i >= len(p.Folders) || slices.Contains(stores, dir) {
				continue
			}
			target, there := resolveFolder(filepath.Join(p.Dir, p.Folders[i]))
			if there && !slices.Contains(seen, target) && (c.HasConversations == nil || c.HasConversations(dir)) {
				stores, seen = append(stores, dir), append(seen, target)
			}
		}
	}
	return stores
}

// resolveFolder returns a folder's path without links. One that cannot be read is there: its
// reader returns the error.
func resolveFolder(dir string) (target string, there bool) {
	target, err := filepath.EvalSymlinks(dir)
	switch {
	case atomicfile.IsAbsent(err):
		return "", false
	case err != nil:
		target = dir
	}
	info, err := os.Stat(target)
	return target, err == nil && info.IsDir() || err != nil && !atomicfile.IsAbsent(err)
}
