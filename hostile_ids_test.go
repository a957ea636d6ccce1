package gt_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ids are no session ids, but for the last two.
var ids = []string{
	"../../canary/x", "/etc/passwd", "a/b", ".", "..", "a\x00b", "a\nb", strings.Repeat("x", 4096), "-rf", "-", "--", " s1", "s1 ",
	"$(touch canary/x)", "`touch canary/x`", ";touch canary/x", "%s%n", "\x1b[31m", "\u202eabc", "é", "\xff", "*", "~", "s1.json/../../../canary/x",
	"s1.json", strings.Repeat("x", 128),
}

// An id that comes from outside leads nowhere but to a session: no file is made
// for one that is none, the agent gets its text all the same, and every command
// that takes one says what is wrong with it.
// Lines: S0-1 S1-117.
func TestHostileIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n, id := range ids {
		t.Run(fmt.Sprintf("%.40q", id), func(t *testing.T) {
			w.TB = t
			w.restore()
			w.Write("canary/file", canary)
			good := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`).MatchString(id)
			for i, args := range [][]string{
				{"gt-prime", "--hook"}, {"gt-keepalive", "touch", "--hook"}, {"gt-checkpoint", "write", "--hook"},
				{"gt-handoff", "--auto", "--hook"}, {"gt-keepalive", "end", "--hook"},
			} {
				input, err := json.Marshal(map[string]any{"session_id": id, "cwd": w.Path(work), "hook_event_name": "x", "source": "startup", "n": i})
				if err != nil {
					t.Fatal(err)
				}
				a := w.run(work, bytes.NewReader(input), args...)
				if i == 0 && a.Out == "" {
					t.Errorf("the agent was told nothing: %s", a.Errs)
				}
				if !good && strings.Count(a.Errs, "invalid session id")+strings.Count(a.Errs, "a session id has") != 1 {
					t.Errorf("%s: says %q", a.Line, a.Errs)
				}
			}
			if env := []string{"GT_SESSION_ID=" + id, "GT_SESSION_UUID=" + id, "CLAUDE_CODE_SESSION_ID=" + id}; !strings.Contains(id, "\x00") {
				for _, args := range [][]string{
					{"gt-prime", "--hook"}, {"gt-checkpoint", "write"}, {"gt-checkpoint", "read"}, {"gt-mail", "send", "self", "-s", "x", "-m", "y"},
					{"gt-handoff", "--print"}, {"gt-keepalive", "touch"}, {"gt-checkpoint", "clear"},
				} {
					if a := w.runWith(env, work, nil, args...); a.Code != 0 && args[1] != "read" {
						t.Errorf("%s: %d, %s", a.Line, a.Code, a.Errs)
					}
				}
				for _, name := range []string{"GT_ROLE", "GT_RIG", "GT_CREW", "GT_HOME", "GT_ROOT", "CLAUDE_PROJECT_DIR", "TMUX", "TMUX_PANE", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME", "GT_AGENT", "GT_SESSION", "BEADS_DIR"} {
					if id == "." || id == ".." || strings.HasPrefix(id, "/") || n%4 != 0 && !full {
						continue // a folder, as some of these should be
					}
					if a := w.runWith([]string{name + "=" + id}, work, nil, "gt-prime", "--hook"); a.Out == "" {
						t.Errorf("%s: the agent was told nothing: %s", name, a.Errs)
					}
				}
				for _, c := range []struct {
					args  []string
					codes []int
				}{
					{[]string{"gt-keepalive", "end"}, []int{1, 80}},
					{[]string{"gt-seance", "show"}, []int{1, 80}},
					{[]string{"gt-mail", "read"}, []int{1, 80}},
					{[]string{"gt-mail", "done"}, []int{1, 80}},
					{[]string{"gt-mail", "hook"}, []int{1, 80}},
					{[]string{"gt-keepalive", "pid", "check"}, []int{1, 80}},
					{[]string{"gt-keepalive", "pid", "reap"}, []int{1, 80}},
					{[]string{"gt-handoff"}, []int{1, 80}},
					{[]string{"gt-prime", "--handoff"}, []int{74, 80}},
				} {
					if good || id == "--" || id == "/etc/passwd" && c.args[0] == "gt-prime" {
						continue // one that is known, no argument at all, and a file to be read
					}
					a := w.run(work, nil, append(c.args, id)...)
					if !slices.Contains(c.codes, a.Code) || !strings.Contains(a.Errs, ": error: ") || strings.Count(a.Errs, ": error: ") != 1 || a.Out != "" {
						t.Errorf("%.100s: %d, %q, %q", a.Line, a.Code, a.Out, a.Errs)
					}
				}
			}
			w.canaryLives("")
			w.onlyOurs(regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\.json$`))
		})
	}
}

// rolled is the end of the name of what a file held before.
var rolled = regexp.MustCompile(`\.bak(\.[12])?$`)

// onlyOurs checks that what was made is in the places that gt writes, under
// names that are fit for a file.
func (w *world) onlyOurs(record *regexp.Regexp) {
	w.Helper()
	keeps := w.kept(work)
	err := filepath.WalkDir(w.Root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(w.Root, path)
		if _, lerr := os.Lstat(filepath.Join(w.copy, rel)); lerr == nil || rel == "canary" || rel == "canary/file" {
			return err
		}
		rel = rolled.ReplaceAllString(rel, "") // what a file held before
		base := filepath.Base(rel)
		switch {
		case filepath.Dir(rel) == keeps+"/sessions" && record.MatchString(base):
		case filepath.Dir(rel) == state+"/sessions" && record.MatchString(base+".json"):
		case rel == keeps+"/handover", rel == keeps+"/handover/taken", rel == keeps+"/handover/waiting":
		case strings.HasPrefix(rel, keeps+"/handover/") && record.MatchString(base+".json"):
		case strings.HasPrefix(rel, keeps+"/mail/"):
		case strings.HasPrefix(rel, keeps+"/checkpoint-") && record.MatchString(base):
		case strings.HasPrefix(rel, keeps+"/handoff"):
		case rel == keeps+"/checkpoint.json", strings.HasPrefix(rel, work+"/.git/"):
		default:
			w.Errorf("'%s' was made", rel)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}
