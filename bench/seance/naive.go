package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// eachLine calls each for the lines of a file.
func eachLine(path string, each func(line []byte)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		each(in.Bytes())
	}
	return in.Err()
}

// loggedIn returns the ids of all sessions in a log, newest first.
func loggedIn(log string) ([]string, error) {
	type start struct{ at, id string }
	var all []start
	err := eachLine(log, func(line []byte) {
		var e struct {
			TS, Type string
			Payload  struct {
				ID string `json:"session_id"`
			}
		}
		if json.Unmarshal(line, &e) == nil && e.Type == "session_start" {
			all = append(all, start{e.TS, e.Payload.ID})
		}
	})
	slices.SortFunc(all, func(a, b start) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.id, b.id)) })
	var ids []string
	for _, s := range all {
		ids = append(ids, s.id)
	}
	return ids, err
}

// begins is a check of a table whose rows begin with an id, or with its beginning.
func begins(heading int, ids []string) func(string) error {
	return func(stdout string) error {
		rows := strings.Split(strings.TrimSuffix(stdout, "\n"), "\n")[heading:]
		if len(rows) != len(ids) {
			return fmt.Errorf("%d sessions, not %d", len(rows), len(ids))
		}
		for i, row := range rows {
			if word, _, _ := strings.Cut(strings.ReplaceAll(row, "\t", " "), " "); len(word) < 8 || !strings.HasPrefix(ids[i], word) {
				return fmt.Errorf("row %d begins with %s, not %s", i+1, word, ids[i])
			}
		}
		return nil
	}
}

// spoken counts the lines that people and agents said and that match, by session.
func spoken(projects string, patterns ...string) ([]map[string]int, error) {
	found := make([]map[string]int, len(patterns))
	var all []*regexp.Regexp
	for i, p := range patterns {
		found[i] = map[string]int{}
		all = append(all, regexp.MustCompile(p))
	}
	err := filepath.WalkDir(projects, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		id := strings.TrimSuffix(d.Name(), ".jsonl")
		return eachLine(path, func(line []byte) {
			var r struct {
				Message struct{ Content json.RawMessage }
			}
			if json.Unmarshal(line, &r) != nil {
				return
			}
			var text string
			var blocks []struct{ Type, Text string }
			if c := r.Message.Content; bytes.HasPrefix(c, []byte(`"`)) {
				json.Unmarshal(c, &text)
			} else if json.Unmarshal(c, &blocks) == nil {
				for _, b := range blocks {
					text += b.Text + "\n"
				}
			}
			for line := range strings.Lines(text) {
				for i, re := range all {
					if re.MatchString(line) {
						found[i][id]++
					}
				}
			}
		})
	})
	return found, err
}

// counted is a check that each session has as many lines as it should; at most most of
// them.
func counted(want map[string]int, most int) func(string) error {
	return func(stdout string) error {
		got := map[string]int{}
		for line := range strings.Lines(stdout) {
			id, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got[id]++
		}
		if len(got) != len(want) {
			return fmt.Errorf("%d sessions, not %d", len(got), len(want))
		}
		for id, n := range want {
			if got[id] != min(n, most) {
				return fmt.Errorf("session %s: %d lines, not %d", id, got[id], min(n, most))
			}
		}
		return nil
	}
}
