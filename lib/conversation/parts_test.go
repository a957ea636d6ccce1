package conversation

import (
	"fmt"
	"os"
	"path/filepath"

	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
)

// spoken is a Reader of conversations by their paths. A file's name is that of its segment.
type spoken struct {
	Reader
	entries map[string][]Entry
	bases   map[string]string
	begins  map[string]int64
}

func (r spoken) Read(f File, _ Options, each func(Entry) bool) (int64, error) {
	for _, e := range r.entries[f.Path] {
		if !each(e) {
			return e.Offset, nil
		}
	}
	return 100, nil
}

type segmented struct{ spoken }

func (r segmented) Segment(f File) (own, of string, at int64) {
	return f.Path, r.bases[f.Path], r.begins[f.Path]
}

// The files of a conversation are read in the order in which it went on, copies of sync
// tools first, and what several have comes once. What a later file does not continue was
// taken back, but for its tokens.
func TestReadAll(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 1, minute, 0, 0, time.UTC) }
	say := func(text string, offset int64) Entry {
		return Entry{Kind: Prompt, Text: text, ID: text, Offset: offset}
	}
	r := spoken{entries: map[string][]Entry{
		"a": {say("common", 0), say("in a", 10), {Kind: TokenUsage, ID: "spent", Offset: 11}, say("again", 20), say("again", 21)},
		"b": {say("common", 0), say("in b", 10)},
		"c": {say("common", 0), say("in c", 10), say("again", 20)},
	}}
	file := func(path string, last int, copied bool) Conversation {
		return Conversation{File{Path: path, ID: "s", IsSyncCopy: copied, Size: 100}, Metadata{ID: "s", Started: at(last), Last: at(last), CWD: "/" + path, Title: path}}
	}
	texts := func(r Reader, f File) string {
		var all []string
		if _, err := ReadAll(r, f, Options{}, func(e Entry) bool { all = append(all, e.Text); return e.Text != "stop" }); err != nil {
			t.Error(err)
		}
		return strings.Join(all, "|")
	}
	one := JoinFiles([]Conversation{file("c", 3, true), file("a", 1, false), file("b", 2, false)})
	if got := texts(r, one.File); got != "common|in c|again|in a||again|in b" && got != "common|in c|again|in a||in b" {
		t.Errorf("%q", got)
	}
	if m := one.Metadata; one.File.Path != "b" || !m.Started.Equal(at(1)) || !m.Last.Equal(at(3)) || m.CWD != "/a" || m.MovedTo != "/b" || m.Title != "b" {
		t.Errorf("%+v", one)
	}
	for name, c := range map[string]struct {
		bases  map[string]string
		begins map[string]int64
		want   string
	}{
		"all go on":              {map[string]string{"b": "a", "c": "b"}, map[string]int64{"b": 100, "c": 100}, "common|in a||again|again|in b|in c"},
		"the second took back":   {map[string]string{"b": "a", "c": "b"}, map[string]int64{"b": 10, "c": 100}, "common||in b|in c|again"},
		"the third took back":    {map[string]string{"b": "a", "c": "a"}, map[string]int64{"b": 100, "c": 20}, "common|in a||in c|again"},
		"it continues none here": {map[string]string{"c": "elsewhere"}, nil, "common|in a||again|again|in b|in c"},
	} {
		r.bases, r.begins = c.bases, c.begins
		one := JoinFiles([]Conversation{file("a", 1, false), file("b", 2, false), file("c", 3, false)})
		if got := texts(segmented{r}, one.File); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A file that several links lead to is one.
func TestJoinLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	testenv.NoError(t, os.WriteFile(path, nil, 0o600))
	testenv.NoError(t, os.Symlink("a", link))
	one := JoinFiles([]Conversation{{File: File{Path: path}}, {File: File{Path: link}}})
	if n := len(one.File.Files()); n != 1 {
		t.Errorf("%d files", n)
	}
}

func TestIDOfName(t *testing.T) {
	const id = "aaaaaaaa-0000-4000-8000-000000000001"
	for name, want := range map[string]string{
		id: id + " false",
		id + ".sync-conflict-20261127-101010-ABCDEFG": id + " true",
		id + " (1)": id + " true",
		id + " (Max's conflicted copy 2026-11-27)": id + " true",
		id + "_conflict-1":                         id + " true",
		id + "_HOST_Nov-27-1010-2026_Conflict":     id + " true",
		id + "_more":                               id + "_more false",
		"agent-a1_conflict-1":                      "agent-a1 true",
		id + "-LAPTOP":                             id + " true",
		id + " 2":                                  id + " true",
		id + "~":                                   id + " true",
		"agent-a1":                                 "agent-a1 false",
		"agent-a1.sync-conflict-20261127-101010-ABCDEFG": "agent-a1 true",
		"own.name": "own.name false",
		"../x":     " false",
	} {
		got, copied := IDOfName(name)
		if s := fmt.Sprint(got, " ", copied); s != want {
			t.Errorf("%q is %q, want %q", name, s, want)
		}
	}
}
