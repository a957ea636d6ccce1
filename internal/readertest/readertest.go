// Package readertest has the checks that every reader of conversations has to pass,
// on what a real client wrote: see the tests of lib/client/<agent>/conversation.
package readertest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"gt/internal/testenv"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

// Held is a conversation as its reader tells it.
type Held struct {
	File     conversation.File
	Metadata conversation.Metadata
	Entries  []conversation.Entry
}

// kinds is what a conversation is made of, as one line.
func (h Held) Kinds() string {
	var all []string
	for _, e := range h.Entries {
		all = append(all, string(e.Kind))
	}
	return strings.Join(all, " ")
}

// texts are the texts of one kind.
func (h Held) Texts(kind conversation.Kind) []string {
	var all []string
	for _, e := range h.Entries {
		if e.Kind == kind {
			all = append(all, e.Text)
		}
	}
	return all
}

// IsDocument reports whether a conversation's file is one JSON document, which goes on
// after its last message and not at its end.
func IsDocument(path string) bool { return strings.HasSuffix(path, ".json") }

// Stores returns the stores of real clients in testdata, of which there are at least so many.
func Stores(t testing.TB, least int) []string {
	all, err := filepath.Glob(filepath.Join("testdata", "[0-9]*"))
	if err != nil || len(all) < least {
		t.Fatal(all, err)
	}
	return all
}

// CopyFileOnly returns a copy of a conversation without the files beside it.
func CopyFileOnly(t *testing.T, r conversation.Reader, h Held, name string) Held {
	t.Helper()
	data, err := os.ReadFile(h.File.Path)
	if err != nil {
		t.Fatal(err)
	}
	h.File.Path = filepath.Join(t.TempDir(), name)
	Put(t, h.File.Path, string(data))
	if h.Metadata, err = r.Metadata(h.File); err != nil || h.Metadata.Prompt == "" {
		t.Fatalf("%+v, %v", h.Metadata, err)
	}
	return h
}

// ReadStore reads all conversations of a store, the oldest first.
func ReadStore(t *testing.T, r conversation.Reader, store string) []Held {
	t.Helper()
	var all []Held
	err := r.Find(store, func(f conversation.File) {
		facts, err := r.Metadata(f)
		if err != nil {
			t.Fatal(err)
		}
		entries, next := ReadFrom(t, r, f, 0, -1)
		if next != f.Size && !IsDocument(f.Path) {
			t.Errorf("%s: the next read begins at %d of %d", f.Path, next, f.Size)
		}
		all = append(all, Held{f, facts, entries})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b Held) int {
		return cmp.Or(a.Metadata.Started.Compare(b.Metadata.Started), cmp.Compare(a.File.Path, b.File.Path))
	})
	return all
}

// Want is what a conversation of a captured store has.
type Want struct {
	Kinds, Prompts string // as Kinds returns them; the prompts with a | between them
	Title          string
	Headless       bool
	Spent          conversation.Usage
}

// Check checks the conversations of a store, the oldest first. spent returns what each cost:
// SpentBy, or a function of Adds. more, if not nil, checks what only this client has.
func Check(t *testing.T, store string, all []Held, spent func(Held) conversation.Usage, want []Want, more func(i int, h Held)) {
	t.Helper()
	if len(all) != len(want) {
		t.Errorf("%s: %d conversations, want %d", store, len(all), len(want))
		return
	}
	for i, h := range all {
		want, f := want[i], h.Metadata
		if h.Kinds() != want.Kinds {
			t.Errorf("%s, %d: the conversation is\n%s, want\n%s", store, i, h.Kinds(), want.Kinds)
		}
		if got := strings.Join(h.Texts(conversation.Prompt), "|"); got != want.Prompts {
			t.Errorf("%s, %d: the prompts are %q, want %q", store, i, got, want.Prompts)
		}
		first, _, _ := strings.Cut(want.Prompts, "|")
		if f.Prompt != first || f.Title != want.Title || f.Headless != want.Headless || f.FirstID != h.Entries[0].ID || f.Started.IsZero() || f.Last.Before(f.Started) {
			t.Errorf("%s, %d: the facts are %+v", store, i, f)
		}
		if got := spent(h); got != want.Spent {
			t.Errorf("%s, %d: it cost %+v, want %+v", store, i, got, want.Spent)
		}
		if more != nil {
			more(i, h)
		}
	}
}

// Adds returns a function that returns what a conversation adds to the cost of those before.
func Adds(t *testing.T, r conversation.Reader) func(Held) conversation.Usage {
	var bill conversation.UsageTally
	return func(h Held) (last conversation.Usage) {
		h.File.Client = r.Client()
		spent, err := conversation.ReadTokens(r, h.File)
		all := bill.AddTokens(spent, conversation.Lineage{ID: h.Metadata.ID, Began: h.Metadata.Started, Ancestors: []session.ID{h.Metadata.ForkOf, h.Metadata.Parent}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			last = s.Usage
		}
		return last
	}
}

// CheckFork checks that a fork names its origin, starts after it, and that its copies, and no
// other entries, keep the ids.
func CheckFork(t *testing.T, origin, fork Held) {
	t.Helper()
	if fork.Metadata.ForkOf != origin.Metadata.ID || origin.Metadata.ForkOf != "" || fork.Metadata.FirstID != origin.Metadata.FirstID ||
		!fork.Metadata.Started.After(origin.Metadata.Started) {
		t.Errorf("the fork is %+v, its origin %+v", fork.Metadata, origin.Metadata)
	}
	for i, e := range fork.Entries {
		copied := i < len(origin.Entries)
		if copied && (e.ID != origin.Entries[i].ID || e.Text != origin.Entries[i].Text) ||
			!copied && slices.ContainsFunc(origin.Entries, func(o conversation.Entry) bool { return o.ID == e.ID }) {
			t.Errorf("of the fork, copied %v: %+v", copied, e)
		}
	}
}

// CheckFamily is CheckFork for a fork whose time is its own. A subagent names its session.
func CheckFamily(t *testing.T, origin, fork, parent, child Held) {
	t.Helper()
	CheckFork(t, origin, fork)
	if !fork.Metadata.Started.After(origin.Metadata.Last) {
		t.Errorf("the fork is %+v", fork.Metadata)
	}
	if child.Metadata.Parent != parent.Metadata.ID || parent.Metadata.Parent != "" || parent.Metadata.ForkOf != "" {
		t.Errorf("who delegated is %+v, the subagent %+v", parent.Metadata, child.Metadata)
	}
}

// CheckParts checks what is read of a part of each conversation of some stores.
func CheckParts(t *testing.T, r conversation.Reader, stores ...string) {
	t.Helper()
	for _, store := range stores {
		for _, h := range ReadStore(t, r, store) {
			CheckGoesOn(t, r, h)
			CheckSkips(t, r, h)
		}
	}
}

// ReadFrom reads a conversation from an offset on, until it has so many entries.
func ReadFrom(t testing.TB, r conversation.Reader, f conversation.File, from int64, most int) (all []conversation.Entry, next int64) {
	t.Helper()
	next, err := r.Read(f, conversation.Options{From: from}, func(e conversation.Entry) bool {
		all = append(all, e)
		return len(all) != most
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, next
}

// CheckGoesOn checks that who stops after any entry and goes on later gets the
// same entries as who reads all at once.
func CheckGoesOn(t *testing.T, r conversation.Reader, h Held) {
	t.Helper()
	for n := 1; n <= len(h.Entries); n++ {
		some, next := ReadFrom(t, r, h.File, 0, n)
		rest, _ := ReadFrom(t, r, h.File, next, -1)
		// A record's entries are taken in together or not at all.
		if !slices.Equal(some, h.Entries[:n]) || !slices.Equal(rest, h.Entries[len(h.Entries)-len(rest):]) ||
			len(rest) > len(h.Entries)-n || n < len(h.Entries) && len(rest) < len(h.Entries)-n && h.Entries[n].Offset != h.Entries[n-1].Offset {
			t.Errorf("%s: %d entries and then %d, of %d", h.File.Path, n, len(rest), len(h.Entries))
		}
	}
}

// CheckSkips checks that what a search passes over is not missed: every prompt
// is there, and what the search is for.
func CheckSkips(t *testing.T, r conversation.Reader, h Held) {
	t.Helper()
	for _, e := range h.Entries {
		if e.Text == "" || strings.ContainsAny(e.Text, "\"\\\n") {
			continue
		}
		var found, prompts []conversation.Entry
		if _, err := r.Read(h.File, conversation.Options{Skip: func(record []byte) bool { return !bytes.Contains(record, []byte(e.Text)) }}, func(e conversation.Entry) bool {
			found = append(found, e)
			if e.Kind == conversation.Prompt {
				prompts = append(prompts, e)
			}
			return true
		}); err != nil {
			t.Fatal(err)
		}
		if len(prompts) != len(h.Texts(conversation.Prompt)) || !slices.ContainsFunc(found, func(f conversation.Entry) bool { return f.ID == e.ID && f.Text == e.Text }) {
			t.Errorf("%s: a search for %q finds %d prompts and not %+v", h.File.Path, e.Text, len(prompts), e)
		}
	}
}

// CheckHostile checks what becomes of a conversation's file in whatever state:
// what is whole is read, and nothing fails.
func CheckHostile(t *testing.T, r conversation.Reader, h Held) {
	t.Helper()
	data, err := os.ReadFile(h.File.Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(h.File.Path))
	read := func(name string, data []byte) Held {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		f := h.File
		f.Path, f.Size = path, int64(len(data))
		facts, err := r.Metadata(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		entries, next := ReadFrom(t, r, f, 0, -1)
		if want := End(data); next != want && !IsDocument(path) {
			t.Errorf("%s: the next read begins at %d, want %d", name, next, want)
		}
		return Held{f, facts, entries}
	}
	same := func(name string, data []byte) {
		t.Helper()
		got := read(name, data)
		for i := range got.Entries {
			got.Entries[i].Offset = 0
		}
		want := slices.Clone(h.Entries)
		for i := range want {
			want[i].Offset = 0
		}
		if !slices.Equal(got.Entries, want) {
			t.Errorf("%s: the conversation is\n%+v, want\n%+v", name, got.Entries, want)
		}
		got.Metadata.Started, got.Metadata.Last = h.Metadata.Started, h.Metadata.Last
		if got.Metadata != h.Metadata {
			t.Errorf("%s: the facts are\n%+v, want\n%+v", name, got.Metadata, h.Metadata)
		}
	}

	if IsDocument(path) {
		same("line ends of other systems", bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
		same("a torn tail", append(slices.Clone(data), `{"messages":[{"role":"user","content":"x`...))
	} else {
		checkLines(data, same)
	}
	for n := 0; n < len(data); n += 1 + n/20 {
		if !testenv.InSample(fmt.Sprint(filepath.Base(path), n), 5) {
			continue
		}
		read(fmt.Sprint("cut at ", n), data[:n])
		read(fmt.Sprint("without the first ", n), data[n:])
		read(fmt.Sprint("with a hole at ", n), append(slices.Clone(data[:n]), data[min(n+700, len(data)):]...))
	}
	for _, kind := range []string{"null", "-1e999", `"x"`, "{}", `[[{"text":7}]]`, strings.Repeat("[", 500)} {
		for _, key := range Keys(data) {
			if !testenv.InSample(key+kind, 5) {
				continue
			}
			read(key+" is "+kind, bytes.ReplaceAll(data, []byte(key), []byte(key+kind+`,"was":`)))
		}
	}
}

// End returns the offset after the last record of a file of lines, which may lack its line
// feed.
func End(data []byte) int64 {
	end := bytes.LastIndexByte(data, '\n') + 1
	if v := gjson.ParseBytes(bytes.Trim(data[end:], "\x00")); v.IsObject() && gjson.ValidBytes(bytes.Trim(data[end:], "\x00")) {
		end = len(data)
	}
	return int64(end)
}

// checkLines checks that what stands between and behind the records of a file of lines
// changes nothing.
func checkLines(data []byte, same func(name string, data []byte)) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	join := func(between string) []byte { return bytes.Join(lines, []byte(between)) }
	same("a torn tail", append(slices.Clone(data), `{"type":"response_item","payload":{"type":"mess`...))
	same("bytes that are no JSON", append(join("{]}\x00\xff\n\n[1]\n\"x\"\nnull\n{}\n{\"type\":7,\"payload\":[]}\n"), "\n"...))
	same("records of the future", append(join(`{"type":"tomorrow","payload":{"type":"message","role":"user"},"data":{"content":"?"}}`+"\n"), "\n"...))
	same("line ends of other systems", bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	if !testing.Short() {
		same("a line that is too long", append(slices.Clone(data), append(bytes.Repeat([]byte("x"), conversation.MaxRecord+1), '\n')...))
	}
}

// Keys are the names in a JSON text, with their colons.
func Keys(data []byte) []string {
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

// Fuzz checks that no content of a conversation's file makes its reader
// fail, go on behind its end or tell of something that is not in it.
func Fuzz(f *testing.F, r conversation.Reader, name string, fixtures ...string) {
	for _, path := range fixtures {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
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
		file := conversation.File{Client: r.Client(), Store: store, Path: path, ID: "id", Size: int64(len(data))}
		facts, err := r.Metadata(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []session.ID{facts.ID, facts.Parent, facts.ForkOf} {
			if _, err := session.ParseID(string(id)); id != "" && err != nil {
				t.Error(err)
			}
		}
		if n := len([]rune(facts.Title)); n > conversation.MaxExcerpt || len([]rune(facts.Prompt)) > conversation.MaxExcerpt || strings.Contains(facts.Title+facts.Prompt, "\n") {
			t.Errorf("%q, %q", facts.Title, facts.Prompt)
		}
		all, next := ReadFrom(t, r, file, 0, -1)
		if next != End(data) && !IsDocument(path) || next > int64(len(data)) {
			t.Errorf("the next read begins at %d of %d", next, len(data))
		}
		for _, e := range all {
			u := e.Usage
			if e.Offset < 0 || e.Offset >= next || e.Kind == "" || min(u.Input, u.CacheRead, u.CacheWrite, u.Output) < 0 || u.Cost < 0 {
				t.Errorf("%+v", e)
			}
		}
		if rest, _ := ReadFrom(t, r, file, next, -1); len(rest) > 0 {
			t.Errorf("behind the end stands %+v", rest)
		}
	})
}

// ReadAll reads all conversations of a store in which something was said, the
// oldest first.
func ReadAll(t *testing.T, r conversation.Reader, store string) []Held {
	t.Helper()
	var all []Held
	err := r.Find(store, func(f conversation.File) {
		facts, err := r.Metadata(f)
		if err != nil {
			t.Fatal(err)
		}
		if facts.ID != "" {
			entries, _ := ReadFrom(t, r, f, 0, -1)
			all = append(all, Held{f, facts, entries})
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b Held) int { return a.Metadata.Started.Compare(b.Metadata.Started) })
	return all
}

// SourceOf returns entries as a conversation.Source.
func SourceOf(all []conversation.Entry) conversation.Source {
	return func(from int64, each func(conversation.Entry) bool) error {
		for i := from; i < int64(len(all)); i++ {
			e := all[i]
			if e.Offset = i; !each(e) {
				break
			}
		}
		return nil
	}
}

// SpentBy sums up what a conversation cost.
func SpentBy(h Held) (sum conversation.Usage) {
	for _, e := range h.Entries {
		sum.Input += e.Usage.Input
		sum.CacheRead += e.Usage.CacheRead
		sum.CacheWrite += e.Usage.CacheWrite
		sum.Output += e.Usage.Output
	}
	return sum
}

// Put writes a file, and the folders that it lies in.
func Put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
