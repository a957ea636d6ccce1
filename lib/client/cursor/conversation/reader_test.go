package cursor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/conversation"
)

const store = "testdata/2026.07"

func heldIn(t *testing.T) map[string]readertest.Held {
	all := map[string]readertest.Held{}
	for _, h := range readertest.ReadStore(t, Reader{}, store) {
		all[string(h.Metadata.ID[:8])] = h
	}
	return all
}

// Conversations with tools, a subagent, and one of the older form.
func TestVersions(t *testing.T) {
	all := heldIn(t)
	for id, want := range map[string]struct{ kinds, prompts, cwd, parent string }{
		"00000001": {"prompt answer call call call call answer prompt call answer", `port the "lamp" & <socket>|and paint it`, "/home/max/project", ""},
		"00000002": {"prompt answer", "Test the socket.", "", "00000001-0000-4000-8000-000000000000"},
		"00000003": {"prompt answer prompt", "run echo here|without any mark", "", ""},
	} {
		h, there := all[id]
		if !there {
			t.Errorf("%s is not there", id)
			continue
		}
		m := h.Metadata
		if h.Kinds() != want.kinds || strings.Join(h.Texts(conversation.Prompt), "|") != want.prompts {
			t.Errorf("%s: %s\n%q", id, h.Kinds(), h.Texts(conversation.Prompt))
		}
		if first, _, _ := strings.Cut(want.prompts, "|"); m.Prompt != first || m.CWD != want.cwd || string(m.Parent) != want.parent || m.Started.IsZero() || m.Last.Before(m.Started) {
			t.Errorf("%s: %+v", id, m)
		}
	}
	if len(all) != 3 {
		t.Errorf("%d conversations", len(all))
	}
	first := all["00000001"]
	if want := time.Date(2026, 9, 3, 18, 21, 0, 0, time.UTC); !first.Metadata.Started.Equal(want) {
		t.Errorf("it began %v, want %v", first.Metadata.Started, want)
	}
	var calls []string
	for _, e := range first.Entries {
		if e.Kind == conversation.Call {
			calls = append(calls, e.Tool+" ["+e.Target+"]")
		}
	}
	if got := strings.Join(calls, " "); got != "Read [] Shell [go test ./lamp] StrReplace [/home/max/project/lamp.go] Task [] Delete [/home/max/project/old.go]" {
		t.Error(got)
	}
	if got := first.Texts(conversation.Answer)[0]; got != "Looking at the lamp." {
		t.Errorf("%q", got)
	}
}

func TestParts(t *testing.T) { readertest.CheckParts(t, Reader{}, store) }

func TestHostile(t *testing.T) {
	for _, h := range readertest.ReadStore(t, Reader{}, store) {
		readertest.CheckHostile(t, Reader{}, h)
	}
}

// Without a command the folder is the one that the project's is named after, if it is here.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my.lamp_project", "sub-folder")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := strings.Trim(folderName(dir), "-")
	for project, want := range map[string]string{name: dir, name + "-gone": "", "empty-window": "", "1795709434990": ""} {
		path := filepath.Join(t.TempDir(), "projects", project, transcripts, "x.jsonl")
		readertest.Put(t, path, `{"role":"user","message":{"content":"<user_query>hi</user_query>"}}`+"\n")
		m, err := Reader{}.Metadata(conversation.File{Path: path, ID: "x", Size: 1})
		if err != nil || m.CWD != want {
			t.Errorf("%s: %q, %v, want %q", project, m.CWD, err, want)
		}
	}
}

func TestTimeIn(t *testing.T) {
	for text, want := range map[string]string{
		"Friday, Sep 4, 2026, 2:21 AM (UTC+8)":       "2026-09-03T18:21:00Z",
		"Wednesday, Jun 3, 2026, 7:30 PM (UTC-7)":    "2026-06-04T02:30:00Z",
		"Wednesday, Jun 3, 2026, 7:30 PM (UTC+5:30)": "2026-06-03T14:00:00Z",
		"Wednesday, Jun 3, 2026, 7:30 PM (UTC-3:30)": "2026-06-03T23:00:00Z",
		"Wednesday, Jun 3, 2026, 7:30 PM (UTC)":      "2026-06-03T19:30:00Z",
		"Wednesday, Jun 3, 2026, 7:30 PM (UTC+0)":    "2026-06-03T19:30:00Z",
		"Wednesday, Jun 3, 2026, 7:30 PM":            time.Date(2026, 6, 3, 19, 30, 0, 0, time.Local).UTC().Format(time.RFC3339),
		"now":                                        "0001-01-01T00:00:00Z", "": "0001-01-01T00:00:00Z", "a, b, c (UTC+99999)": "0001-01-01T00:00:00Z",
	} {
		if got := timeIn("<timestamp>" + text + "</timestamp>\n<user_query>x</user_query>").Format(time.RFC3339); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// Some versions call the transcript in a session's folder by one name, and write a line in other
// forms.
func TestOtherForms(t *testing.T) {
	for _, line := range []string{
		`{"role":"user","message":{"content":"port it"}}`, `{"role":"user","content":"port it"}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"port it"}]}}`,
	} {
		dir := t.TempDir()
		readertest.Put(t, filepath.Join(dir, "projects", "p", transcripts, "00000001-0000-4000-8000-000000000000", "transcript.jsonl"), line+"\n")
		all := readertest.ReadStore(t, Reader{}, dir)
		if len(all) != 1 || all[0].Metadata.ID != "00000001-0000-4000-8000-000000000000" || all[0].Metadata.Prompt != "port it" {
			t.Errorf("%s: %+v", line, all)
		}
	}
}
