package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
)

// Folder tells one folder from every other that has, or had, the same path.
type Folder struct {
	Path   string `json:"path"` // without links
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// Born is when the folder was made, in nanoseconds since 1970; zero where
	// the file system does not tell.
	Born int64 `json:"born,omitempty"`
	// Address is what its agents are called outside a town.
	Address string `json:"address,omitempty"`
}

// Look returns which folder there is at a path.
func Look(path string) (Folder, error) { return look(Real(path)) }

func look(real string) (Folder, error) {
	f, err := identify(real)
	f.Path = real
	return f, err
}

// Same reports whether two looks at a path saw the same folder. The number of a
// device changes with a restart, and with some file systems each time that they
// are mounted: it counts only where nothing tells when the folder was made.
func (f Folder) Same(g Folder) bool {
	if f.Inode != g.Inode || f.Born != g.Born {
		return false
	}
	return f.Born != 0 || f.Device == g.Device
}

// is reports whether the folder that was noted is the one that is there now.
func (f Folder) is(here Folder) bool {
	return f.Same(here) || f.Inode == here.Inode && reborn(here.Path)
}

// note is the name of the file that says whose a folder of the state is.
const note = "path"

// readFolder returns what the note in a folder of the state says.
func readFolder(dir string) (Folder, error) {
	var f Folder
	data, err := atomicfile.Read(filepath.Join(dir, note), 64<<10)
	if err != nil {
		return f, err
	}
	if !gjson.ValidBytes(data) {
		return f, atomicfile.Error("understand", filepath.Join(dir, note), errors.New("it is not JSON"))
	}
	// Not by encoding/json, which takes longer to get to know the type than all the rest.
	for key, value := range gjson.ParseBytes(data).Map() {
		switch key {
		case "path":
			f.Path = value.Str
		case "device":
			f.Device = value.Uint()
		case "inode":
			f.Inode = value.Uint()
		case "born":
			f.Born = value.Int()
		case "address":
			f.Address = value.Str
		}
	}
	if !filepath.IsAbs(f.Path) || f.Inode == 0 {
		return f, atomicfile.Error("understand", filepath.Join(dir, note), errors.New("it names no folder"))
	}
	return f, nil
}

// Kept is where the state keeps what belongs to a home.
type Kept struct {
	At string // the folder

	moved  bool // it notes another path of the home
	anyone bool // it belongs to whatever folder has the path
}

// Home is where what belongs to the home at dir is kept. The home's path has no links.
// The folder may not exist yet. Of two folders that have had the same path each has its
// own, unless anyone is set: a town's role directory belongs to the role, however often
// it is made anew. A folder that has got another path keeps its own.
func (s State) Home(dir string, anyone bool) Kept {
	here, err := look(dir)
	at := s.Path("homes", key(here.Path))
	if anyone || err != nil { // it was removed under us, or cannot be looked at
		return Kept{At: at, anyone: anyone}
	}
	known, err := readFolder(at)
	switch {
	case err == nil && known.is(here):
		return Kept{At: at, moved: known.Path != here.Path}
	case err == nil:
		at = fmt.Sprintf("%s.%x-%x", at, here.Inode, uint32(here.Born))
		if known, err = readFolder(at); err == nil {
			return Kept{At: at, moved: known.Path != here.Path}
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if old, ok := s.former(here); ok {
			return old
		}
	}
	return Kept{At: at}
}

// The folders that something is kept of can be found by what they are as well: a link
// in the state, folders/<inode>-<born>, leads to what is kept of one. There is none
// where the file system does not tell when a folder was made.

// byWhat is the link of a folder.
func (s State) byWhat(f Folder) string {
	return s.Path("folders", fmt.Sprintf("%x-%x", f.Inode, f.Born))
}

// former is where what belongs to a folder is kept that has had another path; ok is
// false where there is none, or where the folder has that path as well.
func (s State) former(here Folder) (k Kept, ok bool) {
	if here.Born == 0 {
		return Kept{}, false
	}
	to, err := os.Readlink(s.byWhat(here))
	if err != nil {
		return Kept{}, false
	}
	at := s.Path("homes", filepath.Base(to))
	known, err := readFolder(at)
	if err != nil || !known.Same(here) {
		return Kept{}, false
	}
	if known.Path == here.Path {
		return Kept{At: at}, true
	}
	if there, err := look(known.Path); err == nil && there.Same(here) {
		return Kept{}, false
	}
	return Kept{At: at, moved: true}, true
}

// MakeHome makes the folder that Home returned, and notes whose it is; anew where the
// home has moved.
func (s State) MakeHome(k Kept, dir, address string) error {
	at := k.At
	if _, err := os.Lstat(filepath.Join(at, note)); err == nil && !k.moved {
		return atomicfile.EnsurePrivateDir(at)
	}
	if err := s.Prepare(at); err != nil {
		return err
	}
	f, err := Look(dir)
	if err != nil {
		return nil // a folder that is gone is noted by nobody any more
	}
	f.Address = address
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if k.moved {
		return atomicfile.Write(filepath.Join(at, note), data, atomicfile.Unsynced)
	}
	if !k.anyone {
		if err := s.linkTo(f, at); err != nil {
			return err
		}
	}
	err = atomicfile.Create(filepath.Join(at, note), data, atomicfile.Unsynced)
	if errors.Is(err, fs.ErrExist) {
		return nil // another that starts here was quicker
	}
	return err
}

// linkTo makes the link by which what is kept of a folder is found when it has moved.
func (s State) linkTo(f Folder, at string) error {
	if f.Born == 0 {
		return nil
	}
	link := s.byWhat(f)
	if err := s.Prepare(filepath.Dir(link)); err != nil {
		return err
	}
	err := os.Symlink(filepath.Join("..", "homes", filepath.Base(at)), link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return atomicfile.Error("create", link, err)
}

// Homes returns the homes of which something is kept, with the folder of the
// state that keeps it.
func (s State) Homes() (map[string]Folder, error) {
	entries, err := atomicfile.ReadDir(s.Path("homes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, atomicfile.Error("read", s.Path("homes"), err)
	}
	homes := map[string]Folder{}
	for _, e := range entries {
		at := s.Path("homes", e.Name())
		if f, err := readFolder(at); err == nil {
			homes[at] = f
		}
	}
	return homes, nil
}

// Of a session the home is fixed by its first hook: the agent, and what it works
// on, can change the working directory that later ones see. A link in the state,
// sessions/<id>, leads to the folder that keeps what belongs to its home.

// Fix notes the folder of the state that keeps what belongs to the session's home.
// A session that has one keeps it. The id is one that was checked.
func (s State) Fix(id, at string) error {
	link := s.Path("sessions", id)
	if _, err := os.Readlink(link); err == nil {
		return nil
	}
	if err := s.Prepare(filepath.Dir(link)); err != nil {
		return err
	}
	err := os.Symlink(filepath.Join("..", "homes", filepath.Base(at)), link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return atomicfile.Error("create", link, err)
}

// Fixed returns the folder of the state that keeps what belongs to the session's
// home, and the home, both "" where none is noted. An error says that it could not be
// read.
func (s State) Fixed(id string) (at, dir string, err error) {
	link := s.Path("sessions", id)
	target, err := os.Readlink(link)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", "", nil
	} else if err != nil {
		return "", "", atomicfile.Error("read", link, err)
	}
	at = s.Path("homes", filepath.Base(target))
	f, err := readFolder(at)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	} else if err != nil {
		return "", "", err
	}
	return at, f.Path, nil
}

// Unfix forgets the home of a session of which nothing else is kept.
func (s State) Unfix(id string) { os.Remove(s.Path("sessions", id)) }
