// Package place knows where gt's files are and which of them can be believed.
//
// Only the person can write to the state folder, $XDG_STATE_HOME/gt
// (~/.local/state/gt). Everything that decides what gt does is there:
//
//	<state>/homes/<name>-<hash>/   the data of a folder that sessions work in
//	<state>/towns/<name>-<hash>/   the data of a town, and whether it is trusted
//	<state>/                       the personal town
//
// A repository, its author, an agent in its sandbox and another user can all write
// into a project. So gt reads nothing of its own there, except the files of a town that
// the person trusts and requests (Request). No other package joins a path to a project.
package place

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/flock"
)

// State is the path of the state folder.
type State string

// MissingState stands for a missing state folder. Nothing can be read or written there.
const MissingState State = "/proc/self/nowhere/gt"

// ForeignState stands for a state folder behind another user's link. Nothing is read or written there.
const ForeignState State = "/dev/null/foreign"

// StateOf returns the person's state folder: $XDG_STATE_HOME/gt or ~/.local/state/gt.
// Without HOME it uses the home of the passwd entry, never a folder that others can write
// to. It resolves links of the person or root, and returns ForeignState for a link of another
// user. The folder need not exist.
func StateOf(getenv func(string) string) State {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			if _, home = passwd(os.Geteuid()); !filepath.IsAbs(home) {
				return MissingState
			}
		}
		state = filepath.Join(home, ".local", "state")
	}
	state = filepath.Join(state, "gt")
	switch {
	case linkless(state): // filepath.Join has cleaned it
		return State(state)
	case foreignLink(state):
		return ForeignState
	}
	return State(Real(state))
}

// foreignLink reports whether a path contains a link of another user, except root. That
// user could lead gt into any folder of the person, such as a clone.
func foreignLink(path string) bool {
	for range 40 { // the kernel's limit
		link, rest := "", ""
		elems := strings.Split(filepath.Clean(path), "/")[1:]
		for i := range elems {
			at := "/" + filepath.Join(elems[:i+1]...)
			info, err := os.Lstat(at)
			if err != nil {
				return false // a missing file leads nowhere
			}
			if info.Mode()&fs.ModeSymlink != 0 {
				if uid := atomicfile.Owner(info); uid != 0 && uid != os.Geteuid() { // mutant never: TestForeignLink
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
	return true // the kernel follows no more either
}

// passwd returns a user's name and home in /etc/passwd, or "". os/user would need cgo.
func passwd(user int) (name, home string) {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", ""
	}
	uid := strconv.Itoa(user)
	for line := range strings.Lines(string(data)) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(f) == 7 && f[2] == uid {
			return f[0], f[5]
		}
	}
	return "", ""
}

// userName returns a user's name, or the number if /etc/passwd has none.
func userName(uid int) string {
	name, _ := passwd(uid)
	return cmp.Or(name, "user "+strconv.Itoa(uid))
}

// Real resolves the links in a path, whose end need not exist.
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

// Path returns a path in the state folder. For the zero State it is in MissingState, never in
// the working directory.
func (s State) Path(elem ...string) string {
	s = cmp.Or(s, MissingState)
	return Join(string(s), elem...)
}

// Join is a fast filepath.Join for clean paths: a list of a thousand agents joins some thousands.
func Join(dir string, elem ...string) string {
	size := len(dir)
	for _, e := range elem {
		if e == "" || e[0] == '.' || e[0] == '/' || strings.HasSuffix(e, "/") || strings.Contains(e, "//") || strings.Contains(e, "/.") {
			return filepath.Join(append([]string{dir}, elem...)...)
		}
		size += 1 + len(e)
	}
	if len(dir) < 2 || dir[0] != '/' || strings.Contains(dir, "//") || strings.Contains(dir, "/./") || strings.Contains(dir, "/../") ||
		strings.HasSuffix(dir, "/") || strings.HasSuffix(dir, "/.") || strings.HasSuffix(dir, "/..") {
		return filepath.Join(append([]string{dir}, elem...)...)
	}
	path := make([]byte, 0, size)
	path = append(path, dir...)
	for _, e := range elem {
		path = append(append(path, '/'), e...)
	}
	return string(path)
}

var errNoHome = errors.New("HOME is not set, and the passwd entry has no home folder")

var errForeign = errors.New("another user's symbolic link is on the way to gt's state folder")

// OthersError reports that the state folder is another user's, as it is after sudo -E.
type OthersError struct {
	State State
	Owner int // its user id
}

func (e *OthersError) Error() string {
	return fmt.Sprintf("cannot use '%s': it belongs to another user, %s, and this runs as %s", e.State, userName(e.Owner), userName(os.Geteuid()))
}

// Hint says what the person can do.
func (e *OthersError) Hint() string {
	return fmt.Sprintf("run it as %s, or have HOME be the home of %s (sudo -H does)", userName(e.Owner), userName(os.Geteuid()))
}

// explainOwner returns an OthersError if the state folder, or the nearest folder above that this
// user can look at, belongs to another user. Otherwise it returns err.
func (s State) explainOwner(err error) error {
	for at := string(s); ; at = filepath.Dir(at) {
		info, serr := os.Stat(at)
		switch {
		case serr != nil && at != "/":
		case serr != nil || atomicfile.Owner(info) == os.Geteuid():
			return err
		default:
			return &OthersError{s, atomicfile.Owner(info)}
		}
	}
}

// Check returns an error if the state folder cannot be used. It must belong to this user or
// root and not be writable by others, or not exist.
func (s State) Check() error {
	if s == MissingState || s == "" {
		return fmt.Errorf("nothing is kept: %w", errNoHome)
	}
	if s == ForeignState {
		return fmt.Errorf("nothing is kept: %w", errForeign)
	}
	info, err := os.Stat(string(s))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := atomicfile.CheckMayMake(string(s)); err != nil {
			return s.explainOwner(atomicfile.Error("use", string(s), err))
		}
	case errors.Is(err, fs.ErrPermission):
		return s.explainOwner(atomicfile.Error("use", string(s), err))
	case errors.Is(err, syscall.ENOTDIR):
		return atomicfile.Error("use", string(s), fmt.Errorf("%w; HOME or XDG_STATE_HOME leads through a file", syscall.ENOTDIR))
	case err != nil:
		return atomicfile.Error("use", string(s), err)
	case !info.IsDir():
		return atomicfile.Error("use", string(s), errors.New("not a folder"))
	case atomicfile.Owner(info) != os.Geteuid() && (atomicfile.Owner(info) != 0 || info.Mode().Perm()&0o005 == 0):
		return &OthersError{s, atomicfile.Owner(info)} // root's will do if others can read it
	case info.Mode().Perm()&0o022 != 0:
		return atomicfile.Error("use", string(s), errors.New("other users can write to it; chmod 700 makes it private"))
	}
	return nil
}

// CheckOwner is Check for a command that only reads: it returns an OthersError or nil.
func (s State) CheckOwner() error {
	if others := new(OthersError); errors.As(s.Check(), &others) {
		return others
	}
	return nil
}

// Prepare creates a folder of the state and its parents with mode 0700.
func (s State) Prepare(dir string) error {
	if err := s.Check(); err != nil {
		return err
	}
	return atomicfile.EnsurePrivateDir(dir)
}

// Write is atomicfile.Write for a file of the state whose folder may be missing.
func (s State) Write(path string, data []byte, d atomicfile.Durability) error {
	if err := s.Prepare(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.Write(path, data, d)
}

// WriteJSON is Write for a value as JSON, on one line.
func (s State) WriteJSON(path string, v any, d atomicfile.Durability) error {
	if err := s.Prepare(filepath.Dir(path)); err != nil {
		return err
	}
	return atomicfile.WriteJSON(path, v, d)
}

// Lock is flock.Acquire for a file of the state whose folder may be missing.
func (s State) Lock(path string, wait time.Duration) (*flock.Lock, error) {
	if err := s.Prepare(filepath.Dir(path)); err != nil {
		return nil, err
	}
	return flock.Acquire(path, wait)
}

// IsInside reports whether the state folder is inside real, a path without links. Whoever can
// write to such a project can also write what gt believes.
func (s State) IsInside(real string) bool {
	return s != MissingState && s != ForeignState && IsBelow(string(s), real)
}

// IsBelow reports whether path is dir or below it. Both must be clean.
func IsBelow(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// entryName returns the name of a folder's entry in the state: its base name for people, and a
// hash of its path.
func entryName(real string) string {
	sum := sha256.Sum256([]byte(real))
	name := strings.Map(func(r rune) rune {
		if r == '/' || r < ' ' || r == 0x7f || r == '\\' {
			return '-'
		}
		return r
	}, strings.ToValidUTF8(filepath.Base(real), "-"))
	name = strings.TrimLeft(name, ".-")
	name = cmp.Or(name, "root")
	for len(name) > maxName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name + "-" + hex.EncodeToString(sum[:16])
}

// hashLength is the length of the hash that ends an entryName.
const hashLength = 32

// maxName bounds the readable part of an entryName, in bytes.
const maxName = 60

// ConfigHome returns the folder of the person's settings, $XDG_CONFIG_HOME (~/.config), or ""
// if neither variable is an absolute path.
func ConfigHome(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config")
	}
	return ""
}

// Config returns a path in gt's folder of ConfigHome, or "".
func Config(getenv func(string) string, elem ...string) string {
	dir := ConfigHome(getenv)
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir, "gt"}, elem...)...)
}

// ReadConfig returns at most limit bytes of a file from Config. It follows links, because
// people keep their settings elsewhere (stow, chezmoi). The file must belong to the person
// or root and not be writable by everybody.
func ReadConfig(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, atomicfile.Error("open", path, err)
	}
	return atomicfile.ReadIf(real, limit, func(info fs.FileInfo) error {
		if err := atomicfile.CheckFileOwner(info); err != nil {
			return err
		}
		if info.Mode().Perm()&0o002 != 0 {
			return errors.New("everybody can write to it")
		}
		return nil
	})
}

func ownerOf(path string) (int, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, err
	}
	return atomicfile.Owner(info), nil
}
