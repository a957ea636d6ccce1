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
	"sort"
	"time"

	"gt/lib/sys/atomicfile"
)

// Trust records that the person trusts a folder as a town. Like direnv's "allow", it covers
// the files that the person was shown, and no later ones.
type Trust struct {
	Folder
	Owner int       `json:"owner"` // user ID of the folder's owner
	Since time.Time `json:"since"`
	// Files maps every file of the town that can name a program, an argument, a
	// variable or a prompt, by its path in the town, to its SHA-256 in hex.
	Files map[string]string `json:"files"`
	// Mail reports that agents may also start on work in the town's boxes that this
	// person's gt did not put there.
	Mail bool `json:"mail,omitempty"`
	// GitShows reports that git would show or track the files that gt shares in the town. Then
	// gt keeps them in the state.
	GitShows bool `json:"shows,omitempty"`
}

const trustFile = "trust.json"

var (
	// ErrUntrusted is returned for a town that the person has not trusted.
	ErrUntrusted = errors.New("the town is not trusted")
	// ErrChanged is returned for a file that differs from the one that was trusted.
	ErrChanged = errors.New("it is not what was trusted; gt-hooks trust shows it again")
)

// Town returns the folder of the state for the town at root.
func (s State) Town(root string) string { return s.Path("towns", entryName(Real(root))) }

// TrustOf returns the person's trust in the town at root. It returns ErrUntrusted if there
// is none, or if another folder is there now.
func (s State) TrustOf(root string) (*Trust, error) {
	t, err := readTrust(filepath.Join(s.Town(root), trustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrUntrusted
	} else if err != nil {
		return nil, err
	}
	here, err := Identify(root)
	if err != nil {
		return nil, atomicfile.Error("look at", root, err)
	}
	owner, err := ownerOf(here.Path)
	if err != nil {
		return nil, atomicfile.Error("look at", root, err)
	}
	if t.Path != here.Path || !t.isUnchanged(here) || t.Owner != owner { // mutant never: . TestScripts/town_trust
		return nil, ErrUntrusted
	}
	return t, nil
}

func readTrust(path string) (*Trust, error) {
	t := new(Trust)
	if err := atomicfile.ReadJSON(path, 1<<20, t); err != nil {
		return nil, err
	}
	return t, nil
}

// TrustedTowns returns the trusted towns, sorted by path. With an error some are missing.
func (s State) TrustedTowns() ([]*Trust, error) {
	entries, err := atomicfile.Entries(s.Path("towns"))
	if err != nil {
		return nil, err
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
	sort.SliceStable(all, func(a, b int) bool { return all[a].Path < all[b].Path })
	return all, failed
}

// Survey returns the trust to record for the town at root: its owner, and the files that
// can decide what runs.
func Survey(root string) (*Trust, error) {
	here, err := Identify(root)
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
	for _, pattern := range decidingFiles {
		names, err := fs.Glob(dir.FS(), pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := readLinkless(dir, name)
			if err != nil {
				return nil, atomicfile.Error("read", filepath.Join(here.Path, name), err)
			}
			t.Files[name] = Digest(data)
		}
	}
	return t, nil
}

// AddFiles adds files that town.toml names, which can decide what runs too. It ignores missing ones.
func (t *Trust) AddFiles(names ...string) error {
	dir, err := atomicfile.OpenFolder(t.Path)
	if err != nil {
		return atomicfile.Error("open", t.Path, err)
	}
	defer dir.Close()
	for _, name := range names {
		data, err := readLinkless(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return atomicfile.Error("read", filepath.Join(t.Path, name), err)
		}
		t.Files[name] = Digest(data)
	}
	return nil
}

// decidingFiles lists the files of a town that can name a program, an argument, a variable
// or an account, or describe a role to an agent.
var decidingFiles = []string{"town.toml", "settings/config.json", "*/settings/config.json", "mayor/accounts.json", "roles/*.md"}

// Digest returns the SHA-256 of a text, in hex.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxFile bounds a file of a town, in bytes.
const maxFile = 1 << 20

// readLinkless reads a regular file below an open folder without following links.
func readLinkless(dir *os.Root, name string) ([]byte, error) {
	// Parent folders must not be links either: os.Root follows links that stay inside it,
	// and those could lead to another file.
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

// RecordTrust records the person's trust in a town, synced.
func (s State) RecordTrust(t *Trust) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return s.Write(filepath.Join(s.Town(t.Path), trustFile), append(data, '\n'), atomicfile.Synced)
}

// Untrust withdraws the trust in a town. The town's other data stays.
func (s State) Untrust(root string) error {
	path := filepath.Join(s.Town(root), trustFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Error("withdraw the trust in", root, ErrUntrusted)
	} else if err != nil {
		return atomicfile.Error("look at", path, err)
	}
	return atomicfile.Remove(path)
}

// Read returns a deciding file of the town as the person was shown it. It returns
// ErrChanged if the file differs, and fs.ErrNotExist if there is none and was none. It
// compares the bytes that it returns.
func (t *Trust) Read(name string) ([]byte, error) {
	path := filepath.Join(t.Path, name)
	want, known := t.Files[name]
	dir, err := atomicfile.OpenFolder(t.Path)
	if err != nil {
		return nil, atomicfile.Error("open", t.Path, err)
	}
	defer dir.Close()
	data, err := readLinkless(dir, name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !known:
		return nil, fmt.Errorf("cannot open '%s': %w", path, fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cannot use '%s': %w", path, ErrChanged)
	case err != nil:
		return nil, atomicfile.Error("read", path, err)
	case !known || Digest(data) != want: // mutant never: TestTrust
		return nil, fmt.Errorf("cannot use '%s': %w", path, ErrChanged)
	}
	return data, nil
}
