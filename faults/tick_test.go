//go:build linux

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/lifecycle"
	"gt/lib/state/route"
	"gt/lib/state/work"
)

// What changes sessions of templates has invariants of its own: wherever it is disturbed,
// a marker is only where an agent runs, and the next ticks bring about what an undisturbed
// run does, or what there would be without it. No work is lost or there twice.
//
// The agents are run by a program that notes them as files: tmux has a suite of its own.
var ticking = []scenario{
	{name: "tick-create", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) { templates(t, w, 1, 2, "") }},
	{name: "tick-complete", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 1, 2, "")
		w.mustRun(t, "", "work", "gt-reconcile", "tick")
	}},
	{name: "tick-drain", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 2, 2, "")
		w.settle(t)
		templates(t, w, 1, 1, "")
		w.mustRun(t, "", "work", "gt-reconcile", "tick") // which has to agree
	}},
	{name: "tick-archive", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 0, 2, "")
		w.mustRun(t, "", "work", "gt-session", "new", "--template", "worker", "--set", "env.KEY=hunter2")
		w.mustRun(t, "", "work", "gt-session", "drain-all", "--template", "worker")
	}},
	{name: "tick-prune", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 0, 2, "")
		w.mustRun(t, "", "work", "gt-session", "new", "--template", "worker", "--set", "env.KEY=hunter2")
		w.mustRun(t, "", "work", "gt-session", "drain-all", "--template", "worker")
		w.mustRun(t, "", "work", "gt-reconcile", "tick")
		templates(t, w, 0, 2, "max_archived = 0")
	}},
	{name: "tick-reactivate", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 0, 2, "wake = resume")
		w.mustRun(t, "", "work", "gt-session", "new", "--template", "worker")
		w.mustRun(t, "", "work", "gt-session", "drain-all", "--template", "worker")
		w.settle(t)
		templates(t, w, 1, 2, "wake = resume")
	}},
	{name: "tick-restart", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 1, 1, "")
		w.settle(t)
		w.crash(t)
	}},
	{name: "tick-quarantine", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 1, 1, "restarts = 0")
		w.settle(t)
		w.crash(t)
	}},
	{name: "tick-new", args: []string{"gt-session", "new", "--template", "worker", "--set", "env.KEY=hunter2", "--set", "name=bob"}, again: 1, prepare: func(t *testing.T, w *world) { templates(t, w, 0, 3, "") }},
	{name: "tick-suspend", args: []string{"gt-session", "suspend", "worker"}, again: 1, prepare: employed},
	{name: "tick-resume", args: []string{"gt-session", "resume", "worker~1"}, again: 1, prepare: func(t *testing.T, w *world) {
		employed(t, w)
		w.mustRun(t, "", "work", "gt-session", "suspend", "worker")
	}},
	{name: "tick-close", args: []string{"gt-session", "close", "worker~1"}, again: 1, prepare: employed},
	{name: "tick-ask-drain", args: []string{"gt-session", "drain", "worker"}, again: 1, prepare: claimed},
	{name: "tick-drain-all", args: []string{"gt-session", "drain-all", "--template", "worker"}, prepare: employed},
	{name: "tick-free", args: []string{"gt-session", "suspend", "worker"}, again: 1, prepare: claimed},
	{name: "tick-free-close", args: []string{"gt-session", "close", "worker~1"}, again: 1, prepare: claimed},
	{name: "tick-free-release", args: []string{"gt-session", "suspend", "worker"}, again: 1, prepare: func(t *testing.T, w *world) {
		claimed(t, w)
		templates(t, w, 0, 2, `orphaned_work = "release"`)
	}},
	{name: "tick-free-archive", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		claimed(t, w)
		templates(t, w, 0, 2, `drain_timeout = "1ms"`)
		w.mustRun(t, "", "work", "gt-session", "drain", "worker")
	}},
	{name: "tick-free-quarantine", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		claimed(t, w)
		templates(t, w, 0, 2, "restarts = 0")
		w.crash(t)
	}},
	{name: "tick-clear", args: []string{"gt-reconcile", "tick"}, prepare: func(t *testing.T, w *world) {
		templates(t, w, 1, 1, "restarts = 0, backoff = 1ms")
		w.settle(t)
		w.crash(t)
		w.mustRun(t, "", "work", "gt-reconcile", "tick")
	}},
	{name: "tick-admin-close", args: []string{"gt-session", "admin-close", "--offline", "--yes", "worker~1"}, again: 1, prepare: claimed},
	{name: "work-give", args: []string{"gt-mail", "work", "give", "worker", "-s", "Port the parser", "-m", "all of it"}, prepare: employed},
	{name: "work-claim", args: []string{"gt-mail", "work", "claim"}, env: asMember, again: 1, prepare: given},
	{name: "work-done", args: []string{"gt-mail", "work", "done", "NOTE"}, env: asMember, again: 1, prepare: claimed},
	{name: "work-back", args: []string{"gt-mail", "work", "back", "NOTE"}, again: 1, prepare: claimed},
}

// asMember is the environment of the agent of the one session.
var asMember = []string{"GT_INSTANCE=MEMBER"}

// given has one session, and work that nobody has.
func given(t *testing.T, w *world) {
	employed(t, w)
	all, err := w.sessions().ReadInstances()
	noError(t, err)
	w.vars["MEMBER"] = w.sessions().Name(all[0].ID) + ":1"
	w.vars["NOTE"] = strings.Fields(w.mustRun(t, "", "work", "gt-mail", "work", "give", "worker", "-s", "Port the parser", "-m", "all of it").stdout)[0]
}

// claimed has one session, which has the work.
func claimed(t *testing.T, w *world) {
	given(t, w)
	w.withEnv(asMember...).mustRun(t, "", "work", "gt-mail", "work", "claim")
}

func (w *world) sessions() instance.Store { return instance.Personal(place.StateOf(w.Getenv), "") }

// employed has one session, with a secret.
func employed(t *testing.T, w *world) {
	templates(t, w, 0, 2, "")
	w.mustRun(t, "", "work", "gt-session", "new", "--template", "worker", "--set", "env.KEY=hunter2")
}

// templates makes a world with a pool. more is a key of the pool, or a word for one of
// another table.
func templates(t *testing.T, w *world, least, most int, more string) {
	t.Helper()
	noError(t, os.MkdirAll(w.Path("work"), 0o700))
	noError(t, os.MkdirAll(w.Path("runs"), 0o700))
	noError(t, os.MkdirAll(w.Path("home/.config/gt"), 0o700))
	noError(t, os.MkdirAll(w.Path("programs"), 0o700))
	agent, defaults := "", `allow_env_override = ["KEY"]`
	switch more {
	case "wake = resume":
		more, defaults = "", defaults+"\nwake_mode = \"resume\""
	case "restarts = 0":
		more, agent = "", "max_restarts_per_window = 0"
	case "restarts = 0, backoff = 1ms":
		more, agent = `quarantine_backoff_cap = "1ms"`, "max_restarts_per_window = 0"
	}
	put(t, w.Path("home/.config/gt/town.toml"), fmt.Sprintf(`
[session]
provider = "exec:%s"
[[agent]]
name = "worker"
provider = "claude"
work_dir = %q
%s
[agent.pool]
min = %d
max = %d
%s
[agent.defaults]
%s
`, w.Path("programs/agents"), w.Path("work"), agent, least, most, more, defaults))
	noError(t, os.WriteFile(w.Path("programs/agents"), []byte(`#!/bin/sh
for id in $(grep -o '"id":"[^"]*"' | cut -d'"' -f4); do
	at=$SCENE/runs/${id##*/}
	case $1 in
	start) : >"$at" ;;
	stop) rm -f "$at" ;;
	alive) if [ -e "$at" ]; then echo "$id yes"; else echo "$id no"; fi ;;
	esac
done
`), 0o700))
}

// crash ends all agents.
func (w *world) crash(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(w.Path("runs"))
	noError(t, err)
	for _, e := range entries {
		noError(t, os.Remove(w.Path("runs", e.Name())))
	}
}

// awaitQuiet waits until nothing runs any more that a killed command has left: it would end an
// agent in the world that is put back for the next point.
func (w *world) awaitQuiet(t *testing.T) {
	t.Helper()
	here := []byte("SCENE=" + w.Root + "\x00")
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(time.Millisecond) {
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		if !slices.ContainsFunc(all, func(path string) bool {
			data, _ := os.ReadFile(path)
			return bytes.Contains(data, here)
		}) {
			return
		}
	}
	t.Fatal("something that a killed command has left does not end")
}

// settle makes ticks until the plan changes nothing and waits for nothing, and returns what
// went wrong with them.
func (w *world) settle(t *testing.T) (problems []string) {
	t.Helper()
	quiet := 0 // a shrink waits for a second tick
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		r := w.run(t, "", "work", "gt-reconcile", "tick")
		if r.code != 0 {
			problems = append(problems, fmt.Sprintf("a tick after it: %v", r))
		}
		if quiet++; r.stdout != "" {
			quiet = 0
		}
		if quiet < 2 {
			continue
		}
		plan := w.run(t, "", "work", "gt-reconcile", "plan", "--json").stdout
		var changes, waits bool
		for line := range strings.Lines(plan) {
			changes = changes || !strings.Contains(line, `"change":"nothing"`)
			// A start that failed is tried again after a pause; an agent of which nothing is
			// known now is asked for again.
			waits = waits || strings.Contains(line, "started before") || strings.Contains(line, "nothing tells whether")
		}
		if !changes && !waits {
			return problems
		}
		if waits {
			time.Sleep(100 * time.Millisecond)
		}
	}
	return append(problems, "ticks do not come to rest")
}

// crew is what there is of sessions, whatever their names are, and what must never be.
func (w *world) crew() (told string, problems []string) {
	s := w.sessions()
	s.Warn = func(err error) { problems = append(problems, err.Error()) }
	all, err := s.ReadInstances()
	for _, folder := range []string{instance.Archived, instance.Closed} {
		more, merr := s.ReadFolder(folder)
		all, err = append(all, more...), errors.Join(err, merr)
	}
	markers, merr := route.NewMarkers(s).ReadMarkers()
	if err = errors.Join(err, merr); err != nil {
		return "", append(problems, err.Error())
	}
	var lines []string
	running := 0
	for _, in := range all {
		_, gone := os.Stat(w.Path("runs", string(in.ID)))
		if gone == nil {
			running++
		}
		marked := false
		for _, names := range markers {
			marked = marked || slices.Contains(names, in.Name)
		}
		if m := in.Managed; marked && (m.State != lifecycle.Active || gone != nil && m.CrashCount == 0) {
			problems = append(problems, fmt.Sprintf("%s is %s and has a marker, runs: %v", in.Name, m.State, gone == nil))
		}
		lines = append(lines, fmt.Sprintf("%s %s runs=%v marked=%v", in.Managed.State, in.Managed.Reason, gone == nil, marked))
	}
	notes, err := work.NewWork(s).List()
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, n := range notes {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("work, claimed=%v %s %s", n.Holder != "", n.Blocked, n.Problem)))
	}
	finished, _ := filepath.Glob(s.State.Path(s.Root(), "work/*/done/*"))
	for range finished {
		lines = append(lines, "work, done")
	}
	entries, err := os.ReadDir(w.Path("runs"))
	if err == nil && len(entries) != running {
		problems = append(problems, fmt.Sprintf("%d agents run, and %d of them are sessions'", len(entries), running))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), problems
}

// secret returns where a secret stands that nobody may have any more.
func (w *world) secret() (problems []string) {
	root := string(place.StateOf(w.Getenv))
	_ = filepath.WalkDir(root, func(path string, d os.DirEntry, _ error) error {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "hunter2") {
			problems = append(problems, path+" holds a secret of a session that is closed")
		}
		return nil
	})
	return problems
}

// planTick is newPlan, and what may come of it: what comes of the command, or what would
// without it.
func planTick(t *testing.T, s scenario) (p *plan, may []string) {
	t.Helper()
	p = newPlan(t, s)
	if s.name == "tick-quarantine" {
		// The marker goes first, and what is active with no marker and no agent is resumed,
		// as a death with no restart due: what it was, the record does not tell.
		may = append(may, "active resumed runs=true marked=true")
	}
	if s.name == "tick-free-quarantine" { // the same, of a pool that wants none
		may = append(may, "suspended crash_recovery runs=false marked=false\nwork, claimed=true session_quarantined",
			"suspended crash_recovery runs=false marked=false\nwork, claimed=true session_suspended")
	}
	if s.name == "tick-reactivate" {
		// An archived session that runs is ended, as its record is all that counts, and the
		// pool has another one meanwhile.
		may = append(may, "active creation_complete runs=true marked=true\narchived drain_complete runs=false marked=false")
	}
	for _, did := range []bool{true, false} {
		p.w.restore(t)
		if did {
			p.runAgain(t)
			p.did, _ = p.w.crew()
		}
		problems := p.w.settle(t)
		told, more := p.w.crew()
		if problems = append(problems, more...); len(problems) > 0 {
			t.Fatalf("undisturbed: %s", problems)
		}
		may = append(may, told)
	}
	least := 10
	if strings.HasPrefix(s.name, "work-") {
		least = 3 // work is moved by one rename
	}
	if n := len(p.points()); n < least {
		t.Fatalf("it changes something with %d system calls only: it has nothing to do", n)
	}
	return p, may
}

// soundTick says what does not hold after a disturbed run. Where an earlier disturbance left
// the same world, the ticks that follow did then what they would do now.
func (p *plan) soundTick(t *testing.T, may []string, began time.Time) []string {
	t.Helper()
	now, err := p.w.look()
	if err != nil {
		return []string{err.Error()}
	}
	key := now.key() + p.w.roll()
	if time.Since(began) > 5*time.Second {
		return p.settles(t, may) // something is due by now that otherwise is not
	}
	known, ok := p.nexts[key]
	if !ok {
		known.problems = p.settles(t, may)
		p.nexts[key] = known
	}
	return known.problems
}

// roll is which session runs and which has a marker, of those that have a fixed name.
func (w *world) roll() string {
	var b strings.Builder
	for _, dir := range []string{w.Path("runs"), w.sessions().State.Path(w.sessions().Root(), "route")} {
		_ = filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error {
			if _, err := os.Lstat(strings.Replace(path, w.Root, w.Root+".kept", 1)); err == nil {
				fmt.Fprintln(&b, path)
			}
			return nil
		})
	}
	return b.String()
}

// settles has ticks follow on a disturbed run, and says what does not hold before and after.
func (p *plan) settles(t *testing.T, may []string) []string {
	t.Helper()
	_, problems := p.w.crew()
	if p.name == "tick-restart" || strings.HasSuffix(p.name, "-quarantine") {
		problems = nil // an agent that has crashed has its marker until a tick sees it
	}
	problems = append(problems, p.w.settle(t)...)
	told, more := p.w.crew()
	problems = append(problems, more...)
	if !slices.Contains(may, told) {
		problems = append(problems, fmt.Sprintf("it comes to\n%s\nand not to\n%s", told, strings.Join(may, "\nnor\n")))
	}
	if told != "" && !strings.Contains(strings.ReplaceAll(told, "\nclosed", ""), "\n") && strings.HasPrefix(told, "closed") {
		problems = append(problems, p.w.secret()...)
	}
	return problems
}

// TestKillTick kills what changes sessions before each of its system calls. [S4-55 S4-56 S4-57 S4-58 S4-59 S4-60 S4-61
// S4-96]
func TestKillTick(t *testing.T) {
	sweep(t, ticking, func(t *tried, s scenario) {
		p, may := planTick(t.T, s)
		points := p.killPoints() // none where rows beside it have tried all that it does
		for _, c := range points {
			began := time.Now()
			r, stop, met := p.disturb(t.T, c, "signal=KILL")
			stop()
			if !met {
				t.Logf("%s: %v was not made again in %d runs: %v", p.name, c, tries, r.code)
				continue
			}
			p.w.awaitQuiet(t.T)
			t.kill(c, p.soundTick(t.T, may, began))
		}
		if t.kills == 0 && len(points) > 0 && full {
			t.Error("it was killed nowhere")
		}
	})
}

// answers says what is wrong with how a command that a person gave answered for a fault:
// what it says was done was done.
func (p *plan) answers(f fault, r result) (problems []string) {
	switch {
	case r.code != 0 && r.code != 1 && r.code != 74 && r.code != 75:
		problems = append(problems, fmt.Sprintf("exit code %d", r.code))
	case f.err == "EINTR" && r.code != 0:
		problems = append(problems, "an interrupted call is no failure")
	}
	if p.args[0] == "gt-reconcile" || r.code != 0 {
		return problems
	}
	if told, _ := p.w.crew(); told != p.did {
		problems = append(problems, fmt.Sprintf("it ends with 0, and there is\n%s\nand not\n%s", told, p.did))
	}
	return problems
}

// TestErrorsTick lets each of its calls fail: what was not written is tried again by the
// next tick. [S4-98]
func TestErrorsTick(t *testing.T) {
	sweep(t, ticking, func(t *tried, s scenario) {
		p, may := planTick(t.T, s)
		for _, f := range faultsOf(p.calls, func(i int, _ call) bool { return nth(i, 54) }) {
			began := time.Now()
			r, stop, met := p.disturb(t.T, f.call, "error="+f.err)
			stop()
			if !met {
				continue
			}
			problems := append(p.answers(f, r), p.soundTick(t.T, may, began)...)
			if len(problems) > 0 {
				problems = append(problems, r.String())
			}
			t.fault(f, problems)
			if took := time.Since(began); took > 20*time.Second {
				t.Logf("%v took %v", f, took)
			}
		}
	})
}
