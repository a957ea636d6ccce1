package eventlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"gt/lib/place"
	"gt/lib/sys/atomicfile"
)

// Archive returns the log of the life-cycle events that have left this log, so that every
// session that ever ran can be found. gt only appends to it.
//
// A reader that opens the log first and then the archive finds each such event. During or
// after an interrupted prune, it may be in both.
func (l Log) Archive() Log { return Log(l.archiveFolder().Path(archiveName)) }

const archiveName = "sessions.jsonl"

// archiveFolder returns the archive's folder, where in a town others write too.
func (l Log) archiveFolder() place.SharedFolder {
	return place.SharedIn(filepath.Dir(string(l)), ".sessions", "archive")
}

// segmentPath returns the path for a log that is rotated now. Its number keeps the order if the
// clock changes.
func (l Log) segmentPath(now time.Time) string {
	n := 1
	if all := l.Segments(); len(all) > 0 {
		n = segmentNumber(all[len(all)-1]) + 1
	}
	return l.archiveFolder().Path(fmt.Sprintf("events-%06d-%s.jsonl", n, now.UTC().Format("20060102T150405Z")))
}

// Segments returns the paths of the rotated logs, oldest first.
func (l Log) Segments() []string {
	dir := l.archiveFolder().Path("")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if segmentNumber(e.Name()) > 0 {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := segmentNumber(all[i]), segmentNumber(all[j])
		return a < b || a == b && all[i] < all[j]
	})
	return all
}

// segmentNumber returns the number in the name of a rotated log, or 0 if it is not the name of one.
func segmentNumber(path string) int {
	name, ok := strings.CutPrefix(filepath.Base(path), "events-")
	digits, _, dash := strings.Cut(name, "-")
	n, err := strconv.Atoi(digits)
	if !ok || !dash || err != nil || n < 1 || !strings.HasSuffix(name, ".jsonl") {
		return 0
	}
	return n
}

// undoArchive removes what an unfinished prune or rotation added to the archive's folder.
func (l Log) undoArchive(i rewriteIntent) error {
	dir, err := atomicfile.IfExists(l.archiveFolder().Open())
	if err != nil || dir == nil {
		return err
	}
	defer dir.Close()
	if name := filepath.Base(i.Segment); segmentNumber(name) > 0 {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return atomicfile.Error("remove", l.archiveFolder().Path(name), err)
		}
	}
	f, err := atomicfile.OpenAppendIn(dir, archiveName)
	if err == nil {
		err = errors.Join(truncateTo(f, i.Archive), atomicfile.Close(f)) // mutant skip: TestPruneClearsAwayWhatAKilledOneLeft
	}
	return atomicfile.Error("undo a prune in", string(l.Archive()), err)
}

// linkOldLog links the old log to its path among the rotated ones.
func (w *logRewrite) linkOldLog() error {
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
