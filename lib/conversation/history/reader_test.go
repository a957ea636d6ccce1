package history

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/state/session"
)

// held is a conversation as its reader tells it.
type held struct {
	file    File
	facts   Facts
	entries []Entry
}

// kinds is what a conversation is made of, as one line.
func (h held) kinds() string {
	var all []string
	for _, e := range h.entries {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

// texts are the texts of one kind.
func (h held) texts(kind Kind) []string {
	var all []string
	for _, e := range h.entries {
		if e.Kind == kind {
			all = append(all, e.Text)
		}
	}
	return all
}

// readStore reads all conversations of a store, the oldest first.
func readStore(t *testing.T, r Reader, store string) []held {
	t.Helper()
	var all []held
	err := r.Find(store, func(f File) {
		facts, err := r.Look(f)
		if err != nil {
			t.Fatal(err)
		}
		entries, next := readFrom(t, r, f, 0, -1)
		if next != f.Size {
			t.Errorf("%s: the next read begins at %d of %d", f.Path, next, f.Size)
		}
		all = append(all, held{f, facts, entries})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b held) int {
		return cmp.Or(a.facts.Started.Compare(b.facts.Started), cmp.Compare(a.file.Path, b.file.Path))
	})
	return all
}

// readFrom reads a conversation from an offset on, until it has so many entries.
func readFrom(t testing.TB, r Reader, f File, from int64, most int) (all []Entry, next int64) {
	t.Helper()
	next, err := r.Read(f, Options{From: from}, func(e Entry) bool {
		all = append(all, e)
		return len(all) != most
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, next
}

// checkGoesOn checks that who stops after any entry and goes on later gets the
// same entries as who reads all at once.
func checkGoesOn(t *testing.T, r Reader, h held) {
	t.Helper()
	for n := 1; n <= len(h.entries); n++ {
		some, next := readFrom(t, r, h.file, 0, n)
		rest, _ := readFrom(t, r, h.file, next, -1)
		// A record's entries are taken in together or not at all.
		if !slices.Equal(some, h.entries[:n]) || !slices.Equal(rest, h.entries[len(h.entries)-len(rest):]) ||
			len(rest) > len(h.entries)-n || n < len(h.entries) && len(rest) < len(h.entries)-n && h.entries[n].At != h.entries[n-1].At {
			t.Errorf("%s: %d entries and then %d, of %d", h.file.Path, n, len(rest), len(h.entries))
		}
	}
}

// checkSkips checks that what a search passes over is not missed: every prompt
// is there, and what the search is for.
func checkSkips(t *testing.T, r Reader, h held) {
	t.Helper()
	for _, e := range h.entries {
		if e.Text == "" || strings.ContainsAny(e.Text, "\"\\\n") {
			continue
		}
		var found, prompts []Entry
		if _, err := r.Read(h.file, Options{Skip: func(record []byte) bool { return !bytes.Contains(record, []byte(e.Text)) }}, func(e Entry) bool {
			found = append(found, e)
			if e.Kind == Prompt {
				prompts = append(prompts, e)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if len(prompts) != len(h.texts(Prompt)) || !slices.ContainsFunc(found, func(f Entry) bool { return f.ID == e.ID && f.Text == e.Text }) {
			t.Errorf("%s: a search for %q finds %d prompts and not %+v", h.file.Path, e.Text, len(prompts), e)
		}
	}
}

// checkHostile checks what becomes of a conversation's file in whatever state:
// what is whole is read, and nothing fails.
func checkHostile(t *testing.T, r Reader, h held) {
	t.Helper()
	data, err := os.ReadFile(h.file.Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(h.file.Path))
	read := func(name string, data []byte) held {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f := h.file
		f.Path, f.Size = path, int64(len(data))
		facts, err := r.Look(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		entries, next := readFrom(t, r, f, 0, -1)
		if want := int64(bytes.LastIndexByte(data, '\n') + 1); next != want {
			t.Errorf("%s: the next read begins at %d, want %d", name, next, want)
		}
		return held{f, facts, entries}
	}
	same := func(name string, data []byte) {
		t.Helper()
		got := read(name, data)
		for i := range got.entries {
			got.entries[i].At = 0
		}
		want := slices.Clone(h.entries)
		for i := range want {
			want[i].At = 0
		}
		if !slices.Equal(got.entries, want) {
			t.Errorf("%s: the conversation is\n%+v, want\n%+v", name, got.entries, want)
		}
		got.facts.Started, got.facts.Last = h.facts.Started, h.facts.Last
		if got.facts != h.facts {
			t.Errorf("%s: the facts are\n%+v, want\n%+v", name, got.facts, h.facts)
		}
	}

	lines := bytes.SplitAfter(data, []byte("\n"))
	join := func(between string) []byte { return bytes.Join(lines, []byte(between)) }
	same("a torn tail", append(slices.Clone(data), `{"type":"response_item","payload":{"type":"mess`...))
	same("bytes that are no JSON", append(join("{]}\x00\xff\n\n[1]\n\"x\"\nnull\n{}\n{\"type\":7,\"payload\":[]}\n"), "\n"...))
	same("records of the future", append(join(`{"type":"tomorrow","payload":{"type":"message","role":"user"},"data":{"content":"?"}}`+"\n"), "\n"...))
	same("line ends of other systems", bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	if !testing.Short() {
		same("a line that is too long", append(slices.Clone(data), append(bytes.Repeat([]byte("x"), maxRecord+1), '\n')...))
	}
	for n := 0; n < len(data); n += 1 + n/20 {
		read(fmt.Sprint("cut at ", n), data[:n])
		read(fmt.Sprint("without the first ", n), data[n:])
		read(fmt.Sprint("with a hole at ", n), append(slices.Clone(data[:n]), data[min(n+700, len(data)):]...))
	}
	for _, kind := range []string{"null", "-1e999", `"x"`, "{}", `[[{"text":7}]]`, strings.Repeat("[", 500)} {
		for _, key := range keys(data) {
			read(key+" is "+kind, bytes.ReplaceAll(data, []byte(key), []byte(key+kind+`,"was":`)))
		}
	}
}

// keys are the names in a JSON text, with their colons.
func keys(data []byte) []string {
	var all []string
	for _, part := range bytes.SplitAfter(data, []byte(`":`)) {
		name := part[:max(0, len(part)-2)]
		if i := bytes.LastIndexByte(name, '"'); i >= 0 && bytes.HasSuffix(part, []byte(`":`)) && len(part)-i < 40 {
			all = append(all, string(part[i:]))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// fuzzReader checks that no content of a conversation's file makes its reader
// fail, go on behind its end or tell of something that is not in it.
func fuzzReader(f *testing.F, r Reader, name string, fixtures ...string) {
	for _, path := range fixtures {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range bytes.SplitAfter(data, []byte("\n")) {
			f.Add(line)
		}
	}
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := t.TempDir()
		path := filepath.Join(store, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		file := File{Client: r.Client(), Store: store, Path: path, ID: "id", Size: int64(len(data))}
		facts, err := r.Look(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []session.ID{facts.ID, facts.Parent, facts.ForkOf} {
			if _, err := session.ParseID(string(id)); id != "" && err != nil {
				t.Error(err)
			}
		}
		if n := len([]rune(facts.Title)); n > titleLength || len([]rune(facts.Prompt)) > titleLength || strings.Contains(facts.Title+facts.Prompt, "\n") {
			t.Errorf("%q, %q", facts.Title, facts.Prompt)
		}
		all, next := readFrom(t, r, file, 0, -1)
		if next != int64(bytes.LastIndexByte(data, '\n')+1) {
			t.Errorf("the next read begins at %d of %d", next, len(data))
		}
		for _, e := range all {
			u := e.Usage
			if e.At < 0 || e.At >= next || e.Kind == "" || min(u.Input, u.CacheRead, u.CacheWrite, u.Output) < 0 || u.Cost < 0 {
				t.Errorf("%+v", e)
			}
		}
		if rest, _ := readFrom(t, r, file, next, -1); len(rest) > 0 {
			t.Errorf("behind the end stands %+v", rest)
		}
	})
}
