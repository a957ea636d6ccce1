package conversation

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"gt/lib/state/session"
	"gt/lib/sys/atomicfile"
)

// ReadErrors collects read errors into one: the first error and the number of others. It
// ignores errors about a path that does not exist, or that is neither a file nor a
// folder.
type ReadErrors struct {
	first error
	more  int
}

// Add adds an error. It ignores nil, and that a file does not exist. An error from another
// ReadErrors (severalErrors) counts as all the errors in it, of which only the first is kept.
func (u *ReadErrors) Add(err error) {
	switch {
	case err == nil || atomicfile.IsAbsent(err):
	case u.first == nil:
		u.first = err
	default:
		u.more++
	}
	if several, ok := u.first.(severalErrors); ok {
		u.first, u.more = several.error, u.more+several.more
	} else if several, ok := err.(severalErrors); ok {
		u.more += several.more
	}
}

// Err returns the collected error, or nil.
func (u *ReadErrors) Err() error {
	if u.more > 0 {
		return severalErrors{u.first, u.more}
	}
	return u.first
}

type severalErrors struct {
	error
	more int
}

func (u severalErrors) Error() string { return fmt.Sprintf("%v (and %d more)", u.error, u.more) }

func (u severalErrors) Unwrap() error { return u.error }

// List returns the entries of a folder, and follows a link.
func List(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	return entries, atomicfile.Error("read", dir, err)
}

// List returns the entries of a folder, as far as it can list them.
func (u *ReadErrors) List(dir string) []os.DirEntry {
	entries, err := List(dir)
	u.Add(err)
	return entries
}

// StatFile returns the FileInfo of the file at path, and follows a link. ok is false for
// anything but a regular file, and for an empty one.
func (u *ReadErrors) StatFile(path string) (info os.FileInfo, ok bool) {
	info, err := os.Stat(path)
	u.Add(atomicfile.Error("read", path, err))
	return info, err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// SetStat sets the size and the time of f, and returns false if it is empty or no regular file. A newer
// time of a file beside it, such as the session's state, counts instead. A sync tool's copy gets the
// id of its original. The "._" files that macOS puts beside others on foreign disks do not count.
func (u *ReadErrors) SetStat(f *File, beside ...string) bool {
	info, ok := u.StatFile(f.Path)
	if !ok || strings.HasPrefix(filepath.Base(f.Path), "._") {
		return false
	}
	if id, copied := IDOfName(string(f.ID)); copied {
		f.ID, f.IsSyncCopy = id, true
	}
	f.Size, f.Changed = info.Size(), info.ModTime().UnixNano()
	for _, path := range beside {
		if info, ok := u.StatFile(path); ok {
			f.Changed = max(f.Changed, info.ModTime().UnixNano())
		}
	}
	return true
}

// Finding is a Reader's Find in one store, with the errors that it met.
type Finding struct {
	ReadErrors
	client, store string
	each          func(File)
}

func NewFinding(client, store string, each func(File)) *Finding {
	return &Finding{client: client, store: store, each: each}
}

// GiveFile calls each for a file that is regular and not empty, and reports whether it is.
func (u *Finding) GiveFile(f File, beside ...string) bool {
	f.Client, f.Store = u.client, u.store
	if !u.SetStat(&f, beside...) {
		return false
	}
	u.each(f)
	return true
}

// GiveNamed calls each for a file whose name, without its ending, is an id.
func (u *Finding) GiveNamed(path, name string, parent session.ID) {
	if id, copied := IDOfName(name); id != "" {
		u.GiveFile(File{Path: path, ID: id, Parent: parent, IsSyncCopy: copied})
	}
}

// SessionsIn returns the ids that are names of folders.
func SessionsIn(entries []os.DirEntry) (ids []session.ID) {
	for _, e := range entries {
		if id, err := session.ParseID(e.Name()); err == nil && !e.Type().IsRegular() {
			ids = append(ids, id)
		}
	}
	return ids
}

// UnreadableError returns the error of a file that exists but cannot be read, or nil.
func UnreadableError(path string, err error) error {
	if err == nil || atomicfile.IsAbsent(err) {
		return nil
	}
	return atomicfile.Error("read", path, err)
}

// ReadJSON returns the JSON in a file of the client beside a conversation. The result does
// not exist if the file does not or has no JSON.
func ReadJSON(path string, limit int64) (gjson.Result, error) {
	data, err := atomicfile.Read(path, limit)
	if err != nil || !gjson.ValidBytes(data) {
		return wholeMembers(data), UnreadableError(path, err)
	}
	return gjson.ParseBytes(data), nil
}

// maxCuts limits how many members from the end wholeMembers leaves out.
const maxCuts = 20

// wholeMembers returns the members of a JSON object that a torn file has in full. It cuts the text at
// each of the last commas, and closes what is open there, until that is valid.
func wholeMembers(data []byte) gjson.Result {
	end := len(data)
	for range maxCuts {
		if end = bytes.LastIndexByte(data[:end], ','); end < 0 {
			break
		}
		for _, close := range [...]string{"}", "}}", "]}", "}}}", "}]}"} {
			if torn := string(data[:end]) + close; gjson.Valid(torn) {
				return gjson.Parse(torn)
			}
		}
	}
	return gjson.Result{}
}

// Unknown counts the records of a conversation whose kind its reader does not know. A newer
// version of the client may keep in them what gt does not read.
type Unknown struct {
	Records int      `json:"records"`
	Kinds   int      `json:"kinds"`
	First   []string `json:"first"` // the names of the first kinds, as the file has them
}

const (
	maxKinds     = 1000 // counted of a conversation
	firstKinds   = 5    // named
	maxKindBytes = 100
	withoutType  = "without a type"
)

// CountUnknown reads a whole conversation. It counts nothing if the reader knows no kinds.
func CountUnknown(r Reader, f File) (u Unknown, err error) {
	c, ok := r.(Classifier)
	if !ok {
		return u, nil
	}
	seen := map[string]bool{}
	err = c.Unknown(f, func(kind string) {
		u.Records++
		kind = cmp.Or(kind, withoutType)
		kind = strings.Clone(kind[:min(len(kind), maxKindBytes)])
		if seen[kind] || len(seen) == maxKinds {
			return
		}
		seen[kind] = true
		if u.Kinds++; len(u.First) < firstKinds {
			u.First = append(u.First, kind)
		}
	})
	return u, err
}

// UnknownLines is Classifier's Unknown for a file of lines: it calls each for those whose
// kind is not known. Lines that are no JSON, such as torn ones, are of the kind "torn".
func UnknownLines(path string, known []string, kindOf func(line []byte) string, each func(kind string)) error {
	_, err := Lines(path, 0, func(line []byte, _ int64) bool {
		if !gjson.ValidBytes(line) {
			each("torn")
			return true
		}
		kind := kindOf(line)
		if !slices.Contains(known, kind) && gjson.ParseBytes(line).IsObject() { // mutant never: ./lib/client/readers TestUnknown
			each(kind)
		}
		return true
	})
	return err
}

// RecordType returns the type of a record.
func RecordType(line []byte) string { return gjson.GetBytes(line, "type").Str }
