// Package place owns where gt's files live, and who is believed.
//
// What only the person can write is the state folder, $XDG_STATE_HOME/gt
// (~/.local/state/gt). Everything that decides something lies there:
//
//	<state>/homes/<name>-<hash>/   what is kept of a folder that sessions work in
//	<state>/towns/<name>-<hash>/   what is kept of a town, and that it is trusted
//	<state>/                       the personal town
//
// A repository, its author, an agent in its sandbox and another user can all
// write into a project, so nothing of gt's own is read there, but for the files
// of a town that the person has trusted and for requests (Request). No other
// package joins a path to a project.
package place

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"gt/lib/sys/atomicfile"
)

// State is the path of the state folder.
type State string

// Nowhere is the state of a person who has none: nothing can be read or written
// there.
const Nowhere State = "/dev/null/gt"

// Foreign is the state to which a link of another user's would lead. Nothing can be
// read or written there either.
const Foreign State = "/dev/null/foreign"

// StateOf returns the state folder of the person whose environment this is:
// $XDG_STATE_HOME/gt, ~/.local/state/gt. Without HOME the home folder of the
// passwd entry counts, and never a folder that others can write to. Links on the
// way to it that are the person's own, or root's, are resolved; another user's make it
// Foreign. The folder may not exist yet.
func StateOf(getenv func(string) string) State {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			if home = passwdHome(); home == "" {
				return Nowhere
			}
		}
		state = filepath.Join(home, ".local", "state")
	}
	state = filepath.Join(state, "gt")
	switch {
	case linkless(state): // joined, so that it is clean
		return State(state)
	case foreignLink(state):
		return Foreign
	}
	return State(Real(state))
}

// foreignLink reports whether a link on the way to a path is neither this user's nor
// root's: whose it is could lead us into any folder of ours, such as a clone.
func foreignLink(path string) bool {
	for range 40 { // as many as the kernel follows
		link, rest := "", ""
		elems := strings.Split(filepath.Clean(path), "/")[1:]
		for i := range elems {
			at := "/" + filepath.Join(elems[:i+1]...)
			info, err := os.Lstat(at)
			if err != nil {
				return false // what is not there leads nowhere
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				if uid := atomicfile.Owner(info); uid != 0 && uid != os.Geteuid() {
					return true
				}
				link, rest = at, filepath.Join(elems[i+1:]...)
				break
			}
		}
		if link == "" {
			return false
		}
		to, err := os.Readlink(link)
		if err != nil {
			return false
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(link), to)
		}
		path = filepath.Join(to, rest)
	}
	return true
}

// passwdHome is this user's home folder by the passwd file, "" where that does not
// say. (os/user would bring cgo into every hook.)
func passwdHome() string {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return ""
	}
	uid := strconv.Itoa(os.Geteuid())
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(f) == 7 && f[2] == uid && filepath.IsAbs(f[5]) {
			return f[5]
		}
	}
	return ""
}

// Real resolves the links in a path, also where the end of it does not exist.
func Real(path string) string {
	path = filepath.Clean(path)
	if linkless(path) {
		return path
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	rest := ""
	for dir := path; dir != filepath.Dir(dir); {
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
	}
	return path
}

// Path is a file or folder in the state folder. That of the zero State is nowhere,
// and never in the folder that one happens to be in.
func (s State) Path(elem ...string) string {
	if s == "" {
		s = Nowhere
	}
	return filepath.Join(append([]string{string(s)}, elem...)...)
}

var errNone = errors.New("there is no HOME, and the passwd entry names none")

var errForeign = errors.New("another user's symbolic link is on the way to gt's state folder")

// Check reports why the state folder cannot be used, nil where it can: it has to
// be a folder of this user's that nobody else may write to, or not to exist yet.
func (s State) Check() error {
	if s == Nowhere || s == "" {
		return fmt.Errorf("nothing is kept: %w", errNone)
	}
	if s == Foreign {
		return fmt.Errorf("nothing is kept: %w", errForeign)
	}
	info, err := os.Stat(string(s))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return atomicfile.Error("use", string(s), atomicfile.MayMake(string(s)))
	case err != nil:
		return atomicfile.Error("use", string(s), err)
	case !info.IsDir():
		return atomicfile.Error("use", string(s), errors.New("not a folder"))
	case atomicfile.Owner(info) != 0 && atomicfile.Owner(info) != os.Geteuid():
		return atomicfile.Error("use", string(s), errors.New("it belongs to another user"))
	case info.Mode().Perm()&0o022 != 0:
		return atomicfile.Error("use", string(s), errors.New("others may write to it; chmod 700 makes it private"))
	}
	return nil
}

// Prepare makes a folder of the state, with what is missing above it.
func (s State) Prepare(dir string) error {
	if err := s.Check(); err != nil {
		return err
	}
	return atomicfile.EnsurePrivateDir(dir)
}

// Within reports whether the state folder lies in a folder, whose path has no links
// (Real), so that who can write to that project can write what gt believes.
func (s State) Within(real string) bool {
	return s != Nowhere && s != Foreign && Inside(string(s), real)
}

// Inside reports whether a path is a folder or lies in it. Both are clean.
func Inside(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// key is the name of the folder that keeps what belongs to another one: for a
// person to read, and the hash of its path for gt.
func key(real string) string {
	sum := sha256.Sum256([]byte(real))
	name := strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' || r == 0x7f || r == '\\' {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(filepath.Base(real), "-"))
	name = strings.TrimLeft(name, ".-")
	if name == "" {
		name = "root"
	}
	for len(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name + "-" + hex.EncodeToString(sum[:16])
}

// maxName bounds the readable part of a name, in bytes.
const maxName = 60
