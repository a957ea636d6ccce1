package cachefile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/lib/sys/atomicfile"
)

type header struct {
	Lines int `json:"lines"`
}

// readAll returns the lines of a cache, each with the place where it was told to
// stand; nil where there is none to believe.
func readAll(t *testing.T, path string, version int) (h header, lines []string) {
	t.Helper()
	f, err := atomicfile.Open(path)
	if err != nil {
		return h, nil
	}
	defer f.Close()
	err = Read(f, version, &h, func(part []byte, at int64) {
		again := make([]byte, len(part))
		if _, err := f.ReadAt(again, at); err != nil || !bytes.Equal(again, part) {
			t.Errorf("at %d stands something else: %v", at, err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(part), "\n"), "\n")...)
	})
	if err != nil {
		return h, nil
	}
	return h, lines
}

func write(t *testing.T, path string, version int, lines ...string) {
	t.Helper()
	dir, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	data, err := Begin(version, header{len(lines)}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		data = append(append(data, line...), '\n')
	}
	if err := Write(dir, filepath.Base(path), version, data); err != nil {
		t.Fatal(err)
	}
}

// What is written is read again, lines of any length; and nothing is believed of a
// file that is not just as it was written.
func TestCache(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	all := []string{`{"a":"b"}`, strings.Repeat("long ", 100<<10), "", "last"}
	for n := range all {
		write(t, path, 3, all[:n+1]...)
		h, lines := readAll(t, path, 3)
		if got := strings.Join(lines, "\n"); h.Lines != n+1 || got != strings.Join(all[:n+1], "\n") {
			t.Fatalf("%d lines: %.100q", h.Lines, got)
		}
	}
	write(t, path, 3, all[0], all[3])
	if _, lines := readAll(t, path, 4); lines != nil {
		t.Error("another version is believed")
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		for what, data := range map[string][]byte{"changed": bad, "cut off": good[:i], "longer": append(bytes.Clone(good), good[i])} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, lines := readAll(t, path, 3); lines != nil {
				t.Errorf("%s at %d, it is believed: %q", what, i, lines)
			}
		}
	}
	write(t, path, 3, all[0])
	if err := os.Chmod(path, 0o620); err != nil {
		t.Fatal(err)
	}
	if _, lines := readAll(t, path, 3); lines != nil {
		t.Error("a cache that others may write is believed")
	}
}

// thing has a field of every kind.
type thing struct {
	name, note string
	at         time.Time
	size       int64
	on         bool
}

func (v *thing) fields() []Field {
	return []Field{{Key: "name", Text: &v.name}, {Key: "at", Time: &v.at}, {Key: "size", Number: &v.size}, {Key: "on", Flag: &v.on}, {Key: "note", Text: &v.note}}
}

func FuzzFields(f *testing.F) {
	f.Add("plain", "é日本\u2028", int64(1), int64(7), true)
	f.Add(`quotes " and \ back`, "two\nlines\x00", int64(0), int64(-1), false)
	f.Fuzz(func(t *testing.T, name, note string, at, size int64, on bool) {
		v := thing{strings.ToValidUTF8(name, "?"), strings.ToValidUTF8(note, "?"), time.Unix(at%4e9, at%1e9).UTC(), size, on}
		if at == 0 {
			v.at = time.Time{}
		}
		line := string(append(AppendFields([]byte("{"), v.fields(), 2), "} rest"...))
		var got thing
		if rest, ok := ReadFields(line, got.fields()); !ok || rest != "} rest" || got != v {
			t.Errorf("%+v is %s, read as %+v, %q", v, line, got, rest)
		}
		ReadFields(name, got.fields()) // of anything it makes something or nothing
	})
}

// BenchmarkReadFields is what a line of a list costs that is read from a cache.
func BenchmarkReadFields(b *testing.B) {
	v := thing{"3df011d1-2579-409d-812d-b5ddb5c3943e", `please echo, "max" & <co>`, time.Now().UTC(), 123456, true}
	line := string(append(AppendFields([]byte("{"), v.fields(), 0), '}'))
	b.ReportAllocs()
	for b.Loop() {
		var got thing
		if _, ok := ReadFields(line, got.fields()); !ok {
			b.Fatal(line)
		}
	}
}
