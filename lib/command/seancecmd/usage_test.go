package seancecmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gt/lib/catalog"
	"gt/lib/cli"
	"gt/lib/conversation"
)

// A block begins with the hour of the first request after the block before.
func TestIntoBlocks(t *testing.T) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local)
	spent := make([]spending, 7)
	for i, hour := range []int{9, 4, 8, 14, 13, 30, -1} {
		at := time.Time{}
		if hour >= 0 {
			at = day.Add(time.Duration(hour) * time.Hour)
		}
		spent[i].date(at)
	}
	intoBlocks(spent)
	var got []string
	for _, s := range spent {
		got = append(got, s.Block)
	}
	first, second, third := "2026-11-20 04:00", "2026-11-20 09:00", "2026-11-20 14:00"
	if want := []string{second, first, first, third, second, "2026-11-21 06:00", unknown}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if s := spent[0]; s.Week != "2026-11-16" || s.Month != "2026-11" || s.Day != "2026-11-20" {
		t.Errorf("%+v", s)
	}
	sunday := spending{}
	if sunday.date(day.AddDate(0, 0, 2)); sunday.Week != "2026-11-16" {
		t.Errorf("%+v", sunday)
	}
}

// The status line counts a day, and counts again only when that is cheap or another day begins.
func TestUsageLine(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude/projects/-work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	const one, two = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002"
	say := func(id string, at time.Time, tokens int) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(dir, id+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fmt.Fprintf(f, `{"type":"assistant","sessionId":"%[1]s","uuid":"u%[2]d","timestamp":"%[3]s","cwd":"/work","version":"2.1.332","requestId":"r%[2]d","message":{"id":"m%[1]s%[2]d","model":"claude-opus-5-5","role":"assistant","type":"message","content":[{"type":"text","text":"ok"}],"usage":{"input_tokens":%[2]d,"output_tokens":0}}}`+"\n",
			id, tokens, at.UTC().Format(time.RFC3339))
	}
	line := func(status string) string {
		t.Helper()
		var out strings.Builder
		env := &cli.Env{Args: []string{"usage", "--line"}, Stdin: strings.NewReader(status), Stdout: &out, Stderr: t.Output(), Environ: []string{"HOME=" + home}, Dir: home, Now: func() time.Time { return now }}
		if code := cli.Run(env, Program()); code != 0 {
			t.Errorf("%s: code %d", status, code)
		}
		return strings.TrimSuffix(out.String(), "\n")
	}
	expect := func(status, want string) {
		t.Helper()
		if got := line(status); got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
	say(one, now.AddDate(0, 0, -1), 1000)
	say(one, now, 2000)
	say(two, now, 500_000)
	say("aaaaaaaa-0000-4000-8000-000000000003", now.AddDate(0, 0, -1), 7_000_000)
	expect(`{"session_id":"`+one+`","model":{"id":"x"}}`, "3.0k tokens $0.0120 · today 502.0k tokens $2.01")
	expect(`{"session_id":"`+one+`","cost":{"total_cost_usd":1.25}}`, "3.0k tokens $1.25 · today 502.0k tokens $2.01")
	expect(`{"session_id":"none"}`, "today 502.0k tokens $2.01")
	expect(``, "today 502.0k tokens $2.01")

	// The counting took no time by this clock, so it is not worth keeping.
	now = now.Add(time.Second)
	say(two, now, 1000)
	expect(`{"session_id":"`+two+`"}`, "501.0k tokens $2.00 · today 503.0k tokens $2.01")
	cache := filepath.Join(home, ".local/state/gt/.sessions/usage.json")
	slow := fmt.Sprintf(`{"day":"2026-11-20","at":"%s","took":1000000000,"today":{"input":7},"sessions":{"%s":{"input":5}}}`, now.UTC().Format(time.RFC3339), one)
	if err := os.WriteFile(cache, []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.Add(20 * time.Second)
	expect(`{"session_id":"`+one+`"}`, "5 tokens · today 7 tokens")
	now = now.Add(time.Second)
	expect(`{"session_id":"`+one+`"}`, "3.0k tokens $0.0120 · today 503.0k tokens $2.01")
	if err := os.WriteFile(cache, []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	now = now.AddDate(0, 0, 1)
	expect(`{"session_id":"`+one+`"}`, "3.0k tokens $0.0120 · today 0 tokens")
}

// What cannot be read ahead is read again where its error is told, and is not taken for empty.
func TestReadAheadKeepsNoFailure(t *testing.T) {
	s := &catalog.Session{}
	s.ID, s.File = "one", conversation.File{Client: "claude", Path: t.TempDir()}
	n := &counter{}
	if n.readAhead([]*catalog.Session{s}); n.ahead["one"] != nil {
		t.Error("a folder was read as a conversation")
	}
}

// A line that is longer than an answer may be is cut, around what was found in it, and not
// left out.
func TestMCPAnswerOfALongLine(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".claude/projects/-work")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("é lamp ", 20_000)
	record := fmt.Sprintf(`{"type":"user","sessionId":"one","uuid":"u1","timestamp":"2026-11-20T10:00:00Z","cwd":"/work","version":"2.1.332","message":{"role":"user","content":"begin %s needle %s"}}`, long, long)
	if err := os.WriteFile(filepath.Join(dir, "one.jsonl"), []byte(record+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := &cli.Env{Environ: []string{"HOME=" + home}, Dir: home, Now: time.Now}
	for in, want := range map[arguments]string{{Query: "needle"}: "needle", {Query: "needle", Regexp: true}: "needle", {Session: "one"}: "begin é lamp"} {
		name := "search"
		if in.Session != "" {
			name = "read"
		}
		tool := tools[slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })]
		text, failed := (&server{Everywhere: true}).runTool(env, tool, in)
		if failed || !strings.Contains(text, want) || len(text) > maxResult+100 || strings.Contains(text, "error: ") || !utf8.ValidString(text) {
			t.Errorf("%+v: %d bytes, %v: %.200s", in, len(text), failed, text)
		}
		if cut := strings.HasSuffix(text, "\n[cut: ask for less]\n"); cut != (want != "needle") {
			t.Errorf("%+v: cut %v", in, cut)
		}
	}
}
