package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/tidwall/gjson"

	"gt/lib/sys/atomicfile"
	"gt/lib/sys/process"
)

// Folder identifies a folder, even among those that had the same path.
type Folder struct {
	Path   string `json:"path"` // without links
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
	// BirthTime is in nanoseconds since 1970; zero if the file system does not record it.
	BirthTime int64 `json:"born,omitempty"`
	// Address is the address of its agents outside a town.
	Address string `json:"address,omitempty"`
}

func Identify(path string) (Folder, error) { return identifyReal(Real(path)) }

func identifyReal(real string) (Folder, error) {
	f, err := identify(real)
	f.Path = real
	return f, err
}

// SameFolder reports whether f and g are the same folder. A device number can change with a
// restart, and on some file systems with every mount, so it counts only without a birth time.
func (f Folder) SameFolder(g Folder) bool {
	if f.Inode != g.Inode || f.BirthTime != g.BirthTime {
		return false
	}
	return f.BirthTime != 0 || f.Device == g.Device
}

// volumeKind is how a file system identifies its folders.
type volumeKind int

const (
	stableVolume   volumeKind = iota // by inode and birth time, for ever
	overlayVolume                    // a container's: the first write copies a folder of the image, and only its inode stays
	unstableVolume                   // as it is mounted: in user space, of a network, FAT
	unknownVolume                    // the system did not say
)

// isUnchanged reports whether the recorded folder f is the one that is there now.
func (f Folder) isUnchanged(here Folder) bool {
	return f.SameFolder(here) || f.isUnchangedOn(here, volumeOf(here.Path))
}

// isUnchangedOn reports whether here, on such a volume, is the same folder. Some volumes give a folder
// another inode number at each mount; without birth times only the path is left.
func (f Folder) isUnchangedOn(here Folder, kind volumeKind) bool {
	switch kind {
	case overlayVolume:
		return f.Inode == here.Inode
	case unstableVolume:
		return f.BirthTime == here.BirthTime && (f.BirthTime != 0 || f.Path == here.Path)
	}
	return false
}

// Disk returns an id of the state folder if that is on a disk that only this machine can write to.
// Other machines have other ids, unless they were made from the same image. So a session that was
// recorded with this id, but during an earlier boot, ran on this machine before a restart, whatever
// the machine was called then. Disk returns "" if the file system does not record when folders were
// made, or if the boot's id may be a container's.
func (s State) Disk() string {
	f, err := identify(string(s))
	if err != nil || f.BirthTime == 0 || volumeOf(string(s)) != stableVolume || !process.IsKernelBoot() {
		return ""
	}
	return fmt.Sprintf("%x-%x", f.Inode, f.BirthTime)
}

// folderRecord is the file that records which folder an entry of the state belongs to.
const folderRecord = "path"

// readFolder reads which folder an entry of the state belongs to. dir is the entry.
func readFolder(dir string) (Folder, error) {
	var f Folder
	data, err := atomicfile.Read(filepath.Join(dir, folderRecord), 64<<10)
	if err != nil {
		return f, err
	}
	if !gjson.ValidBytes(data) {
		return f, atomicfile.Error("understand", filepath.Join(dir, folderRecord), errors.New("it is not JSON"))
	}
	// encoding/json would take longer than everything else here.
	for key, value := range gjson.ParseBytes(data).Map() {
		switch key {
		case "path":
			f.Path = value.Str
		case "device":
			f.Device = value.Uint()
		case "inode":
			f.Inode = value.Uint()
		case "born":
			f.BirthTime = value.Int()
		case "address":
			f.Address = value.Str
		}
	}
	if !filepath.IsAbs(f.Path) || f.Inode == 0 {
		return f, atomicfile.Error("understand", filepath.Join(dir, folderRecord), errors.New("it does not name a folder"))
	}
	return f, nil
}

// HomeEntry is the place of a home in the state.
type HomeEntry struct {
	At string // the folder

	hasMoved bool // its record has an earlier path
	byPath   bool // it belongs to whatever folder has the path

	address   string
	hasRecord bool
}

// Address returns the recorded address of a home that has not moved, and whether there is a record.
func (k HomeEntry) Address() (address string, known bool) {
	if k.hasMoved {
		return "", false
	}
	return k.address, k.hasRecord
}

// HomeEntryAt returns the place at with its record.
func (s State) HomeEntryAt(at string) HomeEntry {
	f, err := readFolder(at)
	return HomeEntry{At: at, address: f.Address, hasRecord: err == nil}
}

// RecordedFolder returns the recorded folder of a home, or zero.
func (s State) RecordedFolder(k HomeEntry) Folder {
	if f, err := readFolder(k.At); err == nil {
		return f
	}
	return Folder{}
}

// Addresses returns the addresses of homes whose folders have one of these names, but not at path.
func (s State) Addresses(path string, names []string) map[string]bool {
	entries, _ := atomicfile.ReadDir(s.Path("homes")) // unreadable ones use no name
	var begins []string
	for _, base := range names {
		readable := entryName(filepath.Join("/", base))
		begins = append(begins, readable[:len(readable)-hashLength])
	}
	all := map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		if !slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			continue
		}
		if f, err := readFolder(s.Path("homes", name)); err == nil && f.Path != path {
			all[f.Address] = true
		}
	}
	return all
}

// Home returns the place in the state of the home at dir, a path without links that need
// not exist. Two folders that had the same path have separate places. If anyone is set they
// share one: a town's role folder belongs to the role, however often it is made anew. A
// folder that moves keeps its place.
func (s State) Home(dir string, anyone bool) HomeEntry {
	here, err := identifyReal(dir)
	at := s.Path("homes", entryName(here.Path))
	if anyone || err != nil { // it was just removed or cannot be read
		return HomeEntry{At: at, byPath: anyone}
	}
	known, err := readFolder(at)
	switch {
	case err == nil && known.isUnchanged(here):
		return known.homeEntry(at, here)
	case err == nil: // another folder with this path has that place
		at = fmt.Sprintf("%s.%x-%x", at, here.Inode, uint32(here.BirthTime))
		if known, err = readFolder(at); err == nil {
			return known.homeEntry(at, here)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		if old, ok := s.movedHome(here); ok {
			return old
		}
	}
	return HomeEntry{At: at}
}

func (known Folder) homeEntry(at string, here Folder) HomeEntry {
	return HomeEntry{At: at, hasMoved: known.Path != here.Path, address: known.Address, hasRecord: true}
}

// A moved folder is found by its identity: a link in the state, folders/<inode>-<born>,
// leads to its place. Without birth times there is no such link.

// folderLink returns the path of a folder's link.
func (s State) folderLink(f Folder) string {
	return s.Path("folders", fmt.Sprintf("%x-%x", f.Inode, f.BirthTime))
}

// movedHome returns the place of a folder that was moved here, or whose path is written with other
// capitals now. ok is false if there is none, or if the old path still leads to the same folder.
func (s State) movedHome(here Folder) (k HomeEntry, ok bool) {
	if here.BirthTime == 0 {
		return HomeEntry{}, false
	}
	to, err := os.Readlink(s.folderLink(here))
	if err != nil {
		return HomeEntry{}, false
	}
	at := s.Path("homes", filepath.Base(to))
	known, err := readFolder(at)
	if err != nil || !known.SameFolder(here) {
		return HomeEntry{}, false
	}
	if strings.EqualFold(known.Path, here.Path) { // the file system does not tell them apart
		return HomeEntry{At: at, address: known.Address, hasRecord: true}, true
	}
	if there, err := identifyReal(known.Path); err == nil && there.SameFolder(here) {
		return HomeEntry{}, false
	}
	return HomeEntry{At: at, hasMoved: true}, true
}

// MakeHome makes the place k of a home in the state, which Home has returned, and records there
// that it belongs to dir; again if dir has moved.
func (s State) MakeHome(k HomeEntry, dir, address string) error {
	at := k.At
	if _, err := os.Lstat(filepath.Join(at, folderRecord)); err == nil && !k.hasMoved {
		return atomicfile.EnsurePrivateDir(at)
	}
	if err := s.Prepare(at); err != nil {
		return err
	}
	f, err := Identify(dir)
	if err != nil {
		return nil // the folder is gone; there is nothing to record
	}
	f.Address = address
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if k.hasMoved {
		return atomicfile.Write(filepath.Join(at, folderRecord), data, atomicfile.Unsynced)
	}
	if !k.byPath && f.BirthTime != 0 { // movedHome reads the link
		if err := s.linkHome(s.folderLink(f), at); err != nil {
			return err
		}
	}
	err = atomicfile.Create(filepath.Join(at, folderRecord), data, atomicfile.Unsynced)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// linkHome makes a link of the state to a home's place, unless there is one.
func (s State) linkHome(link, at string) error {
	if err := s.Prepare(filepath.Dir(link)); err != nil {
		return err
	}
	err := os.Symlink(filepath.Join("..", "homes", filepath.Base(at)), link)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return atomicfile.Error("create", link, err)
}

// Homes returns the folder of each home, by the home's path in the state. It leaves out unreadable
// ones.
func (s State) Homes() (map[string]Folder, error) {
	entries, err := atomicfile.Entries(s.Path("homes"))
	if err != nil {
		return nil, err
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

// A session's first hook fixes its home, because the agent and its programs can change the working
// directory that later hooks see. A link in the state, sessions/<id>, leads to the home's place.

// FixHome records at as the place of the session's home, unless there is one. The id is valid.
func (s State) FixHome(id, at string) error {
	link := s.Path("sessions", id)
	if _, err := os.Readlink(link); err == nil {
		return nil
	}
	return s.linkHome(link, at)
}

// FixedHome returns the place and the path of the session's recorded home, or "".
func (s State) FixedHome(id string) (at, dir string, err error) {
	k, dir, err := s.FixedEntry(id)
	return k.At, dir, err
}

// FixedEntry returns the record of a session's home, and the home's path; "" without one.
func (s State) FixedEntry(id string) (k HomeEntry, dir string, err error) {
	at, err := s.FixedPlace(id)
	if at == "" {
		return HomeEntry{}, "", err
	}
	f, err := atomicfile.IfExists(readFolder(at))
	if err != nil || f.Path == "" {
		return HomeEntry{}, "", err
	}
	return HomeEntry{At: at, address: f.Address, hasRecord: true}, f.Path, nil
}

// FixedPlace returns the place of a session's home without reading its record, or "".
func (s State) FixedPlace(id string) (string, error) {
	link := s.Path("sessions", id)
	target, err := os.Readlink(link)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return "", nil
	} else if err != nil {
		return "", atomicfile.Error("read", link, err)
	}
	return s.Path("homes", filepath.Base(target)), nil
}

func (s State) UnfixHome(id string) { os.Remove(s.Path("sessions", id)) }
