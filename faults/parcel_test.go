//go:build linux

package faults

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gt/lib/place"
	"gt/lib/state/instance"
	"gt/lib/state/thread"
)

// A move has invariants of its own: whatever happens to it, a parcel that can be unpacked is
// of an instance that does not start where it was, and an agent that can be started there
// has all that it needs. The next run completes what was begun.
var moving = []scenario{
	{name: "session-pack", args: []string{"gt-session", "pack", "talks"}, prepare: departing, again: 1},
	{name: "session-unpack", args: []string{"gt-session", "unpack", "--folder", "clone"}, input: "PARCEL", dir: "there", env: []string{"HOME=WORLD/there"}, prepare: arriving},
	{name: "session-unpack-back", args: []string{"gt-session", "unpack"}, input: "PARCEL", prepare: returning},
}

// departing has an agent with a conversation, a thread, a note, and a repository with what
// is nowhere else.
func departing(t *testing.T, w *world) {
	talked(t, w)
	w.mustRun(t, "", ".", "git", "clone", "-q", "work", "there/clone")
	w.mustRun(t, "", "work", "git", "checkout", "-q", "-b", "fix")
	w.mustRun(t, "", "work", "git", "commit", "-q", "--allow-empty", "-m", "fixed")
	put(t, w.Path("work/new"), "new\n")
	w.mustRun(t, "", "work", "gt-mail", "send", "work", "-s", "fix the lamp", "-m", "It flickers.")
	noError(t, os.MkdirAll(w.Path("home/.local/state/gt/threads"), 0o700))
	put(t, w.Path("home/.local/state/gt/threads/s-old.json"), `{"chain_id":"s-old","instructions":[{"text":"never push","kind":"never"}]}`)
	noError(t, os.MkdirAll(w.Path("bin"), 0o700))
	noError(t, os.WriteFile(w.Path("bin/claude"), []byte("#!/bin/sh\n"), 0o700))
	w.Env = append(w.Env, "PATH="+w.Path("bin")+":"+w.Getenv("PATH"))
}

// arriving has its parcel.
func arriving(t *testing.T, w *world) {
	departing(t, w)
	w.vars["PARCEL"] = w.mustRun(t, "", "work", "gt-session", "pack", "talks").stdout
}

// returning has it back from there, with more.
func returning(t *testing.T, w *world) {
	arriving(t, w)
	noError(t, os.MkdirAll(w.Path("work/.git/info"), 0o700))
	put(t, w.Path("work/.git/info/exclude"), "built\n")
	put(t, w.Path("work/built"), "mine\n")
	there := w.withEnv("HOME=WORLD/there")
	there.mustRun(t, w.vars["PARCEL"], "there", "gt-session", "unpack", "--folder", "clone")
	put(t, w.Path("there/clone-fix/parser.go"), "package parser // there\n")
	there.mustRun(t, "", "there/clone-fix", "git", "commit", "-q", "-a", "-m", "there")
	noError(t, os.Remove(w.Path("there/clone-fix/new")))
	put(t, w.Path("there/clone-fix/newer"), "newer\n")
	w.vars["PARCEL"] = there.mustRun(t, "", "there/clone-fix", "gt-session", "pack", "talks").stdout
}

// soundReturn is soundArrival for one that comes back to its folder.
func (p *plan) soundReturn(t *testing.T, healed bool) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	all, err := p.w.instances("home").ReadInstances()
	if err != nil || len(all) != 1 {
		return []string{fmt.Sprintf("there are %d agents, %v", len(all), err)}
	}
	if data, err := os.ReadFile(p.w.Path("work/built")); err != nil || string(data) != "mine\n" {
		wrong("what git ignores is %q, %v", data, err)
	}
	in := all[0]
	if in.Moved != nil && !healed {
		return problems // it starts nobody, and what it had is in its parcels
	}
	if in.Moved != nil || in.Path != p.w.Path("work") || in.Generation != 2 {
		wrong("it is %+v", in)
	}
	if out := p.w.run(t, "", "work", "git", "status", "--porcelain").stdout; out != "?? newer\n" {
		wrong("git says %q", out)
	}
	if out := p.w.run(t, "", "work", "git", "log", "--format=%s", "-1").stdout; out != "there\n" {
		wrong("its commit is %q", out)
	}
	if entries, _ := filepath.Glob(p.w.Path("work*")); len(entries) != 1 {
		wrong("there are %v", entries)
	}
	return problems
}

// complete reports whether a parcel has all of its members.
func complete(parcel string) bool {
	var manifest struct {
		Members []struct {
			Name string
			Size int64
		}
	}
	r := tar.NewReader(strings.NewReader(parcel))
	if _, err := r.Next(); err != nil {
		return false
	}
	if json.NewDecoder(r).Decode(&manifest) != nil {
		return false
	}
	for _, m := range manifest.Members {
		if h, err := r.Next(); err != nil || h.Name != m.Name {
			return false
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n != m.Size {
			return false
		}
	}
	return true
}

// soundDeparture says what is wrong after a disturbed pack that printed this, and after the
// next.
func (p *plan) soundDeparture(t *testing.T, printed string) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	agent := func() *instance.Instance {
		all, err := p.w.instances("home").ReadInstances()
		if err != nil || len(all) != 1 {
			wrong("there are %d agents, %v", len(all), err)
			return &instance.Instance{}
		}
		return all[0]
	}
	in := agent()
	left := in.Moved != nil && in.Moved.Complete
	if complete(printed) && !left {
		wrong("its parcel can be unpacked, and it can be started here: %+v", in.Moved)
	}
	args := []string{"gt-session", "pack", "talks"}
	if left {
		args = append(args, "--force")
	}
	r := p.w.run(t, "", "work", args...)
	if in = agent(); r.code != 0 || !complete(r.stdout) || in.Moved == nil || !in.Moved.Complete {
		wrong("the next run: %v, moved %+v", result{code: r.code, stderr: r.stderr}, in.Moved)
	}
	if r := p.w.run(t, "", "work", "gt-session", "start", "talks"); r.code != 1 || !strings.Contains(r.stderr, "it has moved") {
		wrong("it starts here: %v", r)
	}
	if entries, _ := filepath.Glob(p.w.Path("home/.local/state/gt/parcels/*.out")); len(entries) > 0 {
		wrong("%v is left", entries)
	}
	return problems
}

// instances are those of a home folder.
func (w *world) instances(home string) instance.Store {
	return instance.Personal(place.State(w.Path(home, ".local/state/gt")), "")
}

// soundArrival says what is wrong after an unpack. It is whole where there is an agent, and
// with healed there is one.
func (p *plan) soundArrival(t *testing.T, healed bool) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	store := p.w.instances("there")
	all, err := store.ReadInstances()
	if err != nil || len(all) > 1 || healed && len(all) == 0 {
		wrong("there are %d agents, %v", len(all), err)
	}
	if len(all) == 0 {
		return problems
	}
	in, w := all[0], p.w.withEnv("HOME=WORLD/there")
	if in.Path != p.w.Path("there/clone-fix") || in.SessionID != "s-old" || in.Moved != nil || in.Generation != 1 {
		wrong("it is %+v", in)
		return problems
	}
	if _, err := os.Stat(in.Path); err != nil {
		return append(problems, err.Error())
	}
	if out := w.run(t, "", "there/clone-fix", "git", "status", "--porcelain").stdout; out != " M parser.go\n?? new\n" {
		wrong("git says %q", out)
	}
	for name, want := range map[string]string{"new": "new\n", "parser.go": "package parser // changed\n"} {
		if data, err := os.ReadFile(filepath.Join(in.Path, name)); err != nil || string(data) != want {
			wrong("%s is %q, %v", name, data, err)
		}
	}
	if files, _ := filepath.Glob(p.w.Path("there/.claude/projects/*/s-old.jsonl")); len(files) != 1 {
		wrong("its conversations are %v", files)
	} else if data, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(data, []byte(transcript)) {
		wrong("its conversation is %q, %v", data, err)
	}
	if th, err := thread.Read(store.State, "s-old", nil); err != nil || len(th.Instructions) != 1 {
		wrong("its thread is %+v, %v", th, err)
	}
	if r := w.run(t, "", "there/clone-fix", "gt-mail", "inbox"); strings.Count(r.stdout, "fix the lamp") != 1 {
		wrong("its notes are %v", r)
	}
	entries, _ := filepath.Glob(store.State.Path("parcels", "*-*"))
	entries = slices.DeleteFunc(entries, func(path string) bool { return strings.Contains(path, tmpMark) }) // they are swept later
	if healed && len(entries) != 2 {                                                                        // receipt and lock
		wrong("left are %v", entries)
	}
	return problems
}

// moves holds a disturbed run against what has to hold.
func (p *plan) moves(t *testing.T, r result) (problems []string) {
	if p.name == "session-pack" {
		return p.soundDeparture(t, r.stdout)
	}
	sound := p.soundArrival
	if p.name == "session-unpack-back" {
		sound = p.soundReturn
	}
	problems = sound(t, false)
	// git outlives who called it, and is waited for.
	for range 50 {
		if r = p.runAgain(t); r.code != 75 {
			break
		}
	}
	if r.code != 0 {
		problems = append(problems, "the next run: "+r.String())
	}
	return append(problems, sound(t, true)...)
}

// thin leaves out most points of a sample, for each takes a dozen runs of git.
func thin[P any](_ *plan, points []P) []P {
	i := -1
	return slices.DeleteFunc(points, func(P) bool {
		i++
		return !nth(i, 60)
	})
}

// TestKillMove kills a pack and an unpack before each of their system calls.
func TestKillMove(t *testing.T) {
	sweepKills(t, moving, thin[call], (*plan).moves)
}

// TestErrorsMove lets each of their calls fail.
func TestErrorsMove(t *testing.T) {
	sweepFaults(t, moving, func(p *plan, points []fault) []fault {
		return slices.DeleteFunc(thin(p, points), func(f fault) bool {
			return p.name == "session-unpack-back" && !f.changes() // a folder that cannot be read is left alone, and gets a worktree beside it
		})
	}, func(p *plan, t *testing.T, r result, _ bool) []string { return p.moves(t, r) })
}
