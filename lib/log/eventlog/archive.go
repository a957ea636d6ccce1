package eventlog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Archive is where the lines that tell of a session's life go when they leave
// the log, so that every session that ever ran stays answerable: a log of its
// own, in the archive's folder. It is only ever appended to.
//
// A reader who opens the log first and the archive after it finds every such
// line in one of the two, and at times, while a prune runs or after one was
// killed, in both.
func (l Log) Archive() Log { return Log(l.archive().Path(archiveName)) }

// archiveName is the archive's name in its folder.
const archiveName = "sessions.jsonl"

// archive is the archive's folder: in a town others write to it as well.
func (l Log) archive() place.Shared {
	return place.SharedIn(filepath.Dir(string(l)), ".sessions", "archive")
}

// segment is a name for the log that is set aside now. The number orders what
// was set aside whatever the clock did.
func (l Log) segment(now time.Time) string {
	n := 1
	if all := l.Segments(); len(all) > 0 {
		n = number(all[len(all)-1]) + 1
	}
	return l.archive().Path(fmt.Sprintf("events-%06d-%s.jsonl", n, now.UTC().Format("20060102T150405Z")))
}

// Segments returns the paths of the logs that were set aside by a rotation, the
// oldest first.
func (l Log) Segments() []string {
	dir := l.archive().Path("")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if number(e.Name()) > 0 {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
	return all
}

// number returns which in the order of rotations a segment is, 0 for a file
// that is none.
func number(path string) int {
	name, ok := strings.CutPrefix(filepath.Base(path), "events-")
	digits, _, dash := strings.Cut(name, "-")
	n, err := strconv.Atoi(digits)
	if !ok || !dash || err != nil || n < 1 || !strings.HasSuffix(name, ".jsonl") {
		return 0
	}
	return n
}

// undoArchive takes back what was carried over and set aside.
func (l Log) undoArchive(i intent) error {
	dir, err := l.archive().Open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer dir.Close()
	if name := filepath.Base(i.Segment); number(name) > 0 {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Error("remove", l.archive().Path(name), err)
		}
	}
	f, err := atomicfile.OpenAppendIn(dir, archiveName)
	if err == nil {
		err = errors.Join(cut(f, i.Archive), f.Close())
	}
	return atomicfile.Error("undo a prune in", string(l.Archive()), err)
}

// setAside gives the old log its second name.
func (w *rewrite) setAside() error {
	top, err := atomicfile.OpenFolder(filepath.Dir(string(w.log)))
	if err != nil {
		return err
	}
	defer top.Close()
	to, err := filepath.Rel(top.Name(), w.segment)
	if err != nil {
		return err
	}
	return atomicfile.LinkIn(top, filepath.Base(string(w.log)), to)
}
