//go:build linux

package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/client/account"
	"gt/lib/client/readers"
	"gt/lib/client/writers"
	"gt/lib/conversation"
	"gt/lib/record"
)

// What gt-record does has invariants of its own: whatever happens to it, after its next
// run each word of the conversation stands in the record once, in order, or, where the
// record was removed, nowhere.
var recording = append([]scenario{
	{
		name: "record-sync", args: []string{"gt-record", "sync", "one"}, dir: "work",
		prepare: func(t *testing.T, w *world) { held(t, w, 4) },
	},
	{
		name: "record-sync-more", short: true, args: []string{"gt-record", "sync", "one"}, dir: "work",
		prepare: func(t *testing.T, w *world) {
			held(t, w, 2)
			w.mustRun(t, "", "work", "gt-record", "sync", "one")
			held(t, w, 4)
		},
	},
	{
		name: "record-pack", args: []string{"gt-record", "sync", "--all"}, dir: "work",
		prepare: func(t *testing.T, w *world) { recorded(t, w); grownOld(t, w) },
	},
	{
		name: "record-unpack", short: true, args: []string{"gt-record", "sync", "one"}, dir: "work",
		prepare: func(t *testing.T, w *world) {
			held(t, w, 2)
			w.mustRun(t, "", "work", "gt-record", "sync", "one")
			grownOld(t, w)
			w.mustRun(t, "", "work", "gt-record", "sync", "--all")
			held(t, w, 4)
		},
	},
	{
		name: "record-forget-packed", short: true, args: []string{"gt-record", "forget", "one"}, dir: "work",
		prepare: func(t *testing.T, w *world) {
			recorded(t, w)
			grownOld(t, w)
			w.mustRun(t, "", "work", "gt-record", "sync", "--all")
		},
	},
	{
		name: "record-end", args: []string{"gt-record", "sync", "--hook", "--agent", "claude", "--why", "end", "one"}, dir: "work",
		prepare: func(t *testing.T, w *world) {
			recorded(t, w)
			noError(t, os.MkdirAll(w.Path("home/.config/gt"), 0o700))
			put(t, w.Path("home/.config/gt/config.toml"), "[record]\non = true\n")
		},
	},
	{
		name: "record-clear", args: []string{"gt-record", "context", "clear", "one"}, dir: "work",
		prepare: recorded,
	},
	{
		name: "record-forget", short: true, args: []string{"gt-record", "forget", "one"}, dir: "work",
		prepare: recorded,
	},
	{
		name: "record-prune", args: []string{"gt-record", "prune"}, dir: "work",
		prepare: recorded,
	},
}, conversions()...)

// conversions are a conversion for each client that gt writes for.
func conversions() (all []scenario) {
	for _, w := range writers.Writers {
		all = append(all, scenario{
			name: "record-convert-" + w.Client(), args: []string{"gt-record", "convert", "one", "--to", w.Client()}, dir: "work",
			prepare: convertible,
		})
	}
	return all
}

// opencode stands for OpenCode, which takes in a conversation itself: it keeps the file.
const opencode = `#!/bin/sh
case $1 in
models) echo p/m ;;
import)
	id=$(sed -n 's/.*"info":{[^}]*"id":"\(ses_[^"]*\)".*/\1/p' "$3" | head -1)
	cp "$3" "$HOME/.local/share/opencode/$id" && echo "Imported session: $id"
	;;
esac
`

// convertible has a record and the folders of the clients as which it can go on.
func convertible(t *testing.T, w *world) {
	recorded(t, w)
	for _, dir := range []string{".codex", ".gemini", ".qwen", ".pi/agent", ".local/share/opencode", ".kimi-code"} {
		noError(t, os.MkdirAll(w.Path("home", dir), 0o700))
	}
	noError(t, os.MkdirAll(w.Path("bin"), 0o700))
	w.Env = append(w.Env, "PATH="+w.Path("bin")+":"+w.Getenv("PATH"))
	noError(t, os.WriteFile(w.Path("bin/opencode"), []byte(opencode), 0o700))
}

// soundCopies says what is wrong with the conversations that were written: each is whole.
func (p *plan) soundCopies(healed bool) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	to := p.args[len(p.args)-1]
	copies := 0
	if to == "opencode" {
		all, _ := filepath.Glob(p.w.Path("home/.local/share/opencode/ses_*"))
		for _, file := range all {
			copies++
			if data, err := os.ReadFile(file); err != nil || !json.Valid(data) || strings.Count(string(data), `"role":"user"`) != 4 {
				wrong("%s is half written, %v", file, err)
			}
		}
		if left, _ := os.ReadDir(p.w.Path("tmp")); healed && len(left) > 0 {
			wrong("%s was left behind", left[0].Name())
		}
	}
	r := readers.FindReader(to)
	for _, store := range account.Stores(to, p.w.Getenv) {
		_ = r.Find(store, func(f conversation.File) { // a store may be missing
			if f.Path == p.w.Path("home/.claude/projects/-work/one.jsonl") {
				return
			}
			copies++
			var words []string
			results := 0
			_, err := r.Read(f, conversation.Options{}, func(e conversation.Entry) bool {
				if e.Kind == conversation.Prompt {
					words = append(words, strings.Clone(e.Text))
				}
				if e.Kind == conversation.Result {
					results++
				}
				return true
			})
			if err != nil || !slices.Equal(words, []string{"ask 0", "ask 1", "ask 2", "ask 3"}) || results != 4 {
				wrong("%s is half written: %q, %d results, %v", f.Path, words, results, err)
			}
		})
	}
	if healed && copies == 0 {
		wrong("nothing was written")
	}
	return problems
}

// held makes a conversation of that many turns, each with a large result.
func held(t *testing.T, w *world, turns int) {
	t.Helper()
	dir := w.Path("home/.claude/projects/-work")
	noError(t, os.MkdirAll(dir, 0o700))
	noError(t, os.MkdirAll(w.Path("work"), 0o700))
	var b strings.Builder
	for i := range turns {
		at := fmt.Sprintf("2020-01-17T01:%02d:00Z", i)
		fmt.Fprintf(&b, `{"type":"user","uuid":"u%d","cwd":%q,"timestamp":%q,"message":{"role":"user","content":"ask %d"}}`+"\n", i, w.Path("work"), at, i)
		fmt.Fprintf(&b, `{"type":"assistant","uuid":"a%d","timestamp":%q,"message":{"id":"m%d","model":"m","role":"assistant","content":[{"type":"tool_use","id":"t%d","name":"Read","input":{"file_path":"f"}}]}}`+"\n", i, at, i, i)
		fmt.Fprintf(&b, `{"type":"user","uuid":"r%d","timestamp":%q,"message":{"role":"user","content":[{"tool_use_id":"t%d","type":"tool_result","content":"%d%s"}]}}`+"\n", i, at, i, i, strings.Repeat("x", 70_000))
	}
	put(t, filepath.Join(dir, "one.jsonl"), b.String())
}

func recorded(t *testing.T, w *world) {
	t.Helper()
	held(t, w, 4)
	w.mustRun(t, "", "work", "gt-record", "sync", "one")
}

// grownOld makes the record one to which nothing was written for long.
func grownOld(t *testing.T, w *world) {
	t.Helper()
	all, err := filepath.Glob(w.Path("home/.agent/sessions/*.jsonl"))
	noError(t, err)
	for _, path := range all {
		noError(t, os.Chtimes(path, time.Time{}, time.Date(2020, 1, 17, 1, 0, 0, 0, time.UTC)))
	}
}

// soundRecord says what does not hold after a disturbed run and, with healed, after the
// next.
func (p *plan) soundRecord(healed bool) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	s, err := record.StoreOf(p.w.Getenv)
	if err != nil {
		return []string{err.Error()}
	}
	ending := p.name == "record-end"
	if log, err := os.ReadFile(p.w.Path("home/.local/state/gt/.events.jsonl")); healed && ending && !strings.Contains(string(log), "record_head") {
		wrong("the log does not have the head, %v", err)
	}
	entries, _ := os.ReadDir(s.Sessions)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".lock-") {
			if err := free(filepath.Join(s.Sessions, e.Name())); err != nil {
				wrong("%v", err)
			}
		} else if ending && strings.HasSuffix(e.Name(), ".json") {
			var whole struct{ Messages []any }
			if data, err := os.ReadFile(filepath.Join(s.Sessions, e.Name())); err != nil || json.Unmarshal(data, &whole) != nil || len(whole.Messages) != 4 {
				wrong("%s is not whole, %v", e.Name(), err)
			}
		} else if healed && !strings.HasSuffix(strings.TrimSuffix(e.Name(), ".gz"), ".jsonl") && !strings.Contains(e.Name(), tmpMark) {
			wrong("%s was left behind", e.Name())
		}
	}
	ids, err := s.IDs()
	if err != nil || len(ids) > 1 || healed && len(ids) == 0 {
		return append(problems, fmt.Sprintf("%d records, %v", len(ids), err))
	}
	removes := p.args[1] == "forget" || p.args[1] == "prune"
	for _, id := range ids {
		var words []string
		gone := false
		if err := s.Lines(id, func(l record.Line) bool {
			if l.Kind == record.Kind(conversation.Prompt) {
				words = append(words, l.Text)
			}
			gone = gone || l.Gone != nil
			return true
		}); err != nil {
			wrong("%v", err)
		}
		_, _, torn, err := s.Verify(id, nil)
		var fault *record.Fault
		if err != nil && (healed || !errors.As(err, &fault) || fault.Line > 1) || torn && healed {
			wrong("torn %v, %v", torn, err)
		}
		all := []string{"ask 0", "ask 1", "ask 2", "ask 3"}
		switch {
		case removes && gone && len(words) > 0:
			wrong("of what was removed there is %q", words)
		case removes && healed && !gone:
			wrong("it was not removed")
		case removes && gone:
		case p.args[1] == "sync" && !healed:
			if len(words) > len(all) || !slices.Equal(words, all[:len(words)]) {
				wrong("it says %q", words)
			}
			if p.name != "record-sync" && len(words) < 2 {
				wrong("it lost what it had: %q", words)
			}
		case !slices.Equal(words, all):
			wrong("it says %q", words)
		}
	}
	left, _ := os.ReadDir(s.Contexts)
	kept := 0
	for _, e := range left {
		if !strings.Contains(e.Name(), tmpMark) {
			kept++
		}
	}
	want := 4
	if removes || ending || p.args[1] == "context" {
		want = 0
	}
	if healed && kept != want {
		wrong("%d results are kept aside, not %d", kept, want)
	}
	if p.args[1] == "convert" {
		problems = append(problems, p.soundCopies(healed)...)
	}
	return problems
}

// disturbed holds a disturbed run against what has to hold.
func (p *plan) disturbed(t *testing.T) []string {
	t.Helper()
	problems := p.soundRecord(false)
	r := p.runAgain(t)
	if r.code != 0 {
		problems = append(problems, "the next run: "+r.String())
	}
	return append(problems, p.soundRecord(true)...)
}

// samplePoints leaves out most points of the end of a session: it takes a second each time, for it
// waits for what the client still writes.
func samplePoints[P any](p *plan, points []P) []P {
	i := -1
	return slices.DeleteFunc(points, func(P) bool {
		i++
		return p.name == "record-end" && !nth(i, 24)
	})
}

// TestKillRecord kills gt-record before each of its system calls.
func TestKillRecord(t *testing.T) {
	sweepKills(t, recording, samplePoints[call], func(p *plan, t *testing.T, _ result) []string { return p.disturbed(t) })
}

// TestErrorsRecord lets each of gt-record's calls fail.
func TestErrorsRecord(t *testing.T) {
	sweepFaults(t, recording, samplePoints[fault], func(p *plan, t *testing.T, r result, met bool) (problems []string) {
		if met && !slices.Contains([]int{0, 1, 74, 75}, r.code) {
			problems = append(problems, r.String())
		}
		return append(problems, p.disturbed(t)...)
	})
}
