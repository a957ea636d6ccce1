package gt_test

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gt/internal/testenv"
	boxes "gt/lib/state/mail"
)

// hostile things take the place of a file.
var hostile = map[string]func(w *world, path string) error{
	"a link": func(w *world, path string) error { return os.Symlink(w.Path("canary", "file"), path) },
	"a link to nothing": func(w *world, path string) error {
		return os.Symlink(w.Path("canary", "new"), path)
	},
	"a link to a folder": func(w *world, path string) error { return os.Symlink(w.Path("canary"), path) },
	"a link to zeros":    func(w *world, path string) error { return os.Symlink("/dev/zero", path) },
	"a link to itself":   func(w *world, path string) error { return os.Symlink(path, path) },
	"a fifo":             func(w *world, path string) error { return syscall.Mkfifo(path, 0o600) },
	"a folder":           func(w *world, path string) error { return os.Mkdir(path, 0o700) },
	"a file":             func(w *world, path string) error { return os.WriteFile(path, []byte("\x1b[31m{"), 0o600) },
	"a socket": func(w *world, path string) error {
		// Its path may be longer than a socket's may be, so it is made beside the world.
		parent := filepath.Dir(w.Root)
		if len(parent) > 60 {
			parent = "/tmp"
		}
		dir, err := os.MkdirTemp(parent, "s")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		l.Close()
		return os.Rename(filepath.Join(dir, "s"), path)
	},
}

const canary = "CANARY\n"

// full runs what is sampled otherwise: every kind of thing in every place.
// full reports whether the loops run in full that are sampled otherwise.
var full = testenv.Thorough()

// turn is which of several cases a sample takes.
var turn = testenv.Turn()

// Whatever stands in the place of a file or folder that gt opens: nothing hangs,
// nothing is written where a link leads, or told from there; the agent gets its
// start-up text; a command that cannot do what it should says so; and whatever
// has a place of its own is saved all the same. What a person may keep behind a
// link of their own is followed: settings, the town.
//
// Each place is met twice: as a FIFO, at which whoever opens it hangs, by every
// program; and as one other kind of thing, each kind in its turn, by the hooks, by
// what writes, and by a third of what only reads; with -short every fourth place is met.
// With GT_THOROUGH=1 every place is everything, and met by all.
// Lines: S0-23 S1-117.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(hostile))
	const worlds = 4 // beside one another: a world alone would take a minute
	for n := range worlds {
		t.Run(fmt.Sprint("world ", n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			places := w.places()
			slices.SortStableFunc(places, func(a, b string) int { return strings.Compare(lasting(a), lasting(b)) })
			group := 0
			for i, place := range places {
				if i > 0 && lasting(place) != lasting(places[i-1]) {
					group++
				}
				if group%worlds != n || testing.Short() && i%4 != turn%4 {
					continue
				}
				for j, kind := range kinds {
					slow := kind == "a fifo" && (strings.Contains(place, ".git")) // git waits for it, and we for git
					if sampled := j == i%len(kinds) || kind == "a fifo"; !full && (!sampled || slow) {
						continue
					}
					t.Run(place+" is "+kind, func(t *testing.T) {
						w.TB = t
						w.restore()
						w.Write("canary/file", canary)
						if err := os.RemoveAll(w.Path(place)); err != nil {
							t.Fatal(err)
						}
						if err := os.MkdirAll(filepath.Dir(w.Path(place)), 0o700); err != nil {
							t.Fatal(err)
						}
						if err := hostile[kind](w, w.Path(place)); err != nil {
							t.Fatal(err)
						}
						w.livesWith(place, kind, i)
					})
				}
			}
		})
	}
}

// lasting is the part of a place's name that is the same in every world.
func lasting(place string) string { return passing.ReplaceAllString(place, "*") }

var passing = regexp.MustCompile(`[0-9a-f]{6,}`)

// livesWith lets sessions begin, work and end in a world with a hostile place, the
// n-th, and looks at what is kept of that.
func (w *world) livesWith(place, kind string, n int) {
	w.Helper()
	if strings.Contains(place, "/.claude/") && place != conversation {
		for _, args := range [][]string{
			{"gt-hooks", "status"}, {"gt-hooks", "install", "claude"}, {"gt-hooks", "install", "claude", "--scope", "project"},
			{"gt-hooks", "status", "--json"}, {"gt-hooks", "uninstall"}, {"gt-hooks", "uninstall", "--scope", "project"},
		} {
			w.run(work, nil, args...)
		}
		w.canaryLives(place)
		return
	}
	dir, live := work, "s1"
	if strings.HasPrefix(place, town) || strings.HasPrefix(place, state+"/towns") {
		dir, live = crew, "c1"
	}
	// Where things go now: without its trust a town is none.
	h := w.home(dir)
	gone := h.Problem != nil
	keeps, events, box := w.rel(h.Runtime()), w.rel(h.Town.Events()), w.rel(boxes.NewBox(h, h.Identity.Address()).Dir())
	log, pids := filepath.Dir(events), w.rel(h.Town.Pids())
	in := func(names ...string) bool { return slices.Contains(names, place) }
	var all []answer
	do := func(a answer) answer {
		w.Helper()
		all = append(all, a)
		if strings.Contains(a.Out+a.Errs, strings.TrimSpace(canary)) && !strings.HasPrefix(place, roles) {
			w.Errorf("%s: tells what a link leads to", a.Line)
		}
		return a
	}
	s1 := []string{"GT_SESSION_UUID=" + live}

	if start := do(w.hook(dir, "s3", "SessionStart", "gt-prime", "--hook")); start.Out == "" && !gone {
		w.Errorf("the agent was told %q", start.Out)
	}
	w.told += 100
	do(w.hook(dir, live, "PostToolUse", "gt-keepalive", "touch", "--hook"))
	do(w.hook(dir, live, "Stop", "gt-checkpoint", "write", "--hook"))
	turn := fmt.Sprintf("turn %d is over", w.told)
	do(w.hook(dir, live, "PreCompact", "gt-handoff", "--auto", "--hook"))
	printed := do(w.runWith(s1, dir, nil, "gt-handoff", "--print"))
	sent := do(w.run(dir, nil, "gt-mail", "send", "self", "-s", "late", "-m", "x"))
	tracked := do(w.run(dir, nil, "gt-keepalive", "pid", "track", "gt-s9", fmt.Sprint(os.Getpid())))
	do(w.hook(dir, "s3", "SessionEnd", "gt-keepalive", "end", "--hook"))

	// What has no place of its own stands here by the place that it needs.
	below := func(path string) bool { return strings.HasPrefix(path+"/", place+"/") }
	lock := gone || below(keeps) && kind != "a folder" || place == keeps+"/lock" && kind != "a file"
	noBox := gone || below(box) && kind != "a folder" || in(box+"/cur", box+"/new", box+"/tmp") && kind != "a folder" ||
		!h.Town.Personal && below(w.rel(h.Town.GivenPath("x"))) && kind != "a folder"
	noLog := gone || in(log, events, events+".lock") && !(place == log && (kind == "a folder" || kind == "a link to a folder")) &&
		!(place != log && kind == "a file")
	for what, is := range map[string]struct{ kept, lost bool }{
		"the sign of life": {
			strings.Contains(do(w.run(dir, nil, "gt-keepalive", "show")).Out, "PostToolUse"),
			lock && place != keeps+"/lock" || place == keeps+"/keepalive.json" && kind != "a file",
		},
		"the checkpoint": {strings.Contains(do(w.runWith(s1, dir, nil, "gt-checkpoint", "read")).Out, turn), lock},
		"the note": {
			strings.Contains(do(w.run(dir, nil, "gt-mail", "inbox", "--all", "--json")).Out, `"subject":"do it"`), lock || noBox,
		},
		"the mail":      {sent.Code == 0, noBox},
		"the event":     {strings.Contains(w.readNow(events), turn), true},
		"the hand-over": {strings.Count(w.readNow(events), `"type":"handoff"`) > 0, lock || noBox || noLog || place == log},
		"the process":   {tracked.Code == 0, gone || strings.HasPrefix(pids+"/.lock", place) && (kind != "a folder" || strings.HasSuffix(place, ".lock"))},
		"the printed note": {
			strings.Contains(printed.Out, "Subject: "), false,
		},
	} {
		if !is.kept && !is.lost {
			w.Errorf("%s is lost", what)
		}
	}
	readers := [][]string{{"gt-mail"}, {"gt-seance"}, {"gt-seance", "show", live}, {"gt-keepalive", "pid", "list"}, {"gt-prime", "--state", "--json"}}
	switch {
	case !strings.HasPrefix(place, state):
	case !full && strings.HasPrefix(place, keeps), !full && strings.HasPrefix(place, state+"/git/"):
		readers = append(readers, []string{"gt-krc", "prune"}) // which looks at none of this
	default:
		for _, args := range [][]string{{"stats"}, {"decay"}, {"prune", "--dry-run"}, {"prune", "--auto"}, {"prune"}, {"rotate"}, {"config"}} {
			readers = append(readers, append([]string{"gt-krc"}, args...))
		}
	}
	for i, args := range readers {
		if kind == "a fifo" || full || i%3 == n%3 {
			do(w.run(dir, nil, args...))
		}
	}
	w.canaryLives(place)
	if w.Failed() {
		for _, a := range all {
			w.Logf("%s: %d\n%s", a.Line, a.Code, a.Errs)
		}
	}
}

// readNow is read for a place that may be hostile.
func (w *world) readNow(path string) string {
	if info, err := os.Lstat(w.Path(path)); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return w.Read(path)
}

// canaryLives checks that nothing was written where a link leads.
func (w *world) canaryLives(place string) {
	w.Helper()
	entries, err := os.ReadDir(w.Path("canary"))
	if err != nil || w.Read("canary/file") != canary {
		w.Errorf("the canary is dead: %v", err)
	}
	for _, e := range entries {
		// In the state the person's own links are followed to where much is kept.
		followed := place == state || filepath.Dir(place) == state || strings.Contains(place, ".claude") && place != conversation
		if e.Name() != "file" && !followed {
			w.Errorf("'%s' was made beside the canary", e.Name())
		}
	}
}
