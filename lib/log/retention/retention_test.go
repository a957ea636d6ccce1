package retention

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gt/internal/testenv"

	"gt/lib/log/eventlog"
)

// S1-89 to S1-95.
func TestDefaultTTLs(t *testing.T) {
	p := Default()
	for days, kinds := range map[int]string{
		1:  "patrol_started patrol_complete patrol_ polecat_checked polecat_nudged",
		3:  "session_start session_end session_resume nudge",
		7:  "handoff unknown polecat patrol sling2",
		14: "hook unhook sling done",
		30: "mail session_death merge_started merge_done",
		90: "mass_death",
	} {
		for _, kind := range strings.Fields(kinds) {
			ttl := time.Duration(days) * 24 * time.Hour
			if got := p.TTL(kind); got != ttl {
				t.Errorf("%s is kept for %v, not %v", kind, got, ttl)
			}
			if p.IsExpired(kind, ttl) || !p.IsExpired(kind, ttl+1) || p.IsExpired(kind, -time.Hour) {
				t.Errorf("%s does not expire after %v", kind, ttl)
			}
		}
	}
}

// The type itself is stronger than any pattern, and a longer pattern than a
// shorter one.
func TestTTLOfPatterns(t *testing.T) {
	p := Policy{DefaultTTL: 9, TTLs: map[string]TTL{"a*": 1, "abc*": 2, "abc_d": 3, "*": 4, "x*z": 5}}
	for kind, want := range map[string]time.Duration{
		"abc_d": 3, "abc_e": 2, "abc": 2, "ab": 1, "b": 4, "": 4, "xz": 5, "xyz": 5, "xy": 4,
	} {
		if got := p.TTL(kind); got != want {
			t.Errorf("%q: %d, not %d", kind, got, want)
		}
	}
	delete(p.TTLs, "*")
	if got := p.TTL("b"); got != 9 {
		t.Error(got)
	}
}

// S1-96 to S1-99.
func TestCurves(t *testing.T) {
	ttl := 100 * time.Hour
	for c, points := range map[Curve]map[int]float64{
		Rapid:  {25: 0.5, 50: 0.25, 75: 0.125, 99: math.Exp2(-3.96)},
		Steady: {10: 0.9, 50: 0.5, 99: 0.01},
		Slow:   {75: 0.5, 30: math.Exp2(-0.4), 99: math.Exp2(-1.32)},
		Flat:   {1: 1, 89: 1, 90: 1, 95: 0.5, 99: 0.1},
	} {
		for hours, want := range points {
			if got := c.Value(time.Duration(hours)*time.Hour, ttl); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s at %d %%: %v, not %v", c, hours, got, want)
			}
		}
		for age, want := range map[time.Duration]float64{0: 1, -time.Hour: 1, ttl: 0, 2 * ttl: 0} {
			if got := c.Value(age, ttl); got != want {
				t.Errorf("%s at %v: %v, not %v", c, age, got, want)
			}
		}
	}
	for kind, want := range map[string]Curve{
		"patrol_x": Rapid, "polecat_nudged": Rapid, "session_end": Steady, "handoff": Steady, "nudge": Steady, "unknown": Steady,
		"hook": Slow, "unhook": Slow, "sling": Slow, "done": Slow, "mail": Flat, "merge_x": Flat, "session_death": Flat, "mass_death": Flat,
	} {
		if got := CurveOf(kind); got != want {
			t.Errorf("%s: %s, not %s", kind, got, want)
		}
	}
}

func TestPolicyFile(t *testing.T) {
	root := t.TempDir()
	p, err := Load(root, nil)
	if err != nil || p.TTL("mail") != time.Duration(30*day) {
		t.Fatal(p, err)
	}
	// As Gas Town writes it, and with what we do not know.
	path := filepath.Join(root, ".krc.yaml")
	text := `{"default_ttl":86400000000000,"ttls":{"patrol_*":3600000000000,"mail":"2w"},"prune_interval":60000000000,"min_retain_count":7,"new":{"a":[1]}}`
	testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	if p, err = Load(root, nil); err != nil {
		t.Fatal(err)
	}
	if p.TTL("patrol_x") != time.Hour || p.TTL("mail") != time.Duration(14*day) || p.TTL("new") != time.Duration(day) ||
		p.TTL("done") != time.Duration(14*day) || p.Keep != 7 || p.Interval != TTL(time.Minute) {
		t.Errorf("%+v", p)
	}
	testenv.NoError(t, p.Set("done", day))
	testenv.NoError(t, p.Store(root, nil))
	data, err := os.ReadFile(path)
	testenv.NoError(t, err)
	var gasTown struct {
		DefaultTTL     time.Duration            `json:"default_ttl"`
		TTLs           map[string]time.Duration `json:"ttls"`
		PruneInterval  time.Duration            `json:"prune_interval"`
		MinRetainCount int                      `json:"min_retain_count"`
		New            json.RawMessage          `json:"new"`
	}
	testenv.NoError(t, json.Unmarshal(data, &gasTown))
	if gasTown.DefaultTTL != 24*time.Hour || gasTown.TTLs["done"] != 24*time.Hour || gasTown.TTLs["mail"] != 14*24*time.Hour ||
		gasTown.PruneInterval != time.Minute || gasTown.MinRetainCount != 7 || len(gasTown.New) == 0 {
		t.Errorf("%s", data)
	}
	if !p.Unset("done") || p.Unset("done") || p.TTL("done") != time.Duration(14*day) || p.Unset("never") {
		t.Error("done is not as it was")
	}
}

func TestPolicyThatIsNoUse(t *testing.T) {
	for _, text := range []string{
		"", "x", "[]", `{"ttls":{"mail":0}}`, `{"ttls":{"mail":-5}}`, `{"ttls":{"mail":"soon"}}`, `{"ttls":{"a b":5}}`,
		`{"default_ttl":0}`, `{"prune_interval":"-1h"}`, `{"min_retain_count":-1}`, `{"min_retain_count":1e9}`, `{"ttls":7}`,
	} {
		root := t.TempDir()
		path := filepath.Join(root, ".krc.yaml")
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := Load(root, nil); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
		// With an older one, that counts.
		p := Default()
		p.Keep = 5
		testenv.NoError(t, os.Remove(path))
		testenv.NoError(t, p.Store(root, nil))
		p.Keep = 6
		testenv.NoError(t, p.Store(root, nil))
		testenv.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		var warned error
		p, err := Load(root, func(err error) { warned = errors.Join(warned, err) })
		if err != nil || p.Keep != 5 || warned == nil {
			t.Errorf("%s: %d, %v, %v", text, p.Keep, err, warned)
		}
	}
}

func TestSetRefuses(t *testing.T) {
	p := Default()
	for _, kind := range []string{"", "a b", "a\nb", "[a", "?", strings.Repeat("x", 101)} {
		if p.Set(kind, day) == nil {
			t.Errorf("%q was taken", kind)
		}
	}
	if p.Set("x", 0) == nil || p.Set("x", -day) == nil {
		t.Error("no time was taken")
	}
}

// S1-100.
func TestDue(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for since, want := range map[time.Duration]bool{time.Minute: false, 59 * time.Minute: false, time.Hour: true, 9 * time.Hour: true, -time.Hour: true} {
		s := State{LastPrune: now.Add(-since)}
		if s.IsDue(now, TTL(time.Hour)) != want {
			t.Errorf("after %v: %v", since, !want)
		}
	}
	if s := (State{}); !s.IsDue(now, TTL(time.Hour)) {
		t.Error("the first is not due")
	}
}

func TestStateFile(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, ".krc-autoprune.json")
	testenv.NoError(t, os.WriteFile(path, []byte(`{"last_prune_time":"2026-01-17T01:00:00+09:00","last_result":{"new":1},"prune_count":3,"total_pruned":10,"total_bytes_freed":100,"x":1}`), 0o600))
	s, err := LoadState(root, nil)
	if err != nil || s.Prunes != 3 || s.LastPrune.UTC().Hour() != 16 {
		t.Fatal(s, err)
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	testenv.NoError(t, s.RecordPrune(now, Result{Processed: 5, Pruned: 2, Retained: 3, Before: 50, After: 30}))
	testenv.NoError(t, s.Store(root, nil))
	s, err = LoadState(root, nil)
	if err != nil || s.Prunes != 4 || s.Removed != 12 || s.Freed != 120 || !s.LastPrune.Equal(now) || !strings.Contains(string(s.LastResult), `"events_pruned": 2`) {
		t.Errorf("%+v %s %v", s, s.LastResult, err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(data), `"x": 1`) {
		t.Errorf("%s %v", data, err)
	}
}

func TestTally(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	p := Default()
	y := NewTally(&p, now)
	add := func(kind string, age time.Duration) { y.AddLine(eventlog.Head{Type: kind, Time: now.Add(-age)}, 100) }
	add("mail", 0)
	add("mail", 31*24*time.Hour)
	add("nudge", 36*time.Hour)
	add("nudge", 71*time.Hour)
	add("later", -time.Hour)
	y.AddLine(eventlog.Head{Type: "no time"}, 100)
	y.AddLine(eventlog.Head{Time: now}, 100)
	if y.Events != 5 || y.Other != 2 || y.Bytes != 700 || y.Ages != (Ages{2, 2, 0, 1}) || !y.Newest.Equal(now.Add(time.Hour)) {
		t.Errorf("%+v", y)
	}
	kinds := y.Kinds()
	if len(kinds) != 3 || kinds[1].Type != "mail" || kinds[1].Expired != 1 || kinds[1].Mean() != 0.5 || kinds[1].Lowest != 1 {
		t.Errorf("%+v", kinds[1])
	}
	if n := kinds[2]; n.Waning != 1 || n.Expired != 0 || math.Abs(n.Value-0.5-1.0/72) > 1e-9 {
		t.Errorf("%+v", n)
	}
	if f := y.KindsByValue(); f[0].Type != "nudge" || f[2].Type != "later" {
		t.Error(f[0], f[2])
	}
	// A hostile log cannot make us remember it.
	for i := range 3 * maxKinds {
		add(strings.Repeat("x", i), 0)
	}
	if n := len(y.Kinds()); n > maxKinds+1 {
		t.Errorf("%d types", n)
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add([]byte(`{"default_ttl":86400000000000,"ttls":{"patrol_*":3600000000000,"mail":"2w"},"min_retain_count":7,"new":1}`), "patrol_x")
	f.Add([]byte(`{"TTLS":{"*":1}}`), "")
	f.Fuzz(func(t *testing.T, data []byte, kind string) {
		p, err := parse(data)
		if err != nil {
			return
		}
		if p.TTL(kind) <= 0 {
			t.Fatalf("%q is kept for %v", kind, p.TTL(kind))
		}
		root := t.TempDir()
		testenv.NoError(t, p.Store(root, nil))
		again, err := Load(root, nil)
		if err != nil || again.TTL(kind) != p.TTL(kind) || again.Keep != p.Keep || again.Interval != p.Interval {
			t.Fatalf("%+v became %+v, %v", p, again, err)
		}
	})
}
