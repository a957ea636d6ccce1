package readers_test

import (
	"bytes"
	"encoding/json"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
)

// Every reader gives the same entries of what real clients wrote, whatever a crash, a full
// disk or another program did to the lines. A search that passes over all records finds
// the same prompts.
func TestDamagedFiles(t *testing.T) {
	for _, r := range readers.Readers {
		stores, err := filepath.Glob(filepath.Join("..", r.Client(), "conversation", "testdata", "[0-9]*"))
		testenv.NoError(t, err)
		for _, store := range stores {
			err := r.Find(store, func(f conversation.File) {
				if strings.HasSuffix(f.Path, ".jsonl") {
					damage(t, r, store, f)
				}
			})
			testenv.NoError(t, err)
		}
	}
}

func damage(t *testing.T, r conversation.Reader, store string, f conversation.File) {
	t.Helper()
	data, err := os.ReadFile(f.Path)
	testenv.NoError(t, err)
	whole := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	want, asked := entriesIn(t, r, f, nil), entriesIn(t, r, f, isPrompt)

	nuls := bytes.Repeat([]byte{0}, 300)
	joined := func(with func(i int, line []byte) []byte) []byte {
		var all []byte
		for i, line := range whole {
			all = append(all, with(i, line)...)
		}
		return all
	}
	damaged := map[string][]byte{
		"NUL bytes behind records": joined(func(_ int, line []byte) []byte { return slices.Concat(line, nuls, []byte("\n")) }),
		"NUL bytes before records": joined(func(_ int, line []byte) []byte { return slices.Concat(nuls, line, []byte("\n")) }),
		"NUL bytes for line feeds": joined(func(i int, line []byte) []byte { return slices.Concat(line, nuls, []byte("\n")[:i%2]) }),
		"a byte order mark":        slices.Concat([]byte("\xef\xbb\xbf"), data),
		"carriage returns":         bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
		"no last line feed":        bytes.TrimSuffix(data, []byte("\n")),
		"two records on a line": joined(func(i int, line []byte) []byte {
			return append(slices.Clone(line), "\n"[:i%2]...)
		}),
		"torn records before whole ones": joined(func(i int, line []byte) []byte {
			return slices.Concat(line[:len(line)/2*(i%2)], line, []byte("\n"))
		}),
		"blanks": joined(func(_ int, line []byte) []byte { return append(spread(line), '\n') }),
	}
	if r.Client() != "gemini" { // whose messages are read again where they stand
		damaged["line feeds in texts"] = joined(func(_ int, line []byte) []byte {
			escapes := strings.NewReplacer(`\\`, `\\`, `\n{`, `\n{`, `\n`, "\n")
			return []byte(escapes.Replace(string(line)) + "\n")
		})
		damaged["one member a line"] = joined(func(_ int, line []byte) []byte {
			var out bytes.Buffer
			if json.Indent(&out, line, "", "  ") != nil {
				return append(line, '\n')
			}
			return append(out.Bytes(), '\n')
		})
	}
	for name, data := range damaged {
		if !testenv.InSample(f.Path+name, 5) {
			continue
		}
		dir := t.TempDir()
		testenv.NoError(t, os.CopyFS(dir, os.DirFS(store)))
		g := f
		g.Store, g.Path, g.Size = dir, filepath.Join(dir, strings.TrimPrefix(f.Path, store)), int64(len(data))
		testenv.NoError(t, os.WriteFile(g.Path, data, 0o600))
		if got := entriesIn(t, r, g, nil); !slices.EqualFunc(got, want, isSame) {
			t.Errorf("%s, %s: %d entries, want %d", f.Path, name, len(got), len(want))
		}
		if got := entriesIn(t, r, g, isPrompt); !slices.EqualFunc(got, asked, isSame) {
			t.Errorf("%s, %s: a search gives %d prompts, want %d", f.Path, name, len(got), len(asked))
		}
		was, err := r.Metadata(f)
		testenv.NoError(t, err)
		is, err := r.Metadata(g)
		if was.CWD, is.CWD = "", ""; err != nil || is != was {
			t.Errorf("%s, %s: %v\n%+v, want\n%+v", f.Path, name, err, is, was)
		}
	}
}

// isSame compares entries; of a call's arguments, blanks in the JSON do not count.
func isSame(a, b conversation.Entry) bool {
	a.Text, b.Text = strings.ReplaceAll(a.Text, " ", ""), strings.ReplaceAll(b.Text, " ", "")
	return a == b
}

func isPrompt(e conversation.Entry) bool { return e.Kind == conversation.Prompt }

// entriesIn returns a conversation's entries without their offsets. With only, it reads as a
// search does that passes over all records, and keeps those entries.
func entriesIn(t *testing.T, r conversation.Reader, f conversation.File, only func(conversation.Entry) bool) (all []conversation.Entry) {
	t.Helper()
	var o conversation.Options
	if only != nil {
		o.Skip = func([]byte) bool { return true }
	}
	_, err := r.Read(f, o, func(e conversation.Entry) bool {
		if e.Offset = 0; only == nil || only(e) {
			all = append(all, e)
		}
		return true
	})
	testenv.NoError(t, err)
	return all
}

// spread returns a JSON text with blanks, as Python's json.dumps writes it.
func spread(line []byte) (out []byte) {
	inText := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		out = append(out, c)
		switch {
		case inText && c == '\\':
			i++
			out = append(out, line[i])
		case c == '"':
			inText = !inText
		case !inText && (c == ':' || c == ','):
			out = append(out, ' ')
		}
	}
	return out
}
