//go:build linux

package faults

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gt/lib/catalog"
	"gt/lib/log/eventlog"
	"gt/lib/text/term"
)

// What gt-krc does to the event log has invariants of its own: an event may
// leave the log, but only when its time is over, and what tells of a session
// only for the archive.
var pruning = []scenario{
	{
		name: "krc-prune", args: []string{"gt-krc", "prune"}, dir: "town",
		prepare: func(t *testing.T, w *world) { pruneable(t, w, "") },
	},
	{
		name: "krc-prune-torn", args: []string{"gt-krc", "prune", "--auto"}, dir: "town",
		prepare: func(t *testing.T, w *world) {
			pruneable(t, w, `{"ts":"2020-01-01T00:00:00Z","type":"session_end","payl`)
		},
	},
	{
		name: "krc-prune-again", args: []string{"gt-krc", "prune"}, dir: "town",
		prepare: func(t *testing.T, w *world) {
			pruneable(t, w, "")
			w.mustRun(t, "", "town", "gt-krc", "prune")
			put(t, w.Path("town/.events.jsonl"), events(2))
		},
	},
	{
		name: "krc-rotate", args: []string{"gt-krc", "rotate"}, dir: "town",
		prepare: func(t *testing.T, w *world) { pruneable(t, w, "") },
	},
	{
		name: "krc-config", args: []string{"gt-krc", "config", "set", "sling", "2d"}, dir: "town",
		prepare: func(t *testing.T, w *world) {
			pruneable(t, w, "")
			w.mustRun(t, "", "town", "gt-krc", "config", "set", "sling", "1d")
		},
	},
}

// pruneable makes a town whose log has events of every age.
func pruneable(t *testing.T, w *world, torn string) {
	t.Helper()
	noError(t, os.MkdirAll(w.Path("town"), 0o700))
	put(t, w.Path("town/town.toml"), "")
	put(t, w.Path("town/.events.jsonl"), events(1)+torn)
	put(t, w.Path("town/.krc.yaml"), `{"min_retain_count":3}`)
	w.mustRun(t, "", "town", "gt-hooks", "trust", "--yes")
}

// events are those of 40 sessions, and others.
func events(generation int) string {
	var b strings.Builder
	for i := range 40 {
		age := time.Duration(243-i*6) * time.Hour // no time to live ends while this runs
		for k, kind := range []string{"session_start", "nudge", "handoff", "session_end", "mail"} {
			fmt.Fprintf(&b, `{"ts":%q,"source":"gt","type":%q,"actor":"demo/crew/max","payload":{"session_id":"s%d-%d","n":%d,"cwd":"/nowhere"},"visibility":"feed"}`+"\n",
				time.Now().Add(-age+time.Duration(k)*time.Minute).UTC().Format("2006-01-02T15:04:05.000Z"), kind, generation, i, k)
		}
	}
	return b.String()
}

func put(t *testing.T, path, text string) {
	t.Helper()
	noError(t, os.WriteFile(path, []byte(text), 0o600))
}

// chronicle is all that is told of a town: its events, wherever they are.
type chronicle struct {
	log, archive, aside map[string]int // each line, and how often it is there
	roll                string         // what gt-seance lists
}

func (w *world) chronicle() (c chronicle, problems []string) {
	l := eventlog.Log(w.Path("town/.events.jsonl"))
	count := func(paths ...string) map[string]int {
		lines := map[string]int{}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(data)) {
				lines[strings.TrimSuffix(line, "\n")]++
			}
		}
		return lines
	}
	c.log, c.archive, c.aside = count(string(l)), count(string(l.Archive())), count(l.Segments()...)
	all, err := catalog.Read(l, nil)
	if err != nil {
		return c, []string{err.Error()}
	}
	var b strings.Builder
	for s := range all.Sessions() {
		line, err := term.JSON(s)
		if err != nil {
			return c, []string{err.Error()}
		}
		b.Write(line)
	}
	c.roll = b.String()
	return c, nil
}

// kept says what of the events was lost, or is there twice. healed is after the
// next run, when nothing may be left half done.
func (c chronicle) kept(was chronicle, healed bool) (problems []string) {
	wrong := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for line := range was.log {
		lifecycle := strings.Contains(line, `"type":"session_`) || strings.Contains(line, `"type":"handoff"`)
		switch torn := !strings.HasSuffix(line, "}"); {
		case c.log[line] > 1 || c.archive[line] > 1 || c.aside[line] > 1:
			wrong("it is there %d, %d and %d times: %s", c.log[line], c.archive[line], c.aside[line], line)
		case torn:
		case c.log[line]+c.aside[line] > 1 && healed:
			wrong("it is in the log, and set aside: %s", line)
		case healed && c.log[line]+c.archive[line] > 1:
			wrong("it is in the log, and carried over: %s", line)
		case lifecycle && c.log[line]+c.archive[line] == 0:
			wrong("it is lost: %s", line)
		case !lifecycle && c.log[line]+c.aside[line] == 0 && young(line):
			wrong("it is lost, and young: %s", line)
		}
	}
	for line := range c.archive {
		if was.archive[line] == 0 && was.log[line] == 0 && (healed || strings.HasSuffix(line, "}")) {
			wrong("the archive has what never was: %s", line)
		}
	}
	for line := range was.archive {
		if c.archive[line] != was.archive[line] {
			wrong("the archive lost it: %s", line)
		}
	}
	if c.roll != was.roll {
		wrong("the sessions are told as\n%s\nand were\n%s", c.roll, was.roll)
	}
	return problems
}

// young says of a nudge or mail of events whether its time is not over.
func young(line string) bool {
	at, err := time.Parse(time.RFC3339, line[len(`{"ts":"`):][:len("2006-01-02T15:04:05.000Z")])
	ttl := 30 * 24 * time.Hour
	if strings.Contains(line, `"nudge"`) {
		ttl = 3 * 24 * time.Hour
	}
	return err == nil && time.Since(at) < ttl
}

// left says which files a prune left behind that are not meant to stay.
func (w *world) left() (problems []string) {
	for _, dir := range []string{"town", "town/.sessions", "town/.sessions/archive"} {
		entries, _ := os.ReadDir(w.Path(dir))
		for _, e := range entries {
			if strings.Contains(e.Name(), ".pruning") || strings.Contains(e.Name(), tmpMark) {
				problems = append(problems, filepath.Join(dir, e.Name())+" was left behind")
			}
		}
	}
	return problems
}

// soundPrune says what does not hold after a disturbed run, which left the world as
// it is now, and after the next one.
func (p *plan) soundPrune(t *testing.T, was chronicle, now snapshot) (problems []string) {
	t.Helper()
	for _, lock := range []string{".events.jsonl.lock", ".events.jsonl.prune.lock", ".krc.lock"} {
		if err := free(p.w.Path("town", lock)); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if full {
		return append(problems, p.soundPruneIn(t, was)...)
	}
	key := now.key()
	known, ok := p.nexts[key]
	if !ok {
		known.problems = p.soundPruneIn(t, was)
		p.nexts[key] = known
	}
	return append(problems, known.problems...)
}

func (p *plan) soundPruneIn(t *testing.T, was chronicle) []string {
	t.Helper()
	now, problems := p.w.chronicle()
	problems = append(problems, now.kept(was, false)...)
	// The next command is another one, and has something to do.
	next := []string{"gt-krc", "prune"}
	if p.args[1] == "prune" {
		if r := p.w.run(t, "", "town", "gt-krc", "config"); r.code != 0 {
			problems = append(problems, r.String())
		}
	}
	if r := p.w.run(t, "", "town", next...); r.code != 0 || strings.Contains(r.stderr, "error") {
		problems = append(problems, fmt.Sprintf("the next run: %v", r))
	}
	now, more := p.w.chronicle()
	problems = append(problems, more...)
	problems = append(problems, now.kept(was, true)...)
	_, more = p.w.sound("town", snapshot{})
	problems = append(problems, more...)
	return append(problems, slices.DeleteFunc(p.w.left(), func(s string) bool { return strings.Contains(s, tmpMark) })...)
}

// planPrune is newPlan, and what is told of the town before the command.
func planPrune(t *testing.T, s scenario) (*plan, chronicle) {
	t.Helper()
	p := newPlan(t, s)
	p.w.restore(t)
	was, problems := p.w.chronicle()
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if n := len(p.points()); n < 10 {
		t.Fatalf("it changes something with %d system calls only: it has nothing to do", n)
	}
	return p, was
}

// TestKillPrune kills gt-krc before each of its system calls.
func TestKillPrune(t *testing.T) {
	sweep(t, pruning, func(t *tried, s scenario) {
		p, was := planPrune(t.T, s)
		for i, c := range p.points() {
			if !nth(i, 3) {
				continue
			}
			p.w.restore(t.T)
			if r := p.trace(t.T, "trace="+c.name, fmt.Sprintf("inject=%s:signal=KILL:when=%d", c.name, c.nth)); !r.killed {
				t.Errorf("it was not killed before %v: %v", c, r)
			}
			now, err := p.w.look()
			noError(t.T, err)
			t.kill(c, p.soundPrune(t.T, was, now))
		}
	})
}

// TestErrorsPrune lets each of gt-krc's calls fail.
func TestErrorsPrune(t *testing.T) {
	sweep(t, pruning, func(t *tried, s scenario) {
		p, was := planPrune(t.T, s)
		for _, f := range faultsOf(p.calls, func(i int, _ call) bool { return nth(i, 12) }) {
			for _, when := range []string{"", "+"} { // this one, or from here on
				if when != "" && f.err != "EIO" && f.err != "ENOSPC" {
					continue
				}
				p.w.restore(t.T)
				r := p.trace(t.T, "trace="+f.name, fmt.Sprintf("inject=%s:error=%s:when=%d%s", f.name, f.err, f.nth, when))
				var problems []string
				// Which town one is in cannot be asked for of a disk that does not
				// answer; another one has nothing to prune. That the person's word on
				// the town cannot be read is said.
				lost := strings.HasSuffix(f.path(), "town.toml") ||
					(strings.HasSuffix(f.path(), "trust.json") || strings.HasSuffix(f.path(), "/town")) &&
						regexp.MustCompile(`gt-krc: warning: cannot [a-z ]+ '`+regexp.QuoteMeta(f.path())+`'`).MatchString(r.stderr)
				now, err := p.w.look()
				if err != nil || !lost && r.code == 0 && told(now.log["town/.events.jsonl"]) != told(p.once.log["town/.events.jsonl"]) {
					problems = append(problems, fmt.Sprintf("it did not do its work, and said nothing of it: %v, %v", r, err))
				}
				problems = append(problems, p.soundPrune(t.T, was, now)...)
				switch r.code {
				case 0, 74:
				default:
					problems = append(problems, r.String())
				}
				mute := when != "" && f.name == "write" // standard error, too
				if r.code != 0 && !mute && !strings.Contains(r.stderr, "gt-krc: error: ") {
					problems = append(problems, "no word about it: "+r.String())
				}
				t.fault(f.err+when+" at "+f.call.String(), problems)
			}
		}
	})
}
