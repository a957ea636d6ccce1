package writers_test

import (
	"bytes"
	"gt/internal/testenv"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/internal/readertest"
	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/record"
)

// talk is a conversation in which each text is unique.
var talk = []conversation.Entry{
	{Kind: conversation.Prompt, Text: "first asked", Time: testTime},
	{Kind: conversation.Answer, Text: "first answered", Time: testTime.Add(time.Second)},
	{Kind: conversation.Call, Tool: "Bash", CallID: "a", Text: "run one", Target: "run one", Time: testTime.Add(2 * time.Second)},
	{Kind: conversation.Result, CallID: "a", Text: "gave one", Time: testTime.Add(3 * time.Second)},
	{Kind: conversation.Prompt, Text: "second asked", Time: testTime.Add(time.Minute)},
	{Kind: conversation.Call, Tool: "Bash", CallID: "b", Text: "run two", Target: "run two", Time: testTime.Add(61 * time.Second)},
	{Kind: conversation.Result, CallID: "b", Text: "gave two", Time: testTime.Add(62 * time.Second)},
	{Kind: conversation.Answer, Text: "last answered", Time: testTime.Add(63 * time.Second)},
}

// A conversation whose file is truncated anywhere, or lacks any line, is recorded as far
// as it can be read and goes on in each client: each text once, in order, and a result
// for each call. A result whose call is lost becomes text.
func TestDamaged(t *testing.T) {
	for i, w := range writers.Writers {
		if w.Client() == "opencode" { // it keeps no lines
			continue
		}
		whole := written(t, w, talk)
		lines := slices.Collect(strings.Lines(whole))
		damaged := []string{}
		for n := 1; n < len(lines); n++ {
			damaged = append(damaged, strings.Join(lines[:n], "")+lines[n][:len(lines[n])/2])
			damaged = append(damaged, strings.Join(slices.Delete(slices.Clone(lines), n, n+1), ""))
		}
		for k, text := range damaged {
			home := t.TempDir()
			kept := recordOf(t, w, home, text)
			if len(kept) == 0 { // nothing can be read
				continue
			}
			to := writers.Writers[(i+k)%len(writers.Writers)]
			got := goesOn(t, to, kept)
			if want := textsOf(kept); !inOrder(got, want) {
				t.Errorf("%s, damaged in way %d, as %s has\n%q, of\n%q", w.Client(), k, to.Client(), got, want)
			}
			if calls, results := count(got, "run "), count(got, "gave ")+count(got, "[no result was recorded]")-count(got, "whose call is not known"); calls != results {
				t.Errorf("%s, damaged in way %d, as %s has %d calls and %d results: %q", w.Client(), k, to.Client(), calls, results, got)
			}
		}
	}
}

// A conversation that its client has compacted goes on with everything that was ever
// recorded, once, whatever the client kept of its beginning.
func TestRewritten(t *testing.T) {
	for i, w := range writers.Writers {
		if w.Client() == "opencode" {
			continue
		}
		home := t.TempDir()
		recordOf(t, w, home, written(t, w, talk))
		more := append([]conversation.Entry{{Kind: conversation.Prompt, Text: "the summary of it", Time: testTime.Add(2 * time.Minute)}}, talk[6:]...)
		more = append(more, conversation.Entry{Kind: conversation.Prompt, Text: "third asked", Time: testTime.Add(3 * time.Minute)})
		kept := recordOf(t, w, home, written(t, w, more))
		got := goesOn(t, writers.Writers[(i+1)%len(writers.Writers)], kept)
		var want []string
		for _, e := range talk {
			want = append(want, e.Text)
		}
		want = append(want, "the summary of it", "third asked")
		if !inOrder(got, want) {
			t.Errorf("of %s goes on\n%q", w.Client(), got)
		}
		for _, text := range []string{"first asked", "second asked", "the summary of it", "third asked"} {
			if n := count(got, text); n != 1 {
				t.Errorf("of %s %q goes on %d times: %q", w.Client(), text, n, got)
			}
		}
	}
}

// id is the id of the conversation in every client's file.
const id = "01234567-0000-4000-8000-000000000000"

// written returns a conversation in a client's own format.
func written(t *testing.T, w conversation.Writer, entries []conversation.Entry) string {
	t.Helper()
	settled, err := conversation.PairResults(readertest.SourceOf(entries))
	testenv.NoError(t, err)
	var text bytes.Buffer
	testenv.NoError(t, w.Write(&text, &conversation.Copy{ID: id, FromClient: "other", CWD: "/x", Now: testTime.Add(time.Hour), Settled: settled}))
	return text.String()
}

// recordOf syncs the record in a home with a client's file that has that text, and
// returns its content.
func recordOf(t *testing.T, w conversation.Writer, home, text string) (all []conversation.Entry) {
	t.Helper()
	getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
	own, err := account.FindCurrent(w.Client(), getenv)
	testenv.NoError(t, err)
	path, err := w.TranscriptPath(own, &conversation.Copy{ID: id, FromClient: "other", CWD: "/x", Now: testTime.Add(time.Hour)})
	testenv.NoError(t, err)
	readertest.Put(t, path, text)
	now := time.Now().Add(time.Duration(len(text)) * time.Millisecond) // each text has a time of its own
	testenv.NoError(t, os.Chtimes(path, now, now))
	s, err := record.StoreOf(getenv)
	testenv.NoError(t, err)
	r := readers.FindReader(w.Client())
	if err := r.Find(storeOf(t, w.Client(), getenv), func(f conversation.File) {
		m, err := r.Metadata(f)
		testenv.NoError(t, err)
		x, err := s.Index()
		testenv.NoError(t, err)
		y := &record.Syncer{Store: s, Index: x, Redact: func(text string) string { return text }, Now: func() time.Time { return testTime }}
		if _, err := y.Sync(r, conversation.Conversation{File: f, Metadata: m}); err != nil {
			t.Errorf("%s: %v", w.Client(), err)
		}
	}); err != nil {
		t.Fatal(err)
	}
	ids, err := s.IDs()
	if err != nil || len(ids) > 1 {
		t.Fatal(ids, err)
	}
	for _, id := range ids {
		testenv.NoError(t, s.Conversation(id)(0, func(e conversation.Entry) bool { all = append(all, e); return true }))
	}
	return all
}

// goesOn returns what a client reads of a conversation that was written for it.
func goesOn(t *testing.T, w conversation.Writer, entries []conversation.Entry) []string {
	t.Helper()
	home := t.TempDir()
	getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
	settled, err := conversation.PairResults(readertest.SourceOf(entries))
	testenv.NoError(t, err)
	now := testTime.Add(2 * time.Hour)
	c := &conversation.Copy{ID: w.NewID(now), FromClient: "other", CWD: home, Now: now, Settled: settled}
	return textsOf(readBack(t, w, getenv, c).Entries)
}

func textsOf(all []conversation.Entry) (texts []string) {
	for _, e := range all {
		if e.Kind != conversation.TokenUsage && e.Text != "" {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// inOrder reports whether others contains the texts in their order.
func inOrder(in, texts []string) bool {
	for _, text := range texts {
		i := slices.IndexFunc(in, func(t string) bool { return strings.Contains(t, text) })
		if i < 0 {
			return false
		}
		in = in[i+1:]
	}
	return true
}

func count(in []string, text string) (n int) {
	for _, t := range in {
		n += strings.Count(t, text)
	}
	return n
}
