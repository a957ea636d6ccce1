// Bare is the least that a Go program has to do for an answer of gt-seance, and shows what
// is left to save. It prints how many there are.
//
//	bare ends FOLDER    reads both ends of each file, as much as a first list does
//	bare events LOG     reads a log and checks the JSON of the events about sessions
//	bare rows N         writes N rows as small as an index's into a new SQLite file, in the
//	                    order of their keys, with the index's two orders
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/log/eventlog"
	"gt/lib/sys/sqlite"
	"gt/lib/text/openjson"
)

func main() {
	n, err := map[string]func(string) (int, error){"ends": ends, "events": events, "rows": rows}[os.Args[1]](os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bare: error:", err)
		os.Exit(1)
	}
	fmt.Println(n)
}

func ends(folder string) (int, error) {
	var paths []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			paths = append(paths, path)
		}
		return err
	})
	cli.Parallel(paths, func(path string) {
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		block := make([]byte, conversation.EndSize)
		_, _ = f.Read(block)
		if _, err := f.Seek(-conversation.EndSize, io.SeekEnd); err == nil {
			_, _ = f.Read(block)
		}
	})
	return len(paths), err
}

func events(log string) (n int, err error) {
	f, err := os.Open(log)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	_, err = eventlog.ScanLifecycle(f, 0, info.Size(), info.Size(), func(line []byte, _ int64) {
		if openjson.Valid(line) {
			n++
		}
	})
	return n, err
}

func rows(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, err
	}
	f, err := os.CreateTemp("", "bare-rows-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	return n, sqlite.Make(f, func(db *sqlite.Cache) error {
		if err := db.Exec("CREATE TABLE session(id TEXT, started INTEGER, last INTEGER, events BLOB, PRIMARY KEY(started, id)) WITHOUT ROWID"); err != nil {
			return err
		}
		const atOnce = 10
		values := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?), ", atOnce), ", ")
		for i := 0; i < n; i += atOnce {
			var row []any
			for at := i; at < i+atOnce; at++ {
				row = append(row, fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(at)*2654435761, at), int64(at), int64(at), make([]byte, 12))
			}
			if err := db.Exec("INSERT INTO session VALUES "+values, row...); err != nil {
				return err
			}
		}
		if err := db.Exec("CREATE UNIQUE INDEX id ON session(id)"); err != nil {
			return err
		}
		return db.Exec("CREATE INDEX latest ON session(last, id)")
	})
}
