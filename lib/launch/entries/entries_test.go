package entries

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/conversation"
)

// said is a reader of texts, one an entry.
type said []string

func (said) Client() string                                                { return "opencode" }
func (said) Find(string, func(conversation.File)) error                    { return nil }
func (said) Metadata(conversation.File) (m conversation.Metadata, _ error) { return m, nil }

func (s said) Read(_ conversation.File, o conversation.Options, each func(conversation.Entry) bool) (int64, error) {
	at := o.From
	for at < int64(len(s)) {
		e := conversation.Entry{Kind: conversation.Answer, Text: s[at], Offset: at}
		if at++; !each(e) {
			break
		}
	}
	return at, nil
}

// A conversation comes in pages, whole and in its order, and without secrets: these are
// taken out before a text is cut.
func TestPages(t *testing.T) {
	const secret = "hush-hush"
	long := strings.Repeat("x", maxText*2/3-12) + secret + strings.Repeat("y", pageSize)
	r := said{"first", long, long, long, long, long, long, long, long, long, "last"}
	redact := func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }

	dir := t.TempDir()
	pages, next := 0, int64(0)
	for more := true; more; pages++ {
		page, err := ReadPage(r, conversation.File{}, next, redact)
		testenv.NoError(t, err)
		data, err := json.Marshal(page)
		testenv.NoError(t, err)
		if len(data) > 2*pageSize || strings.Contains(string(data), "hush") {
			t.Errorf("page %d has %d bytes", pages, len(data))
		}
		testenv.NoError(t, os.WriteFile(filepath.Join(dir, strconv.FormatInt(next, 10)), data, 0o600))
		next, more = page.Next, page.More
	}
	if pages < 2 {
		t.Errorf("%d pages", pages)
	}
	// gt-seance is the last argument's page.
	testenv.NoError(t, testenv.WriteProgram(filepath.Join(dir, "gt-seance"), []byte("#!/bin/sh\nfor from; do :; done\ncat '"+dir+"'/$from\n")))
	env := &cli.Env{Environ: []string{"PATH=" + dir + ":/usr/bin:/bin"}, Now: time.Now}
	var got []conversation.Entry
	next, err := FindReader(env, t.TempDir(), "opencode")(conversation.File{}, conversation.Options{}, func(e conversation.Entry) bool {
		got = append(got, e)
		return true
	})
	if err != nil || next != int64(len(r)) || len(got) != len(r) {
		t.Fatalf("%d entries, the next at %d: %v", len(got), next, err)
	}
	for i, e := range got {
		if n := utf8.RuneCountInString(e.Text); e.Offset != int64(i) || e.Kind != conversation.Answer || n > maxText || n < len("last") || n < maxText-100 && e.Text != r[i] {
			t.Errorf("entry %d: %d characters at %d", i, n, e.Offset)
		}
	}
}
