package account

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gt/lib/client/contract"
	"gt/lib/client/registry"
)

// Own judges what an event log, a record or a project says of accounts and
// conversations: only what lies in one of the person's own stores is read, and a
// client is started only with an account of the person's. Else whoever wrote the
// log would choose the settings, and thus the programs, that a client runs with.
//
// The person's own are the folder below HOME that a client takes by itself, what
// the person has listed, the folder that the client's variable names, and the
// folders beside the usual one, by their names. The last two others could bring
// about, so they are looked at: they are the person's or root's, nobody else can
// write in them, and they are in no project. The person's links are followed to
// get to a store; a conversation really lies in it, whatever leads there.
type Own struct {
	// Getenv is the environment that says where a client's folder is: the
	// person's; for a hook that with which its client was started, since a
	// project's settings can set what a hook sees.
	Getenv func(string) string

	// Projects are the folders of the projects that are worked in.
	Projects []string

	// Known returns what the person's table of agents says of a client; nil is
	// nothing.
	Known func(client string) Known
}

// Known is what a person's table of agents says of a client's accounts.
type Known struct {
	Accounts []string // further ones, which the person has listed

	// Of a client that gt cannot read: the variable that names its folder, and
	// its folder below HOME.
	Variable, Store string
}

// What is wrong with a folder that may be somebody else's word.
var (
	errElsewhere  = errors.New("it is not in a folder in which one of your agents keeps its conversations")
	errProject    = errors.New("it is in the project")
	errSystem     = errors.New("it is a different folder for each process")
	errOwner      = errors.New("it belongs to somebody else")
	errWritable   = errors.New("other users can write to it")
	errRepository = errors.New("it is a repository, and nothing but its name suggests that it is your account")
)

// ForeignError says why a path is not used.
type ForeignError struct {
	Path string
	Err  error
}

func (e *ForeignError) Error() string { return fmt.Sprintf("'%s' is not used: %v", e.Path, e.Err) }

func (e *ForeignError) Unwrap() error { return e.Err }

// Kernel reports whether the path is none that stands for one folder, whoever's
// that is.
func (e *ForeignError) Kernel() bool { return e.Err == errSystem }

// Account returns nil where a folder is one of a client's accounts, and the
// person's; else a ForeignError.
func (o Own) Account(client, dir string) error {
	why := errElsewhere
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || !filepath.IsAbs(dir) {
		return &ForeignError{dir, why}
	}
	for p := range o.places(client) {
		if at, err := o.judge(p, p.Dir); at != real {
			continue
		} else if err == nil {
			return nil
		} else {
			why = err
		}
	}
	return &ForeignError{dir, why}
}

// File returns the account that a client's conversation lies in, and the path of
// it that has no links; a ForeignError where that is none of the person's. A
// conversation that is not there any more is judged by where it would be.
func (o Own) File(client, path string) (store, real string, err error) {
	why := errElsewhere
	if filepath.IsAbs(path) {
		real = resolve(path)
		for p := range o.places(client) {
			for _, folder := range p.Folders {
				at, err := o.judge(p, filepath.Join(p.Dir, folder))
				if at == "" && Unreadable(err) && why == errElsewhere {
					why = err // it may be there
				}
				if at == "" || !within(at, real) {
					continue
				}
				if err == nil {
					_, err = o.judge(p, p.Dir)
				}
				if err == nil {
					return filepath.Clean(p.Dir), real, nil
				}
				why = err
			}
		}
	}
	return "", "", &ForeignError{path, why}
}

// Holds returns the path of a conversation that has no links, whichever client's it
// is; a ForeignError where it is none of the person's.
func (o Own) Holds(path string) (real string, err error) {
	for _, c := range registry.Clients() {
		if c.Accounts == nil {
			continue
		}
		if _, real, err = o.File(c.Name, path); err == nil {
			return real, nil
		}
	}
	return "", err
}

// places are the accounts that a client can have.
func (o Own) places(client string) iter.Seq[Place] {
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
		if folders == nil {
			folders = []string{"."}
			for p := range contract.Accounts(o.Getenv, k.Variable, []string{k.Store}, ".") {
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

// judge returns where a folder of a place really is, "" where it is not there,
// and why it may not be the person's.
func (o Own) judge(p Place, dir string) (real string, err error) {
	real, err = filepath.EvalSymlinks(dir)
	switch {
	case Unreadable(err):
		return "", err
	case err != nil || !filepath.IsAbs(dir):
		return "", errElsewhere
	}
	if p.By == contract.Usual || p.By == contract.Listed {
		return real, nil // a client takes the one by itself, and the person said the other
	}
	home, _ := filepath.EvalSymlinks(o.Getenv("HOME"))
	for _, project := range o.Projects {
		if top, err := filepath.EvalSymlinks(project); err == nil && within(top, real) && !within(top, home) {
			return real, errProject
		}
	}
	if p.By == contract.Found {
		if _, err := os.Lstat(filepath.Join(real, ".git")); err == nil {
			return real, errRepository
		}
	}
	return real, private(real, home)
}

// Unreadable reports whether an error says that something is there or not there that
// could not be looked at, and not that it belongs to somebody else or elsewhere.
func Unreadable(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && errno != syscall.ENOENT && errno != syscall.ENOTDIR
}

// private returns nil where only the person and root can bring something into a
// folder, or put another one in its place. What is above the home folder is not
// looked at from within it.
func private(dir, home string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case Unreadable(err):
			return err
		case err != nil:
			return errElsewhere
		}
		if system(at) {
			return errSystem
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		mode := info.Mode()
		switch {
		case !ok || st.Uid != 0 && !Persons(info, home):
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

// Persons reports whether a file is the person's: who runs us or, where root does
// so for somebody, that one's, whose home folder it is.
func Persons(info fs.FileInfo, home string) bool {
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

// Folder returns where a folder really is that a log names as one in which an
// agent worked: one of the person's, and no name that means another folder for
// everybody, such as /proc/self/cwd. Where there is none, the error is that of
// os.Stat; else it is a ForeignError.
func (o Own) Folder(dir string) (string, error) {
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
	case system(filepath.Clean(dir)) || system(real):
		return "", &ForeignError{dir, errSystem}
	case !Persons(info, o.Getenv("HOME")):
		return "", &ForeignError{dir, errOwner}
	}
	return real, nil
}

// system reports whether a path is in what the kernel shows of itself, which is
// something else for each process.
func system(path string) bool {
	for _, top := range []string{"/proc", "/sys", "/dev/fd"} {
		if within(top, path) {
			return true
		}
	}
	return false
}

// within reports whether a path is a folder or below it; both have no links.
func within(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// resolve returns a path without links, as far as it is there.
func resolve(path string) string {
	rest := ""
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(path)
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
