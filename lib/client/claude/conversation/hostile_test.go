package claude

import (
	"bytes"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"gt/lib/conversation/summary"
)

// A transcript with CRLF line ends is understood.
func TestLineEndsOfOtherSystems(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "summary", "pane.jsonl"))
	testenv.NoError(t, err)
	dir := t.TempDir()
	var want summary.Summary
	for i, text := range [][]byte{data, bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))} {
		path := filepath.Join(dir, fmt.Sprint(i))
		testenv.NoError(t, os.WriteFile(path, text, 0o600))
		got, err := Tail(path, keepText)
		testenv.NoError(t, err)
		if i == 0 {
			want = got
		} else if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%+v\nnot %+v", got, want)
		}
	}
	if len(want.Requests) == 0 {
		t.Error("nothing was asked")
	}
}

// A file with a hole of a terabyte costs no more than its end, and the text after the
// hole is found.
func TestSparseFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	end := lines("", prompt("behind the hole"))
	f, err := os.Create(path)
	testenv.NoError(t, err)
	defer f.Close()
	var before, after runtime.MemStats
	for _, size := range []int64{100 << 20, 1 << 40} {
		if _, err := f.WriteAt([]byte(end), size); err != nil {
			t.Skip("no sparse files here: ", err)
		}
		runtime.ReadMemStats(&before)
		s, err := Tail(path, keepText)
		runtime.ReadMemStats(&after)
		if err != nil || len(s.Requests) != 1 || s.Requests[0].Text != "behind the hole" {
			t.Errorf("after %d bytes: %+v, %v", size, s, err)
		}
		if held := after.TotalAlloc - before.TotalAlloc; held > 32<<20 {
			t.Errorf("after %d bytes: %d MiB", size, held>>20)
		}
	}
}

// While a client appends and another process replaces the file, every read finds a last
// request that was there.
func TestTailOfALiveFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.jsonl")
	ask := func(n int) string {
		return lines("", prompt(fmt.Sprintf("request %d %s", n, strings.Repeat("x", n%5000))))
	}
	testenv.NoError(t, os.WriteFile(path, []byte(ask(0)), 0o600))
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for kind := range 2 {
		writers.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if kind == 0 {
					f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
					if err != nil {
						t.Error(err)
						return
					}
					text := ask(n) // in pieces, as a client writes to a full pipe
					f.WriteString(text[:len(text)/2])
					f.WriteString(text[len(text)/2:])
					f.Close()
				} else if n%50 == 0 {
					other := filepath.Join(dir, "new")
					if err := os.WriteFile(other, []byte(ask(n)), 0o600); err != nil {
						t.Error(err)
					}
					if err := os.Rename(other, path); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for range 300 {
		s, err := Tail(path, keepText)
		if err != nil {
			t.Error(err)
			break
		}
		if n := len(s.Requests); n == 0 || !strings.HasPrefix(s.Requests[n-1].Text, "request ") {
			t.Errorf("%+v", s.Requests)
			break
		}
	}
	close(stop)
	writers.Wait()
}

// Link cycles, an unreadable folder, and a FIFO with a transcript's name are skipped.
func TestHostileProjects(t *testing.T) {
	root := t.TempDir()
	projects := filepath.Join(root, "projects")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(projects, "real"), 0o700),
		os.Symlink(projects, filepath.Join(projects, "a-loop")),
		os.Symlink("itself", filepath.Join(projects, "itself")),
		os.Mkdir(filepath.Join(projects, "closed"), 0),
		os.WriteFile(filepath.Join(projects, "b-file"), nil, 0o600),
		os.WriteFile(filepath.Join(projects, "real", "id.jsonl"), []byte(lines("", prompt("here"))), 0o600),
		os.Mkdir(filepath.Join(projects, "real", "folder.jsonl"), 0o700),
	} {
		testenv.NoError(t, err)
	}
	getenv := func(key string) string { return map[string]string{"CLAUDE_CONFIG_DIR": root}[key] }
	for id, want := range map[string]string{"id": "here", "folder": "", "none": ""} {
		s, err := Tail(Path(accountOf(getenv), "/else", id), keepText)
		if want == "" && err == nil || want != "" && (err != nil || len(s.Requests) != 1 || s.Requests[0].Text != want) {
			t.Errorf("%s: %+v, %v", id, s, err)
		}
		if id == "none" && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}
