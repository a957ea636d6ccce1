package place

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gt/lib/sys/atomicfile"
)

// Trust is the person's word that a folder is a town: its file stands in the
// folder that the state keeps for the town. Like direnv's "allow", it holds for
// what the person was shown, and not for what somebody writes there later.
type Trust struct {
	Folder
	Owner int       `json:"owner"` // the user whose folder it is
	Since time.Time `json:"since"`
	// Files holds the SHA-256, in hex, of every file of the town that can name a
	// program, an argument, a variable or a prompt, by its path in the town.
	Files map[string]string `json:"files"`
	// Mail says that work which lies in a box of the town may be started on also
	// where no gt of this person's has put it there.
	Mail bool `json:"mail,omitempty"`
	// Shows says that git would show or keep what gt shares in the town, so it
	// is kept in the state instead.
	Shows bool `json:"shows,omitempty"`
}

// trustFile is the name of a Trust in the folder of its town.
const trustFile = "trust.json"

var (
	// ErrUntrusted is what reading a file of a town gives that nobody trusted.
	ErrUntrusted = errors.New("the town is not trusted")
	// ErrChanged is what reading one gives that is not what was trusted.
	ErrChanged = errors.New("it is not what was trusted; gt-hooks trust shows it again")
)

// Town is the folder of the state that keeps what belongs to the town at root.
func (s State) Town(root string) string { return s.Path("towns", key(Real(root))) }

// Trusted returns the person's word on the town at root: ErrUntrusted where there
// is none, or where another folder is there by now.
func (s State) Trusted(root string) (*Trust, error) {
	t, err := readTrust(filepath.Join(s.Town(root), trustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUntrusted
	} else if err != nil {
		return nil, err
	}
	here, err := Look(root)
	if err != nil {
		return nil, atomicfile.Error("look at", root, err)
	}
	owner, err := ownerOf(here.Path)
	if err != nil {
		return nil, atomicfile.Error("look at", root, err)
	}
	if t.Path != here.Path || !t.is(here) || t.Owner != owner {
		return nil, ErrUntrusted
	}
	return t, nil
}

func readTrust(path string) (*Trust, error) {
	data, err := atomicfile.Read(path, 1<<20)
	if err != nil {
		return nil, err
	}
	t := new(Trust)
	if err := json.Unmarshal(data, t); err != nil {
		return nil, atomicfile.Error("understand", path, err)
	}
	return t, nil
}

// Towns returns every word of the person's on a town, sorted by path.
func (s State) Towns() ([]*Trust, error) {
	entries, err := atomicfile.ReadDir(s.Path("towns"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", s.Path("towns"), err)
	}
	var all []*Trust
	var failed error
	for _, e := range entries {
		t, err := readTrust(s.Path("towns", e.Name(), trustFile))
		switch {
		case err == nil:
			all = append(all, t)
		case !errors.Is(err, fs.ErrNotExist):
			failed = errors.Join(failed, err)
		}
	}
	slices.SortFunc(all, func(a, b *Trust) int { return strings.Compare(a.Path, b.Path) })
	return all, failed
}

// Survey looks at a town that a person may want to trust: whose folder it is, and
// what of it can decide what runs.
func Survey(root string) (*Trust, error) {
	here, err := Look(root)
	if err != nil {
		return nil, atomicfile.Error("look at", root, err)
	}
	t := &Trust{Folder: here, Files: map[string]string{}}
	if t.Owner, err = ownerOf(here.Path); err != nil {
		return nil, atomicfile.Error("look at", root, err)
	}
	dir, err := atomicfile.OpenFolder(here.Path)
	if err != nil {
		return nil, atomicfile.Error("open", here.Path, err)
	}
	defer dir.Close()
	for _, pattern := range deciding {
		names, err := fs.Glob(dir.FS(), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := readIn(dir, name)
			if err != nil {
				return nil, atomicfile.Error("read", filepath.Join(here.Path, name), err)
			}
			t.Files[name] = digest(data)
		}
	}
	return t, nil
}

// deciding are the files of a town that can name a program, an argument, a
// variable, or what an agent is told of its role.
var deciding = []string{"town.toml", "settings/config.json", "*/settings/config.json", "roles/*.md"}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// maxFile bounds a file of a town.
const maxFile = 1 << 20

// readIn reads a regular file below an opened folder, following no link.
func readIn(dir *os.Root, name string) ([]byte, error) {
	// The folders on the way may be no links either: os.Root follows those that
	// stay within, and what is meant is one file and no other.
	for at := filepath.Dir(name); at != "."; at = filepath.Dir(at) {
		info, err := dir.Lstat(at)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			return nil, atomicfile.ErrNotRegular
		}
	}
	f, err := atomicfile.OpenIn(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return atomicfile.ReadFrom(f, maxFile)
}

// Trust notes the person's word on a town.
func (s State) Trust(t *Trust) error {
	at := s.Town(t.Path)
	if err := s.Prepare(at); err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(at, trustFile), append(data, '\n'), atomicfile.Synced)
}

// Untrust takes the person's word on a town back. What is kept of it stays.
func (s State) Untrust(root string) error {
	path := filepath.Join(s.Town(root), trustFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Error("take back the trust in", root, ErrUntrusted)
	} else if err != nil {
		return atomicfile.Error("look at", path, err)
	}
	return atomicfile.Remove(path)
}

// Read returns a file of the town that can decide something, by its path in the
// town: fs.ErrNotExist where there is none and was none, ErrChanged where it is
// not what the person was shown. What is returned is what was compared.
func (t *Trust) Read(name string) ([]byte, error) {
	path := filepath.Join(t.Path, name)
	want, known := t.Files[name]
	dir, err := atomicfile.OpenFolder(t.Path)
	if err != nil {
		return nil, atomicfile.Error("open", t.Path, err)
	}
	defer dir.Close()
	data, err := readIn(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !known:
		return nil, fmt.Errorf("cannot open '%s': %w", path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cannot use '%s': %w", path, ErrChanged)
	case err != nil:
		return nil, atomicfile.Error("read", path, err)
	case !known || digest(data) != want:
		return nil, fmt.Errorf("cannot use '%s': %w", path, ErrChanged)
	}
	return data, nil
}
