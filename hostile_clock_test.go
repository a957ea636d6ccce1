package gt_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"
	"gt/lib/cli"
	"gt/lib/command/checkpointcmd"
	"gt/lib/command/handoffcmd"
	"gt/lib/command/keepalivecmd"
	"gt/lib/command/krccmd"
	"gt/lib/command/mailcmd"
	"gt/lib/command/primecmd"
	"gt/lib/command/seancecmd"
)

// runAtTime runs a program in this process, under a clock of its own.
func (w *world) runAtTime(now time.Time, program cli.Program, dir, stdin string, args ...string) answer {
	w.Helper()
	var out, errs strings.Builder
	env := &cli.Env{
		Args: args, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs, Environ: w.Env, Dir: w.Path(dir),
		Now: func() time.Time { return now },
	}
	code := cli.Run(env, program)
	a := answer{Line: env.Name + " " + strings.Join(args, " "), Code: code, Out: out.String(), Errs: errs.String()}
	w.sane(a)
	return a
}

// A clock that jumps back and forth, by years, loses nothing and keeps nothing
// for ever: at each stop what is saved is there for the next start, an agent
// that gives a sign is alive and no age is negative; and what was written under
// a wrong clock neither blocks nor counts as new.
// Lines: S1-5 S1-87 S1-110.
func TestHostileClock(t *testing.T) {
	testenv.Sample(t, 3)
	w := newWorld(t)
	t.Setenv("HOME", w.Path(homeDir)) // for git
	w.Env = append(w.Env, "GT_SESSION_UUID=s1")
	start := time.Now()
	hook := func(now time.Time, program cli.Program, input map[string]string, args ...string) answer {
		w.told++
		input["n"], input["cwd"], input["session_id"] = fmt.Sprint(w.told), w.Path(work), "s1"
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		return w.runAtTime(now, program, work, string(data), args...)
	}
	for name, now := range map[string]time.Time{
		"an hour on": start.Add(time.Hour), "a year back": start.AddDate(-1, 0, 0), "2106": time.Date(2106, 2, 7, 6, 28, 16, 0, time.UTC),
		"1970": time.Unix(1, 0), "now": start, "a second back": start.Add(-time.Second), "9999": time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) { // in any order
			w.TB = t
			hook(now, keepalivecmd.Program(), map[string]string{"tool_name": "Bash"}, "touch", "--hook")
			if a := w.runAtTime(now, keepalivecmd.Program(), work, "", "check"); a.Code != 0 || strings.Contains(a.Out, "-") {
				t.Errorf("%s: %d, %s %s", a.Line, a.Code, a.Out, a.Errs)
			}
			for _, later := range []time.Duration{-48 * time.Hour, 48 * time.Hour, -200 * 365 * 24 * time.Hour} {
				if a := w.runAtTime(now.Add(later), keepalivecmd.Program(), work, "", "check"); a.Code != 1 || strings.Contains(a.Out, "-") {
					t.Errorf("%v later: %s: %d, %s %s", later, a.Line, a.Code, a.Out, a.Errs)
				}
			}
			hook(now, checkpointcmd.Program(), map[string]string{"last_assistant_message": "said in " + name}, "write", "--hook")
			a := w.runAtTime(now, checkpointcmd.Program(), work, "", "read")
			if !strings.Contains(a.Out, "said in "+name) || !strings.Contains(a.Out, "from 0s ago") || strings.Contains(a.Out, "stale") {
				t.Errorf("%s: %s %s", a.Line, a.Out, a.Errs)
			}
			if a := w.runAtTime(now.Add(-time.Hour), checkpointcmd.Program(), work, "", "read"); strings.Contains(a.Out, "ago: -") || strings.Contains(a.Out, "from -") {
				t.Errorf("%s: %s", a.Line, a.Out)
			}
			hook(now, handoffcmd.Program(), map[string]string{"hook_event_name": "PreCompact", "transcript_path": w.Path(conversation)}, "--auto", "--hook")
			told := hook(now, primecmd.Program(), map[string]string{"source": "compact"}, "--hook")
			if !strings.HasPrefix(told.Out, "Context compacted.") || !strings.Contains(told.Out, "kept word for word") {
				t.Errorf("after a compaction the agent is told %s %s", told.Out, told.Errs)
			}
			state := w.runAtTime(now, primecmd.Program(), work, "", "--state", "--json")
			if state.Code != 0 || strings.Contains(state.Out, `"checkpoint_age":"-`) {
				t.Errorf("%s: %s", state.Line, state.Out)
			}
			for _, program := range []cli.Program{seancecmd.Program(), mailcmd.Program(), krccmd.Program()} {
				if a := w.runAtTime(now, program, work, ""); a.Code != 0 || strings.Contains(a.Out, " -") && !strings.Contains(a.Line, "krc") {
					t.Errorf("%s: %d, %s %s", a.Line, a.Code, a.Out, a.Errs)
				}
			}
			if s := w.ok(w.runAtTime(now, seancecmd.Program(), work, "", "show", "s1", "--json")); !strings.Contains(s.Out, `"outcome":"active"`) {
				t.Errorf("%s: %s", s.Line, s.Out)
			}
			if c := w.Read(w.kept(work, "checkpoint-s2.json")); c == "" && now.Before(start.AddDate(0, 0, 7)) {
				t.Error("the other session's checkpoint is lost")
			}
		})
	}
	w.TB = t
	// The cool-down of a cycle is told by its file, however wrong that is.
	env := []string{"GT_SESSION_UUID=s1"}
	for _, c := range []struct {
		at   time.Time
		code int
	}{{start.AddDate(80, 0, 0), 0}, {time.Unix(1, 0), 0}, {time.Now().Add(time.Hour), 0}, {time.Now(), 75}} {
		if err := os.Chtimes(w.Path(w.kept(work, "last_handoff_ts")), c.at, c.at); err != nil {
			t.Fatal(err)
		}
		if a := w.runWith(env, work, nil, "gt-handoff", "--cycle"); a.Code != c.code {
			t.Errorf("with a cycle in %v: %d, %s", c.at, a.Code, a.Errs)
		}
		if a := w.runWith(env, work, nil, "gt-handoff", "--cycle"); a.Code != 75 {
			t.Errorf("after a cycle in %v: %d, %s", c.at, a.Code, a.Errs)
		}
	}
	// What a killed program left is taken away, whenever it says that it was.
	for _, at := range []time.Time{start.AddDate(80, 0, 0), time.Unix(1, 0)} {
		for _, left := range []string{".session_id.gt-tmp-00"} {
			w.Write(w.kept(work, left), "a key")
			if err := os.Chtimes(w.Path(w.kept(work, left)), at, at); err != nil {
				t.Fatal(err)
			}
		}
		w.ok(w.hook(work, "new-"+fmt.Sprint(at.Year()), "SessionStart", "gt-prime", "--hook"))
		for _, left := range []string{".session_id.gt-tmp-00"} {
			if w.Read(w.kept(work, left)) != "" {
				t.Errorf("%s of %v stays", left, at)
			}
		}
	}
}
