package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gt/lib/sys/atomicfile"
)

// Opened is a folder that was opened, and judged by what was opened: whatever its path
// leads to afterwards, it stays the same folder.
type Opened struct {
	Folder
	file *os.File
}

// Open opens the folder at path, following links. Its Path is path.
func Open(path string) (*Opened, error) {
	f, err := os.OpenFile(path, openFolder, 0)
	if err != nil {
		return nil, err
	}
	here, err := identifyOpened(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	here.Path = path
	return &Opened{here, f}, nil
}

// Reopen opens the folder at path if it is the folder was, and fails with an
// *ExchangedError otherwise.
func Reopen(path string, was Folder) (*Opened, error) {
	o, err := Open(path)
	if err == nil && !was.is(o.Folder) {
		o.Close()
		return nil, &ExchangedError{Path: path, Was: was, Is: o.Folder}
	}
	return o, err
}

// Chdir changes the working directory to the folder.
func (o *Opened) Chdir() error { return o.file.Chdir() }

// Close closes the folder.
func (o *Opened) Close() error { return o.file.Close() }

// ExchangedError reports that another folder is where the folder of an agent was.
type ExchangedError struct {
	Path string
	// Link is the link that leads to the other one, "" if there is none. Was is zero if
	// nothing was recorded of the folder.
	Link    string
	Was, Is Folder
}

func (e *ExchangedError) Error() string {
	switch {
	case e.Link != "" && e.Link != e.Path:
		return fmt.Sprintf("'%s' is reached by the link '%s', which leads to '%s': an agent can have put it there", e.Path, e.Link, Real(e.Link))
	case e.Link != "":
		return fmt.Sprintf("'%s' is a link now, which leads to '%s': an agent can have put it there", e.Path, Real(e.Path))
	}
	return fmt.Sprintf("'%s' is another folder now: the one that was there was made %s, this one %s", e.Path, e.Was.birthText(), e.Is.birthText())
}

// birthText tells a folder from another one in an error.
func (f Folder) birthText() string {
	if f.BirthTime == 0 {
		return fmt.Sprintf("as inode %d", f.Inode)
	}
	return time.Unix(0, f.BirthTime).Format("2006-01-02 15:04:05.000")
}

// Enter opens the folder at path, in which an agent is to work. It must be the folder
// was, however it is reached. If nothing was recorded (the zero Folder), and if remade is
// set, it may be another one, but no link may lead to it that an agent could have made.
// The same holds if the file system does not record when a folder was made: some number
// theirs anew with each mount. It fails with an *ExchangedError otherwise.
func (s State) Enter(path string, was Folder, remade bool) (*Opened, error) {
	o, err := Open(path)
	if err != nil || was.Inode != 0 && was.is(o.Folder) {
		return o, err
	}
	is := o.Folder
	o.Close()
	real, link, err := s.resolve(path)
	switch {
	case link != "":
		return nil, &ExchangedError{Path: path, Link: link, Was: was, Is: is}
	case err != nil:
		return nil, err
	}
	// The path is followed once more, now without any link.
	f, err := openLinkless(real)
	if err != nil {
		return nil, err
	}
	is, err = identifyOpened(f)
	is.Path = real
	if err == nil && was.Inode != 0 && !was.is(is) && !remade && was.BirthTime != 0 && is.BirthTime != 0 {
		err = &ExchangedError{Path: path, Was: was, Is: is}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Opened{is, f}, nil
}

// resolve follows the links in a path. link is the first one that an agent could have
// made, "" if there is none: one in a project, a town or a folder that sessions have worked
// in, one in the place of such a folder, or another user's.
func (s State) resolve(path string) (real, link string, err error) {
	real = "/"
	rest, project := strings.Split(filepath.Clean(path), "/")[1:], false
	for links := 0; len(rest) > 0; {
		at := filepath.Join(real, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(at)
		if err != nil {
			return "", "", err
		}
		project = project || s.project(real)
		if info.Mode()&fs.ModeSymlink == 0 {
			real = at
			continue
		}
		if links++; links > 40 {
			return "", "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		known, err := readFolder(s.Path("homes", key(at)))
		there, lerr := Identify(at)
		uid := atomicfile.Owner(info)
		switch {
		case err == nil && lerr == nil && known.is(there): // it was moved
		case project, err == nil, uid != 0 && uid != os.Geteuid():
			return "", at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(real, to)
		}
		real, project = "/", false
		rest = append(strings.Split(filepath.Clean(to), "/")[1:], rest...)
	}
	return real, "", nil
}

// project reports whether agents write in a folder: it is the top of a repository, a town
// or the home of a session. One that has the state in it is none.
func (s State) project(dir string) bool {
	if s.Within(dir) {
		return false
	}
	for _, path := range []string{filepath.Join(dir, ".git"), s.Path("homes", key(dir)), s.Path("towns", key(dir))} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return true
		}
	}
	return false
}
