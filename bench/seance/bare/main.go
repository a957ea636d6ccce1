// Bare is the least that a Go program has to do for an answer of gt-seance, and shows what
// is left to save. It prints how many there are.
//
//	bare ends FOLDER    reads both ends of each file, as much as a first list does
//	bare events LOG     reads a log and checks the JSON of the events about sessions
package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"gt/lib/cli"
	"gt/lib/conversation"
	"gt/lib/log/eventlog"
	"gt/lib/text/openjson"
)

func main() {
	n, err := map[string]func(string) (int, error){"ends": ends, "events": events}[os.Args[1]](os.Args[2])
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
