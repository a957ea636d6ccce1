package gt_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/rivo/uniseg"
)

// spell is what no terminal is to obey and no line to be turned around by: CSI,
// OSC 52 (the clipboard), OSC 8 (a link), the title, a bell, C1, bidi controls;
// and characters that take two columns, or none.
const spell = "\x1b[31mred\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\link\x1b]0;title\x07\u009b2J\u202egnp\u2066x\u2069\u200f\u2028" +
	"日本e\u0301\u0301👩\u200d👩\u200d👧\u200b\U000E0049\U000E0047\u2060\u00ad\ufe00\r\n\tend"

// Escape sequences, bidi controls, characters that nobody sees and megabytes in all
// that gt shows: in every table, text and error of every command nothing is left that
// a terminal obeys, that turns text around or that only a model reads, no line of a table is wider than the terminal, no
// start-up text is longer than its client takes; and --json gives the data as
// it was.
// Lines: S1-117.
func TestHostileTitles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"spell":      spell,
		"long spell": strings.Repeat(spell, 1<<20/len(spell)),
		"accents":    "e" + strings.Repeat("\u0301", 1<<19),
		"one line":   strings.Repeat("x", 1<<20),
		"lines":      strings.Repeat("\n", 1<<20),
		"bytes":      strings.Repeat("\xff\xfe\x9b", 1<<18),
	} {
		t.Run(name, func(t *testing.T) {
			if !full && !strings.Contains(text, spell) && name != "accents" {
				t.Skip("only with GT_THOROUGH=1")
			}
			w := newWorld(t)
			w.curse(text)
			w.Write("home/.claude/settings.json", "{}")
			env := []string{"GT_SESSION_UUID=s1"}
			for _, terminal := range []string{"COLUMNS=80", "COLUMNS=", "NO_COLOR=1", "COLUMNS=20"} {
				if testing.Short() && terminal != "COLUMNS=80" {
					break
				}
				for _, args := range [][]string{
					{"gt-seance"}, {"gt-seance", "show", "s1"}, {"gt-seance", "show", "cursed"}, {"gt-seance", "list", "--recent", "0"},
					{"gt-mail"}, {"gt-mail", "inbox", "--all"}, {"gt-mail", "read", "0000000a"}, {"gt-mail", "read", "0000000b"}, {"gt-mail", "read", "0000000c"},
					{"gt-checkpoint", "read"}, {"gt-keepalive", "show"}, {"gt-keepalive", "check"}, {"gt-keepalive", "pid", "list"},
					{"gt-keepalive", "pid", "reap", "--dry-run"},
					{"gt-prime"}, {"gt-prime", "--state"}, {"gt-prime", "--explain"}, {"gt-handoff", "--print"}, {"gt-handoff", "--dry-run"},
					{"gt-krc"}, {"gt-krc", "decay"}, {"gt-krc", "prune", "--dry-run"}, {"gt-hooks", "status"},
				} {
					if terminal != "COLUMNS=80" && len(text) > len(spell) && args[0] != "gt-seance" {
						continue
					}
					a := w.runWith(append(env, terminal), work, nil, args...)
					table := len(args) == 1 && args[0] != "gt-prime" || slices.Contains([]string{"inbox", "list", "decay"}, args[len(args)-1])
					for line := range strings.Lines(a.Out) {
						columns := uniseg.StringWidth(strings.TrimSuffix(line, "\n"))
						if table && terminal == "COLUMNS=80" && (columns > 80 || len(line) > 80*32) {
							t.Errorf("%s: a line has %d columns and %d bytes: %.200q", a.Line, columns, len(line), line)
						}
					}
				}
			}
			for _, args := range [][]string{
				{"gt-seance", "--json"}, {"gt-seance", "show", "cursed", "--json"}, {"gt-mail", "inbox", "--all", "--json"},
				{"gt-mail", "read", "0000000a", "--json"}, {"gt-checkpoint", "read", "--json"}, {"gt-keepalive", "show", "--json"},
				{"gt-keepalive", "pid", "list", "--json"}, {"gt-prime", "--state", "--json"}, {"gt-krc", "--json"}, {"gt-hooks", "status", "--json"},
			} {
				a := w.runWith(env, work, nil, args...)
				for line := range strings.Lines(a.Out) {
					if !json.Valid([]byte(line)) {
						t.Errorf("%s: %.200q is no JSON", a.Line, line)
					}
				}
				if args[0] == "gt-seance" {
					var s struct {
						ID    string `json:"id"`
						Topic string `json:"topic"`
					}
					for line := range strings.Lines(a.Out) {
						if err := json.Unmarshal([]byte(line), &s); err == nil && s.ID == "cursed" && s.Topic != strings.ToValidUTF8(text, "\ufffd") && name != "bytes" {
							t.Errorf("%s: the topic became %.100q", a.Line, s.Topic)
						}
					}
				}
			}
			for _, source := range []string{"startup", "compact", "resume"} {
				w.told++
				input := fmt.Sprintf(`{"session_id":"new-%s","source":%q,"cwd":%q,"n":%d}`, source, source, w.Path(work), w.told)
				a := w.run(work, strings.NewReader(input), "gt-prime", "--hook")
				if n := len(utf16.Encode([]rune(a.Out))); n == 0 || n > 10_000 {
					t.Errorf("a session that starts by %s is told %d characters", source, n)
				}
			}
			if a := w.hook(work, "new-startup", "PreCompact", "gt-handoff", "--auto", "--hook"); len(a.Out) > 64<<10 || !strings.Contains(a.Out, "gt-mail read") {
				t.Errorf("the summariser is told %d bytes\n%s", len(a.Out), a.Errs)
			}
		})
	}
}

// curse puts a text into all that gt reads.
func (w *world) curse(text string) {
	w.Helper()
	encode := func(v any) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			w.Fatal(err)
		}
		return b.String()
	}
	now := time.Now().UTC().Format(time.RFC3339)
	payload := map[string]any{"session_id": "cursed"}
	for _, key := range []string{
		"role", "actor_pid", "cwd", "topic", "agent", "source", "parent_id", "chain_id", "transcript_path", "branch", "tmux_session",
		"work_unit", "host", "outcome", "reason", "subject", "note", "kind", "to_session", "program", "event", "error",
	} {
		payload[key] = text
	}
	log := w.Read(state + "/.events.jsonl")
	for _, kind := range []string{"session_start", "handoff", "session_end", "hook_error", text} {
		log += encode(map[string]any{"ts": now, "source": text, "type": kind, "actor": text, "visibility": text, "payload": payload})
	}
	w.Write(state+"/.events.jsonl", log)

	most := func(n int) string { return strings.ToValidUTF8(text[:min(len(text), n)], "") }
	record := map[string]any{"id": "s1", "started_at": now, "pid": os.Getpid(), "pid_start": "1", "boot_id": "x", "new": most(1000)}
	for _, key := range []string{"actor", "agent", "role", "rig", "source", "tmux_session", "tmux_pane", "tmux_server", "cwd", "branch", "host", "reason", "work_unit", "molecule_id", "step_ref", "note"} {
		record[key] = most(10_000)
	}
	record["handoff"] = map[string]any{"kind": "auto", "note": most(1000), "marker": most(1000), "reason": most(1000), "at": now}
	w.Write(w.kept(work, "sessions/s1.json"), encode(record))
	saved := map[string]any{"timestamp": now, "session_id": "s1", "modified_files": []string{most(1000), most(1000)}}
	for _, key := range []string{"molecule_id", "current_step", "step_title", "last_commit", "branch", "hooked_bead", "notes", "last_answer", "new"} {
		saved[key] = most(100_000)
	}
	w.Write(w.kept(work, "checkpoint.json"), encode(saved))
	w.Write(w.kept(work, "keepalive.json"), encode(map[string]any{"last_command": most(5000), "timestamp": now, "state": most(5000), "session_id": most(5000)}))
	w.Write(w.kept(work, "handoff"), most(2000)+"\n"+most(1000)+"\n")
	w.Write(w.kept(work, "session_id"), most(2000))
	w.Write(roles+"/default.md", most(200_000))
	w.Write(work+"/.git/HEAD", "ref: refs/heads/"+most(3000))
	w.Write(conversation, encode(map[string]any{
		"type": "user", "cwd": text, "message": map[string]any{"role": "user", "content": text},
	})+encode(map[string]any{
		"type": "assistant", "message": map[string]any{"role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": text},
			map[string]any{"type": "tool_use", "name": text, "id": "1", "input": map[string]any{"command": text, "file_path": text}},
			map[string]any{"type": "tool_use", "name": "Edit", "id": "2", "input": map[string]any{"file_path": text}},
			map[string]any{"type": "tool_use", "name": "Bash", "id": "3", "input": map[string]any{"command": text}},
			map[string]any{"type": "tool_use", "name": "TodoWrite", "id": "4", "input": map[string]any{"todos": []any{map[string]any{"content": text, "status": text}}}},
		}},
	}))
	pids := state + "/.runtime/pids/"
	w.Write(pids+"plain.pid", text)
	if name := strings.NewReplacer("/", "", "\x00", "").Replace(most(100)); name != "" {
		w.Write(pids+name+".pid", "1|x")
		w.Write(work+"/"+name, "")
	}
	// Notes: as they are, in encoded words, and as gt-mail writes them.
	box := w.kept(work, "mail") + "/"
	raw := strings.NewReplacer("\n", " ", "\r", " ").Replace(text)
	w.Write(box+"new/1737075600.M1R0000000a.h", "From: "+raw+"\nSubject: "+raw+"\nX-Gt-Session: "+raw+"\n\n"+text)
	w.Write(box+"cur/1737075600.M2R0000000b.h:2,F", "From: =?utf-8?q?=1B[2J?= <a@x>\nSubject: =?utf-8?q?=1B[31m=0D=0Atwo=E2=80=AElines?=\n\n"+text)
	w.Write(box+"cur/1737075600.M3R0000000c.h:2,F", "From: x\nX-Gt-Type: handoff\nSubject: "+mime.BEncoding.Encode("utf-8", most(500))+"\n\n"+most(1<<20))
	w.run(work, strings.NewReader(most(1<<20)), "gt-mail", "send", "self", "-s", strings.ReplaceAll(most(300), "\x00", ""), "-m", "-")
	w.run(work, nil, "gt-checkpoint", "write", "--notes", strings.ReplaceAll(most(100_000), "\x00", ""))
	w.run(work, nil, "gt-mail", "hook", "--new", "-s", strings.ReplaceAll(most(300), "\x00", ""), "-m", "x")
}
