package scan

import (
	"bytes"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/conversation"
	"gt/lib/sys/sqlite"
	"gt/lib/text/redact"
)

// store is a store of Claude Code in its own HOME.
type store struct {
	t    *testing.T
	home string
}

func newStore(t *testing.T) store { return store{t, t.TempDir()} }

func (s store) getenv(key string) string {
	if key == "HOME" {
		return s.home
	}
	return ""
}

func (s store) cache() string { return filepath.Join(s.home, "cache", "transcripts.db") }

func (s store) write(name string, lines ...string) {
	s.t.Helper()
	path := filepath.Join(s.home, ".claude", "projects", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s store) scan(cache string) []conversation.Conversation {
	s.t.Helper()
	all, errs := FindConversations(s.getenv, redact.NewCutRedactor(nil), cache, nil)
	if len(errs) > 0 {
		s.t.Fatal(errs)
	}
	slices.SortFunc(all, func(a, b conversation.Conversation) int { return strings.Compare(a.File.Path, b.File.Path) })
	return all
}

func said(id string, n int, text string) string {
	return fmt.Sprintf(`{"type":"user","uuid":"u-%s-%d","sessionId":%q,"cwd":"/work/%s","gitBranch":"main","version":"2.1.197","entrypoint":"cli","timestamp":"2026-01-0%dT01:00:00.123Z","message":{"role":"user","content":%q}}`,
		id, n, id, id, n%9+1, text)
}

// With a cache of any age, or an invalid one, the result is the same as without.
func TestScanSaysTheSameWithACache(t *testing.T) {
	s := newStore(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	texts := []string{"plain", `quotes " and \ back`, "é日本\u2028<&>", "two\nlines\ttab", "", "\x1b[31mred", strings.Repeat("long ", 200)}
	for i := range 40 {
		id := fmt.Sprintf("id-%d", i)
		s.write(fmt.Sprintf("p-%d/%s.jsonl", i%7, id), said(id, i, texts[i%len(texts)]))
	}
	s.write("p-1/id-1/subagents/agent-a1.jsonl", strings.Replace(said("id-1", 1, "look"), `"type"`, `"isSidechain":true,"type"`, 1))
	s.write("p-2/bad.jsonl", "no json", "{\"type\":\"user\",\"cwd\":\"\xff\xfe\",\"timestamp\":\"9999-12-31T00:00:00Z\"", "{", "[]")
	s.write("p-2/none.jsonl")
	for round := range 60 {
		switch rnd.IntN(7) {
		case 0: // a new conversation
			id := fmt.Sprintf("new-%d", round)
			s.write("p-3/"+id+".jsonl", said(id, 1, texts[rnd.IntN(len(texts))]))
		case 1, 2: // one grows
			n := rnd.IntN(40)
			id := fmt.Sprintf("id-%d", n)
			name := filepath.Join(s.home, ".claude/projects", fmt.Sprintf("p-%d", n%7), id+".jsonl")
			if f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				fmt.Fprintf(f, `{"type":"custom-title","customTitle":"round %d","sessionId":%q}`+"\n", round, id)
				f.Close()
			}
		case 3: // one is deleted
			os.Remove(filepath.Join(s.home, ".claude/projects", fmt.Sprintf("p-3/new-%d.jsonl", rnd.IntN(60))))
		case 4: // the cache is torn
			if data, err := os.ReadFile(s.cache()); err == nil {
				os.WriteFile(s.cache(), data[:rnd.IntN(len(data)+1)], 0o600)
			}
		case 5: // a byte of the cache changes
			if data, err := os.ReadFile(s.cache()); err == nil && len(data) > 0 {
				data[rnd.IntN(len(data))] = "\"\\{},:0x\n"[rnd.IntN(9)]
				os.WriteFile(s.cache(), data, 0o600)
			}
		case 6:
			os.Remove(s.cache())
		}
		if got, want := s.scan(s.cache()), s.scan(""); !reflect.DeepEqual(got, want) {
			for i := range want {
				if i >= len(got) || !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("round %d: with a cache\n%+v\nwithout\n%+v", round, got[min(i, len(got)-1)], want[i])
				}
			}
			t.Fatalf("round %d: %d with a cache, %d without", round, len(got), len(want))
		}
	}
}

// A second scan opens only changed files.
func TestScanLooksOnce(t *testing.T) {
	s := newStore(t)
	for i := range 20 {
		id := fmt.Sprintf("id-%d", i)
		s.write("p/"+id+".jsonl", said(id, i, "hello"))
	}
	first := s.scan(s.cache())
	// Files of the same size and time with other content: only a cache still has the old
	// one.
	// still knows what they said.
	for _, c := range first {
		os.WriteFile(c.File.Path, []byte(strings.Repeat("\n", int(c.File.Size))), 0o600)
		at := time.Unix(0, c.File.Changed)
		os.Chtimes(c.File.Path, at, at)
	}
	if again := s.scan(s.cache()); !reflect.DeepEqual(again, first) {
		t.Errorf("%+v", again[0])
	}
	if none := s.scan(""); none[0].Metadata.Prompt != "" {
		t.Error("the test proves nothing")
	}
}

// A cache of another version or another user, and a link, are ignored. Without a place
// for a cache the result is the same.
func TestScanBelievesNoStrangeCache(t *testing.T) {
	s := newStore(t)
	s.write("p/id-1.jsonl", said("id-1", 1, "hello"))
	want := s.scan("")
	s.scan(s.cache())
	good, err := os.ReadFile(s.cache())
	testenv.NoError(t, err)
	forge := func(version int64, sql string) {
		t.Helper()
		dir, err := os.OpenRoot(filepath.Dir(s.cache()))
		testenv.NoError(t, err)
		defer dir.Close()
		write(t, s.cache(), good)
		from := sqlite.OpenCache(s.cache(), cacheVersion)
		defer from.Close()
		testenv.NoError(t, sqlite.Replace(dir, filepath.Base(s.cache()), version, from, func(db *sqlite.Cache) error { return db.Exec(sql) }))
	}
	const forged = "UPDATE transcript SET texts = replace(texts, 'hello', 'hallo')"
	if forge(cacheVersion, forged); reflect.DeepEqual(s.scan(s.cache()), want) {
		t.Error("the cache is not read, and the test proves nothing")
	}
	for name, damage := range map[string]func(){
		"version":  func() { forge(99, forged) },
		"v0.2.0":   func() { forge(5, forged) }, // its readers made less of a file
		"no table": func() { forge(cacheVersion, "DROP TABLE transcript") },
		"checksum": func() { write(t, s.cache(), bytes.Replace(good, []byte("hello"), []byte("hallo"), 1)) },
		"empty":    func() { write(t, s.cache(), nil) },
		"noise":    func() { write(t, s.cache(), []byte("\x00\x01")) },
		"half":     func() { write(t, s.cache(), good[:len(good)-5]) },
		"a page":   func() { write(t, s.cache(), good[:4096]) },
	} {
		damage()
		if got := s.scan(s.cache()); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	old := filepath.Join(filepath.Dir(s.cache()), "transcripts.jsonl")
	write(t, old, []byte("{}\n"))
	os.Remove(s.cache())
	s.scan(s.cache())
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cache of v0.1.0 is there: %v", err)
	}
	os.Remove(s.cache())
	testenv.NoError(t, os.Symlink(filepath.Join(s.home, "elsewhere"), s.cache()))
	if got := s.scan(s.cache()); !reflect.DeepEqual(got, want) {
		t.Errorf("link: %+v", got)
	}
	if _, err := os.Stat(filepath.Join(s.home, "elsewhere")); err == nil {
		t.Error("a link was followed")
	}
	if got := s.scan("/proc/no/such/cache"); !reflect.DeepEqual(got, want) {
		t.Errorf("no folder: %+v", got)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	testenv.NoError(t, os.WriteFile(path, data, 0o600))
}

// A first look that a person ends goes on from there.
func TestScanGoesOn(t *testing.T) {
	size, after := partSize, saveAfter
	partSize, saveAfter = 10, 0
	t.Cleanup(func() { partSize, saveAfter = size, after })
	s := newStore(t)
	for i := range 45 {
		id := fmt.Sprintf("s%02d", i)
		s.write("p/"+id+".jsonl", said(id, 1, "ask"))
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = FindConversations(s.getenv, redact.NewCutRedactor(nil), s.cache(), func(done, total int64) {
			if done == 25 {
				panic("a person ends it")
			}
		})
	}()
	if known := load(s.cache()); len(known) != 20 {
		t.Errorf("%d are known", len(known))
	}
	var left int64
	if all, errs := FindConversations(s.getenv, redact.NewCutRedactor(nil), s.cache(), func(_, total int64) { left = total }); len(all) != 45 || errs != nil || left != 25 {
		t.Errorf("%d conversations, %v, %d were read", len(all), errs, left)
	}
	if known := load(s.cache()); len(known) != 45 {
		t.Errorf("%d are known", len(known))
	}
}
