package writers_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"gt/lib/client/readers"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/state/session"
)

// What is written as a client's conversation, that client's reader reads again: every
// message, call and result, in order.
func TestRoundTrip(t *testing.T) {
	at := time.Date(2026, 1, 17, 1, 0, 0, 0, time.UTC)
	entries := conversation.Settle([]conversation.Entry{
		{Kind: conversation.Prompt, Text: "please \"look\" <at> it\nand é", Time: at},
		{Kind: conversation.Answer, Text: "I look.", Model: "m", Time: at.Add(time.Second)},
		{Kind: conversation.Call, Tool: "my.Tool", CallID: "a", Text: "file_path: x\nlimit: 3", Time: at.Add(2 * time.Second)},
		{Kind: conversation.Call, Tool: "Bash", CallID: "b", Text: "ls", Target: "ls", Time: at.Add(2 * time.Second)},
		{Kind: conversation.Result, CallID: "b", Text: "two", Time: at.Add(3 * time.Second)},
		{Kind: conversation.Result, CallID: "a", Text: "one", Failed: true, Time: at.Add(3 * time.Second)},
		{Kind: conversation.Answer, Text: "Done.", Time: at.Add(4 * time.Second)},
		{Kind: conversation.Prompt, Text: "thanks", Time: at.Add(time.Minute)},
	})
	for _, w := range writers.All {
		t.Run(w.Client(), func(t *testing.T) {
			home := t.TempDir()
			getenv := func(key string) string { return map[string]string{"HOME": home}[key] }
			c := &conversation.Copy{ID: session.NewID(), From: "other", CWD: home, Branch: "main", Entries: entries, Now: at.Add(time.Hour)}
			path, folder, err := w.Place(getenv, c)
			if err != nil || filepath.Dir(folder) != home {
				t.Fatal(path, folder, err)
			}
			var text bytes.Buffer
			if err := w.Write(&text, c); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			r := readers.Of(w.Client())
			stores := r.Stores(getenv)
			if len(stores) != 1 {
				t.Fatal(stores)
			}
			var found []conversation.File
			if err := r.Find(stores[0], func(f conversation.File) { found = append(found, f) }); err != nil || len(found) != 1 {
				t.Fatal(found, err)
			}
			m, err := r.Metadata(found[0])
			if err != nil || m.ID != c.ID || m.CWD != home || m.Branch != "main" || m.Prompt == "" {
				t.Errorf("%+v, %v", m, err)
			}
			type said struct {
				kind conversation.Kind
				text string
			}
			var got, want []said
			for _, e := range entries {
				text := e.Text
				want = append(want, said{e.Kind, text})
			}
			if _, err := r.Read(found[0], conversation.Options{}, func(e conversation.Entry) bool {
				if e.Kind != conversation.TokenUsage {
					got = append(got, said{e.Kind, e.Text})
				}
				return true
			}); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("read was\n%q, written\n%q", got, want)
			}
			if !slices.ContainsFunc(got, func(s said) bool { return s.text == "thanks" }) {
				t.Error("the test proves nothing")
			}
		})
	}
}
