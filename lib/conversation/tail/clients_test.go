package tail

import (
	"errors"
	"fmt"
	"gt/internal/testenv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gt/lib/client/readers"
	"gt/lib/conversation"
	"gt/lib/conversation/summary"
	"gt/lib/state/session"
)

// Tail returns the summary of a conversation that was never read before.
func Tail(client, path string, id session.ID, cwd string, clean func(string) string) (summary.Summary, error) {
	var read Read
	if r := readers.FindReader(client); r != nil {
		read = r.Read
	}
	fold, err := File{Path: filepath.Join(filepath.Dir(path), "none.tail")}.Fold(conversation.File{Client: client, Path: path, ID: id}, cwd, read, clean)
	if err != nil {
		return summary.Summary{}, err
	}
	return summary.Summarize(fold), nil
}

func keepText(s string) string { return s }

// The summary does not depend on the client: the requests, the last answer and the
// commands are found in each real client's conversation.
//
// S0-17
func TestTailOfClients(t *testing.T) {
	for _, r := range readers.Readers {
		found := 0
		stores, err := filepath.Glob(filepath.Join("../../client", r.Client(), "conversation/testdata/*[0-9]*"))
		testenv.NoError(t, err)
		for _, store := range stores {
			err := r.Find(store, func(f conversation.File) {
				facts, err := r.Metadata(f)
				if err != nil || facts.Prompt == "" || facts.ForkOf != "" {
					return
				}
				id := facts.ID
				if f.ID != "" {
					id = f.ID
				}
				sum, err := Tail(r.Client(), f.Path, id, facts.CWD, keepText)
				if err != nil {
					t.Errorf("%s: %v", f.Path, err)
					return
				}
				if !strings.HasPrefix(strings.Join(strings.Fields(sum.First.Text), " "), facts.Prompt) || len(sum.Requests) == 0 {
					t.Errorf("%s: first asked is %q and not %q, of %d requests", f.Path, sum.First.Text, facts.Prompt, len(sum.Requests))
				}
				if strings.Contains(facts.Prompt, "echo") {
					found++
					results := 0 // Cursor's transcripts have none
					_, err := conversation.ReadAll(r, f, conversation.Options{}, func(e conversation.Entry) bool {
						if e.Kind == conversation.Result {
							results++
						}
						return true
					})
					testenv.NoError(t, err)
					if results > 0 && (len(sum.Commands) == 0 || !strings.Contains(sum.Commands[0].Text, "echo ") || sum.Commands[0].Failed) {
						t.Errorf("%s: the commands are %v", f.Path, sum.Commands)
					}
					if sum.Answer == "" {
						t.Errorf("%s: nothing was answered", f.Path)
					}
				}
			})
			if err != nil {
				t.Error(err)
			}
		}
		if found == 0 {
			t.Errorf("no session of %s in which a command was run", r.Client())
		}
	}
}

// Of a long conversation the beginning and the end are known, and no more is held.
func TestTailOfLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rollout-2026-01-01T00-00-00-01a1fd75-85c4-76e1-a003-c19c0b51656b.jsonl")
	f, err := os.Create(path)
	testenv.NoError(t, err)
	line := func(format string, args ...any) {
		fmt.Fprintf(f, `{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":`+format+"}\n", args...)
	}
	fmt.Fprintln(f, `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"01a1fd75-85c4-76e1-a003-c19c0b51656b","cwd":"/work/x"}}`)
	line(`{"type":"message","role":"user","content":[{"type":"input_text","text":"the first request"}]}`)
	long := strings.Repeat("x", 10_000)
	for i := range 2 * maxWholeRead / 10_000 {
		line(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"answer %d %s"}]}`, i, long)
	}
	line(`{"type":"message","role":"user","content":[{"type":"input_text","text":"the last request"}]}`)
	f.Close()
	clean := func(s string) string { return strings.ReplaceAll(s, "request", "REQUEST") }
	sum, err := Tail("codex", path, "01a1fd75-85c4-76e1-a003-c19c0b51656b", "/work/x", clean)
	testenv.NoError(t, err)
	if sum.First.Text != "the first REQUEST" || len(sum.Requests) != 1 || sum.Requests[0].Text != "the last REQUEST" || !strings.HasPrefix(sum.Answer, "answer ") {
		t.Errorf("%.300v", sum)
	}
}

// A missing conversation is an error; one without a reader is skipped.
func TestTailOfNothing(t *testing.T) {
	if _, err := Tail("codex", filepath.Join(t.TempDir(), "none"), "id", "/", keepText); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if sum, err := Tail("nobody", "/etc/passwd", "id", "/", keepText); err != nil || len(sum.Requests) > 0 {
		t.Error(sum, err)
	}
	if _, err := Tail("gemini", t.TempDir(), "id", "/", keepText); err == nil {
		t.Error("a folder is read")
	}
}
