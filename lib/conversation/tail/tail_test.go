package tail

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"gt/internal/testenv"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"gt/lib/client/readers"
	"gt/lib/client/registry"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/state/session"
	"gt/lib/state/thread"
)

// fixtures are the smallest conversations of each real client that keeps one file for
// each conversation.
func fixtures(t testing.TB) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, r := range readers.Readers {
		if isDatabase(conversation.File{Client: r.Client()}) {
			continue
		}
		stores, _ := filepath.Glob(filepath.Join("../../client", r.Client(), "conversation/testdata/*[0-9]*"))
		size := int64(1 << 62)
		for _, store := range stores {
			if err := r.Find(store, func(f conversation.File) {
				m, err := r.Metadata(f)
				if info, serr := os.Stat(f.Path); err == nil && serr == nil && m.Prompt != "" && m.Parent == "" && f.Parent == "" && info.Size() < size {
					found[r.Client()], size = f.Path, info.Size()
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		if found[r.Client()] == "" {
			t.Errorf("no conversation of %s", r.Client())
		}
	}
	return found
}

// world is a conversation that a test writes, and its tail file.
type world struct {
	testing.TB
	at   File
	file conversation.File
	read Read
}

func worldOf(t testing.TB, client, name string) world {
	t.Helper()
	dir := t.TempDir()
	return world{t, File{Path: filepath.Join(dir, "sessions", "id.tail")},
		conversation.File{Client: client, Path: filepath.Join(dir, filepath.Base(name)), ID: "id"}, readers.FindReader(client).Read}
}

// eachClient runs a test with a conversation of each client, as it is in data.
func eachClient(t *testing.T, test func(t *testing.T, w world, data []byte)) {
	for client, path := range fixtures(t) {
		t.Run(client, func(t *testing.T) {
			testenv.Sample(t, 2)
			data, err := os.ReadFile(path)
			testenv.NoError(t, err)
			w := worldOf(t, client, path)
			w.write(data)
			test(t, w, data)
		})
	}
}

// write writes the conversation's own file, as a client that goes on writing.
func (w world) write(data []byte) {
	w.Helper()
	f, err := os.OpenFile(w.file.Path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) advance() summary.Summary {
	w.Helper()
	f, err := w.at.Advance(w.file, "/work", w.read, keepText, nil)
	if err != nil {
		w.Fatal(err)
	}
	return summary.Summarize(f)
}

// freshSummary returns the summary of a first read.
func (w world) freshSummary() summary.Summary {
	w.Helper()
	f, err := File{Path: w.at.Path + "-none"}.Fold(w.file, "/work", w.read, keepText)
	if err != nil {
		w.Fatal(err)
	}
	return summary.Summarize(f)
}

func (w world) equal(got, want summary.Summary, when string, args ...any) {
	w.Helper()
	if !reflect.DeepEqual(got, want) {
		w.Fatalf("%s:\n%+v\nwant\n%+v", fmt.Sprintf(when, args...), got, want)
	}
}

// However writes and reads alternate, the summary is that of a single read: an incomplete
// record counts once it is complete, and nothing counts twice.
func TestAdvanceInAnySplit(t *testing.T) {
	eachClient(t, func(t *testing.T, w world, data []byte) {
		want := w.freshSummary()
		if len(want.Requests) == 0 {
			t.Fatal("nothing was asked")
		}
		step := max(1, len(data)/150)
		for cut := 0; cut <= len(data); cut += step {
			os.Remove(w.at.Path)
			w.write(data[:cut])
			w.advance()
			w.write(data)
			w.equal(w.advance(), want, "cut at %d of %d", cut, len(data))
		}
		// And line by line.
		os.Remove(w.at.Path)
		end := 0
		for line := range bytes.Lines(data) {
			end += len(line)
			w.write(data[:end])
			w.advance()
		}
		w.equal(w.advance(), want, "line by line")
	})
}

// Every message of the person is carried, in order, however writes and reads alternate and
// whichever read fails to carry.
func TestEveryPromptIsCarried(t *testing.T) {
	eachClient(t, func(t *testing.T, w world, data []byte) {
		var want []summary.Request
		if err := w.carry(func(f *summary.Fold) error { want = f.Typed; return nil }); err != nil || len(want) == 0 {
			t.Fatalf("%v, %v", want, err)
		}
		for _, fails := range []int{1, 2, 3} { // each n-th read carries
			os.Remove(w.at.Path)
			var got []summary.Request
			end, n := 0, 0
			for line := range bytes.Lines(data) {
				end += len(line)
				w.write(data[:end-len(line)/2])
				n++
				err := w.carry(func(f *summary.Fold) error {
					if n%fails != 0 {
						return errors.New("no")
					}
					got = append(got, f.Typed...)
					return nil
				})
				if unsaved := (*SaveError)(nil); (err != nil) != (n%fails != 0) || err != nil && !errors.As(err, &unsaved) {
					t.Fatal(err)
				}
			}
			w.write(data)
			testenv.NoError(t, w.carry(func(f *summary.Fold) error { got = append(got, f.Typed...); return nil }))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("each %d-th read carries: %+v, want %+v", fails, got, want)
			}
		}
	})
}

func (w world) carry(carry func(*summary.Fold) error) error {
	_, err := w.at.Advance(w.file, "/work", w.read, keepText, carry)
	return err
}

// A conversation that was truncated, rewritten or replaced is read again. Its first
// request stays known even if the file no longer has it.
func TestAdvanceOfAnotherContent(t *testing.T) {
	eachClient(t, func(t *testing.T, w world, data []byte) {
		whole := w.advance()
		kept, err := os.ReadFile(w.at.Path)
		testenv.NoError(t, err)
		check := func(now []byte, what string, args ...any) {
			t.Helper()
			testenv.NoError(t, os.WriteFile(w.at.Path, kept, 0o600))
			w.write(now)
			want := w.freshSummary()
			if want.First.Text == "" {
				want.First = whole.First
			}
			w.equal(w.advance(), want, what, args...)
		}
		step := max(1, len(data)/80)
		for cut := 0; cut < len(data); cut += step {
			check(data[:cut], "cut short at %d of %d", cut, len(data))
		}
		// Another byte near either end of what was read.
		for i := 0; i < len(data); i += step {
			if i >= sampleSize && i < len(data)-sampleSize {
				continue
			}
			other := bytes.Clone(data)
			other[i] ^= 1
			check(other, "another byte at %d of %d", i, len(data))
		}
		check(append(bytes.Repeat([]byte("\n"), 10), data...), "moved on")
		// Another file in its place.
		testenv.NoError(t, os.Remove(w.file.Path))
		check(data[:len(data)/2], "another file")
	})
}

const (
	claudePrompt = `{"type":"user","isSidechain":false,"message":{"role":"user","content":"%s"},"uuid":"u","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/work"}` + "\n"
	claudeAnswer = `{"type":"assistant","isSidechain":false,"message":{"id":"m","role":"assistant","model":"claude","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":7,"output_tokens":3}},"uuid":"u"}` + "\n"
)

// Stored returns the summary without reading the conversation, and reports whether the
// conversation has grown. If nothing is new, nothing is written.
func TestStored(t *testing.T) {
	w := worldOf(t, "claude", "c.jsonl")
	stored := func() (summary.Summary, bool) {
		t.Helper()
		sum, current, err := w.at.ReadStored(w.file, keepText)
		testenv.NoError(t, err)
		return sum, current
	}
	if _, current := stored(); current {
		t.Error("nothing is kept, and it is all")
	}
	one := fmt.Appendf(nil, claudePrompt, "one")
	w.write(one)
	want := w.advance()
	if sum, current := stored(); !current || !reflect.DeepEqual(sum, want) || len(sum.Requests) != 1 {
		t.Errorf("%+v, %v", sum, current)
	}
	before, err := os.Stat(w.at.Path)
	if err != nil || before.Mode().Perm() != 0o600 {
		t.Fatal(before, err)
	}
	w.advance()
	if after, err := os.Stat(w.at.Path); err != nil || !os.SameFile(before, after) {
		t.Error("it was written though nothing came", err)
	}
	w.write(fmt.Appendf(one, claudePrompt, "two"))
	if sum, current := stored(); current || len(sum.Requests) != 1 {
		t.Errorf("it has grown: %+v, %v", sum, current)
	}
	if sum := w.advance(); len(sum.Requests) != 2 {
		t.Errorf("%+v", sum)
	}
	// The same length, written later.
	testenv.NoError(t, os.Chtimes(w.file.Path, time.Time{}, time.Now().Add(time.Minute)))
	if _, current := stored(); current {
		t.Error("it was written since")
	}
	testenv.NoError(t, os.Remove(w.file.Path))
	if sum, current := stored(); current || len(sum.Requests) != 2 {
		t.Errorf("it is gone: %+v, %v", sum, current)
	}
	// Another conversation with the same name.
	w.file.ID = "other"
	if sum, current := stored(); current || len(sum.Requests) != 0 {
		t.Errorf("another one's: %+v, %v", sum, current)
	}
}

// A missing conversation, and a summary that cannot be saved, are errors; the summary is
// returned.
// A client that writes its file anew removes what the person takes back. The fold names it once
// the person went on, and the thread loses it, however long it was.
func TestRemovedIsTakenBack(t *testing.T) {
	w := worldOf(t, "cline", "s.messages.json")
	long := "Never deploy. " + strings.Repeat("word ", 1000) + "end"
	say := func(prompts ...string) *summary.Fold {
		var all []string
		for _, p := range prompts {
			all = append(all, fmt.Sprintf(`{"id":"m%d","role":"user","content":[{"type":"text","text":"<user_input>%s</user_input>"}],"ts":%[1]d}`, 1790000000000+len(p), p))
		}
		w.write([]byte(`{"version":1,"messages":[` + strings.Join(all, ",") + `]}`))
		f, err := w.at.Advance(w.file, "/work", w.read, keepText, nil)
		testenv.NoError(t, err)
		return f
	}
	say("one", long)
	if f := say("one"); len(f.TakenBack) > 0 {
		t.Errorf("taken back is %.100v", f.TakenBack)
	}
	say("one", long)
	f := say("one", "the third")
	r := &session.Record{ID: "id"}
	p := Carry{Record: r}.threadPart(f, &thread.Thread{Prompts: []thread.Quote{{Text: long, Session: "id"}}})
	if len(p.TakenBack) != 1 || p.TakenBack[0].Text != long || len(p.Prompts) != 2 {
		t.Errorf("taken back is %.300v", p.TakenBack)
	}
}

func TestAdvanceErrors(t *testing.T) {
	w := worldOf(t, "claude", "c.jsonl")
	if _, err := w.at.Advance(w.file, "", w.read, keepText, nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	w.write(fmt.Appendf(nil, claudePrompt, "one"))
	if err := os.WriteFile(filepath.Dir(w.at.Path), nil, 0o600); err != nil { // in place of the folder
		t.Fatal(err)
	}
	f, err := w.at.Advance(w.file, "", w.read, keepText, nil)
	if unsaved := (*SaveError)(nil); !errors.As(err, &unsaved) || len(summary.Summarize(f).Requests) != 1 {
		t.Error(err, f)
	}
}

// The file has no known secret, not even half of one.
func TestNoSecretIsKept(t *testing.T) {
	const secret = "correct-horse-battery-staple"
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "***") }
	call := `{"type":"assistant","isSidechain":false,"message":{"id":"m","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"%s","name":"%s","input":%s}]},"uuid":"u"}` + "\n"
	result := `{"type":"user","isSidechain":false,"message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","is_error":true,"content":"%s"}]},"uuid":"u"}` + "\n"
	for before := 0; before < 24; before += 3 {
		for _, long := range []int{0, 130, 220, 380, 1480, 2480} { // near the lengths of cut texts
			text := strings.Repeat("x", long+before) + secret + strings.Repeat(" y", 3000)
			w := worldOf(t, "claude", "c.jsonl")
			var data []byte
			data = fmt.Appendf(data, claudePrompt, text)
			data = fmt.Appendf(data, claudeAnswer, text)
			data = fmt.Appendf(data, call, "a"+secret, "Bash", `{"command":"`+text+`"}`)
			data = fmt.Appendf(data, call, "b", "Bash", `{"command":"false `+text+`"}`)
			data = fmt.Appendf(data, call, "c", "Edit", `{"file_path":"/work/`+text+`"}`)
			data = fmt.Appendf(data, call, "d"+secret, secret, `{}`)
			data = fmt.Appendf(data, result, "b", text)
			data = fmt.Appendf(data, call, "e", "TodoWrite", `{"todos":[{"content":"`+text+`","status":"pending"}]}`)
			data = fmt.Appendf(data, `{"type":"custom-title","customTitle":"%s"}`+"\n", text)
			data = fmt.Appendf(data, `{"type":"file-history-snapshot","snapshot":{"trackedFileBackups":{"%s":{}}}}`+"\n", text)
			w.write(data)
			if _, err := w.at.Advance(w.file, "/"+secret, w.read, clean, nil); err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(w.at.Path)
			if err != nil || !bytes.Contains(kept, []byte("***")) {
				t.Fatal(string(kept), err)
			}
			if i := bytes.Index(kept, []byte("correct-ho")); i >= 0 {
				t.Fatalf("%d, %d: …%s…", long, before, kept[max(0, i-80):i+40])
			}
			if i := bytes.Index(kept, []byte("ery-staple")); i >= 0 {
				t.Fatalf("%d, %d: …%s…", long, before, kept[max(0, i-80):i+40])
			}
		}
	}
}

// The first read of a conversation of a hundred megabytes costs no more than its two
// ends, and the next no more than what is new. The person's messages in between are carried
// all the same.
func TestAdvanceOfHuge(t *testing.T) {
	w := worldOf(t, "claude", "c.jsonl")
	f, err := os.Create(w.file.Path)
	testenv.NoError(t, err)
	fmt.Fprintf(f, claudePrompt, "the first request")
	line := fmt.Appendf(nil, claudeAnswer, strings.Repeat("x", 100_000))
	for i := range 300 {
		f.Write(line)
		if i == 100 {
			fmt.Fprintf(f, claudePrompt, "one in between")
			f.WriteString(strings.Replace(fmt.Sprintf(claudeAnswer, "decided halfway"), `"model"`, `"stop_reason":"end_turn","model"`, 1))
		}
	}
	fmt.Fprintf(f, claudePrompt, "the last request")
	f.Close()
	var read int
	slow := w.read
	w.read = func(f conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
		return slow(f, o, func(e conversation.Entry) bool {
			read += len(e.Text)
			return each(e)
		})
	}
	fold, err := w.at.Fold(w.file, "/work", w.read, keepText)
	testenv.NoError(t, err)
	var typed []string
	for _, q := range fold.Typed {
		typed = append(typed, q.Text)
	}
	if got := strings.Join(typed, "|"); got != "the first request|one in between|the last request" {
		t.Errorf("the messages are %s", got)
	}
	if c := fold.Conclusions; len(c) != 2 || c[0].Text != "decided halfway" {
		t.Errorf("%d answers: %.80v", len(c), c)
	}
	read = 0
	sum := w.advance()
	if sum.First.Text != "the first request" || len(sum.Requests) != 1 || sum.Requests[0].Text != "the last request" {
		t.Errorf("%.300v", sum)
	}
	if read > maxWholeRead+1<<20 {
		t.Errorf("%d bytes were read", read)
	}
	if f, err = os.OpenFile(w.file.Path, os.O_APPEND|os.O_WRONLY, 0); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, claudeAnswer, "done")
	f.Close()
	read = 0
	if sum = w.advance(); sum.Answer != "done" || sum.First.Text != "the first request" || read > 100 {
		t.Errorf("%.300v after %d bytes", sum, read)
	}
	if kept, err := os.Stat(w.at.Path); err != nil || kept.Size() > 64<<10 {
		t.Error(kept, err)
	}
}

// Two concurrent reads leave one complete file, with no more than was written by then.
func TestAdvanceTogether(t *testing.T) {
	w := worldOf(t, "claude", "c.jsonl")
	data := []byte{}
	for i := range 200 {
		data = fmt.Appendf(data, claudePrompt, fmt.Sprint("request ", i))
	}
	w.write(data[:len(data)/4])
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 60 {
				if _, err := w.at.Advance(w.file, "", w.read, keepText, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := len(data) / 4; n < len(data); n += 97 {
		w.write(data[:n])
	}
	w.write(data)
	readers.Wait()
	w.equal(w.advance(), w.freshSummary(), "at last")
}

// With any content of the file, the summary is right. A file of another version is
// ignored.
func FuzzCursor(f *testing.F) {
	w := worldOf(f, "claude", "c.jsonl")
	w.write(fmt.Appendf(fmt.Appendf(nil, claudePrompt, "one"), claudeAnswer, "answer"))
	want := w.advance()
	kept, err := os.ReadFile(w.at.Path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(kept)
	for i := 0; i < len(kept); i += 16 {
		f.Add(kept[:i])
	}
	f.Add(bytes.Replace(kept, []byte(`"version":1`), []byte(`"version":2`), 1))
	f.Add(bytes.Replace(kept, []byte(`"next":`), []byte(`"next":-`), 1))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, data []byte) {
		testenv.NoError(t, os.WriteFile(w.at.Path, data, 0o600))
		if _, _, err := w.at.ReadStored(w.file, keepText); err != nil {
			t.Error(err)
		}
		fold, err := w.at.Advance(w.file, "/work", w.read, keepText, nil)
		testenv.NoError(t, err)
		if c, _ := w.at.load(w.file, true); c == nil {
			t.Error("nothing is kept")
		}
		// A cursor of another conversation, or with an offset outside this one.
		if !bytes.Contains(data, []byte(`"digest"`)) && !bytes.Contains(data, []byte(`\u`)) && !bytes.Contains(data, []byte(`"version":1`)) {
			if sum := summary.Summarize(fold); !reflect.DeepEqual(sum, want) {
				t.Errorf("%+v\nwant\n%+v", sum, want)
			}
		}
	})
}

// HasReader agrees with the readers, which it does not link.
func TestHasReader(t *testing.T) {
	for _, r := range readers.Readers {
		if !registry.HasReader(r.Client()) || readers.FindReader(r.Client()) == nil {
			t.Error(r.Client())
		}
	}
	if registry.HasReader("nobody") {
		t.Error("nobody's is read")
	}
}

// A conversation that is read long after its end changed its files when something was said or
// done last.
func TestTimeOfPart(t *testing.T) {
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	f := &summary.Fold{}
	f.SetClean(func(s string) string { return s })
	f.Take(conversation.Entry{Kind: conversation.Prompt, Text: "fix it", Time: at})
	f.Take(conversation.Entry{Kind: conversation.Call, Tool: "Edit", Text: "file_path: a.go", CallID: "1", Time: at.Add(time.Minute)})
	f.Take(conversation.Entry{Kind: conversation.Result, Tool: "Edit", Text: "ok", CallID: "1"})
	data, err := json.Marshal(f)
	testenv.NoError(t, err)
	saved := &summary.Fold{}
	testenv.NoError(t, json.Unmarshal(data, saved))
	c := Carry{Record: &session.Record{ID: "s"}, Now: at.Add(time.Hour)}
	for _, f := range []*summary.Fold{f, saved} {
		if p := c.threadPart(f, &thread.Thread{}); !p.Last.Equal(at.Add(time.Minute)) {
			t.Errorf("%v", p.Last)
		}
	}
}
