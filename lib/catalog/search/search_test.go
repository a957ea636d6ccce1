package search

import (
	"bytes"
	"encoding/json"
	"fmt"
	"gt/internal/testenv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/state/session"
	"gt/lib/text/fold"
)

// A search gives the same as one that parses everything and matches every line, for any
// text, any pattern, and any JSON encoder.
func TestASearchFindsWhatReadingFinds(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4 // a race would be in any of them
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 7))
		w := writing{Rand: r, dir: t.TempDir()}
		all := w.store(t)
		read := readAll(t, all)
		for range 25 {
			pattern, fixed, fold := w.pattern(), r.IntN(3) == 0, r.IntN(3) == 0
			q, err := New(pattern, fixed, fold)
			if err != nil {
				continue
			}
			q.Tools = r.IntN(2) == 0
			if r.IntN(3) == 0 {
				q.Before, q.After = r.IntN(3), r.IntN(3)
			}
			if r.IntN(2) == 0 {
				q.Clean = strings.NewReplacer("foo", "[gone]", "\x7f", "?", "\r\n", "\n").Replace
			}
			got, err := gathered(q, all)
			want := naive(q, all, read)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d, %q (fixed %v, fold %v, tools %v, needles %v), %v:\ngot\n%s\nwant\n%s", seed, pattern, fixed, fold, q.Tools,
					q.needles, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			q.First = true
			got, _ = gathered(q, all)
			first := slices.CompactFunc(want, func(a, b string) bool { return place(a) == place(b) })
			if firsts := slices.CompactFunc(got, func(a, b string) bool { return place(a) == place(b) }); !slices.EqualFunc(firsts, first, sameButTurn) {
				t.Fatalf("seed %d, %q: the first are\n%s\nnot\n%s", seed, pattern, firsts, first)
			}
		}
	}
}

// The same for the conversations of all real clients.
func TestASearchOfRealConversations(t *testing.T) {
	var all []conversation.Conversation
	for _, r := range readers.Readers {
		places, _ := filepath.Glob(filepath.Join("../../client", r.Client(), "conversation/testdata/*"))
		for _, store := range places {
			// One by one, because some are in several stores.
			each := func(f conversation.File) {
				all = append(all, conversation.Conversation{File: f, Metadata: conversation.Metadata{ID: session.ID(fmt.Sprint(len(all)))}})
			}
			if err := r.Find(store, each); err != nil {
				t.Log(err) // another format
			}
		}
	}
	words, read := map[string]bool{}, readAll(t, all)
	for _, r := range read {
		for _, e := range r.told {
			for _, w := range strings.Fields(e.Text) {
				words[w] = true
			}
		}
	}
	if len(all) < 5 || len(words) < 50 {
		t.Fatalf("%d conversations of %d words", len(all), len(words))
	}
	n := 0
	for _, w := range slices.Sorted(maps.Keys(words)) {
		if n++; n%(len(words)/80+1) != 0 {
			continue
		}
		q, err := New(w, true, n%3 == 0)
		testenv.NoError(t, err)
		q.Tools = n%2 == 0
		got, err := gathered(q, all)
		if want := naive(q, all, read); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q, tools %v: %d hits, not %d: %v\ngot %.2000s\nwant %.2000s", w, q.Tools, len(got), len(want), err, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// place identifies the conversation of a hit.
func place(told string) string {
	name, _, _ := strings.Cut(told, " ")
	return name
}

func sameButTurn(a, b string) bool {
	x, y := strings.SplitN(a, " ", 3), strings.SplitN(b, " ", 3)
	return x[0] == y[0] && x[2] == y[2]
}

// gathered returns the hits of a search, one a line.
func gathered(q *Query, all []conversation.Conversation) (told []string, err error) {
	err = q.Search(all, func(i int, h Hit) bool {
		for _, l := range h.Lines {
			told = append(told, tell(i, h.Turn, h.Kind, l))
		}
		return true
	}, func(int64, int64) {})
	return told, err
}

func tell(i, turn int, kind conversation.Kind, l Line) string {
	return fmt.Sprintf("%d %d %s %d %v %q", i, turn, kind, l.Number, l.Match, l.Text)
}

// entries are a conversation's entries, each with its turn.
type entries struct {
	told  []conversation.Entry
	turns []int
}

// readAll reads conversations once for all naive searches.
func readAll(t *testing.T, all []conversation.Conversation) []entries {
	t.Helper()
	read := make([]entries, len(all))
	for i, c := range all {
		turn := 0
		if _, err := readers.FindReader(c.File.Client).Read(c.File, conversation.Options{}, func(e conversation.Entry) bool {
			if e.Kind == conversation.Prompt {
				turn++
			}
			e.Text = fold.Name(e.Text)
			read[i].told, read[i].turns = append(read[i].told, e), append(read[i].turns, turn)
			return true
		}); err != nil {
			t.Fatal(c.File.Path, err)
		}
	}
	return read
}

// naive returns the hits that a search should find.
func naive(q *Query, all []conversation.Conversation, read []entries) (told []string) {
	clean := q.Clean
	if clean == nil {
		clean = func(s string) string { return s }
	}
	split := func(s string) []string {
		if s == "" {
			return nil
		}
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		for i := range lines {
			lines[i] = strings.TrimSuffix(lines[i], "\r")
		}
		return lines
	}
	wanted := []conversation.Kind{conversation.Prompt, conversation.Reply, conversation.Answer, conversation.Summary}
	if q.Tools {
		wanted = append(wanted, conversation.Thought, conversation.Call, conversation.Result)
	}
	hits := make([]entries, len(all))
	for i, r := range read {
		for n, e := range r.told {
			if slices.Contains(wanted, e.Kind) && slices.ContainsFunc(split(e.Text), q.Pattern.MatchString) &&
				slices.ContainsFunc(split(clean(e.Text)), q.Pattern.MatchString) {
				hits[i].told, hits[i].turns = append(hits[i].told, e), append(hits[i].turns, r.turns[n])
			}
		}
	}
	for i, c := range all {
		copied := map[string]bool{}
		for j, o := range all {
			if o.Metadata.Started.Before(c.Metadata.Started) && family(o) == family(c) {
				for _, e := range hits[j].told {
					copied[e.ID+string(e.Kind)+e.Text] = true
				}
			}
		}
		for n, e := range hits[i].told {
			if copied[e.ID+string(e.Kind)+e.Text] {
				continue
			}
			lines := split(clean(e.Text))
			for j, line := range lines {
				near := slices.ContainsFunc(lines[max(j-q.After, 0):min(j+q.Before+1, len(lines))], q.Pattern.MatchString)
				if near {
					told = append(told, tell(i, hits[i].turns[n], e.Kind, Line{j + 1, line, q.Pattern.MatchString(line)}))
				}
			}
		}
	}
	return told
}

// family returns the session in which a conversation's history began.
func family(c conversation.Conversation) session.ID {
	if c.Metadata.ForkOf != "" {
		return c.Metadata.ForkOf
	}
	return c.Metadata.ID
}

type writing struct {
	*rand.Rand
	dir string
	n   int
}

var pieces = []string{
	"settle", "Settle", "kick", "Kick", "\u212aick", "\u017fettle", "foo", "foobar", "FOO", "colour", "color", "retry-after", "x_y.z",
	"<b>", "a/b", `"quoted"`, `back\slash`, "\x7f", "\x01", "é", "日本", "\t", "&amp;", "it's", "a+b=c", "100000", "\u2028", "🎉", "/review", "`tick`",
	"[Request", "quiescence", "and", "the", "of", "query", "aaaaaaa",
}

func (w writing) text() string {
	var b strings.Builder
	for range w.IntN(12) {
		b.WriteString(pieces[w.IntN(len(pieces))])
		b.WriteString([]string{" ", " ", "", "\n", "\r\n", ": "}[w.IntN(6)])
	}
	return b.String()
}

func (w writing) pattern() string {
	piece := func() string { return pieces[w.IntN(len(pieces))] }
	switch w.IntN(14) {
	case 0:
		return ""
	case 1:
		return regexp.QuoteMeta(piece()) + ".*" + regexp.QuoteMeta(piece())
	case 2:
		return "(" + regexp.QuoteMeta(piece()) + "|" + regexp.QuoteMeta(piece()) + ")"
	case 3:
		return "^" + regexp.QuoteMeta(piece())
	case 4:
		return regexp.QuoteMeta(piece()) + "$"
	case 5:
		return `colou?r|[Ss]ettle`
	case 6:
		return `(?i:` + regexp.QuoteMeta(piece()) + `)\s`
	case 7:
		return `(foo|bar){2}|qu(ie|e)\w+`
	case 8:
		return piece() + " " + piece()
	case 9:
		return `\b` + regexp.QuoteMeta(piece()) + `\b`
	case 10:
		return regexp.QuoteMeta(piece()) + "+"
	case 11:
		return "[" + piece() // mostly invalid
	}
	return regexp.QuoteMeta(piece())
}

// store writes some conversations, with forks and one of a subagent.
func (w *writing) store(t *testing.T) (all []conversation.Conversation) {
	var before [][]byte
	var from conversation.Conversation
	for i := range 2 + w.IntN(5) {
		id := session.ID(fmt.Sprintf("session-%d", i))
		c := conversation.Conversation{
			File:     conversation.File{Client: "claude", Path: filepath.Join(w.dir, string(id)+".jsonl"), ID: id},
			Metadata: conversation.Metadata{ID: id, Started: time.Unix(int64(i), 0)},
		}
		var records [][]byte
		if before != nil && w.IntN(2) == 0 {
			records = append(records, before[:w.IntN(len(before)+1)]...)
			c.Metadata.ForkOf = family(from)
		}
		for range w.IntN(30) {
			records = append(records, w.record())
		}
		var b bytes.Buffer
		for _, r := range records {
			b.Write(r)
			b.WriteString([]string{"\n", "\n", "\n", "\r\n", "\n\n"}[w.IntN(5)])
		}
		if w.IntN(3) == 0 {
			b.WriteString(`{"type":"user","message":{"role":"user","content":"foo settle kick`) // torn
		}
		testenv.NoError(t, os.WriteFile(c.File.Path, b.Bytes(), 0o600))
		c.File.Size = int64(b.Len())
		all = append(all, c)
		before, from = records, c
	}
	w.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (w *writing) record() []byte {
	w.n++
	type object = map[string]any
	rec := object{"uuid": fmt.Sprint("id-", w.n), "timestamp": "2026-03-02T08:00:00Z", "sessionId": "x"}
	text := func() any {
		s := w.text()
		if w.IntN(60) == 0 {
			s = strings.Repeat("aaaaaaa ", 1024-w.IntN(40)) + s
		}
		return s
	}
	user := func(content any) {
		rec["type"], rec["message"] = "user", json.RawMessage(fmt.Sprintf(`{"role":"user","content":%s}`, w.encode(content)))
	}
	assistant := func(block object) {
		rec["type"], rec["message"] = "assistant", object{"role": "assistant", "id": fmt.Sprint("msg-", w.n/3), "content": []object{block}, "usage": object{"input_tokens": 3}}
	}
	switch w.IntN(12) {
	case 0, 1:
		user(text())
	case 2:
		user([]object{{"type": "text", "text": text()}, {"type": "text", "text": text()}})
	case 3:
		user(fmt.Sprintf("<command-name>/review</command-name><command-args>%s</command-args>", w.text()))
	case 4, 5:
		assistant(object{"type": "text", "text": text()})
	case 6:
		assistant(object{"type": "thinking", "thinking": text()})
	case 7:
		assistant(object{"type": "tool_use", "name": "Bash", "input": object{"command": text(), "timeout": json.Number([]string{"100000", "1e5", "2.50"}[w.IntN(3)]), "deep": object{"foo": w.text()}}})
	case 8:
		user([]object{{"tool_use_id": "t", "type": "tool_result", "content": text()}})
	case 9:
		rec["isCompactSummary"] = true
		user(text())
	case 10:
		rec["type"], rec["attachment"] = "attachment", object{"type": "prompt_snapshot", "systemPrompt": text()}
	case 11:
		rec["type"] = "attachment"
		rec["attachment"] = json.RawMessage(fmt.Sprintf(`{"type":"queued_command","commandMode":"prompt","prompt":%s}`, w.encode(text())))
	}
	if w.IntN(40) == 0 {
		return []byte(w.text() + `{"no": JSON foo settle`)
	}
	return w.encode(rec)
}

// encode writes JSON as the encoder of one of several languages does.
func (w *writing) encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(w.IntN(2) == 0)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	switch w.IntN(3) {
	case 0: // Python
		var ascii bytes.Buffer
		for _, r := range string(line) {
			if r < 0x7f {
				ascii.WriteRune(r)
			} else if r < 0x10000 {
				fmt.Fprintf(&ascii, `\u%04x`, r)
			} else {
				fmt.Fprintf(&ascii, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			}
		}
		return ascii.Bytes()
	case 1: // PHP
		return bytes.ReplaceAll(line, []byte("/"), []byte(`\/`))
	}
	return line
}

// A needle is found everywhere, and nowhere else.
func TestANeedleIsFoundInAnyPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	letters := []byte("abzAZq_\n\"\x00\x80\xc1")
	for range 20000 {
		hay := make([]byte, r.IntN(300))
		for i := range hay {
			hay[i] = letters[r.IntN(1+r.IntN(len(letters)))]
		}
		word := make([]byte, 1+r.IntN(5))
		for i := range word {
			word[i] = "abzq_"[r.IntN(5)]
		}
		for range r.IntN(2) {
			copy(hay[r.IntN(len(hay)+1):], word)
		}
		for _, fold := range []bool{false, true} {
			n, in := newNeedle(string(word), fold), hay
			if fold {
				in = slices.Clone(hay)
				for i, c := range in {
					if c >= 'A' && c <= 'Z' {
						in[i] |= 0x20
					}
				}
			}
			if got, want := n.index(hay), bytes.Index(in, word); got != want {
				t.Fatalf("%q (fold %v) in %q: %d, not %d", word, fold, hay, got, want)
			}
			if got, want := n.indexByPair(hay, 0), bytes.Index(in, word); got != want {
				t.Fatalf("%q (fold %v) in %q, by pairs: %d, not %d", word, fold, hay, got, want)
			}
		}
	}
}

func TestNeedles(t *testing.T) {
	for pattern, want := range map[string][]string{
		"connection refused":      {"connection"},
		`foo\.bar`:                {"foo.bar"},
		`"quoted words"`:          {"quoted"},
		"deadlock|race condition": {"deadlock", "condition"},
		"deadlock|.*":             nil,
		"colou?r":                 {"colo"},
		"(settle)+d":              {"settle"},
		"(settle)*":               nil,
		"[a-z]+":                  nil,
		"":                        nil,
		"日本":                      nil,
		"x{3,}":                   {"x"},
		"(?i)Handler":             {"handler"},
		"(?i)task":                {"ta"}, // K and ſ match, too
		"(?i)sk":                  nil,
		`src/main`:                {"main"},
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		testenv.NoError(t, err)
		var got []string
		for _, n := range needles(tree.Simplify()) {
			got = append(got, n.word)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, not %q", pattern, got, want)
		}
	}
}

// A conversation that grows during the search, is gone or is unreadable does not affect
// the others.
func TestASearchInWhatChanges(t *testing.T) {
	dir := t.TempDir()
	var all []conversation.Conversation
	for i := range 50 {
		path := filepath.Join(dir, fmt.Sprintf("s%d.jsonl", i))
		text := ""
		for n := range 3 {
			text += fmt.Sprintf(`{"type":"user","message":{"role":"user","content":"find me"},"uuid":"x%d-%d","timestamp":"2026-03-02T08:00:00Z"}`+"\n", i, n)
		}
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		all = append(all, conversation.Conversation{File: conversation.File{Client: "claude", Path: path, ID: session.ID(fmt.Sprint("s", i))}})
	}
	testenv.NoError(t, os.Remove(all[7].File.Path))
	all[9].File.Path = dir // not a file
	all[11].File.Client = "nobody's"
	q, err := New("find", false, false)
	testenv.NoError(t, err)
	counts := make([]int, len(all))
	grown := false
	err = q.Search(all, func(i int, h Hit) bool {
		counts[i]++
		if !grown {
			grown = true
			f, err := os.OpenFile(all[49].File.Path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return false
			}
			defer f.Close()
			if _, err := f.WriteString(`{"type":"user","message":{"role":"user","content":"find me`); err != nil {
				t.Error(err)
			}
		}
		return true
	}, func(int64, int64) {})
	if err == nil || strings.Contains(err.Error(), "s7.jsonl") || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("%v", err)
	}
	for i, n := range counts {
		want := 3
		if i == 7 || i == 9 || i == 11 {
			want = 0
		}
		if n != want {
			t.Errorf("%d in the %d.", n, i)
		}
	}

	// A caller that has enough does not wait.
	n := 0
	if err := q.Search(all, func(int, Hit) bool { n++; return false }, func(int64, int64) {}); err != nil || n != 1 {
		t.Error(n, err)
	}

	// A panic in a task reaches the caller.
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	q.Clean = func(string) string { panic("oh") }
	_ = q.Search(all, func(int, Hit) bool { return true }, func(int64, int64) {})
}

// A letter is found in each of its forms in Unicode, whichever was typed.
func TestForms(t *testing.T) {
	for _, pattern := range []string{"résumé", "re\u0301sume\u0301", "r.sum[é]"} {
		for _, text := range []string{"my résumé", "my re\u0301sume\u0301"} {
			q, err := New(pattern, false, false)
			testenv.NoError(t, err)
			record, err := json.Marshal(text)
			testenv.NoError(t, err)
			if h, ok := q.match(conversation.Entry{Kind: conversation.Prompt, Text: text}); !ok || h.Lines[0].Text != "my résumé" {
				t.Errorf("%q is not found in %q: %+v", pattern, text, h)
			}
			for _, n := range q.needles {
				if n.index(record) < 0 {
					t.Errorf("%q: %q is not in %s", pattern, n.word, record)
				}
			}
		}
	}
	q, err := New("RÉSUME\u0301", true, true)
	testenv.NoError(t, err)
	if _, ok := q.match(conversation.Entry{Kind: conversation.Prompt, Text: "re\u0301sumé"}); !ok {
		t.Error("-i does not find it")
	}
}

// An edit without a time of its own is as old as its request, as all of Cursor's are.
func TestChangeIsAsOldAsItsRequest(t *testing.T) {
	store := filepath.Join("..", "..", "client", "cursor", "conversation", "testdata", "2026.07")
	var all []conversation.Conversation
	testenv.NoError(t, readers.FindReader("cursor").Find(store, func(f conversation.File) { all = append(all, conversation.Conversation{File: f}) }))
	found, err := Changes(all, []string{"lamp.go"}, strings.TrimSpace, func(int64, int64) {})
	testenv.NoError(t, err)
	if want := time.Date(2026, 9, 3, 18, 21, 0, 0, time.UTC); len(found) != 1 || !found[0].Time.Equal(want) {
		t.Errorf("%+v, want one of %v", found, want)
	}
}
