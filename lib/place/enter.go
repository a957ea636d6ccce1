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

// Opened is an open folder. It stays the same folder, whatever its path leads to later.
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

// Reopen opens the folder at path if it is the folder was. Else it returns an *ExchangedError.
func Reopen(path string, was Folder) (*Opened, error) {
	o, err := Open(path)
	if err == nil && !was.isUnchanged(o.Folder) {
		o.Close()
		return nil, &ExchangedError{Path: path, Was: was, Is: o.Folder}
	}
	return o, err
}

func (o *Opened) Chdir() error { return o.file.Chdir() }

// Close closes the folder. Nothing is written by way of it, so no error says anything.
func (o *Opened) Close() { o.file.Close() }

// ExchangedError reports that another folder is in the place of an agent's folder.
type ExchangedError struct {
	Path string
	// Link is the link that leads to the other folder, or "". Was is zero if none was recorded.
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

func (f Folder) birthText() string {
	if f.BirthTime == 0 {
		return fmt.Sprintf("as inode %d", f.Inode)
	}
	return time.Unix(0, f.BirthTime).Format("2006-01-02 15:04:05.000")
}

// Enter opens an agent's folder at path, which must be the folder was. If was is zero or
// remade is set, it may be another folder, but not one behind a link that an agent could
// have made. The same holds if the file system records no birth times, because some assign
// new inode numbers with each mount. Otherwise Enter fails with an *ExchangedError.
func (s State) Enter(path string, was Folder, remade bool) (*Opened, error) {
	o, err := Open(path)
	if err != nil || was.Inode != 0 && was.isUnchanged(o.Folder) {
		return o, err
	}
	is := o.Folder
	o.Close()
	real, link, err := s.resolveLinks(path)
	switch {
	case link != "":
		return nil, &ExchangedError{Path: path, Link: link, Was: was, Is: is}
	case err != nil:
		return nil, err
	}
	// Open the path again, now without any link.
	f, err := openLinkless(real)
	if err != nil {
		return nil, err
	}
	is, err = identifyOpened(f)
	is.Path = real
	if err == nil && was.Inode != 0 && !was.isUnchanged(is) && !remade && was.BirthTime != 0 && is.BirthTime != 0 {
		err = &ExchangedError{Path: path, Was: was, Is: is}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &Opened{is, f}, nil
}

// resolveLinks follows the links in a path. link is the first one that an agent could have made, or "":
// one in a project, a town or a session's home, in the place of such a folder, or of another user.
func (s State) resolveLinks(path string) (real, link string, err error) {
	real = "/"
	rest, project := strings.Split(filepath.Clean(path), "/")[1:], false
	for links := 0; len(rest) > 0; {
		at := filepath.Join(real, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(at)
		if err != nil {
			return "", "", err
		}
		project = project || s.isProject(real)
		if info.Mode()&fs.ModeSymlink == 0 {
			real = at
			continue
		}
		if links++; links > 40 {
			return "", "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
		}
		known, err := readFolder(s.Path("homes", entryName(at))) // of a home that had this path
		there, lerr := Identify(at)
		uid := atomicfile.Owner(info)
		switch {
		case err == nil && lerr == nil && known.isUnchanged(there): // that home was moved
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

// isProject reports whether agents write in a folder: a repository's top, a town or a
// session's home. A folder that contains the state is no project.
func (s State) isProject(dir string) bool {
	if s.IsInside(dir) {
		return false
	}
	for _, path := range []string{filepath.Join(dir, ".git"), s.Path("homes", entryName(dir)), s.Path("towns", entryName(dir))} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return true
		}
	}
	return false
}
